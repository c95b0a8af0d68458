/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A CUDA driver made of threads, for tests without a GPU: the functions of the
 * driver API that the library calls, with what their documentation promises. A
 * stream is a thread that works off a queue, memory is memory, and the kernels
 * of a module are built in: "fill", "add", "token" and "nothing".
 *
 * It is strict where the documentation is: a copy from or to memory that is not
 * pinned blocks; asking what is done of a stream that captures spoils the capture;
 * while somebody captures, unsafe calls are refused to threads that are not
 * relaxed; more than 48 KiB of shared memory have to be asked for.
 *
 * Beside them, for tests: mock_cuda_*().
 *
 * DROVER_MOCK_CUDA=no-device in the environment: a driver without a device.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define ERRORS(error)                                                         \
	error(INVALID_VALUE, 1) error(OUT_OF_MEMORY, 2) error(NO_DEVICE, 100) \
		error(INVALID_DEVICE, 101) error(INVALID_CONTEXT, 201) error( \
			INVALID_HANDLE, 400) error(NOT_FOUND, 500)            \
			error(NOT_READY, 600) error(LAUNCH_FAILED, 719)       \
				error(STREAM_CAPTURE_UNSUPPORTED, 900)        \
					error(STREAM_CAPTURE_INVALIDATED, 901)

#define ERROR_NUMBER(name, number) name = number,
enum {
	SUCCESS,
	ERRORS(ERROR_NUMBER)
};

#define EXPORT __attribute__((visibility("default")))

/* Guards all that is not said to be a thread's own; changed: some job is done. */
extern pthread_mutex_t lock;
extern pthread_cond_t changed;

/* ---- device.c ---- */

/* Counts the call; what it was told to answer, or 0. */
int called(const char *function);

#define CALLED()                                 \
	do {                                     \
		int planned_ = called(__func__); \
		if (planned_)                    \
			return planned_;         \
	} while (0)

extern _Thread_local int nr_pushed;
/* Of as many devices, each with one; the thread's own, or NULL. */
extern char contexts[2];
char *current_context(void);
/* Whether a capture does not permit the calling thread what is unsafe. */
bool is_unsafe(void);

#define UNSAFE()                                           \
	do {                                               \
		if (is_unsafe())                           \
			return STREAM_CAPTURE_UNSUPPORTED; \
	} while (0)

/* All that works on memory or streams wants a current context. */
#define WANT_CONTEXT()                          \
	do {                                    \
		CALLED();                       \
		if (!nr_pushed)                 \
			return INVALID_CONTEXT; \
	} while (0)

/* ---- stream.c: streams are a list of jobs and a thread ---- */

enum kind {
	COPY,
	SET,
	LAUNCH,
	CALL,
	RECORD,
	WAIT,
	GRAPH
};

struct graph;

/* It may be destroyed while jobs use it. */
struct event {
	_Atomic uint64_t recorded;
	uint64_t done; /* [lock] */
	_Atomic int refs;
	char *context;
};

struct job {
	struct job *next;
	enum kind kind;
	void *to;
	const void *from;
	size_t bytes, rows, to_pitch, from_pitch;
	int (*kernel)(const void *args);
	unsigned char args[256];
	void (*call)(void *arg);
	void *arg;
	struct event *event;
	uint64_t number;
	struct graph *graph;
};

struct graph {
	struct job *first, **end;
	_Atomic int refs;
	bool spoilt; /* somebody asked what is done of its stream */
};

struct stream {
	struct job *first, **end; /* [lock] */
	uint64_t nr_added, nr_done;
	int failed;
	bool stop;
	struct graph *capture;
	pthread_t thread;
	char *context;
};

int add_job(struct stream *s, struct job job);
/* Until all is done that is queued; the stream's error. */
int await_jobs(struct stream *s);
