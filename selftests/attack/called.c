// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads that hand on in a ring: whoever has handed on calls the one after next,
 * who is up when its turn comes. A deadline and a cancellation end that, and who
 * looked in vain sleeps, and is woken. For how long it looks is forced.
 */
#include "args.h"
#include "cond_api.h"
#include "deadline.h"
#include "futex_call.h"
#include "place.h"
#include "policy.h"
#include "sanitizer.h"
#include "watchdog.h"

/* In microseconds; the first one does not end by itself. */
#define NO_END "100000000"
#define SHORT  "1"

#define NR_PLAYERS 3
#define NR_TURNS   3000
#define NR_LOOKS   100
#define NOBODY	   (-1)

/* Long enough for main to see it up. */
#define PATIENCE_NS (2 * NS_PER_S)

static struct player {
	pthread_t thread;
	atomic_int tid;
	api_cond_t cond;
	atomic_int nr_turns;
	atomic_int nr_timeouts;
	/* How often it was woken since its last turn, not on the mutex. */
	atomic_int nr_woken;
	/* Those before its last turn, and the most before any. */
	atomic_int woken, most_woken;
	/* It is late to go to sleep: until it may. */
	atomic_bool late;
} players[NR_PLAYERS];

static api_mutex_t mutex = API_MUTEX_INITIALIZER;

/* With the mutex. */
static int turn;
static bool over, impatient;

/* Who keeps its turn, if it has it. */
static atomic_int held_up;

/* Waits that returned without a turn, a deadline, or the end. */
static atomic_int nr_for_nothing;

static _Thread_local struct player *self;

/* What the library calls. */
long raw_futex_call(_Atomic uint32_t *word, int op, uint32_t val,
		    const void *timeout_or_val2, _Atomic uint32_t *word2,
		    uint32_t val3)
{
	int command = op & FUTEX_CMD_MASK;
	bool sleeps = command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET;
	long ret;

	if (!self || !sleeps || api_mutex_has(&mutex, word))
		return syscall(SYS_futex, word, op, val, timeout_or_val2, word2,
			       val3);
	while (atomic_load(&self->late))
		sched_yield();
	ret = syscall(SYS_futex, word, op, val, timeout_or_val2, word2, val3);
	if (ret == 0)
		atomic_fetch_add(&self->nr_woken, 1);
	return ret;
}

static struct player *next_of(struct player *p)
{
	return &players[(p - players + 1) % NR_PLAYERS];
}

static void unlock(void *unused)
{
	(void)unused;
	api_mutex_unlock(&mutex);
}

static void wait_for_turn(struct player *me)
{
	struct timespec soon;

	int err;

	if (impatient) {
		soon = deadline_in(CLOCK_MONOTONIC, PATIENCE_NS);
		err = api_cond_clockwait(&me->cond, &mutex, CLOCK_MONOTONIC,
					 &soon);
	} else {
		err = api_cond_wait(&me->cond, &mutex);
	}
	if (err)
		atomic_fetch_add(&me->nr_timeouts, 1);
	else if (turn != me - players && !over)
		atomic_fetch_add(&nr_for_nothing, 1);
}

static void take_turn(struct player *me)
{
	int woken = atomic_exchange(&me->nr_woken, 0);

	atomic_store(&me->woken, woken);
	if (woken > atomic_load(&me->most_woken))
		atomic_store(&me->most_woken, woken);
	atomic_fetch_add(&me->nr_turns, 1);
	while (atomic_load(&held_up) == me - players) {
		api_mutex_unlock(&mutex);
		sched_yield();
		api_mutex_lock(&mutex);
	}
	turn = (int)(next_of(me) - players);
	api_cond_signal(&next_of(me)->cond);
}

static void *play(void *arg)
{
	self = arg;
	atomic_store(&self->tid, blocked_gettid());
	api_mutex_lock(&mutex);
	pthread_cleanup_push(unlock, NULL);
	while (!over) {
		if (turn == self - players)
			take_turn(self);
		else
			wait_for_turn(self);
	}
	pthread_cleanup_pop(1);
	return NULL;
}

static int settled(struct player *p)
{
	return wait_at_least(&p->tid, 1) ||
	       place_settled(getpid(), atomic_load(&p->tid), &mutex);
}

/* Until player 2 has its first turn, and keeps it: the others know their heirs. */
static void begin(const char *what)
{
	watchdog(what);
	over = false;
	turn = NOBODY;
	atomic_store(&held_up, 2);
	for (int i = 0; i < NR_PLAYERS; i++) {
		atomic_store(&players[i].tid, 0);
		atomic_store(&players[i].nr_turns, 0);
		atomic_store(&players[i].most_woken, 0);
		api_cond_init(&players[i].cond);
		if (pthread_create(&players[i].thread, NULL, play, &players[i]))
			tap_bail("pthread_create");
		if (settled(&players[i]))
			tap_bail("player %d does not wait", i);
	}
	api_mutex_lock(&mutex);
	turn = 0;
	api_mutex_unlock(&mutex);
	api_cond_signal(&players[0].cond);
	if (wait_at_least(&players[2].nr_turns, 1))
		tap_bail("the ring does not turn");
}

static void end(void)
{
	api_mutex_lock(&mutex);
	over = true;
	api_mutex_unlock(&mutex);
	atomic_store(&held_up, NOBODY);
	for (int i = 0; i < NR_PLAYERS; i++)
		api_cond_signal(&players[i].cond);
	for (int i = 0; i < NR_PLAYERS; i++)
		pthread_join(players[i].thread, NULL);
}

/* Until player @nr has its next turn, and keeps it. */
static void hold_up(int nr)
{
	int nr_turns = atomic_load(&players[nr].nr_turns);

	atomic_store(&held_up, nr);
	if (wait_at_least(&players[nr].nr_turns, nr_turns + 1))
		tap_bail("the ring does not turn");
}

/* Does player 2 get up and stay so? */
static bool gets_up(void)
{
	int64_t deadline = blocked_deadline();
	int nr = 0;

	while (nr < NR_LOOKS && !blocked_over(deadline)) {
		enum place place = place_of(
			getpid(), atomic_load(&players[2].tid), &mutex);

		nr = place == AWAKE ? nr + 1 : 0;
		sched_yield();
	}
	return nr == NR_LOOKS;
}

static void test_up(void)
{
	begin("up");
	hold_up(1);
	tap_ok(gets_up(), "the one after next is up before its turn");
	hold_up(2);
	tap_ok(atomic_load(&players[2].woken) <= 1,
	       "and gets it without being woken once more");
	end();
}

static void test_deadline(void)
{
	int nr;

	impatient = true;
	begin("a deadline");
	hold_up(1);
	if (!gets_up())
		tap_bail("player 2 is not called");
	nr = atomic_load(&players[2].nr_timeouts);
	tap_is(wait_at_least(&players[2].nr_timeouts, nr + 1), 0,
	       "a deadline ends the look of who was called");
	end();
	impatient = false;
}

static void test_cancel(void)
{
#if API_IS_PTHREAD && FRAMES_MAY_UNWIND
	void *result;

	begin("a cancellation");
	hold_up(1);
	if (!gets_up())
		tap_bail("player 2 is not called");
	pthread_cancel(players[2].thread);
	pthread_join(players[2].thread, &result);
	tap_ok(result == PTHREAD_CANCELED, "and so does a cancellation");
	if (pthread_create(&players[2].thread, NULL, play, &players[2]))
		tap_bail("pthread_create");
	end();
#else
	tap_skip("and so does a cancellation",
		 API_IS_PTHREAD ? "a sanitizer cannot follow it" :
				  "native waits are no cancellation points");
#endif
}

/* @late: player 2 is called when it has decided to sleep, and does not yet. */
static void test_in_vain(const char *who, bool late)
{
	begin(who);
	atomic_store(&players[2].late, late);
	hold_up(1);
	if (late && settled(&players[0]))
		tap_bail("player 0 does not wait");
	atomic_store(&players[2].late, false);
	tap_is(settled(&players[2]), 0, "%s sleeps", who);
	atomic_store(&held_up, NOBODY);
	tap_is(wait_at_least(&players[2].nr_turns, NR_TURNS), 0,
	       "and is woken when its turn comes");
	end();
}

static void test_not_called(void)
{
	begin("not called");
	atomic_store(&held_up, NOBODY);
	tap_is(wait_at_least(&players[2].nr_turns, NR_TURNS), 0,
	       "nobody is called, and all have their turns");
	for (int i = 0; i < NR_PLAYERS; i++)
		tap_ok(atomic_load(&players[i].most_woken) <= 1,
		       "who is not called is woken once");
	end();
}

static void test(const char *policy)
{
	if (strstr(policy, NO_END)) {
		test_up();
		test_deadline();
		test_cancel();
	} else if (strstr(policy, "call=" SHORT)) {
		test_in_vain("who looked in vain", false);
		test_in_vain("who was called too late", true);
	} else {
		test_not_called();
	}
	tap_is(atomic_load(&nr_for_nothing), 0,
	       "no wait has returned for nothing");
}

static const char *const names[] = {
	"auto,watch=0,call=" NO_END,
	"auto,watch=0,call=" SHORT,
	"auto,watch=0,call=0",
};

int main(int argc, char **argv)
{
	struct policy_list list = { names, sizeof(names) / sizeof(*names) };

	args_parse(argc, argv, "");
	return policies_main(argv, list, 5, test);
}
