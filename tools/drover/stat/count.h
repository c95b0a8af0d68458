/* SPDX-License-Identifier: MIT */
/*
 * The file in which libdrover-stat.so counts. Other processes may read it at
 * any time; counted.py has the same layout.
 *
 * Each thread has a shard of its own, with a row for each condition variable:
 * threads that count in the same place would share its cache lines, which is
 * dear. When the thread has ended, another one may take over the shard. A count
 * is the sum over all shards.
 */
#ifndef DROVER_COUNT_H
#define DROVER_COUNT_H

#include <stddef.h>
#include <stdint.h>

#define COUNT_MAGIC "drovers2"

/* Slots of condition variables; the first is for all without a slot. */
#define NR_CONDS     1024
#define NR_SHARDS    128
#define NR_MODULES   256
#define NR_SITES     4
#define NR_STACKS    512
#define NR_FRAMES    8
#define NR_BUCKETS   30
#define MODULE_BYTES 256

/*
 * @COUNT_OVER: waits that timed out or were cancelled
 * @COUNT_SAMPLED: waits whose context switches were counted; @COUNT_AWAKE of
 *	them had none, and @COUNT_AGAIN more than one: they slept a second time,
 *	for the mutex
 * @COUNT_VAIN: waits by a thread that has just returned from another wait on
 *	the same condition variable, and in between has unlocked no mutex and
 *	released no thread
 * @COUNT_SEEN: broadcasts that were timed and released a waiter; they released
 *	@COUNT_SEEN_WOKEN waiters, and @COUNT_SEEN_VAIN of these waited again
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

/* The two highest bits of a site: which function is called there. */
enum site {
	SITE_WAIT,
	SITE_SIGNAL,
	SITE_BROADCAST
};
#define SITE_SHIFT 62

/**
 * struct row - the counts of one condition variable in one shard
 * @counts: by enum count
 * @sites: return addresses in the program, and their enum site
 * @latency: how many sampled waits returned 2^i to 2^(i+1) nanoseconds after
 *	their release
 * @site_counts: how many sampled calls came from each of @sites
 */
struct row {
	_Atomic uint64_t counts[NR_COUNTS];
	_Atomic uint64_t sites[NR_SITES];
	_Atomic uint32_t latency[NR_BUCKETS];
	_Atomic uint32_t site_counts[NR_SITES];
	uint64_t unused[4];
};

_Static_assert(sizeof(struct row) == 320, "as counted.py has it");

/* The address in the first slot. */
#define OTHERS 1

/**
 * struct slot - a condition variable
 * @address: 0 if the slot is free
 * @stamp: the time of the last timed release, in nanoseconds times 2; odd if it
 *	   was a broadcast. 0 once the waiter that a signal woke has returned.
 * @woke: the stamp of the last timed broadcast that has released a waiter
 * @nr_waits_seen, @nr_releases_seen: how many of the first calls were sampled,
 *	   at most FIRST
 */
struct slot {
	_Atomic uint64_t address;
	_Atomic uint64_t stamp;
	_Atomic uint32_t nr_waits_seen, nr_releases_seen;
	_Atomic uint64_t woke;
	uint64_t unused[4];
};

/* A loaded file: its range of addresses, and the offset to those in the file. */
struct module {
	uint64_t start, end, bias;
	char path[MODULE_BYTES - 24];
};

/* The return addresses of a call of a condvar's function, outwards. */
struct stack {
	_Atomic uint64_t frames[NR_FRAMES];
};

struct counts_file {
	char magic[8];
	int32_t pid;
	_Atomic uint32_t nr_modules;
	uint64_t drop_in; /* 1: the drop-in is counted; 0: the C library */
	char name[64];	  /* of the program */
	char unused[4008];
	struct module modules[NR_MODULES];
	struct slot slots[NR_CONDS];
	_Atomic int32_t takers[NR_SHARDS]; /* threads, which may have ended */
	char unused2[3584];
	struct stack stacks[NR_STACKS]; /* by their first frame */
	/*
	 * The shards of one condition variable lie side by side: the first
	 * touch of a page is dear, and so many threads share a page.
	 */
	struct row rows[NR_CONDS][NR_SHARDS];
};

_Static_assert(offsetof(struct counts_file, rows) % 4096 == 0, "pages");

#endif /* DROVER_COUNT_H */
