// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random programs of three streams, events and borrowed memory, in which the host
 * writes to its memory as soon as a synchronization lets it: the same bytes as
 * one operation after the other gives, with every synchronization kept, and with
 * those elided that the library thinks nobody needs.
 *
 * When the host may write is found out by vector clocks: behind a
 * synchronization of a stream all is over that its operations were behind, by
 * its queue, by events, or by memory that they had in common.
 *
 *	random_events programs=100000 seed=1
 */
#include <sched.h>

#include "run.h"
#include "blocks.h"

#define NR_STREAMS 3
#define NR_BUFFERS 6 /* the first half is the host's */
#define NR_HOST	   (NR_BUFFERS / 2)
#define BYTES	   64
#define NR_STEPS   30

typedef uint32_t vector[NR_STREAMS];

static void join(vector to, const vector from)
{
	for (int i = 0; i < NR_STREAMS; i++)
		if (from[i] > to[i])
			to[i] = from[i];
}

enum what {
	COPY, /* borrowed, any buffer to any other */
	ADD,  /* device memory alone */
	DAWDLE,
	EVENT,
	SYNCHRONIZE,
	HOST_WRITE,
	NR_WHAT,
};

struct step {
	enum what what;
	int stream, other;
	int to, from;
	int byte;
};

/* An operation as the model has it: what is over when it is. */
struct past {
	vector behind;
	unsigned int reads, writes; /* masks of buffers */
};

struct model {
	struct past ops[NR_STEPS];
	int nr_ops;
	vector streams[NR_STREAMS];
	vector host;
};

static void model_op(struct model *m, int stream, unsigned int reads,
		     unsigned int writes)
{
	struct past *op = &m->ops[m->nr_ops++];

	op->reads = reads;
	op->writes = writes;
	for (struct past *p = m->ops; p < op; p++)
		if ((p->reads | p->writes) & writes || p->writes & reads)
			join(m->streams[stream], p->behind);
	m->streams[stream][stream]++;
	memcpy(op->behind, m->streams[stream], sizeof(vector));
}

static bool is_over(const struct model *m, const struct past *op)
{
	for (int i = 0; i < NR_STREAMS; i++)
		if (op->behind[i] > m->host[i])
			return false;
	return true;
}

static bool host_may_write(const struct model *m, int buffer)
{
	for (int i = 0; i < m->nr_ops; i++) {
		const struct past *op = &m->ops[i];

		if ((op->reads | op->writes) & 1u << buffer && !is_over(m, op))
			return false;
	}
	return true;
}

static struct step random_step(uint64_t *random)
{
	struct step step = {
		.what = random_below(random, NR_WHAT),
		.stream = random_below(random, NR_STREAMS),
		.other = random_below(random, NR_STREAMS),
		.to = random_below(random, NR_BUFFERS),
		.from = random_below(random, NR_BUFFERS),
		.byte = random_below(random, 256),
	};

	if (step.what == ADD) {
		step.to = NR_HOST + step.to % NR_HOST;
		step.from = NR_HOST + step.from % NR_HOST;
	}
	if (step.what == HOST_WRITE)
		step.to %= NR_HOST;
	if (step.to == step.from)
		step.from = step.to % NR_HOST ? step.to - 1 : step.to + 1;
	return step;
}

/* Put the step into the model. Return: false if it must not be done. */
static bool model_step(struct model *m, const struct step *step)
{
	switch (step->what) {
	case COPY:
		model_op(m, step->stream, 1u << step->from, 1u << step->to);
		return true;
	case ADD:
		model_op(m, step->stream, 1u << step->from | 1u << step->to,
			 1u << step->to);
		return true;
	case DAWDLE:
		model_op(m, step->stream, 0, 0);
		return true;
	case EVENT:
		join(m->streams[step->stream], m->streams[step->other]);
		return true;
	case SYNCHRONIZE:
		join(m->host, m->streams[step->stream]);
		return true;
	default:
		return host_may_write(m, step->to);
	}
}

/* ---- one after the other ---- */

static void run_plainly(const struct step *step, unsigned char (*m)[BYTES])
{
	struct add add = { m[step->to], m[step->from], BYTES };

	if (step->what == COPY)
		memcpy(add.to, add.from, BYTES);
	else if (step->what == ADD)
		add_run(&add);
	else if (step->what == HOST_WRITE)
		memset(add.to, step->byte, BYTES);
}

/* ---- by streams ---- */

static int dawdle_run(const void *args)
{
	for (int i = *(const int *)args % 64; i; i--)
		sched_yield();
	return 0;
}

static void dawdle(drover_stream_t *s, int times)
{
	const drover_kernel_t kernel = { .run = dawdle_run };
	drover_access_t nothing = { 0 };

	MUST(drover_stream_run(s, &kernel, &times, sizeof(times), &nothing, 0,
			       NULL));
}

static void run_step(const struct step *step, drover_stream_t *streams,
		     unsigned char **m, bool keeps)
{
	drover_stream_t *s = &streams[step->stream];
	drover_event_t event;

	switch (step->what) {
	case COPY:
		MUST(drover_stream_copy_borrowed(s, m[step->to], m[step->from],
						 BYTES, NULL));
		return;
	case ADD:
		MUST(add_submit(s, m[step->to], m[step->from], BYTES, NULL));
		return;
	case DAWDLE:
		dawdle(s, step->byte);
		return;
	case EVENT:
		MUST(drover_stream_record(&streams[step->other], &event));
		MUST(drover_stream_wait_event(s, &event));
		return;
	case SYNCHRONIZE:
		if (keeps)
			MUST(drover_stream_drain(s));
		else
			MUST(drover_stream_synchronize(s));
		return;
	default:
		memset(m[step->to], step->byte, BYTES);
	}
}

static long nr_elided, nr_host_writes;

/* Whether the streams give what plain execution gives. */
static bool run_program(const struct step *steps, int nr, bool keeps,
			unsigned char (*wanted)[BYTES])
{
	static unsigned char host[NR_HOST][BYTES];
	drover_stream_t streams[NR_STREAMS];
	unsigned char *m[NR_BUFFERS], *device;
	bool same = true;

	for (int i = 0; i < NR_STREAMS; i++)
		streams[i] = stream_of(DROVER_BACKEND_CPU, DROVER_ORDER_ENGINE);
	device = device_memory(&streams[0], NR_HOST * BYTES);
	for (int i = 0; i < NR_BUFFERS; i++) {
		m[i] = i < NR_HOST ? host[i] : device + (i - NR_HOST) * BYTES;
		memset(m[i], i, BYTES);
	}
	for (int i = 0; i < nr; i++)
		run_step(&steps[i], streams, m, keeps);
	for (int i = 0; i < NR_STREAMS; i++) {
		MUST(drover_stream_drain(&streams[i]));
		nr_elided += keeps ? 0 : (long)counts_of(&streams[i]).elided;
	}
	for (int i = 0; i < NR_BUFFERS; i++)
		same &= !memcmp(m[i], wanted[i], BYTES);
	MUST(drover_stream_free(&streams[0], device));
	for (int i = 0; i < NR_STREAMS; i++)
		MUST(drover_stream_destroy(&streams[i]));
	return same;
}

/* Return: how many of the two ways gave something else. */
static int test_program(uint64_t *random, bool *elision_is_wrong)
{
	static unsigned char wanted[NR_BUFFERS][BYTES];
	struct step steps[NR_STEPS], step;
	struct model model = { 0 };
	bool kept, elided;
	int nr = 0;

	for (int i = 0; i < NR_BUFFERS; i++)
		memset(wanted[i], i, BYTES);
	for (int i = 0; i < NR_STEPS; i++) {
		step = random_step(random);
		if (!model_step(&model, &step))
			continue;
		nr_host_writes += step.what == HOST_WRITE;
		run_plainly(&step, wanted);
		steps[nr++] = step;
	}
	kept = run_program(steps, nr, true, wanted);
	elided = run_program(steps, nr, false, wanted);
	*elision_is_wrong = !elided;
	return !kept + !elided;
}

int main(int argc, char **argv)
{
	struct args args = args_parse(argc, argv, "programs seed");
	uint64_t programs = args_get(&args, "programs", 400);
	uint64_t seed = args_get(&args, "seed", args_fresh_seed());
	uint64_t random = seed;
	long nr_kept = 0, nr_wrong = 0;

	tap_plan(3);
	tap_diag("programs=%" PRIu64 " seed=%" PRIu64, programs, seed);
	for (uint64_t i = 0; i < programs; i++) {
		bool is_wrong;
		int wrong;

		if (i % 100 == 0)
			watchdog("random programs");
		wrong = test_program(&random, &is_wrong);
		nr_kept += wrong - is_wrong;
		if (is_wrong && !nr_wrong++)
			tap_diag("program %" PRIu64 " is the first", i);
	}
	tap_is(nr_kept, 0, "every synchronization kept: other results");
	tap_is(nr_wrong, 0, "what nobody needs elided: other results");
	tap_ok(nr_elided > 0 && nr_host_writes > 0,
	       "%ld were elided, and the host wrote %ld times", nr_elided,
	       nr_host_writes);
	return tap_exit();
}
