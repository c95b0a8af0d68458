// SPDX-License-Identifier: MIT
/*
 * A loop that generates tokens, as a program for language models does: inputs
 * go to the device, a kernel runs, the result comes back, and so on.
 *
 *	cc -o token-loop token-loop.c -ldrover
 *	./token-loop [TOKENS]
 *
 * The "model" multiplies a state by a matrix and adds the token, in 32-bit
 * arithmetic; the result is the next token. It runs on the CPU backend, in a
 * thread of the library.
 */
#include <drover/stream.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 16 /* numbers in a state */

/* The kernel's arguments: the addresses of its memory on the device. */
struct step {
	const unsigned int *matrix, *token, *position;
	unsigned int *state;
};

static int step_run(const void *args)
{
	const struct step *s = args;
	unsigned int next[N];

	for (int row = 0; row < N; row++) {
		next[row] = *s->token + *s->position * (unsigned int)row;
		for (int i = 0; i < N; i++)
			next[row] += s->matrix[row * N + i] * s->state[i];
	}
	memcpy(s->state, next, sizeof(next));
	return 0;
}

/* Every call returns 0 or an errno value; drover_stream_why() says more. */
static void check(int err)
{
	if (!err)
		return;
	fprintf(stderr, "token-loop: %s: %s\n", strerror(err),
		drover_stream_why());
	exit(1);
}

static void *device_memory(drover_stream_t *stream, size_t bytes)
{
	void *memory;

	check(drover_stream_alloc(stream, bytes, &memory));
	return memory;
}

/* The weights are copied once, from memory that is freed at once. */
static void load(drover_stream_t *stream, void *matrix)
{
	unsigned int weights[N * N];

	for (unsigned int i = 0; i < N * N; i++)
		weights[i] = i * 2654435761u >> 20;
	check(drover_stream_copy_staged(stream, matrix, weights,
					sizeof(weights), NULL));
}

static unsigned int generate(drover_stream_t *stream, const struct step *step,
			     unsigned int position, unsigned int token)
{
	const drover_kernel_t kernel = { .run = step_run };
	const drover_access_t accesses[] = {
		{ step->matrix, N * N * sizeof(unsigned int), DROVER_READ },
		{ step->token, sizeof(unsigned int), DROVER_READ },
		{ step->position, sizeof(unsigned int), DROVER_READ },
		{ step->state, N * sizeof(unsigned int),
		  DROVER_READ | DROVER_WRITE },
	};
	unsigned int state[N];

	/* The variables may be changed again when the calls return. */
	check(drover_stream_copy_staged(stream, (void *)step->token, &token,
					sizeof(token), NULL));
	check(drover_stream_synchronize(stream)); /* costs nothing */
	check(drover_stream_copy_staged(stream, (void *)step->position,
					&position, sizeof(position), NULL));
	check(drover_stream_synchronize(stream)); /* neither does this */
	check(drover_stream_run(stream, &kernel, step, sizeof(*step), accesses,
				4, NULL));
	/* The one wait of a token: the host needs the result. */
	check(drover_stream_copy(stream, state, step->state, sizeof(state)));
	return state[0] >> 16;
}

int main(int argc, char **argv)
{
	unsigned int tokens = argc > 1 ? (unsigned int)atoi(argv[1]) : 10;
	unsigned int zeroes[N] = { 0 }, token = 1;
	drover_stream_counts_t counts;
	drover_stream_t stream;
	struct step step;

	check(drover_stream_create(&stream, NULL));
	step.matrix = device_memory(&stream, N * N * sizeof(unsigned int));
	step.token = device_memory(&stream, sizeof(unsigned int));
	step.position = device_memory(&stream, sizeof(unsigned int));
	step.state = device_memory(&stream, N * sizeof(unsigned int));
	load(&stream, (void *)step.matrix);
	check(drover_stream_copy_staged(&stream, step.state, zeroes,
					sizeof(zeroes), NULL));
	for (unsigned int i = 0; i < tokens; i++) {
		token = generate(&stream, &step, i, token);
		printf("%u ", token);
	}
	check(drover_stream_counts(&stream, &counts));
	printf("\nsynchronizations: %llu asked for, %llu waited for; read-backs: %llu\n",
	       (unsigned long long)counts.asked,
	       (unsigned long long)counts.waited,
	       (unsigned long long)counts.read_backs);
	check(drover_stream_free(&stream, step.state));
	check(drover_stream_free(&stream, (void *)step.position));
	check(drover_stream_free(&stream, (void *)step.token));
	check(drover_stream_free(&stream, (void *)step.matrix));
	check(drover_stream_destroy(&stream));
	return 0;
}
