// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who joins others needs no lock of the condvar's, and does not join a group
 * where it would be too late, or too early. It looks inside the library, to which
 * it is linked.
 */

/* The member of a group is not the member of a crew. */
#define member group_member
#include "cond/cond.h"
#undef member

#include "crew.h"
#include "fake_futex.h"
#include "watchdog.h"

static api_cond_t cond = API_COND_INITIALIZER;
static api_mutex_t mutex = API_MUTEX_INITIALIZER;
static api_mutex_t another = API_MUTEX_INITIALIZER;

/* A group with a member, and a reference more. */
static struct group *group_begin(uint64_t awake)
{
	struct cond *c = (struct cond *)&cond;
	struct group *g = group_new(c, waiter_self(), &mutex, NULL, awake);

	if (!g || !group_pin(g, c))
		tap_bail("no group");
	return g;
}

/* All members are out, or never were. */
static void group_end(struct group *g)
{
	group_unpin(g);
	group_unpin(g);
}

static void test_joins(void)
{
	struct group *g = group_begin(0);

	tap_ok(group_join_open(g, &mutex) && group_blocked(g) == 2,
	       "joins a member that sleeps");
	group_end(g);
}

static void test_mutex(void)
{
	struct group *g = group_begin(0);

	tap_ok(!group_join_open(g, &another) && group_blocked(g) == 1,
	       "not with another mutex");
	group_end(g);
}

static void test_awake(void)
{
	struct group *g = group_begin(GROUP_AWAKE);

	tap_ok(!group_join_open(g, &mutex) && group_blocked(g) == 1,
	       "not where somebody looks for a signal");
	group_end(g);
}

/* Two members, and a signal for one. */
static void test_signal(void)
{
	struct group *g = group_begin(0);
	bool claimed, posted, taken;
	uint64_t state;

	group_join(g, &mutex);
	claimed = group_claim(g) && !group_join_open(g, &mutex);
	group_post(g, 0);
	posted = !group_join_open(g, &mutex);
	state = load_relaxed(&g->state);
	taken = group_take(g, &state) && group_join_open(g, &mutex);
	tap_ok(claimed, "not while a signaller chooses");
	tap_ok(posted, "not where a signal is that nobody has taken");
	tap_ok(taken && group_blocked(g) == 2, "but after that");
	group_end(g);
}

static void test_used_up(void)
{
	struct group *g = group_begin(0);

	tap_ok(group_leave(g) && !group_join_open(g, &mutex),
	       "not where everybody's time has run out");
	group_end(g);
}

static void test_released(void)
{
	struct group *g = group_begin(0);

	if (!group_claim(g))
		tap_bail("a member is blocked");
	group_release(g, 0);
	tap_ok(!group_join_open(g, &mutex), "not where all are free to go");
	group_end(g);
}

/* The second waiter has told the condvar that there are several. */
static void test_without_lock(void)
{
	struct crew crew = crew_of(&cond, &mutex, 3);
	struct cond *c = (struct cond *)&cond;

	watchdog("a third waiter while the lock is held");
	crew_add(&crew, 2);
	lock_take(&c->lock, false);
	crew_add(&crew, 1);
	tap_ok(group_blocked(load_relaxed(&c->open)) == 3,
	       "a third waiter joins while the lock is held");
	lock_drop(&c->lock, false);
	api_cond_broadcast(&cond);
	crew_gone(&crew, 3);
	tap_is(crew_results(&crew, 0), 3, "and a broadcast releases all");
	crew_end(&crew);
}

int main(int argc, char **argv)
{
	args_parse(argc, argv, "");
	tap_plan(10);
	fake_futex_start((struct fake_futex){ 0 });
	test_joins();
	test_mutex();
	test_awake();
	test_signal();
	test_used_up();
	test_released();
	test_without_lock();
	return tap_exit();
}
