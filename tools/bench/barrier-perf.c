// SPDX-License-Identifier: MIT
/*
 * barrier-perf - threads compute the nodes of a graph, all threads together,
 * and meet at a barrier after each node.
 *
 * A node is the product of a matrix and a vector, and the threads share out the
 * rows of the matrix. The result is the next node's vector. So if a thread gets
 * past a barrier too early, it computes with an old value, and the last vector
 * is wrong. Each thread also counts its nodes where its neighbour can see the
 * count, so that such a fault shows even without work.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "barrier_impl.h"

#define COLUMNS 64

/* Once in so many nodes rank 0 reads the clock, and each checks a neighbour. */
#define LOOK_EVERY 16

#define MAX_HOGS 64

struct args {
	uint64_t threads, rounds, nodes, rows, hogs, milliseconds;
};

struct rank {
	_Atomic uint64_t nr_nodes;
} __attribute__((aligned(64)));

struct team {
	const struct args *args;
	struct bench_run *run;
	struct impl_barrier barrier;
	int32_t *matrix;     /* args->rows times COLUMNS */
	int32_t *vectors[2]; /* of even and odd nodes */
	struct rank *ranks;
	bool stop; /* rank 0 writes it before a barrier, others read it after */
	_Atomic uint64_t progress;
	_Atomic unsigned int next_rank;
	atomic_bool no_team;
};

static void compute(const struct team *team, uint64_t node, unsigned int rank)
{
	const int32_t *from = team->vectors[node % 2];
	int32_t *to = team->vectors[(node + 1) % 2];
	uint64_t rows = team->args->rows, threads = team->args->threads;

	for (uint64_t row = rows * rank / threads;
	     row < rows * (rank + 1) / threads; row++) {
		const int32_t *line = team->matrix + row * COLUMNS;
		int32_t sum = 0;

		for (int i = 0; i < COLUMNS; i++)
			sum += line[i] * from[i];
		to[row] = sum >> 3 ^ (int32_t)row;
	}
}

/* The neighbour has to be in this node, or in the next one. */
static void check_neighbour(const struct team *team, unsigned int rank,
			    uint64_t node)
{
	const struct rank *other =
		&team->ranks[(rank + 1) % team->args->threads];
	uint64_t nr =
		atomic_load_explicit(&other->nr_nodes, memory_order_relaxed);

	if (nr != node && nr != node + 1)
		bench_wrong("thread %u has passed node %" PRIu64
			    " and its neighbour %" PRIu64,
			    rank, node, nr);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec * 1e-9;
}

/* Compute up to @nr nodes. Returns how many were done within the time. */
static uint64_t compute_nodes(struct team *team, unsigned int rank, uint64_t nr)
{
	double limit = team->args->milliseconds * 1e-3;
	double end = rank == 0 && limit ? now() + limit : 0;

	for (uint64_t node = 0; node < nr;) {
		bool look = node % LOOK_EVERY == 0;

		compute(team, node, rank);
		node++;
		atomic_store_explicit(&team->ranks[rank].nr_nodes, node,
				      memory_order_relaxed);
		if (look && rank == 0) {
			atomic_store_explicit(&team->progress, node,
					      memory_order_relaxed);
			team->stop = end && now() > end;
		}
		impl_barrier_wait(&team->barrier);
		if (!look)
			continue;
		check_neighbour(team, rank, node);
		if (team->stop)
			return node;
	}
	return nr;
}

static void rank_main(void *arg, unsigned int rank)
{
	struct team *team = arg;
	uint64_t nr;

	impl_barrier_wait(&team->barrier);
	if (rank == 0)
		bench_begin(team->run);
	nr = compute_nodes(team, rank, team->args->rounds * team->args->nodes);
	if (rank == 0) {
		bench_end(team->run);
		team->run->operations = nr;
	}
}

static uint64_t progress(void *arg)
{
	struct team *team = arg;

	return atomic_load_explicit(&team->progress, memory_order_relaxed);
}

static void explain(void *arg)
{
	bench_error("at node %" PRIu64, progress(arg));
}

static void fill(struct team *team)
{
	uint32_t random = 1;

	for (uint64_t i = 0; i < team->args->rows * COLUMNS; i++) {
		random = random * 1664525 + 1013904223;
		team->matrix[i] = (int32_t)(random >> 28) - 8;
	}
	for (int i = 0; i < COLUMNS; i++)
		team->vectors[0][i] = i;
}

static bool set_up(struct team *team)
{
	uint64_t rows = team->args->rows;
	uint64_t longest = rows > COLUMNS ? rows : COLUMNS;

	team->matrix = bench_alloc(rows * COLUMNS + 1, sizeof(int32_t));
	team->vectors[0] = bench_alloc(longest, sizeof(int32_t));
	team->vectors[1] = bench_alloc(longest, sizeof(int32_t));
	team->ranks = bench_alloc(team->args->threads, sizeof(struct rank));
	return team->matrix && team->vectors[0] && team->vectors[1] &&
	       team->ranks;
}

/* The result must be the same as when one thread computes alone. */
static void check_result(struct team *team, uint64_t nr_nodes)
{
	const struct args one = { .threads = 1, .rows = team->args->rows };
	uint64_t bytes = one.rows * sizeof(int32_t);
	int32_t *got = malloc(bytes + 1);

	if (!got)
		return;
	memcpy(got, team->vectors[nr_nodes % 2], bytes);
	team->args = &one;
	fill(team);
	if (one.rows < COLUMNS)
		memset(team->vectors[1], 0, COLUMNS * sizeof(int32_t));
	for (uint64_t node = 0; node < nr_nodes; node++)
		compute(team, node, 0);
	if (memcmp(got, team->vectors[nr_nodes % 2], bytes))
		bench_wrong("the result after %" PRIu64 " nodes is wrong",
			    nr_nodes);
	free(got);
}

static void tear_down(struct team *team)
{
	free(team->matrix);
	free(team->vectors[0]);
	free(team->vectors[1]);
	free(team->ranks);
}

/* ---- foreign load ---- */

static void start_hogs(pid_t *hogs, uint64_t nr)
{
	pid_t parent = getpid();

	for (uint64_t i = 0; i < nr; i++) {
		hogs[i] = fork();
		if (hogs[i] < 0)
			bench_call_failed("fork", errno);
		if (hogs[i] == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (getppid() != parent)
				_exit(0); /* it ended before prctl() */
			for (;;)
				__asm__ volatile("");
		}
	}
}

static void end_hogs(const pid_t *hogs, uint64_t nr)
{
	for (uint64_t i = 0; i < nr; i++) {
		kill(hogs[i], SIGKILL);
		waitpid(hogs[i], NULL, 0);
	}
}

/* ---- the run ---- */

#ifdef IMPL_HAS_TEAM

static bool run_team(struct team *team)
{
	impl_team(team->args->threads, rank_main, team);
	return true;
}

#else

/* Ranks wait to begin until all could be started: a barrier needs them all. */
static void *thread_main(void *arg)
{
	struct team *team = arg;
	unsigned int rank = 1 + atomic_fetch_add(&team->next_rank, 1);

	while (!atomic_load(&team->progress))
		if (atomic_load(&team->no_team))
			return NULL;
		else
			usleep(100);
	rank_main(team, rank);
	return NULL;
}

static bool run_team(struct team *team)
{
	struct bench_threads threads;
	bool started = bench_threads_start(&threads, team->args->threads - 1,
					   team->run->common->stack,
					   thread_main, team, 0);

	if (started) {
		atomic_store(&team->progress, 1);
		rank_main(team, 0);
	} else {
		atomic_store(&team->no_team, true);
	}
	bench_threads_join(&threads);
	return started;
}

#endif

static enum bench_exit run(struct bench_run *run, const void *args)
{
	struct team team = { .args = args, .run = run };
	struct bench_watch watch = { progress, explain, &team };
	pid_t hogs[MAX_HOGS];
	bool done = false;

	start_hogs(hogs, team.args->hogs);
	if (set_up(&team) &&
	    bench_watchdog_start(&watch, run->common->watchdog)) {
		fill(&team);
		impl_barrier_init(&team.barrier, team.args->threads);
		done = run_team(&team);
		impl_barrier_destroy(&team.barrier);
		bench_watchdog_stop();
	}
	end_hogs(hogs, team.args->hogs);
	if (done)
		check_result(&team, run->operations);
	tear_down(&team);
	return done ? BENCH_OK : BENCH_FAILED;
}

static double microseconds(const struct bench_run *run)
{
	return (run->end.wall - run->begin.wall) * 1e6;
}

static void print(FILE *out, const struct bench_run *run, const void *args)
{
	const struct args *a = args;
	double us = microseconds(run), nodes = run->operations;

	fprintf(out,
		"threads: %" PRIu64 "\nnodes: %" PRIu64 "\nrounds: %.6g\n"
		"%.0f us\n%.2f us per iteration\n%.2f ns per node\n",
		a->threads, a->nodes, nodes / a->nodes, us,
		us / nodes * a->nodes, us / nodes * 1e3);
	fprintf(out, "%" PRIu64 " nodes", run->operations);
}

static void json(struct bench_json *json, const struct bench_run *run,
		 const void *args)
{
	const struct args *a = args;
	double us = microseconds(run), nodes = run->operations;

	bench_json_count(json, "threads", a->threads);
	bench_json_count(json, "nodes", a->nodes);
	bench_json_real(json, "rounds", nodes / a->nodes);
	bench_json_count(json, "work", a->rows);
	bench_json_count(json, "hogs", a->hogs);
	bench_json_real(json, "us_per_iteration", us / nodes * a->nodes);
	bench_json_real(json, "ns_per_node", us / nodes * 1e3);
}

static const struct bench_option options[] = {
	BENCH_COUNT_OPTION('n', "threads", threads, 1, 100000, "THREADS",
			   "threads that meet", .required = true,
			   .operand = true),
	BENCH_COUNT_OPTION('r', "rounds", rounds, 1, 1000000000, "ROUNDS",
			   "times that all nodes are computed",
			   .required = true, .operand = true),
	BENCH_PRESET_OPTION('N', "nodes", nodes, 1, 1000000000, "NODES", 2000,
			    "nodes, and so barriers, a round"),
	BENCH_COUNT_OPTION(
		'w', "work", rows, 0, 1000000, "ROWS",
		"a node has ROWS rows of 64 numbers (default 0: no work)"),
	BENCH_COUNT_OPTION('H', "hogs", hogs, 0, MAX_HOGS, "HOGS",
			   "processes that do nothing but run (default 0)"),
	BENCH_COUNT_OPTION('t', "time", milliseconds, 0, 1000000000,
			   "MILLISECONDS",
			   "stop then, whatever is left (default 0: never)"),
	{ 0 }
};

BENCH_SUITE(.name = "barrier-perf",
	    .summary =
		    "Let THREADS threads meet at a barrier after each node of ROUNDS rounds.",
	    .operation = "node", .switches_key = "switches_per_node",
	    .json = json);
