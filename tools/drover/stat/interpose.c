// SPDX-License-Identifier: MIT
/*
 * libdrover-stat.so: counts the calls of condition variables' functions, and
 * passes each call on to the next library, the drop-in or the C library.
 *
 * A call costs a few nanoseconds more. After the first few calls on a condvar,
 * clocks are read and context switches counted only for a sample.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <threads.h>
#include <time.h>

#include "base/probe.h"
#include "interpose.h"
#include "pthread/drop_in.h" /* EXPORT() */

/*
 * The first FIRST calls on a condvar are sampled, and after them some calls of
 * each thread: one in SITES_EVERY for its call site, one in TIMED_EVERY for the
 * time, and one in SWITCHES_EVERY, which costs ten times as much, for its
 * context switches.
 */
#define FIRST	       32
#define SITES_EVERY    64
#define TIMED_EVERY    128
#define SWITCHES_EVERY 1024

/* Rare code is kept apart from frequent code, which then needs fewer caches. */
#define RARE __attribute__((noinline, cold))

#define CALLER ((uint64_t)(uintptr_t)__builtin_return_address(0))

static void add(_Atomic uint64_t *count, uint64_t nr)
{
	if (likely(!counting.shared))
		atomic_store_explicit(
			count,
			atomic_load_explicit(count, memory_order_relaxed) + nr,
			memory_order_relaxed);
	else
		atomic_fetch_add_explicit(count, nr, memory_order_relaxed);
}

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static long switches(void)
{
	struct rusage used;
	int saved = errno;

	getrusage(RUSAGE_THREAD, &used);
	errno = saved;
	return used.ru_nvcsw;
}

/* @seen: how many calls on the condvar were sampled */
static bool is_first(const _Atomic uint32_t *seen)
{
	return atomic_load_explicit(seen, memory_order_relaxed) < FIRST;
}

/* Return: whether it was one of the first. Threads at once may lose a count. */
static bool count_first(_Atomic uint32_t *seen)
{
	uint32_t nr = atomic_load_explicit(seen, memory_order_relaxed);

	if (nr >= FIRST)
		return false;
	atomic_store_explicit(seen, nr + 1, memory_order_relaxed);
	return true;
}

/* ---- the next library ---- */

/* The condvar functions have a second, older version in glibc. */
RARE static void *find_next(const char *name)
{
	void *found = dlvsym(RTLD_NEXT, name, CONDVARS);

	if (!found)
		found = dlsym(RTLD_NEXT, name);
	if (!found)
		abort();
	return found;
}

/* The next library's @function; threads that look it up at once agree. */
#define NEXT(function)                                                       \
	({                                                                   \
		static _Atomic(__typeof__(&function)) next;                  \
		__typeof__(&function) known =                                \
			atomic_load_explicit(&next, memory_order_relaxed);   \
		if (!likely(known)) {                                        \
			known = (__typeof__(&function))find_next(#function); \
			atomic_store_explicit(&next, known,                  \
					      memory_order_relaxed);         \
		}                                                            \
		known;                                                       \
	})

/* ---- counting ---- */

/* Return: the caller's row of @cond, whose slot is @slot; NULL: do not count. */
static inline struct row *row_of(const void *cond, struct slot **slot)
{
	struct counts_file *file =
		atomic_load_explicit(&counts_file, memory_order_acquire);
	struct row *shard = counting.shard;
	uint64_t address = (uint64_t)(uintptr_t)cond;
	uint32_t number = slot_first(address);

	if (!likely(file))
		return NULL;
	if (!likely(shard))
		shard = shard_take(file);
	if (!likely(number &&
		    atomic_load_explicit(&file->slots[number].address,
					 memory_order_relaxed) == address))
		number = slot_find(file, address);
	*slot = &file->slots[number];
	return shard + number * NR_SHARDS;
}

RARE static void add_site(struct row *row, uint64_t caller, enum site kind)
{
	struct counts_file *file =
		atomic_load_explicit(&counts_file, memory_order_relaxed);

	site_add(file, row,
		 site_of(file, caller) | (uint64_t)kind << SITE_SHIFT);
}

/**
 * struct wait - a call that waits on @cond
 * @row, @slot: of @cond
 * @stamp: the stamp of the last release before the call
 * @switches: the thread's context switches before the call, or -1 if they are
 *	not counted
 * @err: the result of the call; ECANCELED if it does not return
 */
struct wait {
	const void *cond;
	struct row *row;
	struct slot *slot;
	uint64_t stamp;
	long switches;
	int err;
};

RARE static void look_at_wait(struct wait *w, uint32_t nr, uint64_t caller)
{
	add_site(w->row, caller, SITE_WAIT);
	if (count_first(&w->slot->nr_waits_seen) || nr % SWITCHES_EVERY == 0)
		w->switches = switches();
}

RARE static void add_vain(struct row *row)
{
	add(&row->counts[COUNT_VAIN], 1);
	if (counting.seen)
		add(&row->counts[COUNT_SEEN_VAIN], 1);
}

static inline void wait_begin(struct wait *w, const void *cond, uint64_t caller)
{
	uint32_t nr;

	w->cond = cond;
	w->row = row_of(cond, &w->slot);
	if (!likely(w->row))
		return;
	if (!likely(counting.let_out != cond))
		add_vain(w->row);
	counting.let_out = NULL;
	add(&w->row->counts[COUNT_WAITS], 1);
	w->stamp = atomic_load_explicit(&w->slot->stamp, memory_order_relaxed);
	counting.row = w->row;
	nr = counting.nr_waits++;
	if (!likely(nr % SITES_EVERY && !is_first(&w->slot->nr_waits_seen)))
		look_at_wait(w, nr, caller);
}

/* A timed broadcast has released this waiter. */
static void add_seen(struct wait *w, uint64_t stamp)
{
	uint64_t woke = atomic_load(&w->slot->woke);

	counting.seen = true;
	add(&w->row->counts[COUNT_SEEN_WOKEN], 1);
	while (woke < stamp)
		if (atomic_compare_exchange_strong(&w->slot->woke, &woke,
						   stamp)) {
			add(&w->row->counts[COUNT_SEEN], 1);
			return;
		}
}

/* A signal releases one waiter, which takes its stamp away from the others. */
RARE static void add_latency(struct wait *w, uint64_t stamp)
{
	uint64_t took;

	/* Slot 0 has the stamps of several condvars. */
	if (!stamp || w->slot->address == OTHERS)
		return;
	if (stamp & 1)
		add_seen(w, stamp);
	else if (!atomic_compare_exchange_strong(&w->slot->stamp, &stamp, 0))
		return;
	took = now() - (stamp >> 1);
	took = took ? 63 - (uint64_t)__builtin_clzll(took) : 0;
	atomic_fetch_add(
		&w->row->latency[took < NR_BUCKETS ? took : NR_BUCKETS - 1], 1);
}

RARE static void add_switches(struct wait *w)
{
	long nr = switches() - w->switches;

	add(&w->row->counts[COUNT_SAMPLED], 1);
	if (nr == 0)
		add(&w->row->counts[COUNT_AWAKE], 1);
	else if (nr > 1)
		add(&w->row->counts[COUNT_AGAIN], 1);
}

/* Also called if the thread is cancelled in the wait. */
static inline void wait_end(struct wait *w)
{
	uint64_t stamp;

	if (!likely(w->row))
		return;
	counting.row = NULL;
	if (!likely(!w->err)) {
		add(&w->row->counts[COUNT_OVER], 1);
		return;
	}
	add(&w->row->counts[COUNT_RELEASED], 1);
	counting.let_out = w->cond;
	counting.seen = false;
	stamp = atomic_load_explicit(&w->slot->stamp, memory_order_relaxed);
	if (!likely(stamp == w->stamp))
		add_latency(w, stamp);
	if (!likely(w->switches < 0))
		add_switches(w);
}

RARE static void look_at_release(struct row *row, struct slot *slot,
				 uint32_t nr, uint64_t caller, enum site kind)
{
	add_site(row, caller, kind);
	if (count_first(&slot->nr_releases_seen) || nr % TIMED_EVERY == 0)
		atomic_store_explicit(&slot->stamp,
				      now() << 1 | (kind == SITE_BROADCAST),
				      memory_order_relaxed);
}

static inline void count_release(const void *cond, uint64_t caller,
				 enum site kind)
{
	struct slot *slot;
	struct row *row = row_of(cond, &slot);
	uint32_t nr;

	counting.let_out = NULL;
	if (!likely(row))
		return;
	add(&row->counts[kind == SITE_SIGNAL ? COUNT_SIGNALS : COUNT_BROADCASTS],
	    1);
	nr = counting.nr_releases++;
	if (!likely(nr % SITES_EVERY && !is_first(&slot->nr_releases_seen)))
		look_at_release(row, slot, nr, caller, kind);
}

__attribute__((noinline)) static void count_moved(const void *cond, int64_t nr)
{
	struct slot *slot;
	struct row *row = row_of(cond, &slot);

	if (row && nr > 0)
		add(&row->counts[COUNT_MOVED], (uint64_t)nr);
}

/* The library calls this; base/probe.h */
void drover_probe(enum probe_event event, const void *cond, int64_t nr)
{
	struct row *row = counting.row;

	if (event == PROBE_MOVED)
		count_moved(cond, nr);
	else if (event == PROBE_SPUN && row)
		add(&row->counts[nr ? COUNT_PAID : COUNT_IN_VAIN], 1);
}

/* ---- the functions ---- */

#define WAIT(cond, call)                                          \
	do {                                                      \
		struct wait w __attribute__((cleanup(wait_end))); \
		w.switches = -1;                                  \
		w.err = ECANCELED;                                \
		wait_begin(&w, cond, CALLER);                     \
		w.err = call;                                     \
		return w.err;                                     \
	} while (0)

static int counted_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	WAIT(cond, NEXT(pthread_cond_wait)(cond, mutex));
}

static int counted_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
			     const struct timespec *at)
{
	WAIT(cond, NEXT(pthread_cond_timedwait)(cond, mutex, at));
}

static int counted_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
			     clockid_t clock, const struct timespec *at)
{
	WAIT(cond, NEXT(pthread_cond_clockwait)(cond, mutex, clock, at));
}

static int counted_signal(pthread_cond_t *cond)
{
	count_release(cond, CALLER, SITE_SIGNAL);
	return NEXT(pthread_cond_signal)(cond);
}

static int counted_broadcast(pthread_cond_t *cond)
{
	count_release(cond, CALLER, SITE_BROADCAST);
	return NEXT(pthread_cond_broadcast)(cond);
}

/* The C11 functions, which also return 0 for success. */
static int counted_cnd_wait(cnd_t *cond, mtx_t *mutex)
{
	WAIT(cond, NEXT(cnd_wait)(cond, mutex));
}

static int counted_cnd_timedwait(cnd_t *cond, mtx_t *mutex,
				 const struct timespec *at)
{
	WAIT(cond, NEXT(cnd_timedwait)(cond, mutex, at));
}

static int counted_cnd_signal(cnd_t *cond)
{
	count_release(cond, CALLER, SITE_SIGNAL);
	return NEXT(cnd_signal)(cond);
}

static int counted_cnd_broadcast(cnd_t *cond)
{
	count_release(cond, CALLER, SITE_BROADCAST);
	return NEXT(cnd_broadcast)(cond);
}

/* A thread that unlocks a mutex may have done something: not woken in vain. */
static int noted_unlock(pthread_mutex_t *mutex)
{
	counting.let_out = NULL;
	return NEXT(pthread_mutex_unlock)(mutex);
}

static int noted_mtx_unlock(mtx_t *mutex)
{
	counting.let_out = NULL;
	return NEXT(mtx_unlock)(mutex);
}

EXPORT(pthread_cond_wait, 0, counted_wait, "@@" CONDVARS);
EXPORT(pthread_cond_timedwait, 0, counted_timedwait, "@@" CONDVARS);
EXPORT(pthread_cond_signal, 0, counted_signal, "@@" CONDVARS);
EXPORT(pthread_cond_broadcast, 0, counted_broadcast, "@@" CONDVARS);
EXPORT(pthread_cond_clockwait, 0, counted_clockwait, "@@GLIBC_2.34");
EXPORT(pthread_cond_clockwait, 1, counted_clockwait, "@GLIBC_2.30");
EXPORT(cnd_wait, 0, counted_cnd_wait, "@@GLIBC_2.34");
EXPORT(cnd_wait, 1, counted_cnd_wait, "@GLIBC_2.28");
EXPORT(cnd_timedwait, 0, counted_cnd_timedwait, "@@GLIBC_2.34");
EXPORT(cnd_timedwait, 1, counted_cnd_timedwait, "@GLIBC_2.28");
EXPORT(cnd_signal, 0, counted_cnd_signal, "@@GLIBC_2.34");
EXPORT(cnd_signal, 1, counted_cnd_signal, "@GLIBC_2.28");
EXPORT(cnd_broadcast, 0, counted_cnd_broadcast, "@@GLIBC_2.34");
EXPORT(cnd_broadcast, 1, counted_cnd_broadcast, "@GLIBC_2.28");
EXPORT(pthread_mutex_unlock, 0, noted_unlock, "@@" BASE);
EXPORT(mtx_unlock, 0, noted_mtx_unlock, "@@GLIBC_2.34");
EXPORT(mtx_unlock, 1, noted_mtx_unlock, "@GLIBC_2.28");
