// SPDX-License-Identifier: GPL-2.0-only
/* Modules, and the kernels that are built in. */
#include "blocks.h"
#include "mock.h"

/* tools/bench/stream-perf.c has it in PTX. */
struct token {
	const uint32_t *inputs;
	uint32_t *state;
	uint64_t nr, stride, work;
};

static int kernel_token(const void *args)
{
	const struct token *token = args;

	for (uint64_t i = 0; i < token->nr; i++)
		*token->state =
			*token->state * 31 + token->inputs[i * token->stride];
	return 0;
}

static int kernel_nothing(const void *args)
{
	return 0;
}

static const struct {
	const char *name;
	int (*run)(const void *args);
} kernels[] = {
	{ "fill", fill_run },
	{ "add", add_run },
	{ "token", kernel_token },
	{ "nothing", kernel_nothing },
};

EXPORT int cuModuleLoadData(void **module, const void *image)
{
	WANT_CONTEXT();
	UNSAFE();
	*module = (void *)image;
	return image ? SUCCESS : INVALID_VALUE;
}

EXPORT int cuModuleGetFunction(void **function, void *module, const char *name)
{
	WANT_CONTEXT();
	for (int i = 0; i < 4; i++) {
		if (strcmp(name, kernels[i].name))
			continue;
		*function = (void *)kernels[i].run;
		return SUCCESS;
	}
	return NOT_FOUND;
}

#define SHARED_FREE 49152

static unsigned int shared_asked_for;

EXPORT int cuFuncSetAttribute(void *function, int attribute, int value)
{
	WANT_CONTEXT();
	if (!function || attribute != 8 || value < 0)
		return INVALID_VALUE;
	__atomic_store_n(&shared_asked_for, value, __ATOMIC_RELAXED);
	return SUCCESS;
}

EXPORT int cuLaunchKernel(void *function, unsigned int grid_x,
			  unsigned int grid_y, unsigned int grid_z,
			  unsigned int block_x, unsigned int block_y,
			  unsigned int block_z, unsigned int shared,
			  struct stream *s, void **params, void **extra)
{
	struct job job = { .kind = LAUNCH };

	WANT_CONTEXT();
	if (shared > SHARED_FREE &&
	    shared > __atomic_load_n(&shared_asked_for, __ATOMIC_RELAXED))
		return INVALID_VALUE;
	if (!grid_x || !grid_y || !grid_z || !block_x || !block_y || !block_z ||
	    params)
		return INVALID_VALUE;
	memcpy(&job.kernel, &function, sizeof(function));
	if (extra) {
		size_t bytes = *(size_t *)extra[3];

		if (extra[0] != (void *)1 || extra[2] != (void *)2 ||
		    extra[4] || bytes > sizeof(job.args))
			return INVALID_VALUE;
		memcpy(job.args, extra[1], bytes);
	}
	return add_job(s, job);
}

EXPORT int cuLaunchHostFunc(struct stream *s, void (*call)(void *arg),
			    void *arg)
{
	WANT_CONTEXT();
	return add_job(s,
		       (struct job){ .kind = CALL, .call = call, .arg = arg });
}
