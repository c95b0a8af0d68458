/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For tests of when the policy looks for a signal before the sleep. They look
 * inside the library, to which they are linked.
 */
#ifndef DROVER_ATTACK_POLICY_LOOKS_H
#define DROVER_ATTACK_POLICY_LOOKS_H

#define member group_member
#define waiter lib_waiter
#include "cond/cond.h"
#include "base/cpus.h"
#undef member
#undef waiter

#include "fake_futex.h"
#include "policy.h"
#include "tap.h"

/*
 * Of @nr waits, how many look for their signal, if that comes after @ns, for a
 * while, or @once after they gave way?
 */
static inline int count_looks(struct lib_waiter *w, const struct cond *c,
			      int nr, int64_t ns, bool once)
{
	int nr_looks = 0;

	while (nr--) {
		int64_t watch = policy_watch(w, c, true);

		if (watch)
			policy_watched(w, c, watch, ns);
		if (watch && (watch == WATCH_ONCE) == once)
			nr_looks++;
	}
	return nr_looks;
}

static inline int count_watches(struct lib_waiter *w, const struct cond *c,
				int nr, int64_t ns)
{
	return count_looks(w, c, nr, ns, false);
}

static inline int count_given(struct lib_waiter *w, const struct cond *c,
			      int nr, int64_t ns)
{
	return count_looks(w, c, nr, ns, true);
}

/* Threads that have waited. */
struct crowd {
	pthread_t *threads;
	unsigned int nr;
	pthread_barrier_t all_have_waited;
};

static void *crowd_main(void *arg)
{
	struct crowd *crowd = arg;

	waiter_self();
	pthread_barrier_wait(&crowd->all_have_waited);
	pthread_barrier_wait(&crowd->all_have_waited);
	return NULL;
}

static inline void crowd_of(struct crowd *crowd, unsigned int nr)
{
	crowd->nr = nr;
	crowd->threads = calloc(crowd->nr, sizeof(*crowd->threads));
	if (!crowd->threads ||
	    pthread_barrier_init(&crowd->all_have_waited, NULL, crowd->nr + 1))
		tap_bail("no memory");
	for (unsigned int i = 0; i < crowd->nr; i++)
		if (pthread_create(&crowd->threads[i], NULL, crowd_main, crowd))
			tap_bail("pthread_create");
	pthread_barrier_wait(&crowd->all_have_waited);
}

/* With the caller one more than CPUs, and than two. */
static inline void crowd_gather(struct crowd *crowd)
{
	unsigned int nr = cpus_usable();

	crowd_of(crowd, nr < 2 ? 2 : nr);
}

static inline void crowd_end(struct crowd *crowd)
{
	pthread_barrier_wait(&crowd->all_have_waited);
	for (unsigned int i = 0; i < crowd->nr; i++)
		pthread_join(crowd->threads[i], NULL);
	free(crowd->threads);
}

#endif /* DROVER_ATTACK_POLICY_LOOKS_H */
