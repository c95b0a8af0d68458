// SPDX-License-Identifier: MIT
/*
 * The steps of ggml's scheduler with two backends, by ggml_stream.h. For each
 * token it sets the inputs, runs a graph on the first backend, passes the
 * result to the second one, and runs a graph there. Then the host reads the
 * output.
 *
 *	cc -o ggml_sched ggml_sched.c -ldrover -ldl
 *	./ggml_sched [cpu|cuda]
 *
 * This file has the part of ggml that the steps need. It never waits before an
 * input or after one: it synchronizes once for each token, where the host needs
 * the result.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* ---- of ggml.h and ggml-backend-impl.h ---- */

struct ggml_tensor {
	void *data;
	size_t bytes;
};

typedef struct ggml_backend *ggml_backend_t;
typedef struct ggml_backend_event *ggml_backend_event_t;
typedef struct ggml_backend_device *ggml_backend_dev_t;

struct ggml_backend_event {
	void *context;
};

struct ggml_backend_i {
	void (*set_tensor_async)(ggml_backend_t backend,
				 struct ggml_tensor *tensor, const void *data,
				 size_t offset, size_t size);
	void (*get_tensor_async)(ggml_backend_t backend,
				 const struct ggml_tensor *tensor, void *data,
				 size_t offset, size_t size);
	bool (*cpy_tensor_async)(ggml_backend_t backend_src,
				 ggml_backend_t backend_dst,
				 const struct ggml_tensor *src,
				 struct ggml_tensor *dst);
	void (*synchronize)(ggml_backend_t backend);
	void (*event_record)(ggml_backend_t backend,
			     ggml_backend_event_t event);
	void (*event_wait)(ggml_backend_t backend, ggml_backend_event_t event);
};

struct ggml_backend {
	struct ggml_backend_i iface;
	void *context;
};

static size_t ggml_nbytes(const struct ggml_tensor *tensor)
{
	return tensor->bytes;
}

#include "ggml_stream.h"

/* ---- the backends ---- */

#define NR_INPUTS 3
#define NUMBERS	  64 /* in each input */
#define NR_TOKENS 8

typedef unsigned int input[NUMBERS];

static const struct ggml_backend_i iface = {
	.set_tensor_async = ggml_drover_set_tensor_async,
	.get_tensor_async = ggml_drover_get_tensor_async,
	.cpy_tensor_async = ggml_drover_cpy_tensor_async,
	.synchronize = ggml_drover_synchronize,
	.event_record = ggml_drover_event_record,
	.event_wait = ggml_drover_event_wait,
};

static struct ggml_drover contexts[2];
static struct ggml_backend backends[2] = { { iface, &contexts[0] },
					   { iface, &contexts[1] } };

/*
 * Memory of the program's own, as ggml's buffers are; a GPU's is from the
 * driver.
 */
static struct ggml_tensor new_tensor(bool on_gpu, size_t bytes)
{
	struct ggml_tensor tensor = { NULL, bytes };
	drover_stream_t *stream = &contexts[0].stream;

	if (on_gpu) {
		ggml_drover_check(drover_stream_alloc(stream, bytes,
						      &tensor.data),
				  "alloc");
		return tensor;
	}
	tensor.data = malloc(bytes);
	ggml_drover_check(drover_stream_declare(stream, tensor.data, bytes),
			  "declare");
	return tensor;
}

/* ---- a graph of one node: the inputs, the last one first ---- */

struct reverse {
	char *to;
	const char *from;
};

static int reverse_run(const void *args)
{
	const struct reverse *r = args;

	for (size_t i = 0; i < NR_INPUTS; i++)
		memcpy(r->to + i * sizeof(input),
		       r->from + (NR_INPUTS - 1 - i) * sizeof(input),
		       sizeof(input));
	return 0;
}

static int (*copy_async)(unsigned long long to, unsigned long long from,
			 size_t bytes, void *stream);

static int reverse_issue(void *stream, const void *args)
{
	const struct reverse *r = args;
	int err = 0;

	for (size_t i = 0; i < NR_INPUTS && !err; i++)
		err = copy_async((uintptr_t)r->to + i * sizeof(input),
				 (uintptr_t)r->from +
					 (NR_INPUTS - 1 - i) * sizeof(input),
				 sizeof(input), stream);
	return err ? EIO : 0;
}

static void graph_compute(ggml_backend_t backend, struct ggml_tensor *to,
			  const struct ggml_tensor *from)
{
	const drover_kernel_t kernel = { .run = reverse_run,
					 .issue = reverse_issue };
	const struct reverse args = { to->data, from->data };
	const drover_access_t accesses[] = {
		{ to->data, to->bytes, DROVER_WRITE },
		{ from->data, from->bytes, DROVER_READ },
	};

	ggml_drover_check(drover_stream_run(ggml_drover_stream(backend),
					    &kernel, &args, sizeof(args),
					    accesses, 2, NULL),
			  "graph_compute");
}

/* ---- the scheduler ---- */

static unsigned int generate(struct ggml_tensor *t, unsigned int token,
			     ggml_backend_event_t event)
{
	ggml_backend_t first = &backends[0], second = &backends[1];
	input data, out[NR_INPUTS];
	unsigned int sum = 0;

	/* The same variable each time, as it is free when the call returns. */
	for (unsigned int i = 0; i < NR_INPUTS; i++) {
		for (unsigned int j = 0; j < NUMBERS; j++)
			data[j] = token * 31 + i * j;
		iface.set_tensor_async(first, &t[0], data, i * sizeof(data),
				       sizeof(data));
	}
	graph_compute(first, &t[1], &t[0]);
	iface.event_record(first, event);
	iface.event_wait(second, event);
	if (!iface.cpy_tensor_async(first, second, &t[1], &t[2]))
		abort();
	graph_compute(second, &t[3], &t[2]);
	iface.get_tensor_async(second, &t[3], out, 0, sizeof(out));
	iface.synchronize(second);
	for (unsigned int i = 0; i < NR_INPUTS; i++)
		for (unsigned int j = 0; j < NUMBERS; j++)
			sum = sum * 31 + out[i][j];
	return sum >> 16;
}

int main(int argc, char **argv)
{
	bool on_gpu = argc > 1 && !strcmp(argv[1], "cuda");
	const drover_streamattr_t attr = {
		.backend = on_gpu ? DROVER_BACKEND_CUDA : DROVER_BACKEND_CPU,
	};
	const char *driver = getenv("DROVER_CUDA_LIBRARY");
	drover_event_t recorded = { 0 };
	struct ggml_backend_event event = { &recorded };
	struct ggml_tensor tensors[4];
	drover_stream_counts_t counts;
	unsigned int token = 1;

	for (int i = 0; i < 2; i++)
		ggml_drover_check(drover_stream_create(&contexts[i].stream,
						       &attr),
				  "create");
	if (on_gpu)
		copy_async = dlsym(dlopen(driver ? driver : "libcuda.so.1",
					  RTLD_NOW),
				   "cuMemcpyAsync");
	for (int i = 0; i < 4; i++)
		tensors[i] = new_tensor(on_gpu, NR_INPUTS * sizeof(input));
	for (int i = 0; i < NR_TOKENS; i++) {
		token = generate(tensors, token, &event);
		printf("%u ", token);
	}
	ggml_drover_event_synchronize(NULL, &event);
	drover_stream_counts(&contexts[1].stream, &counts);
	printf("\nevents waited for by the device or given: %llu; "
	       "waits of the host that the library added: %llu\n",
	       (unsigned long long)(counts.deferred + counts.elided),
	       (unsigned long long)counts.added_host);
	for (int i = 0; i < 4; i++) {
		ggml_drover_check(drover_stream_free(&contexts[0].stream,
						     tensors[i].data),
				  "free");
		if (!on_gpu)
			free(tensors[i].data);
	}
	for (int i = 0; i < 2; i++)
		ggml_drover_check(drover_stream_destroy(&contexts[i].stream),
				  "destroy");
	return 0;
}
