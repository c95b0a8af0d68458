// SPDX-License-Identifier: GPL-2.0-only
/*
 * One half of the differential test: this program makes generated futex calls
 * and prints their results. The other half, tools/differential, runs it in two
 * guests and compares what they print.
 *
 *	calls seed=N first=N sequences=N [global=1] [show=1] [apart=1]
 *
 * The program prints a line for each sequence, which has its number and a
 * digest of all that happened in it, and then a line for each count. With
 * show=1 it prints all that happened, with global=1 it uses the hash of all
 * processes instead of a private one, and with apart=1 no two futexes share a
 * bucket.
 *
 * The same numbers give the same calls. The program must not
 * print values that depend on anything else: times, addresses and thread ids.
 *
 * The program puts the clock forward, so it is only for guests. It runs on one
 * CPU.
 */
#include <sys/prctl.h>

#include "sequence.h"

#ifndef PR_FUTEX_HASH
#define PR_FUTEX_HASH		78
#define PR_FUTEX_HASH_SET_SLOTS 1
#endif

#define NAME(upper, lower) #lower,
static const char *const count_names[] = { COUNTS(NAME) };

int main(int argc, char **argv)
{
	struct args args = args_parse(argc, argv,
				      "seed first sequences global show apart");
	uint64_t seed = args_get(&args, "seed", 1);
	uint64_t first = args_get(&args, "first", 0);
	uint64_t end = first + args_get(&args, "sequences", 100);

	if (!getenv("DROVER_VARIANT"))
		tap_bail("not in a guest: the clock would be put forward");
	setvbuf(stdout, NULL, _IOFBF, 65536);
	/* Kernels before 6.16 have only the global hash. */
	if (args_get(&args, "global", 0))
		prctl(PR_FUTEX_HASH, PR_FUTEX_HASH_SET_SLOTS, 0, 0, 0);
	sleepers_start();
	palette_make(args_get(&args, "apart", 0));
	memset(counts, 0, sizeof(counts));
	shown = args_get(&args, "show", 0);
	/* Consecutive sequences must not have related seeds. */
	seed = random_next(&seed);
	for (uint64_t i = first; i < end; i++) {
		uint64_t state = seed + i;

		digest = UINT64_C(0xcbf29ce484222325);
		sequence_run(random_next(&state));
		printf("%" PRIu64 " %016" PRIx64 "\n", i, digest);
	}
	for (int i = 0; i < NR_COUNTS; i++)
		printf("%s=%" PRIu64 "\n", count_names[i], counts[i]);
	return 0;
}
