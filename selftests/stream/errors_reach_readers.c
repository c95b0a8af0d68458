// SPDX-License-Identifier: GPL-2.0-only
/*
 * An operation that is already waiting for its turn when another stream fails
 * to make what it is ordered behind: it has the error, by whichever way it was
 * ordered.
 *
 * APIs: drover stream/debug_errors_reach_readers
 */
#include "../mock/cuda/mock_cuda.h"

#define BYTES	   64
#define NR_RESULTS 11

/* Memory, and two streams: what the first one should make, the second reads. */
struct scene {
	const char *name;
	uint32_t backend;
	drover_stream_t maker, reader;
	struct gate gate;
	unsigned char *made, *spare, *result;
};

static void scene_open(struct scene *sc)
{
	sc->maker = stream_of(sc->backend, DROVER_ORDER_ENGINE);
	sc->reader = stream_of(sc->backend, DROVER_ORDER_ENGINE);
	sc->gate = (struct gate)GATE_INIT;
	sc->made = device_memory(&sc->reader, BYTES);
	sc->spare = device_memory(&sc->reader, BYTES);
	sc->result = device_memory(&sc->reader, BYTES);
	MUST(fill_submit(&sc->reader, sc->made, 1, BYTES, NULL));
	MUST(fill_submit(&sc->reader, sc->spare, 1, BYTES, NULL));
	MUST(fill_submit(&sc->reader, sc->result, 1, BYTES, NULL));
	MUST(drover_stream_drain(&sc->reader));
	gate_block(&sc->gate, &sc->maker);
	MUST(fail_submit(&sc->maker, ENOSPC, sc->made, BYTES, NULL));
}

/* @ticket: of the last operation of the reader */
static void scene_close(struct scene *sc, const drover_ticket_t *ticket,
			const char *what)
{
	gate_open(&sc->gate);
	tap_is(drover_ticket_wait(ticket, CLOCK_MONOTONIC, NULL), ENOSPC,
	       "%s: %s: the error", sc->name, what);
	tap_ok(all_are(sc->result, 1, BYTES), "%s: %s: it was not carried out",
	       sc->name, what);
	MUST(drover_stream_free(&sc->reader, sc->made));
	MUST(drover_stream_free(&sc->reader, sc->spare));
	MUST(drover_stream_free(&sc->reader, sc->result));
	tap_is(drover_stream_destroy(&sc->reader), ENOSPC,
	       "%s: %s: the reader's stream", sc->name, what);
}

/* The newest conflict is with one that reads the same, and feeds nobody. */
static void test_behind_another_reader(struct scene *sc)
{
	drover_ticket_t ticket;

	scene_open(sc);
	MUST(add_submit(&sc->maker, sc->spare, sc->made, BYTES, NULL));
	MUST(add_submit(&sc->reader, sc->made, sc->result, BYTES, NULL));
	MUST(add_submit(&sc->reader, sc->result, sc->made, BYTES, &ticket));
	scene_close(sc, &ticket, "behind another reader");
	drover_stream_destroy(&sc->maker);
}

/* It is ordered by the wait of one that only overwrites. */
static void test_ordered_already(struct scene *sc)
{
	drover_ticket_t first, ticket;

	scene_open(sc);
	MUST(add_submit(&sc->maker, sc->made, sc->spare, BYTES, NULL));
	MUST(fill_submit(&sc->reader, sc->spare, 2, BYTES, &first));
	MUST(add_submit(&sc->reader, sc->result, sc->made, BYTES, &ticket));
	gate_open(&sc->gate);
	tap_is(drover_ticket_wait(&first, CLOCK_MONOTONIC, NULL), ENOSPC,
	       "%s: ordered already: who overwrites has it, too", sc->name);
	scene_close(sc, &ticket, "ordered already");
	drover_stream_destroy(&sc->maker);
}

/* The stream that failed is gone, its slot another's, when the turn comes. */
static void test_destroyed_meanwhile(struct scene *sc)
{
	struct gate gate = GATE_INIT;
	drover_ticket_t ticket;

	scene_open(sc);
	gate_block(&gate, &sc->reader);
	MUST(add_submit(&sc->reader, sc->result, sc->made, BYTES, &ticket));
	gate_open(&sc->gate);
	tap_is(drover_stream_destroy(&sc->maker), ENOSPC,
	       "%s: destroyed meanwhile: its own end", sc->name);
	sc->maker = stream_of(sc->backend, DROVER_ORDER_ENGINE);
	gate_open(&gate);
	scene_close(sc, &ticket, "destroyed meanwhile");
	MUST(drover_stream_destroy(&sc->maker));
}

static void test(const char *name, uint32_t backend)
{
	struct scene scene = { .name = name, .backend = backend };

	watchdog(name);
	test_behind_another_reader(&scene);
	test_ordered_already(&scene);
	test_destroyed_meanwhile(&scene);
}

static int no_space(void *arg)
{
	(void)arg;
	return ENOSPC;
}

/* There a host call fails, and the device goes on. @destroy: the maker */
static void test_cuda(const char *name, bool destroy)
{
	drover_stream_t maker =
		stream_of(DROVER_BACKEND_CUDA, DROVER_ORDER_ENGINE);
	drover_stream_t reader =
		stream_of(DROVER_BACKEND_CUDA, DROVER_ORDER_ENGINE);
	unsigned char *made = device_memory(&reader, BYTES);
	unsigned char *result = device_memory(&reader, BYTES);
	drover_access_t writes = { made, BYTES, DROVER_WRITE };
	struct gate gate = GATE_INIT, late = GATE_INIT;
	drover_ticket_t before, ticket;

	watchdog(name);
	mock_cuda_kernels(&maker);
	cuda_gate_block(&gate, &maker);
	cuda_gate_block(&late, &reader);
	MUST(drover_stream_host_call(&maker, no_space, NULL, &writes, 1, NULL));
	MUST(cuda_fill_submit(&reader, result, 0, BYTES, &before));
	MUST(cuda_add_submit(&reader, result, made, BYTES, &ticket));
	gate_open(&gate);
	if (destroy)
		tap_is(drover_stream_destroy(&maker), ENOSPC, "%s: its own end",
		       name);
	else
		tap_is(drover_stream_drain(&maker), ENOSPC, "%s: its stream",
		       name);
	gate_open(&late);
	tap_is(drover_ticket_wait(&ticket, CLOCK_MONOTONIC, NULL), ENOSPC,
	       "%s: the reader has the error", name);
	tap_is(drover_ticket_done(&before), 0, "%s: not what is in front of it",
	       name);
	MUST(drover_stream_free(&reader, made));
	MUST(drover_stream_free(&reader, result));
	drover_stream_destroy(&reader);
	if (!destroy)
		drover_stream_destroy(&maker);
}

int main(void)
{
	tap_plan(NR_RESULTS * NR_CPU_BACKENDS + 6);
	for_each_cpu_backend(test);
	mock_cuda_start();
	test_cuda("cuda", false);
	test_cuda("cuda, destroyed meanwhile", true);
	return tap_exit();
}
