/* SPDX-License-Identifier: MIT */
/*
 * What libdrover-stat.so counts, in a file that others may read meanwhile:
 * counted.py has the same layout.
 *
 * Threads do not count together, which would cost them the cache lines that
 * they share: each has a shard to itself, with a row for each condition
 * variable. When it has ended another may have it. All counts are sums over the
 * shards.
 */
#ifndef DROVER_COUNT_H
#define DROVER_COUNT_H

#include <stddef.h>
#include <stdint.h>

#define COUNT_MAGIC "drovers2"

/* Condition variables; the first is for all that find no place. */
#define NR_CONDS     1024
#define NR_SHARDS    128
#define NR_MODULES   256
#define NR_SITES     4
#define NR_STACKS    512
#define NR_FRAMES    8
#define NR_BUCKETS   30
#define MODULE_BYTES 256

/*
 * @COUNT_OVER: waits that ended otherwise than by a release
 * @COUNT_SAMPLED: waits whose context switches were counted; of these
 *	@COUNT_AWAKE had none, and @COUNT_AGAIN more than one: they slept a
 *	second time, for the mutex
 * @COUNT_VAIN: waits by a thread that a release had just let out of another one,
 *	and that has unlocked no mutex and released nobody since
 * @COUNT_SEEN: broadcasts that were timed and let somebody out; of these came
 *	@COUNT_SEEN_WOKEN waiters, and @COUNT_SEEN_VAIN of them waited again
 */
enum count {
	COUNT_WAITS,
	COUNT_RELEASED,
	COUNT_OVER,
	COUNT_SIGNALS,
	COUNT_BROADCASTS,
	COUNT_MOVED,
	COUNT_PAID,
	COUNT_IN_VAIN,
	COUNT_SAMPLED,
	COUNT_AWAKE,
	COUNT_AGAIN,
	COUNT_VAIN,
	COUNT_SEEN,
	COUNT_SEEN_WOKEN,
	COUNT_SEEN_VAIN,
	NR_COUNTS
};

/* Two highest bits of a site: what is called there. */
enum site {
	SITE_WAIT,
	SITE_SIGNAL,
	SITE_BROADCAST
};
#define SITE_SHIFT 62

/**
 * struct row - what one shard has of one condition variable
 * @counts: by enum count
 * @sites: return addresses in the program, and their enum site
 * @latency: of 2^i to 2^(i+1) nanoseconds from a release to the return; sampled
 * @site_counts: calls from each of @sites; one in so many is counted
 */
struct row {
	_Atomic uint64_t counts[NR_COUNTS];
	_Atomic uint64_t sites[NR_SITES];
	_Atomic uint32_t latency[NR_BUCKETS];
	_Atomic uint32_t site_counts[NR_SITES];
	uint64_t unused[4];
};

_Static_assert(sizeof(struct row) == 320, "as counted.py has it");

/* The address of all that find no place. */
#define OTHERS 1

/**
 * struct slot - a condition variable
 * @address: 0 if there is none
 * @stamp: when it was released last, in nanoseconds times 2, of those that were
 *	   timed; odd: by a broadcast. 0 once a signal's waiter has returned.
 * @woke: the stamp of the last broadcast of those that has let somebody out
 * @nr_waits_seen, @nr_releases_seen: how many were looked at closely, or FIRST
 */
struct slot {
	_Atomic uint64_t address;
	_Atomic uint64_t stamp;
	_Atomic uint32_t nr_waits_seen, nr_releases_seen;
	_Atomic uint64_t woke;
	uint64_t unused[4];
};

/* A loaded file: its addresses, and what is added to those in it. */
struct module {
	uint64_t start, end, bias;
	char path[MODULE_BYTES - 24];
};

/* Return addresses: a call of a condvar's function, and those around it. */
struct stack {
	_Atomic uint64_t frames[NR_FRAMES];
};

struct counts_file {
	char magic[8];
	int32_t pid;
	_Atomic uint32_t nr_modules;
	uint64_t drop_in; /* whether what is counted is the drop-in's */
	char name[64];	  /* the program's */
	char unused[4008];
	struct module modules[NR_MODULES];
	struct slot slots[NR_CONDS];
	_Atomic int32_t takers[NR_SHARDS]; /* threads, also some that ended */
	char unused2[3584];
	struct stack stacks[NR_STACKS]; /* by their first frame */
	/* The first touch of a page is dear: many threads share one here. */
	struct row rows[NR_CONDS][NR_SHARDS];
};

_Static_assert(offsetof(struct counts_file, rows) % 4096 == 0, "pages");

#endif /* DROVER_COUNT_H */
