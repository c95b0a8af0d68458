// SPDX-License-Identifier: GPL-2.0-only
/*
 * Chooses the way of a schedule. At each choice, way number 0 is the usual one:
 * the thread goes on, a load finds the newest value, the oldest sleeper is
 * woken. A schedule is described by its deviations from the usual ways, each
 * with its step. (Delay bounding: M. Emmi, S. Qadeer, Z. Rakamaric,
 * "Delay-Bounded Scheduling", POPL 2011.)
 *
 *  - A search goes through all schedules with up to a given number of
 *    deviations.
 *  - Random schedules deviate either at each choice with the same probability,
 *    or at a few choices that are drawn before. (S. Burckhardt et al., "A
 *    Randomized Scheduler with Probabilistic Guarantees of Finding Bugs",
 *    ASPLOS 2010, draws the points of preemption in this way.)
 *  - A list of deviations repeats a schedule.
 */
#include <limits.h>

#include "engine.h"

#define MAX_POINTS (4 * MOST_TURNS)
#define MOST_SPOTS 8

struct deviation deviations[MAX_DEVIATIONS];
int nr_deviations;

static enum {
	SEARCH,
	RANDOM,
	LISTED
} mode;

/* The choices that a search has made so far, and can still change. */
static struct point {
	unsigned int step;
	int way;
	int nr;
	unsigned int before; /* deviations */
} points[MAX_POINTS];
static int nr_points, nr_seen;
static unsigned int bound;

static uint64_t random_state;
static unsigned int nr_choices, last_choices = 100;
static unsigned int spots[MOST_SPOTS], nr_spots;
static unsigned int one_in, next_at;

static const struct deviation *listed;
static int nr_listed;

static uint64_t draw(void)
{
	uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

void choose_search(unsigned int most)
{
	mode = SEARCH;
	bound = most;
	nr_points = 0;
}

bool choose_next(void)
{
	for (; nr_points; nr_points--) {
		struct point *p = &points[nr_points - 1];

		if (p->way + 1 < p->nr && p->before < bound) {
			p->way++;
			return true;
		}
	}
	return false;
}

void choose_random(uint64_t seed)
{
	uint64_t kind;

	mode = RANDOM;
	random_state = seed;
	kind = draw();
	one_in = kind & 1 ? 0 : 2u << (kind >> 8) % 5;
	nr_spots = 1 + (kind >> 16) % MOST_SPOTS;
	for (unsigned int i = 0; i < nr_spots; i++)
		spots[i] = 1 + (unsigned int)(draw() % last_choices);
}

void choose_listed(const struct deviation *list, int nr)
{
	mode = LISTED;
	listed = list;
	nr_listed = nr;
}

/* Return: the number of the choice at which the next deviation is. */
static unsigned int next_spot(void)
{
	unsigned int next = UINT_MAX;

	if (one_in)
		return nr_choices + 1 + (unsigned int)(draw() % (2 * one_in));
	for (unsigned int i = 0; i < nr_spots; i++)
		if (spots[i] > nr_choices && spots[i] < next)
			next = spots[i];
	return next;
}

bool choose_everywhere(void)
{
	return mode == LISTED;
}

void choose_begin(void)
{
	last_choices = nr_choices > 20 ? nr_choices : 20;
	nr_deviations = nr_choices = 0;
	nr_seen = 0;
	next_at = next_spot();
}

static int choose_searched(int nr)
{
	struct point *p = &points[nr_seen];

	if (nr_seen == nr_points) {
		if ((unsigned int)nr_deviations >= bound ||
		    nr_points == MAX_POINTS)
			return 0;
		*p = (struct point){ nr_steps, 0, nr,
				     (unsigned int)nr_deviations };
		nr_points++;
	} else if (p->step != nr_steps || p->nr != nr) {
		fault("a schedule does not repeat itself at step %u, %u",
		      p->step, nr_steps);
	}
	nr_seen++;
	return p->way;
}

static int choose_at_random(int nr)
{
	if (++nr_choices != next_at)
		return 0;
	next_at = next_spot();
	return 1 + (int)(draw() % (unsigned int)(nr - 1));
}

static int choose_as_listed(char kind, int nth, int nr)
{
	for (int i = 0; i < nr_listed; i++)
		if (listed[i].step == nr_steps && listed[i].kind == kind &&
		    listed[i].nth == nth && listed[i].way < nr)
			return listed[i].way;
	return 0;
}

/* Return: how many choices of @kind the step has had before. */
static int count_choice(char kind)
{
	static int counts[8];
	static unsigned int of_step;

	if (of_step != nr_steps)
		memset(counts, 0, sizeof(counts));
	of_step = nr_steps;
	return counts[kind & 7]++; /* e, n, r, s, w differ in these bits */
}

int choose(char kind, int nr)
{
	int way, nth;

	if (quiet)
		return 0;
	nth = count_choice(kind);
	if (nr < 2)
		return 0;
	if (mode == SEARCH)
		way = choose_searched(nr);
	else if (mode == RANDOM)
		way = choose_at_random(nr);
	else
		way = choose_as_listed(kind, nth, nr);
	if (way && nr_deviations < MAX_DEVIATIONS)
		deviations[nr_deviations++] =
			(struct deviation){ nr_steps, kind, nth, way };
	return way;
}
