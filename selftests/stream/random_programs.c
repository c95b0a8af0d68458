// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random programs of operations run on three streams, over a few buffers, each
 * of which overlaps the next by half. Their results must equal, byte for byte,
 * the results of the same operations one after the other: with every
 * synchronization kept, and without those that the library elides. The debug
 * build also checks every pair of accesses.
 *
 * In half of the programs all streams are of the CPU backend, and the host
 * writes to its memory as soon as a synchronization allows that. Vector clocks
 * say when: after a synchronization of a stream, all operations are over that
 * were ordered before its operations. The last programs, as many as "cuda"
 * says, use CUDA streams, of the mock or of another driver: see on_device.c.
 *
 *	programs=N cuda=N seed=N
 *
 * APIs: drover stream/debug_random_programs
 */
#include "script.h"

#define NR_STREAMS 3
#define NR_BUFFERS 4 /* of the host, and as many of the device */
#define HALF	   (BYTES / 2)
#define NR_STEPS   30

enum effect {
	/* The effects that read %3 come first. */
	MOVES,
	STAGES, /* reads the host's memory before the call returns */
	ADDS,
	FILLS,
	TOUCHES, /* may write %2 */
	NOTHING,
	WAITS,
	SYNCHRONIZES,
	HOST_WRITES,
};

/* In words: %1: a stream; %2: to; %3: from; %4: a byte; %5: another stream */
static const struct kind {
	enum effect effect;
	const char *text;
} kinds[] = {
	{ MOVES, "borrow %1$c %2$c %3$c" },
	{ MOVES, "borrow %1$c %2$c %3$c" },
	{ STAGES, "staged %1$c %2$c %3$c" },
	{ MOVES, "copy %1$c %2$c %3$c" },
	{ ADDS, "add %1$c %2$c %3$c" },
	{ ADDS, "add %1$c %2$c %3$c" },
	{ ADDS, "capture %1$c; add %1$c %2$c %3$c; end %1$c g; replay %1$c g; "
		"drop g" },
	{ FILLS, "fill %1$c %2$c %4$d" },
	{ FILLS, "put %1$c %2$c %4$d" },
	{ TOUCHES, "call %1$c %2$c" },
	{ NOTHING, "dawdle %1$c %4$d" },
	{ NOTHING, "dawdle %1$c %4$d" },
	{ WAITS, "record %5$c e; wait %1$c e" },
	{ WAITS, "record %5$c e; wait %1$c e" },
	{ SYNCHRONIZES, "sync %1$c" },
	{ SYNCHRONIZES, "sync %1$c" },
	{ HOST_WRITES, "write %2$c %4$d" },
	{ HOST_WRITES, "write %2$c %4$d" },
};

static const char streams[] = "stu", buffers[] = "hijkabcd";

struct step {
	const struct kind *kind;
	int stream, other, to, from, byte;
};

struct program {
	bool modelled;
	uint32_t one, two; /* backends */
	int nr;
	struct step steps[NR_STEPS];
};

static int dawdle_run(const void *args)
{
	for (int i = *(const int *)args % 64; i; i--)
		sched_yield();
	return 0;
}

/* A device is not slowed down. */
static int dawdle_issue(void *stream, const void *args)
{
	return 0;
}

STEP(dawdle)
{
	const drover_kernel_t dawdle = { .run = dawdle_run,
					 .issue = dawdle_issue };
	int nr = args[1];

	return drover_stream_run(STREAM, &dawdle, &nr, sizeof(nr),
				 &(drover_access_t){ 0 }, 0, NULL);
}

STEP(write)
{
	unsigned char *memory = script_memory(args[0]);
	drover_access_t access = { memory, BYTES, DROVER_WRITE };

	MUST(drover_stream_note(&access, 1));
	memset(memory, args[1], BYTES);
	return 0;
}

/* ---- what the host may write ---- */

typedef uint32_t vector[NR_STREAMS];

/* An operation in the model, and the operations that are over when it is. */
struct past {
	vector behind;
	unsigned int reads, writes; /* masks of halves */
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

/*
 * Return: where a buffer begins, in halves. The device's buffers follow the
 * host's.
 */
static int first_half(int buffer)
{
	return buffer + buffer / NR_BUFFERS;
}

static unsigned int halves(int buffer)
{
	return 3u << first_half(buffer);
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
				    halves(buffer) &&
			    m->ops[i].behind[j] > m->host[j])
				return false;
	return true;
}

/* Put the step into the model. Return: false if it must not be done. */
static bool model_step(struct model *m, const struct step *step)
{
	unsigned int to = halves(step->to), reads = halves(step->from);
	enum effect effect = step->kind->effect;

	switch (effect) {
	case WAITS:
		join(m->streams[step->stream], m->streams[step->other]);
		return true;
	case SYNCHRONIZES:
		join(m->host, m->streams[step->stream]);
		return true;
	case HOST_WRITES:
		return host_may_write(m, step->to);
	default:
		if (effect > ADDS ||
		    (effect == STAGES && step->from < NR_BUFFERS))
			reads = 0;
		model_op(m, step->stream, reads | (effect == ADDS ? to : 0),
			 effect == NOTHING ? 0 : to);
		return true;
	}
}

/* ---- programs ---- */

static struct program random_program(uint64_t *random)
{
	struct program p = { .modelled = random_below(random, 2) };
	struct model model = { 0 };

	for (int i = 0; i < NR_STEPS; i++) {
		struct step step = {
			.kind = &kinds[random_below(random, NR_OF(kinds))],
			.stream = random_below(random, NR_STREAMS),
			.other = random_below(random, NR_STREAMS),
			.to = random_below(random, 2 * NR_BUFFERS),
			.byte = random_below(random, 256),
		};

		if (step.kind->effect == HOST_WRITES)
			step.to %= NR_BUFFERS;
		/* The two buffers must not overlap. */
		do
			step.from = random_below(random, 2 * NR_BUFFERS);
		while (halves(step.from) & halves(step.to));
		if (!p.modelled || model_step(&model, &step))
			p.steps[p.nr++] = step;
	}
	p.one = p.two = DROVER_BACKEND_CPU;
#ifdef DROVER_STREAM_DEBUG
	if (!p.modelled && random_below(random, 2))
		p.one = DROVER_BACKEND_EAGER;
	if (!p.modelled && random_below(random, 2))
		p.two = DROVER_BACKEND_EAGER;
#endif
	return p;
}

static unsigned char memory[2 * (NR_BUFFERS + 1) * HALF];

/* Do the step at once, without a stream. */
static void run_plainly(const struct step *step)
{
	struct add add = { memory + first_half(step->to) * HALF,
			   memory + first_half(step->from) * HALF, BYTES };

	switch (step->kind->effect) {
	case MOVES:
	case STAGES:
		memcpy(add.to, add.from, BYTES);
		return;
	case ADDS:
		add_run(&add);
		return;
	case FILLS:
	case HOST_WRITES:
		memset(add.to, step->byte, BYTES);
		return;
	default:
		return;
	}
}

static bool run_step(const struct program *p, const struct step *step,
		     bool keeps)
{
	bool writes = step->kind->effect == HOST_WRITES;
	char text[200];

	snprintf(text, sizeof(text), step->kind->text, streams[step->stream],
		 buffers[step->to], buffers[step->from], step->byte,
		 streams[step->other]);
	if (!p->modelled && (keeps || writes) &&
	    !script_say(keeps ? "drain s; drain t; drain u" :
				"sync s; sync t; sync u"))
		return false;
	if (keeps && step->kind->effect == SYNCHRONIZES)
		snprintf(text, sizeof(text), "drain %c", streams[step->stream]);
	return script_say(text);
}

static drover_stream_counts_t total;

/* Are the results of the streams equal to those of plain execution? */
static bool run_program(const struct program *p, bool keeps)
{
	const size_t bytes = (NR_BUFFERS + 1) * HALF;
	static unsigned char back[(NR_BUFFERS + 1) * HALF];
	drover_stream_t *s = &script.streams['s'];
	unsigned char *host, *device;
	bool same = true;
	void *place;

	script_start("random programs", " s t u ", p->one, p->two);
	/* This is host memory that a device's kernels can access. */
	MUST(drover_stream_alloc_host(s, bytes, &place));
	host = memset(place, 0, bytes);
	device = device_memory(s, bytes);
	MUST(drover_stream_set(s, device, 0, bytes, NULL));
	memset(memory, 0, sizeof(memory));
	for (int i = 0; i < 2 * NR_BUFFERS; i++)
		script.memory[(int)buffers[i]] =
			(i < NR_BUFFERS ? host : device) +
			i % NR_BUFFERS * HALF;
	for (int i = 0; i < p->nr; i++) {
		run_plainly(&p->steps[i]);
		same &= run_step(p, &p->steps[i], keeps);
	}
	same &= script_say("drain s; drain t; drain u") &&
		!memcmp(memory, host, bytes) &&
		!drover_stream_copy(s, back, device, bytes) &&
		!memcmp(memory + bytes, back, bytes);
	MUST(drover_stream_free(s, device));
	MUST(drover_stream_free(s, host));
	memset(script.memory, 0, sizeof(script.memory));
	for (const char *s = streams; *s; s++) {
		drover_stream_counts_t counts =
			counts_of(&script.streams[(int)*s]);

		total.asked += counts.asked;
		total.elided += counts.elided;
		total.deferred += counts.deferred;
		total.waited += counts.waited;
	}
	script_end();
	return same;
}

static long nr_kept, nr_wrong;

static void run_programs(uint64_t nr, uint64_t *random, bool on_cuda)
{
	for (uint64_t i = 0; i < nr; i++) {
		struct program p = random_program(random);

		if (i && i % 10000 == 0)
			tap_diag("%" PRIu64 " programs", i);
		if (on_cuda)
			p.one = p.two = DROVER_BACKEND_CUDA;
		nr_kept += !run_program(&p, true);
		if (!run_program(&p, false) && !nr_wrong++)
			tap_diag("program %" PRIu64 "%s is the first to fail",
				 i, on_cuda ? " on CUDA" : "");
	}
}

int main(int argc, char **argv)
{
	struct args args = args_parse(argc, argv, "programs cuda seed");
	uint64_t programs = args_get(&args, "programs", 400);
	uint64_t cuda = args_get(&args, "cuda", 40);
	uint64_t seed = args_get(&args, "seed", args_fresh_seed());
	uint64_t random = seed;
	long races = 0;

	script_driver();
	tap_plan(4);
	tap_diag("programs=%" PRIu64 " cuda=%" PRIu64 " seed=%" PRIu64,
		 programs, cuda, seed);
#ifdef DROVER_STREAM_DEBUG
	races_watch();
	eager_plants.late = 20;
#endif
	run_programs(programs, &random, false);
	run_programs(cuda, &random, true);
#ifdef DROVER_STREAM_DEBUG
	races = races_found();
#endif
	tap_is(nr_kept, 0, "wrong results with every synchronization kept");
	tap_is(nr_wrong, 0, "wrong results with synchronizations elided");
	tap_is(races, 0, "races that the debug build has found");
	tap_ok(total.asked == total.elided + total.deferred + total.waited &&
		       total.elided,
	       "of %" PRIu64 " synchronizations %" PRIu64 " were elided",
	       total.asked, total.elided);
	return tap_exit();
}
