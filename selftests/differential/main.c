// SPDX-License-Identifier: GPL-2.0-only
/*
 * Half of the differential test: makes generated futex calls and says what
 * came of them, so that two kernels can be compared. `run` does that.
 *
 *	calls seed=N first=N sequences=N [global=1] [show=1] [apart=1]
 *
 * Prints a line for each sequence, its number and a digest of all that
 * happened in it (show=1: all that happened), then a line with each count.
 * global=1: with the hash of all processes instead of a private one.
 * The same numbers give the same calls, and what cannot be told from them must
 * not show in the answers: no times, no addresses, no thread ids.
 *
 * It puts the clock forward. It is for guests only, and runs on one CPU.
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
	/* Before 6.16 there is no other. */
	if (args_get(&args, "global", 0))
		prctl(PR_FUTEX_HASH, PR_FUTEX_HASH_SET_SLOTS, 0, 0, 0);
	sleepers_start();
	palette_make(args_get(&args, "apart", 0));
	memset(counts, 0, sizeof(counts));
	shown = args_get(&args, "show", 0);
	/* Seeds of sequences that follow each other have nothing in common. */
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
