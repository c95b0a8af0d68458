// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads are fibers: all of them run in one thread of the kernel, one at a
 * time, and change places only where step(), step_yield() or fall_asleep() is
 * called. A fiber is entered once by makecontext(). From then on it jumps by
 * setjmp() and longjmp(), which make no system call. A fiber is started again
 * by a jump to the beginning of its stack.
 *
 * Thread-local variables of the library are in the one TLS block of the
 * program. They are copied out and in when fibers change places.
 */
#include <link.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "engine.h"

#define STACK_BYTES (64 * 1024)
/* A thread that yields may go on itself so often, although another can run. */
#define MOST_STAYS 2

struct fiber fibers[MAX_THREADS];
struct fiber *self;
unsigned int nr_steps;

/* Steps that matter. */
static unsigned int nr_turns;
static char *stacks;
static jmp_buf runner;
static char *tls;
static size_t tls_bytes;
static int find_tls(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	/* The program itself comes first. */
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_TLS)
			tls_bytes = info->dlpi_phdr[i].p_memsz;
	tls = info->dlpi_tls_data;
	return 1;
}

static void fiber_has_ended(struct fiber *ended)
{
	ended->state = ENDED;
	for (struct fiber *f = fibers; f < fibers + MAX_THREADS; f++)
		if (f->state == ASLEEP && f->asleep.joins == ended) {
			memory_tell(f, ended);
			wake_up(f, 0);
		}
}

static void fiber_ends(void)
{
	if (scenario->flags & DESTRUCTORS)
		libc_end_thread();
	fiber_has_ended(self);
	fall_asleep();
	abort();
}

static void fiber_body(void)
{
	_setjmp(self->base);
	self->top = __builtin_frame_address(0);
	if (!_setjmp(self->exit))
		self->result = self->main(self->arg);
	fiber_ends();
}

/* Each fiber is entered once, sets its base, and comes back from here. */
static void *wait_at_base(void *arg)
{
	(void)arg;
	_longjmp(runner, 1);
}

static void enter_all(void)
{
	static int i;

	while (i < MAX_THREADS) {
		if (_setjmp(runner))
			continue;
		self = &fibers[i++];
		self->main = wait_at_base;
		setcontext(self->arg);
	}
}

void fibers_make(void)
{
	static ucontext_t contexts[MAX_THREADS], back;

	dl_iterate_phdr(find_tls, NULL);
	stacks = mmap(NULL, (size_t)STACK_BYTES * MAX_THREADS,
		      PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0);
	for (int i = 0; i < MAX_THREADS; i++) {
		fibers[i].tls = malloc(tls_bytes + 1);
		memcpy(fibers[i].tls, tls, tls_bytes);
		getcontext(&contexts[i]);
		contexts[i].uc_stack.ss_sp = stacks + (size_t)STACK_BYTES * i;
		contexts[i].uc_stack.ss_size = STACK_BYTES;
		contexts[i].uc_link = &back;
		makecontext(&contexts[i], fiber_body, 0);
	}
	for (int i = 0; i < MAX_THREADS; i++)
		fibers[i].arg = &contexts[i];
	enter_all();
}

bool fiber_owns(const void *p)
{
	const char *at = p;

	return (at >= tls && at < tls + tls_bytes) || at == (char *)&errno;
}

bool fiber_stack(const void *p)
{
	const char *at = p;

	return at >= stacks && at < stacks + STACK_BYTES * MAX_THREADS;
}

void fiber_fork(void)
{
	for (struct fiber *f = fibers; f < fibers + MAX_THREADS; f++)
		if (f != self && f->state != UNUSED)
			f->state = ENDED;
}

size_t fiber_tls_bytes(void)
{
	return tls_bytes;
}

void fiber_pretend(struct fiber *f, void (*function)(void))
{
	self = f;
	memcpy(tls, f->tls, tls_bytes);
	function();
	memcpy(f->tls, tls, tls_bytes);
	self = NULL;
}

uint64_t fiber_turn(void)
{
	static uint64_t turns;

	return ++turns;
}

/* ---- which fiber runs ---- */

static void go_to(struct fiber *f)
{
	struct fiber *from = self;

	if (f == from)
		return;
	if (from->state == ENDED) {
		self = f;
		memcpy(tls, f->tls, tls_bytes);
		_longjmp(f->context, 1);
	}
	if (_setjmp(from->context))
		return;
	memcpy(from->tls, tls, tls_bytes);
	memcpy(tls, f->tls, tls_bytes);
	self = f;
	_longjmp(f->context, 1);
}

/* An event that may come next, instead of the present fiber's next step. */
struct option {
	struct fiber *fiber;
	long ret; /* the result of the fiber's sleep, if that ends */
};

static bool may_expire(const struct fiber *f)
{
	return scenario->flags & EXPIRES && f->asleep.deadline != INT64_MAX;
}

static bool may_be_interrupted(const struct fiber *f)
{
	return scenario->flags & INTERRUPTS && f->asleep.word && !f->asleep.pi;
}

/*
 * Thread 0 may end only in a wait of a condvar. There, and nowhere else, a
 * thread sleeps with the bits of a kind.
 */
static bool may_end(const struct fiber *f)
{
	return scenario->flags & ENDS && f == fibers && f->asleep.word &&
	       !f->asleep.pi && !f->asleep.target && f->asleep.bits + 1;
}

static int count_running(void)
{
	int nr = 0;

	for (const struct fiber *f = fibers; f < fibers + MAX_THREADS; f++)
		nr += f->state == RUNNING;
	return nr - (self->state == RUNNING);
}

/* Return: how many options find_option() has. */
static int count_options(void)
{
	int nr = count_running();

	if (!(scenario->flags & (EXPIRES | INTERRUPTS | ENDS | DIES)))
		return nr;
	nr += fiber_may_die(fibers);
	for (const struct fiber *f = fibers; f < fibers + MAX_THREADS; f++)
		if (f->state == ASLEEP)
			nr += may_expire(f) + may_be_interrupted(f) +
			      may_end(f);
	return nr;
}

/* Option @nr: first the threads that can run, beginning behind the caller. */
static struct option find_option(int nr)
{
	struct fiber *f = self;

	for (int i = 1; i < MAX_THREADS; i++) {
		f = f == fibers + MAX_THREADS - 1 ? fibers : f + 1;
		if (f->state == RUNNING && nr-- == 0)
			return (struct option){ f, 0 };
	}
	if (fiber_may_die(fibers) && nr-- == 0)
		return (struct option){ fibers, PROCESS_DIES };
	for (f = fibers; f < fibers + MAX_THREADS; f++) {
		if (f->state != ASLEEP)
			continue;
		if (may_expire(f) && nr-- == 0)
			return (struct option){ f, -ETIMEDOUT };
		if (may_be_interrupted(f) && nr-- == 0)
			return (struct option){ f, -EINTR };
		if (may_end(f) && nr-- == 0)
			return (struct option){ f, THREAD_ENDS };
	}
	abort();
}

static void take_option(struct option option)
{
	struct fiber *f = option.fiber;

	if (option.ret == PROCESS_DIES) {
		tell(NULL, "the process of thread %d is killed", nr_of(f));
		fiber_has_ended(f);
		return;
	}
	if (f->state == ASLEEP) {
		if (option.ret == -ETIMEDOUT && clock_ns < f->asleep.deadline)
			clock_ns = f->asleep.deadline;
		wake_up(f, option.ret);
		tell(NULL, "thread %d: %s", nr_of(f),
		     option.ret == -ETIMEDOUT ? "its time is over" :
		     option.ret == -EINTR     ? "is interrupted" :
						"ends");
	}
	go_to(f);
}

static void count_step(bool matters)
{
	nr_turns += matters;
	if (++nr_steps > MOST_STEPS || nr_turns > MOST_TURNS)
		fault("no end after %u steps", nr_steps);
}

void step(bool matters)
{
	int nr, way;

	count_step(matters);
	if (!matters && !choose_everywhere())
		return;
	nr = count_options();
	way = nr ? choose('s', 1 + nr) : 0;
	if (way)
		take_option(find_option(way - 1));
}

void step_yield(void)
{
	int nr, way;

	if (!count_running()) {
		step(true);
		return;
	}
	count_step(true);
	nr = count_options();
	/*
	 * The other threads come first. That the caller goes on is the last
	 * option, and not for ever.
	 */
	way = choose('s', nr + (self->nr_stays < MOST_STAYS));
	if (way < nr)
		take_option(find_option(way));
	else
		self->nr_stays++;
}

/*
 * No thread can run, so the first deadline passes. If there is none, all
 * threads have ended, or they sleep for ever.
 */
static void pass_time(void)
{
	struct fiber *first = NULL;
	bool over = true;

	for (int i = 0; i < MAX_THREADS; i++) {
		struct fiber *f = &fibers[i];

		over = over && (f->state == ENDED || f->state == UNUSED);
		if (f->state == ASLEEP && f->asleep.deadline != INT64_MAX &&
		    (!first || f->asleep.deadline < first->asleep.deadline))
			first = f;
	}
	if (over)
		end_schedule();
	if (!first)
		fault("all threads sleep, and nothing will wake them");
	take_option((struct option){ first, -ETIMEDOUT });
}

void fall_asleep(void)
{
	self->asleep.turn = fiber_turn();
	/*
	 * Repeat until the caller runs again: if a process is killed,
	 * take_option() returns at once.
	 */
	do {
		if (count_running())
			take_option(find_option(choose('n', count_options())));
		else
			pass_time();
	} while (self->state != RUNNING);
}

void wake_up(struct fiber *f, long ret)
{
	f->asleep.ret = ret;
	f->asleep.word = NULL;
	f->asleep.joins = NULL;
	f->state = RUNNING;
}

static void fiber_begin(struct fiber *f, void *(*main)(void *), void *arg)
{
	f->state = RUNNING;
	f->main = main;
	f->arg = arg;
}

struct fiber *fiber_start(void *(*main)(void *), void *arg)
{
	struct fiber *f = fibers + scenario->nr_threads;

	/* The first fibers belong to the threads of the scenario. */
	for (; f < fibers + MAX_THREADS; f++)
		if (f->state == UNUSED) {
			fiber_begin(f, main, arg);
			return f;
		}
	return NULL;
}

/* ---- a schedule ---- */

void end_schedule(void)
{
	self = NULL;
	_longjmp(runner, 1);
}

static void *run_thread(void *nr)
{
	scenario->thread((int)(intptr_t)nr);
	return NULL;
}

bool fibers_run(void)
{
	fault_text = NULL;
	nr_steps = nr_turns = 0;
	if (!_setjmp(runner)) {
		for (intptr_t i = 0; i < scenario->nr_threads; i++)
			fiber_begin(&fibers[i], run_thread, (void *)i);
		for (int i = 0; i < MAX_THREADS; i++)
			memcpy(fibers[i].context, fibers[i].base,
			       sizeof(jmp_buf));
		self = &fibers[0];
		memcpy(tls, self->tls, tls_bytes);
		_longjmp(self->context, 1);
	}
	self = NULL;
	quiet = true;
	if (!fault_text && scenario->finish && !_setjmp(runner))
		scenario->finish();
	quiet = false;
	return !fault_text;
}
