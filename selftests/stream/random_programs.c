// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random programs of operations over a few buffers, on two or three streams, in the
 * debug build of all CPU-side backends: byte for byte what the same operations
 * give when they are run one after the other, with every synchronization kept, and
 * with those elided that the library thinks nobody needs. The debug build checks
 * every pair of accesses beside.
 *
 * In one program of two, all is done with whole buffers, and the host writes to
 * its memory as soon as a synchronization lets it. When that is is found out by
 * vector clocks: behind a synchronization of a stream all is over that its
 * operations were behind, by its queue, by events, or by memory that they had in
 * common.
 *
 *	random_programs programs=100000 seed=1
 *
 * APIs: drover stream/debug_random_programs
 */
#include "run.h"
#include "blocks.h"

#define NR_STREAMS 3
#define NR_BUFFERS 6 /* the first half is the host's */
#define NR_HOST	   (NR_BUFFERS / 2)
#define BYTES	   96
#define NR_STEPS   30

enum what {
	/* All that programs of whole buffers have: */
	BORROWED,
	ADD,
	DAWDLE,
	EVENT,
	SYNCHRONIZE,
	HOST_WRITE, /* in others once it is waited for */
	NR_WHOLE,
	FILL = NR_WHOLE,
	STAGED,
	COPY,
	CALL,
	SET,
	REPLAY,
	NR_WHAT,
};

struct step {
	enum what what;
	int stream, other;
	int to, from; /* buffers */
	size_t at_to, at_from, bytes;
	int byte;
};

struct program {
	bool whole;
	int nr, nr_streams;
	struct step steps[NR_STEPS];
	uint32_t backends[NR_STREAMS];
};

/* ---- what the host may write ---- */

typedef uint32_t vector[NR_STREAMS];

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

static void join(vector to, const vector from)
{
	for (int i = 0; i < NR_STREAMS; i++)
		if (from[i] > to[i])
			to[i] = from[i];
}

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

static bool host_may_write(const struct model *m, int buffer)
{
	for (int i = 0; i < m->nr_ops; i++)
		for (int j = 0; j < NR_STREAMS; j++)
			if ((m->ops[i].reads | m->ops[i].writes) &
				    1u << buffer &&
			    m->ops[i].behind[j] > m->host[j])
				return false;
	return true;
}

/* Put the step into the model. Return: false if it must not be done. */
static bool model_step(struct model *m, const struct step *step)
{
	switch (step->what) {
	case BORROWED:
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

/* ---- programs ---- */

static struct step random_step(uint64_t *random, const struct program *p)
{
	struct step step = {
		.what = random_below(random, p->whole ? NR_WHOLE : NR_WHAT),
		.stream = random_below(random, p->nr_streams),
		.other = random_below(random, p->nr_streams),
		.to = random_below(random, NR_BUFFERS),
		.from = random_below(random, NR_BUFFERS),
		.bytes = BYTES,
		.byte = random_below(random, 256),
	};

	if (!p->whole) {
		step.bytes = 1 + random_below(random, BYTES / 2);
		step.at_to = random_below(random, BYTES - step.bytes + 1);
		step.at_from = random_below(random, BYTES - step.bytes + 1);
	} else if (step.what == ADD) {
		/* of the device alone */
		step.to = NR_HOST + step.to % NR_HOST;
		step.from = NR_HOST + step.from % NR_HOST;
	}
	if (step.what == HOST_WRITE)
		step.to %= NR_HOST;
	if (step.to == step.from)
		step.from = step.to % NR_HOST ? step.to - 1 : step.to + 1;
	return step;
}

static struct program random_program(uint64_t *random)
{
	struct program p = { .whole = random_below(random, 2) };
	struct model model = { 0 };
	int nr = p.whole ? NR_STEPS : 4 + random_below(random, NR_STEPS - 4);

	p.nr_streams = p.whole ? NR_STREAMS : 2;
	for (int i = 0; i < nr; i++) {
		struct step step = random_step(random, &p);

		if (!p.whole || model_step(&model, &step))
			p.steps[p.nr++] = step;
	}
	for (int i = 0; i < NR_STREAMS; i++) {
		p.backends[i] = DROVER_BACKEND_CPU;
#ifdef DROVER_STREAM_DEBUG
		if (!p.whole && random_below(random, 2))
			p.backends[i] = DROVER_BACKEND_EAGER;
#endif
	}
	return p;
}

/* ---- one after the other ---- */

static void run_plainly(const struct step *step, unsigned char (*m)[BYTES])
{
	struct add add = { m[step->to] + step->at_to,
			   m[step->from] + step->at_from, step->bytes };

	switch (step->what) {
	case FILL:
	case CALL:
	case SET:
	case HOST_WRITE:
		memset(add.to, step->byte, step->bytes);
		return;
	case ADD:
	case REPLAY:
		add_run(&add);
		return;
	case STAGED:
	case BORROWED:
	case COPY:
		memcpy(add.to, add.from, step->bytes);
		return;
	default:
		return;
	}
}

/* ---- by streams ---- */

static int call_fill(void *fill)
{
	return fill_run(fill);
}

static int dawdle_run(const void *args)
{
	for (int i = *(const int *)args % 64; i; i--)
		sched_yield();
	return 0;
}

static void replay(drover_stream_t *s, const struct add *add)
{
	drover_graph_t *graph;

	MUST(drover_stream_capture(s));
	MUST(add_submit(s, add->to, add->from, add->bytes, NULL));
	MUST(drover_stream_capture_end(s, &graph));
	MUST(drover_graph_replay(s, graph, NULL));
	MUST(drover_graph_destroy(graph));
}

/* The host writes its own memory, which in whole programs it knows it may. */
static void host_writes(const struct program *p, drover_stream_t *streams,
			const drover_access_t *access, int byte)
{
	for (int i = 0; !p->whole && i < p->nr_streams; i++)
		MUST(drover_stream_synchronize(&streams[i]));
#ifdef DROVER_STREAM_DEBUG
	MUST(drover_stream_note(access, 1));
#endif
	memset((void *)access->start, byte, access->bytes);
}

/* @fill: alive until the program has ended */
static void run_step(const struct program *p, const struct step *step,
		     drover_stream_t *streams, unsigned char **m,
		     struct fill *fill, bool keeps)
{
	const drover_kernel_t dawdle = { .run = dawdle_run };
	drover_stream_t *s = &streams[step->stream];
	unsigned char *to = m[step->to] + step->at_to;
	unsigned char *from = m[step->from] + step->at_from;
	size_t bytes = step->bytes;
	struct add add = { to, from, bytes };
	drover_access_t access = { to, bytes, DROVER_WRITE };
	drover_event_t event;

	*fill = (struct fill){ to, bytes, step->byte };
	switch (step->what) {
	case FILL:
		MUST(fill_submit(s, to, step->byte, bytes, NULL));
		return;
	case ADD:
		MUST(add_submit(s, to, from, bytes, NULL));
		return;
	case STAGED:
		MUST(drover_stream_copy_staged(s, to, from, bytes, NULL));
		return;
	case BORROWED:
		MUST(drover_stream_copy_borrowed(s, to, from, bytes, NULL));
		return;
	case COPY:
		MUST(drover_stream_copy(s, to, from, bytes));
		return;
	case CALL:
		MUST(drover_stream_host_call(s, call_fill, fill, &access, 1,
					     NULL));
		return;
	case DAWDLE:
		MUST(drover_stream_run(s, &dawdle, &step->byte,
				       sizeof(step->byte), &access, 0, NULL));
		return;
	case EVENT:
		MUST(drover_stream_record(&streams[step->other], &event));
		MUST(drover_stream_wait_event(s, &event));
		return;
	case SYNCHRONIZE:
		MUST((keeps ? drover_stream_drain :
			      drover_stream_synchronize)(s));
		return;
	case SET:
		MUST(drover_stream_set(s, to, step->byte, bytes, NULL));
		return;
	case HOST_WRITE:
		host_writes(p, streams, &access, step->byte);
		return;
	case REPLAY:
		replay(s, &add);
		return;
	default:
		return;
	}
}

static drover_stream_counts_t total;

static void end_stream(drover_stream_t *stream)
{
	drover_stream_counts_t counts = counts_of(stream);

	total.asked += counts.asked;
	total.elided += counts.elided;
	total.deferred += counts.deferred;
	total.waited += counts.waited;
	MUST(drover_stream_destroy(stream));
}

/* Whether the streams give what plain execution gives. */
static bool run_program(const struct program *p, bool keeps)
{
	static unsigned char host[NR_HOST][BYTES], wanted[NR_BUFFERS][BYTES];
	drover_stream_t streams[NR_STREAMS];
	unsigned char *m[NR_BUFFERS], *device;
	struct fill fills[NR_STEPS];
	bool same = true;

	for (int i = 0; i < p->nr_streams; i++)
		streams[i] = stream_of(p->backends[i], DROVER_ORDER_ENGINE);
	device = device_memory(&streams[0], NR_HOST * BYTES);
	for (int i = 0; i < NR_BUFFERS; i++) {
		m[i] = i < NR_HOST ? host[i] : device + (i - NR_HOST) * BYTES;
		memset(m[i], i, BYTES);
		memset(wanted[i], i, BYTES);
	}
	for (int i = 0; i < p->nr; i++) {
		run_plainly(&p->steps[i], wanted);
		run_step(p, &p->steps[i], streams, m, &fills[i], keeps);
		if (keeps && !p->whole)
			MUST(drover_stream_drain(&streams[p->steps[i].stream]));
	}
	for (int i = 0; i < p->nr_streams; i++)
		MUST(drover_stream_drain(&streams[i]));
	for (int i = 0; i < NR_BUFFERS; i++)
		same &= !memcmp(m[i], wanted[i], BYTES);
	MUST(drover_stream_free(&streams[0], device));
	for (int i = 0; i < p->nr_streams; i++)
		end_stream(&streams[i]);
	return same;
}

int main(int argc, char **argv)
{
	struct args args = args_parse(argc, argv, "programs seed");
	uint64_t programs = args_get(&args, "programs", 400);
	uint64_t seed = args_get(&args, "seed", args_fresh_seed());
	uint64_t random = seed;
	long nr_kept = 0, nr_wrong = 0, races = 0;

	tap_plan(4);
	tap_diag("programs=%" PRIu64 " seed=%" PRIu64, programs, seed);
#ifdef DROVER_STREAM_DEBUG
	races_watch();
	eager_plants.late = 20;
#endif
	for (uint64_t i = 0; i < programs; i++) {
		struct program p = random_program(&random);

		if (i % 100 == 0)
			watchdog("random programs");
		if (i && i % 10000 == 0)
			tap_diag("%" PRIu64 " programs", i);
		nr_kept += !run_program(&p, true);
		if (!run_program(&p, false) && !nr_wrong++)
			tap_diag("program %" PRIu64 " is the first", i);
	}
#ifdef DROVER_STREAM_DEBUG
	races = races_found();
#endif
	tap_is(nr_kept, 0, "every synchronization kept: other results");
	tap_is(nr_wrong, 0, "what nobody needs elided: other results");
	tap_is(races, 0, "races");
	tap_ok(total.asked == total.elided + total.deferred + total.waited &&
		       total.elided,
	       "of %" PRIu64 " synchronizations %" PRIu64 " were elided",
	       total.asked, total.elided);
	return tap_exit();
}
