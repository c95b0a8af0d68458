// SPDX-License-Identifier: GPL-2.0-only
/*
 * One scenario under one policy. First come all schedules with one deviation,
 * then all with two, and so on, then random ones. If a schedule shows a fault,
 * deviations are taken out as long as it still does. The schedule that is left
 * is then reported step by step.
 */
#include <stdlib.h>
#include <time.h>

#include "engine.h"

const struct scenario *scenario;

static unsigned long nr_searched, nr_random_run, nr_all_steps;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

/* Do what each thread does only once, so that no search has to explore it. */
static void prepare(void)
{
	extern int drover_prepare_thread(void);

	drover_prepare_thread();
}

static bool run_once(void)
{
	bool fine;

	world_restore();
	memory_begin();
	races_begin();
	choose_begin();
	report_begin();
	quiet = false;
	fine = fibers_run();
	quiet = true;
	nr_all_steps += nr_steps;
	return fine;
}

/* Shorten the list as long as it shows a fault. Return: how many are left. */
static int shorten(struct deviation *list, int nr)
{
	struct deviation tried[MAX_DEVIATIONS];
	bool shorter = true;

	while (shorter) {
		shorter = false;
		for (int i = 0; i < nr; i++) {
			memcpy(tried, list, sizeof(tried));
			memmove(tried + i, tried + i + 1,
				sizeof(*tried) * (size_t)(nr - i - 1));
			choose_listed(tried, nr - 1);
			if (run_once())
				continue;
			memcpy(list, tried, sizeof(tried));
			nr--;
			i--;
			shorter = true;
		}
	}
	return nr;
}

static void tell_list(const struct deviation *list, int nr)
{
	choose_listed(list, nr);
	telling = true;
	run_once();
	telling = false;
	report_print();
}

static int report_fault(void)
{
	struct deviation list[MAX_DEVIATIONS];
	int nr = nr_deviations;

	printf("# wrong: %s\n", fault_text);
	memcpy(list, deviations, sizeof(list));
	nr = shorten(list, nr);
	tell_list(list, nr);
	printf("# again: %s replay=", scenario->name);
	for (int i = 0; i < nr; i++)
		printf("%s%u%c%d.%d", i ? "," : "", list[i].step, list[i].kind,
		       list[i].nth, list[i].way);
	printf("%s\n", nr ? "" : "0");
	return 1;
}

/* Return: false if a schedule has shown a fault. */
static bool search(unsigned int bound, double end)
{
	choose_search(bound);
	do {
		memory_news = false;
		if (!run_once())
			return false;
		nr_searched++;
		if (memory_news)
			choose_search(bound);
		if (nr_searched % 256 == 0 && now() > end) {
			printf("# cut off: the search of %u deviations\n",
			       bound);
			break;
		}
	} while (memory_news || choose_next());
	return true;
}

static bool search_random(unsigned long nr, uint64_t seed, double end)
{
	while (nr_random_run < nr) {
		choose_random(seed + nr_random_run);
		if (!run_once()) {
			printf("# seed %lu\n", seed + nr_random_run);
			return false;
		}
		nr_random_run++;
		if (nr_random_run % 256 == 0 && now() > end)
			break;
	}
	return true;
}

static int parse_list(const char *text, struct deviation *list)
{
	int nr = 0;

	while (text && nr < MAX_DEVIATIONS &&
	       sscanf(text, "%u%c%d.%d", &list[nr].step, &list[nr].kind,
		      &list[nr].nth, &list[nr].way) == 4) {
		nr++;
		text = strchr(text, ',');
		text = text ? text + 1 : NULL;
	}
	return nr;
}

int explore_one(const struct scenario *of, unsigned int bound,
		unsigned long nr_random, double seconds, uint64_t seed,
		const char *replay)
{
	struct deviation list[MAX_DEVIATIONS];
	double begin = now();
	bool fine = true;

	scenario = of;
	fibers_make();
	self = NULL;
	for (int i = 0; i < of->nr_threads + of->nr_more; i++)
		fiber_pretend(&fibers[i], prepare);
	fiber_pretend(&fibers[0], of->setup);
	world_save();
	memory_forget();
	if (replay) {
		tell_list(list, parse_list(replay, list));
		return fault_text != NULL;
	}
	for (unsigned int some = 0; fine && some <= bound; some++)
		fine = search(some, begin + (some > 1 ? seconds / 2 : 1000));
	fine = fine && search_random(nr_random, seed, begin + seconds);
	if (!fine)
		return report_fault();
	printf("# %lu searched, %lu random, %lu steps, %.2f s\n", nr_searched,
	       nr_random_run, nr_all_steps, now() - begin);
	return 0;
}
