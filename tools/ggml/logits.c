// SPDX-License-Identifier: MIT
/*
 * Let a model read a few tokens and make a few more, and print a checksum of
 * all its output: two builds of ggml that compute the same, to the last bit,
 * print the same checksum.
 *
 *	logits MODEL THREADS
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llama.h"

#define NR_READ 64
#define NR_MADE 32

static struct llama_context *context;
static int32_t nr_words;
static uint64_t sum = 14695981039346656037u; /* FNV-1a */

static void quiet(enum ggml_log_level level, const char *text, void *unused)
{
	(void)unused;
	if (level == GGML_LOG_LEVEL_ERROR)
		fputs(text, stderr);
}

static void fail(const char *what)
{
	fprintf(stderr, "logits: %s\n", what);
	exit(1);
}

/* Decode, and add the output to the sum. Return: the likeliest next token. */
static llama_token decode(llama_token *tokens, int32_t nr)
{
	const float *logits;
	llama_token best = 0;
	unsigned char *bytes;

	if (llama_decode(context, llama_batch_get_one(tokens, nr)))
		fail("cannot decode");
	logits = llama_get_logits_ith(context, -1);
	bytes = (unsigned char *)logits;
	for (size_t i = 0; i < nr_words * sizeof(*logits); i++)
		sum = (sum ^ bytes[i]) * 1099511628211u;
	for (int32_t i = 0; i < nr_words; i++)
		if (logits[i] > logits[best])
			best = i;
	return best;
}

int main(int argc, char **argv)
{
	struct llama_context_params params = llama_context_default_params();
	llama_token tokens[NR_READ], next;
	struct llama_model_params loading = llama_model_default_params();
	struct llama_model *model;

	if (argc != 3)
		fail("usage: logits MODEL THREADS");
	llama_log_set(quiet, NULL);
	llama_backend_init();
	/* The same setting as in the rows of `make bench-ggml`. */
	loading.use_extra_bufts = false;
	model = llama_model_load_from_file(argv[1], loading);
	if (!model)
		fail("cannot load the model");
	nr_words = llama_vocab_n_tokens(llama_model_get_vocab(model));
	params.n_ctx = 2 * (NR_READ + NR_MADE);
	params.n_threads = params.n_threads_batch = atoi(argv[2]);
	context = llama_init_from_model(model, params);
	if (!context)
		fail("cannot make a context");
	for (int i = 0; i < NR_READ; i++)
		tokens[i] = i * 7 % nr_words;
	next = decode(tokens, NR_READ);
	for (int i = 0; i < NR_MADE; i++)
		next = decode(&next, 1);
	printf("%016llx\n", (unsigned long long)sum);
	llama_free(context);
	llama_model_free(model);
	return 0;
}
