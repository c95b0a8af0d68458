// SPDX-License-Identifier: MIT
/*
 * Looking before sleeping. It pays only if what is waited for comes within
 * about the time that going to sleep and being woken takes, and if it can come
 * at all while this thread keeps a CPU. So the time spent looking is halved
 * each time it was in vain, and doubled when it was not; once it is gone, every
 * so often one look finds out whether times have changed.
 */
#include "base/clock.h"
#include "base/cpus.h"
#include "stream/stream.h"

#define LOOK_MOST  10000 /* ns */
#define LOOK_LEAST 1000
#define LOOK_AGAIN 64 /* sleeps */
#define LOOK_BATCH 16 /* looks at the number for each at the clock */

/* Asked once: it is a look into a few files. */
static bool several_cpus(void)
{
	static _Atomic uint32_t known;
	uint32_t cpus = load_relaxed(&known);

	if (!cpus) {
		cpus = cpus_usable();
		store_relaxed(&known, cpus);
	}
	return cpus > 1;
}

void patience_init(struct patience *p)
{
	store_relaxed(&p->ns, several_cpus() ? LOOK_MOST : 0);
	store_relaxed(&p->misses, 0);
}

static bool look(const _Atomic uint64_t *number, uint64_t wanted, uint32_t ns)
{
	int64_t end = clock_now() + ns;

	do {
		for (int i = 0; i < LOOK_BATCH; i++) {
			if (load_acquire(number) >= wanted)
				return true;
			cpu_relax();
		}
	} while (clock_now() < end);
	return false;
}

/* What is learned is a hint: threads may overwrite each other's. */
bool patience_look(struct patience *p, const _Atomic uint64_t *number,
		   uint64_t wanted)
{
	uint32_t ns = load_relaxed(&p->ns), misses;

	if (load_acquire(number) >= wanted)
		return true;
	if (!ns) {
		misses = add_relaxed(&p->misses, 1) + 1;
		if (misses % LOOK_AGAIN || !several_cpus())
			return false;
		ns = LOOK_MOST / 2;
	}
	if (look(number, wanted, ns)) {
		ns = ns * 2 < LOOK_MOST ? ns * 2 : LOOK_MOST;
		store_relaxed(&p->ns, ns);
		return true;
	}
	store_relaxed(&p->ns, ns / 2 < LOOK_LEAST ? 0 : ns / 2);
	return false;
}
