// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random programs of operations over random buffers on two streams, of all
 * pairs of CPU-side backends: byte for byte what the same operations give when
 * they are run one after the other, with synchronizations asked for at random,
 * and elided or not. The debug build checks every pair of accesses beside.
 *
 *	debug_random_programs programs=100000 seed=1
 *
 * With forget=N the engine forgets every N-th wait: the program must fail then.
 */
#include "run.h"
#include "blocks.h"

#define NR_BUFFERS 6
#define BYTES	   96
#define MOST_OPS   24
#define MOST_NAMES 4

/* The first half is device memory, the rest the host's. */
struct memory {
	unsigned char *buffers[NR_BUFFERS];
};

enum what {
	FILL,
	ADD,
	STAGED,
	BORROWED,
	COPY,
	CALL,
	EVENT,
	SYNCHRONIZE,
	SYNCHRONIZE_FOR,
	HOST_WRITE,
	REPLAY,
	NR_WHAT,
};

struct step {
	enum what what;
	unsigned int stream;
	unsigned int to, from; /* buffers */
	size_t at_to, at_from, bytes;
	int byte;
};

struct program {
	struct step steps[MOST_OPS];
	unsigned int nr;
	uint32_t backends[2];
	bool elides;
};

static struct step random_step(uint64_t *random)
{
	struct step step = {
		.what = random_below(random, NR_WHAT),
		.stream = random_below(random, 2),
		.to = random_below(random, NR_BUFFERS),
		.from = random_below(random, NR_BUFFERS),
		.bytes = 1 + random_below(random, BYTES / 2),
		.byte = random_below(random, 256),
	};

	step.at_to = random_below(random, BYTES - step.bytes + 1);
	step.at_from = random_below(random, BYTES - step.bytes + 1);
	if (step.from == step.to)
		step.from = (step.to + 1) % NR_BUFFERS;
	return step;
}

static struct program random_program(uint64_t *random)
{
	struct program program = { .nr = 4 +
					 random_below(random, MOST_OPS - 3) };

	for (unsigned int i = 0; i < program.nr; i++)
		program.steps[i] = random_step(random);
	for (int i = 0; i < 2; i++)
		program.backends[i] = random_below(random, 2) ?
					      DROVER_BACKEND_EAGER :
					      DROVER_BACKEND_CPU;
	program.elides = random_below(random, 4);
	return program;
}

/* ---- one after the other ---- */

static void run_plainly(const struct step *step, struct memory *m)
{
	struct add add = { m->buffers[step->to] + step->at_to,
			   m->buffers[step->from] + step->at_from,
			   step->bytes };

	switch (step->what) {
	case FILL:
	case CALL:
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

/* Alive until the program has ended. */
struct call {
	struct fill fill;
};

static int call_fill(void *arg)
{
	return fill_run(&((struct call *)arg)->fill);
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

/* The host writes its own memory, once it may. */
static void host_writes(drover_stream_t *s, unsigned char *to, int byte,
			size_t bytes, bool is_host)
{
	drover_access_t access = { to, bytes, DROVER_WRITE };

	if (!is_host) {
		MUST(fill_submit(s, to, byte, bytes, NULL));
		return;
	}
	MUST(drover_stream_synchronize_for(s, &access, 1));
	MUST(drover_stream_note(&access, 1));
	memset(to, byte, bytes);
}

static void run_step(const struct step *step, struct memory *m,
		     drover_stream_t *streams, struct call *call)
{
	drover_stream_t *s = &streams[step->stream];
	unsigned char *to = m->buffers[step->to] + step->at_to;
	unsigned char *from = m->buffers[step->from] + step->at_from;
	size_t bytes = step->bytes;
	struct add add = { to, from, bytes };
	drover_access_t access = { to, bytes, DROVER_WRITE };
	drover_event_t event;

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
		call->fill = (struct fill){ to, bytes, step->byte };
		MUST(drover_stream_host_call(s, call_fill, call, &access, 1,
					     NULL));
		return;
	case EVENT:
		MUST(drover_stream_record(&streams[!step->stream], &event));
		MUST(drover_stream_wait_event(s, &event));
		return;
	case SYNCHRONIZE:
		MUST(drover_stream_synchronize(s));
		return;
	case SYNCHRONIZE_FOR:
		MUST(drover_stream_synchronize_for(s, &access, 1));
		return;
	case HOST_WRITE:
		host_writes(s, to, step->byte, bytes,
			    step->to >= NR_BUFFERS / 2);
		return;
	case REPLAY:
		replay(s, &add);
		return;
	case NR_WHAT:
		return;
	}
}

static struct memory memory_for(unsigned char *device, unsigned char *host)
{
	struct memory m;

	for (int i = 0; i < NR_BUFFERS; i++) {
		bool is_host = i >= NR_BUFFERS / 2;

		m.buffers[i] = (is_host ? host : device) + i * BYTES;
		memset(m.buffers[i], i, BYTES);
	}
	return m;
}

static drover_stream_counts_t total;

static void add_counts(drover_stream_t *stream)
{
	drover_stream_counts_t counts = counts_of(stream);

	total.operations += counts.operations;
	total.asked += counts.asked;
	total.elided += counts.elided;
	total.deferred += counts.deferred;
	total.waited += counts.waited;
	total.added_device += counts.added_device;
	total.added_host += counts.added_host;
}

/* Whether the streams give what plain execution gives. */
static bool run_program(const struct program *program)
{
	static unsigned char wanted[NR_BUFFERS * BYTES];
	static unsigned char got_host[NR_BUFFERS * BYTES];
	struct memory plain = memory_for(wanted, wanted), got;
	struct call calls[MOST_OPS];
	drover_stream_t streams[2];
	unsigned char *device;
	bool same = true;

	for (int i = 0; i < 2; i++)
		streams[i] =
			stream_of(program->backends[i], DROVER_ORDER_ENGINE);
	device = device_memory(&streams[0], NR_BUFFERS * BYTES);
	got = memory_for(device, got_host);
	for (unsigned int i = 0; i < program->nr; i++) {
		run_plainly(&program->steps[i], &plain);
		run_step(&program->steps[i], &got, streams, &calls[i]);
		if (!program->elides)
			MUST(drover_stream_drain(
				&streams[program->steps[i].stream]));
	}
	for (int i = 0; i < 2; i++) {
		MUST(drover_stream_drain(&streams[i]));
		add_counts(&streams[i]);
	}
	for (int i = 0; i < NR_BUFFERS; i++)
		same &= !memcmp(plain.buffers[i], got.buffers[i], BYTES);
	MUST(drover_stream_free(&streams[0], device));
	for (int i = 0; i < 2; i++)
		MUST(drover_stream_destroy(&streams[i]));
	return same;
}

int main(int argc, char **argv)
{
	struct args args = args_parse(argc, argv, "programs seed");
	uint64_t programs = args_get(&args, "programs", 150);
	uint64_t seed = args_get(&args, "seed", args_fresh_seed());
	uint64_t random = seed, wrong = 0;

	tap_plan(3);
	tap_diag("programs=%" PRIu64 " seed=%" PRIu64, programs, seed);
	races_watch();
	eager_plants.late = 20;
	for (uint64_t i = 0; i < programs; i++) {
		struct program program = random_program(&random);

		if (i % 100 == 0)
			watchdog("random programs");
		if (i && i % 10000 == 0)
			tap_diag("%" PRIu64 " programs", i);
		if (!run_program(&program) && !wrong++)
			tap_diag("program %" PRIu64 " is the first", i);
	}
	tap_is((long)wrong, 0, "programs that gave something else");
	tap_is(races_found(), 0, "races");
	tap_diag("%" PRIu64 " operations; synchronizations: %" PRIu64
		 " asked for, %" PRIu64 " elided, %" PRIu64
		 " for the device, %" PRIu64
		 " waited for; waits added: %" PRIu64 " by the device, %" PRIu64
		 " by the host",
		 total.operations, total.asked, total.elided, total.deferred,
		 total.waited, total.added_device, total.added_host);
	tap_ok(total.asked == total.elided + total.deferred + total.waited &&
		       total.elided > 0,
	       "synchronizations add up, and some were elided");
	return tap_exit();
}
