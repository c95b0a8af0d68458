// SPDX-License-Identifier: MIT
/*
 * The debug build's checker. It does not know the engine's reasons. It sees
 * operations with the waits that they were really given, and the waits of the
 * host. It keeps vector clocks of its own, and looks at every pair of
 * conflicting accesses. Time plays no part: a pair that nothing orders is a
 * race, even if one of the two was done long before the other.
 *
 * A clock has one number for each stream: all operations of the stream up to
 * that number are over. The host has a clock, which its waits raise. An
 * operation's clock is the host's clock at the time of the submit, joined with
 * the clock of the queue in front of the operation, and with the clocks of all
 * operations that it waits for.
 *
 * The checker takes the host for one thread. It knows nothing of threads that
 * order their accesses to memory by other means than a stream's waits.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stream/slot.h"

#define HISTORY 4096 /* accesses; the oldest are dropped first */

/* An access that is not over, as far as the host knows. */
struct shadow {
	drover_access_t access;
	bool anything;
	bool queued;
	uint32_t slot;
	uint64_t number;
	const void *caller;
};

typedef uint64_t vector[STREAM_MAX];

/* All members are guarded by lock. */
static struct {
	drover_mutex_t lock;
	vector host;		    /* the host has waited up to here */
	vector queue[STREAM_MAX];   /* over before the next one begins */
	vector *behind[STREAM_MAX]; /* the clock behind each operation */
	struct shadow history[HISTORY];
	size_t first, nr;
	void (*report)(const char *text, void *arg);
	void *arg;
} checker = { .lock = DROVER_MUTEX_INITIALIZER };

/* ---- reports ---- */

static void print_access(char *text, size_t size, const struct shadow *s)
{
	static const char *const kinds[] = { "nothing", "read", "write",
					     "read and write" };
	char who[60] = "the host";
	Dl_info info = { 0 };

	if (!dladdr(s->caller, &info) || !info.dli_fname)
		info.dli_fname = "?";
	if (s->number)
		snprintf(who, sizeof(who), "operation %llu of stream %u",
			 (unsigned long long)s->number, s->slot);
	snprintf(text, size, "%s of %zu bytes at %p by %s, from %s+0x%tx",
		 s->anything ? "anything" : kinds[s->access.kind & 3],
		 s->access.bytes, s->access.start, who, info.dli_fname,
		 (char *)s->caller - (char *)info.dli_fbase);
}

static void report(const char *one, const char *two)
{
	char text[1100];

	snprintf(text, sizeof(text), "race: %s, and %s, which nothing orders",
		 one, two);
	if (checker.report)
		checker.report(text, checker.arg);
	else
		fprintf(stderr, "drover: %s\n", text);
}

static void report_to(void (*to)(const char *text, void *arg), void *arg)
{
	drover_mutex_lock(&checker.lock);
	checker.report = to;
	checker.arg = arg;
	drover_mutex_unlock(&checker.lock);
}

/* ---- clocks ---- */

static void join(vector *clock, const vector *other)
{
	for (size_t i = 0; i < STREAM_MAX; i++)
		if ((*other)[i] > (*clock)[i])
			(*clock)[i] = (*other)[i];
}

static vector *behind(const struct stream *s, uint64_t number)
{
	return &checker.behind[s->slot][number % s->depth];
}

static void stream_begins(const struct stream *s)
{
	drover_mutex_lock(&checker.lock);
	checker.behind[s->slot] = calloc(s->depth, sizeof(vector));
	if (!checker.behind[s->slot])
		abort();
	memset(checker.queue[s->slot], 0, sizeof(vector));
	drover_mutex_unlock(&checker.lock);
}

static void host_knows(const struct stream *s, uint64_t number)
{
	uint64_t *known = &checker.host[s->slot];

	drover_mutex_lock(&checker.lock);
	if (number > *known) {
		*known = number;
		/* And all that this one waited for, while that is on record. */
		if (s->submitted - number < s->depth)
			join(&checker.host, behind(s, number));
	}
	drover_mutex_unlock(&checker.lock);
}

static void stream_ends(const struct stream *s)
{
	host_knows(s, s->submitted);
	drover_mutex_lock(&checker.lock);
	free(checker.behind[s->slot]);
	checker.behind[s->slot] = NULL;
	drover_mutex_unlock(&checker.lock);
}

/* The threads that were at work do not exist in the child. */
static void child_begins(void)
{
	checker.lock = (drover_mutex_t)DROVER_MUTEX_INITIALIZER;
	checker.nr = 0;
}

/*
 * Once the host knows that an access is over, it is over for all that follow.
 */
static void forget_known(void)
{
	while (checker.nr) {
		const struct shadow *s = &checker.history[checker.first];

		if (s->number > checker.host[s->slot] && checker.nr < HISTORY)
			return;
		checker.first = (checker.first + 1) % HISTORY;
		checker.nr--;
	}
}

/* ---- pairs ---- */

/* Check one access against all that are not known to be over. */
static void check_access(const struct shadow *b, const vector *clock)
{
	char one[500], two[500];

	for (size_t i = 0; i < checker.nr; i++) {
		const struct shadow *a =
			&checker.history[(checker.first + i) % HISTORY];

		/* A stream itself keeps the order of its queued operations. */
		if (a->number <= (*clock)[a->slot] ||
		    (a->slot == b->slot && a->queued && b->queued) ||
		    !(a->anything || b->anything ||
		      access_conflict(&a->access, &b->access)))
			continue;
		print_access(one, sizeof(one), a);
		print_access(two, sizeof(two), b);
		report(one, two);
	}
}

/* For each access of @f, or for anything: check the pairs, or record it. */
static void for_all(const struct footprint *f, struct shadow *b,
		    const vector *clock)
{
	b->anything = f->anything;
	for (size_t i = 0; i < (f->anything ? 1 : f->nr); i++) {
		if (!f->anything)
			b->access = f->accesses[i];
		if (clock) {
			check_access(b, clock);
			continue;
		}
		forget_known();
		checker.history[(checker.first + checker.nr++) % HISTORY] = *b;
	}
}

/* ---- operations, and accesses of the host ---- */

static void submitted(const struct stream *s, const struct op *op)
{
	struct footprint f = op_footprint(op);
	struct shadow b = { .queued = op->queued,
			    .slot = s->slot,
			    .number = op->number,
			    .caller = op->caller };
	vector clock; /* what is over before @op begins */

	drover_mutex_lock(&checker.lock);
	memcpy(clock, checker.host, sizeof(clock));
	if (op->queued)
		join(&clock, &checker.queue[s->slot]);
	for (uint32_t i = 0; i < op->nr_dependencies; i++) {
		const struct dependency *d = &op->dependencies[i];
		const struct stream *other = &streams[d->slot];

		if (d->number > other->retired)
			join(&clock, behind(other, d->number));
		if (d->number > clock[d->slot])
			clock[d->slot] = d->number;
	}
	for_all(&f, &b, &clock);
	if (op->queued)
		join(&checker.queue[s->slot], &clock);
	memcpy(behind(s, op->number), checker.queue[s->slot], sizeof(vector));
	for_all(&f, &b, NULL);
	drover_mutex_unlock(&checker.lock);
}

static void host_touches(struct footprint f, const void *caller)
{
	struct shadow b = { .slot = STREAM_MAX, .caller = caller };

	drover_mutex_lock(&checker.lock);
	for_all(&f, &b, &checker.host);
	drover_mutex_unlock(&checker.lock);
}

const struct observer stream_observer = {
	.stream_begins = stream_begins,
	.stream_ends = stream_ends,
	.submitted = submitted,
	.host_knows = host_knows,
	.host_touches = host_touches,
	.child_begins = child_begins,
	.report_to = report_to,
};
