/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mock.h - a CUDA driver made of threads, for tests without a GPU
 *
 * It has the functions of the driver API that the library calls, and they do
 * what their documentation promises. A stream is a thread that works off a
 * queue, device memory is host memory, and the kernels of a module are built
 * in: "fill", "add" and "token".
 *
 * The driver is as strict as the documentation:
 *
 * - A copy from or to memory that is not pinned blocks, unless a test says that
 *   it does not.
 * - A kernel that touches such memory causes a fault.
 * - After a fault of its device neither a context nor its streams can be used.
 * - A blocking stream and the legacy stream wait for each other.
 * - A query of a stream that captures invalidates the capture.
 * - While a thread captures, unsafe calls are refused to threads whose capture
 *   mode is not relaxed.
 * - A launch has limits.
 *
 * Functions for the tests are called mock_cuda_*().
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* clang-format off */
#define ERRORS(error)                                  \
	error(INVALID_VALUE, 1)                        \
	error(OUT_OF_MEMORY, 2)                        \
	error(STUB_LIBRARY, 34)                        \
	error(NO_DEVICE, 100)                          \
	error(INVALID_DEVICE, 101)                     \
	error(INVALID_CONTEXT, 201)                    \
	error(INVALID_HANDLE, 400)                     \
	error(NOT_FOUND, 500)                          \
	error(NOT_READY, 600)                          \
	error(ILLEGAL_ADDRESS, 700)                    \
	error(CONTEXT_IS_DESTROYED, 709)               \
	error(HOST_MEMORY_ALREADY_REGISTERED, 712)     \
	error(LAUNCH_FAILED, 719)                      \
	error(NOT_PERMITTED, 800)                      \
	error(NOT_SUPPORTED, 801)                      \
	error(SYSTEM_DRIVER_MISMATCH, 803)             \
	error(STREAM_CAPTURE_UNSUPPORTED, 900)         \
	error(STREAM_CAPTURE_INVALIDATED, 901)
/* clang-format on */

#define ERROR_NUMBER(name, number) name = number,
enum {
	SUCCESS,
	ERRORS(ERROR_NUMBER)
};

#define EXPORT __attribute__((visibility("default")))

/* ---- device.c ---- */

/* @lock guards all data except a thread's own. @changed: some job is done. */
extern pthread_mutex_t lock;
extern pthread_cond_t changed;

/* Take the lock, and count the call. Return: the planned result, or 0. */
int enter(const char *function);
void leave(int *planned);
/* Return: the calling thread's current context, or NULL. */
char *current_context(void);
/* Return: the fault that this context has had, or 0. */
int fault_of(const char *context);
/* The context has a fault. Its streams fail, and begin no more jobs. */
void poison(const char *context, int result);
/* Can a device access all of this memory? */
bool is_reached(const void *start, size_t bytes);
/* Does a capture forbid unsafe calls to the calling thread? */
bool is_unsafe(void);

/* The lock is held until the calling function returns. */
#define ENTER() __attribute__((cleanup(leave))) int planned = enter(__func__)

#define CALLED()     \
	ENTER();     \
	if (planned) \
	return planned

/* All functions for memory or streams need a current context. */
#define WANT_CONTEXT()          \
	CALLED();               \
	if (!current_context()) \
	return INVALID_CONTEXT

/* Functions that destroy or free work after a fault; others do not. */
#define WANT_SOUND()                     \
	WANT_CONTEXT();                  \
	if (fault_of(current_context())) \
	return fault_of(current_context())

#define WANT_SAFE()      \
	WANT_SOUND();    \
	if (is_unsafe()) \
	return STREAM_CAPTURE_UNSUPPORTED

/* ---- stream.c: streams are a list of jobs and a thread; [lock] ---- */

struct stream;

struct kernel {
	const char *name;
	int (*run)(const void *args);
	bool (*may_run)(const void *args); /* may it touch its memory? */
};

/*
 * The fields that are set say what a job is: a kernel, call, wait, copy or set.
 */
struct job {
	struct job *next;
	const struct kernel *kernel;
	unsigned char args[256];
	void (*call)(void *arg);
	void *arg;
	const struct stream *behind;
	uint64_t number; /* of a job in that stream */
	void *to;
	const void *from;
	unsigned char byte;
	size_t bytes;
};

struct graph {
	struct job *first, **end;
	bool spoilt; /* its stream was queried during the capture */
};

/* A destroyed stream is not freed, because other streams may wait for it. */
struct stream {
	struct stream *older;
	struct graph jobs, *capture;
	uint64_t nr_added, nr_done;
	int failed;
	bool destroyed;
	bool blocking; /* it and the legacy stream wait for each other */
	char *context;
};

int add_job(struct stream *s, const struct job *job);
/* All streams of the context fail. */
void fail_streams(const char *context, int result);
/* Return: @s, or the current context's legacy stream if @s is a name of it. */
struct stream *stream_of(struct stream *s);
/* Wait until no stream touches memory. */
void await_touches(void);
/* Wait until all jobs are done that are queued now. */
void await_jobs(const struct stream *s);
