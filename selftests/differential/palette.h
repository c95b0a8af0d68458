/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * palette.h - futexes of every kind, with the buckets of the hash that they
 * share
 *
 * A waiter that is moved within a bucket keeps its place in line. If it is
 * moved to another bucket, it goes to the end. So two kernels give equal
 * answers only if the same futexes share buckets. The test cannot compute the
 * hash, but it can find out: of two waiters, the older one is moved to the
 * younger one's futex. If it is woken there first, the two futexes share a
 * bucket. For a kernel in which each futex has a queue of its own, all futexes
 * are chosen so that none share a bucket.
 */
#pragma once

#include "sleepers.h"

#define REGION_SIZE (64 * 1024)
#define NR_WORDS    ((int)(REGION_SIZE / sizeof(uint32_t)))

static bool apart;

static void *map(int prot, int flags, int fd)
{
	void *at = mmap(NULL, REGION_SIZE, prot, flags | MAP_POPULATE, fd, 0);

	if (at == MAP_FAILED)
		tap_bail("mmap: %s", strerror(errno));
	return at;
}

static void wait_at(int thread, const struct place *place)
{
	const struct wait wait = {
		.kind = WAIT_PLAIN,
		.at = place,
		.bitset = FUTEX_BITSET_MATCH_ANY,
	};

	thread_wait(thread, &wait);
}

static void wake_all(const struct place *place)
{
	sys_futex_wake(place->addr, place->flags, INT_MAX);
	settle();
}

static bool in_one_bucket(const struct place *a, const struct place *b)
{
	bool first;

	wait_at(0, a);
	wait_at(1, b);
	if (sys_futex(a->addr, FUTEX_REQUEUE | a->flags, 0, 1, b->addr, 0) !=
		    1 ||
	    sys_futex_wake(b->addr, b->flags, 1) != 1)
		tap_bail("one waiter cannot be moved and woken");
	settle();
	first = !threads[0].busy;
	wake_all(b);
	return first;
}

/*
 * Choose a futex that shares a bucket with an earlier one if and only if
 * @bucket is equal.
 */
static void choose(int index, const char *name, uint32_t *region, int flags,
		   int bucket)
{
	static int next = 1;
	struct place *place = &places[index];

	*place = (struct place){
		.name = name,
		.flags = flags,
		.bucket = apart ? index : bucket,
	};
	for (int i = 0; i < NR_WORDS; i++) {
		const struct place *p = places;

		place->addr = &region[next++ % NR_WORDS];
		while (p < place && (p->flags != place->flags ||
				     p->addr == places[T0].addr ||
				     in_one_bucket(p, place) ==
					     (p->bucket == place->bucket)))
			p++;
		if (p == place)
			return;
	}
	tap_bail("%s: no word of %d fits", name, NR_WORDS);
}

static void palette_make(bool all_apart)
{
	const int both = PROT_READ | PROT_WRITE;
	const int anonymous = MAP_PRIVATE | MAP_ANONYMOUS;
	uint32_t *own = map(both, anonymous, -1);
	uint32_t *read_only = map(PROT_READ, anonymous, -1);
	uint32_t *unmapped = map(PROT_READ, anonymous, -1);
	int fd = memfd_create("futexes", 0);
	uint32_t *file, *again;

	MUST(ftruncate(fd, REGION_SIZE));
	file = map(both, MAP_SHARED, fd);
	again = map(both, MAP_SHARED, fd);
	apart = all_apart;
	choose(P0, "P0", own, FUTEX_PRIVATE_FLAG, 0);
	choose(P1, "P1", own, FUTEX_PRIVATE_FLAG, 0);
	choose(P2, "P2", own, FUTEX_PRIVATE_FLAG, 1);
	choose(PR, "PR", read_only, FUTEX_PRIVATE_FLAG, 2);
	choose(I0, "I0", own, FUTEX_PRIVATE_FLAG, 3);
	choose(I1, "I1", own, FUTEX_PRIVATE_FLAG, 4);
	places[I0].pi = places[I1].pi = true;
	choose(S0, "S0", file, 0, 5);
	choose(S1, "S1", file, 0, 5);
	choose(S2, "S2", file, 0, 6);
	places[T0] = places[S0];
	places[T0].name = "T0";
	places[T0].addr = again + (places[S0].addr - file);
	choose(A0, "A0", map(both, anonymous, -1), 0, 7);
	choose(M0, "M0", map(both, MAP_SHARED | MAP_ANONYMOUS, -1), 0, 8);
	/* The kernel accepts a private futex that is not mapped. */
	choose(PX, "PX", unmapped, FUTEX_PRIVATE_FLAG, 9);
	MUST(mprotect(unmapped, REGION_SIZE, PROT_NONE));
}

/*
 * Return: an address that is no futex: unaligned, the kernel's, or not mapped.
 */
static uint32_t *bad_address(uint64_t *random, int flags)
{
	switch (random_below(random, flags ? 3 : 4)) {
	case 0:
		return (uint32_t *)1;
	case 1:
		return (uint32_t *)((char *)places[P2].addr + 2);
	case 2:
		return (uint32_t *)(UINTPTR_MAX - 4095);
	default:
		return places[PX].addr;
	}
}
