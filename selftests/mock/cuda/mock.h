/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A CUDA driver made of threads, for tests without a GPU: the functions of the
 * driver API that the library calls, with what their documentation promises. A
 * stream is a thread that works off a queue, memory is memory, and the kernels
 * of a module are built in: "fill", "add" and "token".
 *
 * It is strict where the documentation is: a copy from or to memory that is not
 * pinned blocks, unless a test says that it does not; a kernel that touches such
 * memory is a fault; after a fault of its device a context is good for nothing, nor
 * are its streams, until there is another; streams wait for the legacy one, and it
 * for them, unless they are non-blocking; asking what is done of a stream that
 * captures spoils the capture; while somebody captures, unsafe calls are refused to
 * threads that are not relaxed; a launch has limits.
 *
 * Beside them, for tests: mock_cuda_*().
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

/* Guards all that is not said to be a thread's own; changed: some job is done. */
extern pthread_mutex_t lock;
extern pthread_cond_t changed;

/* Takes the lock, and counts the call; what it was told to answer, or 0. */
int enter(const char *function);
void leave(int *planned);
/* The thread's own, or NULL. */
char *current_context(void);
/* The fault that this context has had, or 0. */
int fault_of(const char *context);
/* It has had one; its streams fail, and do nothing that they have not begun. */
void poison(const char *context, int result);
/* Whether all of it is memory that a device reaches. */
bool is_reached(const void *start, size_t bytes);
/* Whether a capture does not permit the calling thread what is unsafe. */
bool is_unsafe(void);

/* The lock is held until the function that was called returns. */
#define ENTER() __attribute__((cleanup(leave))) int planned = enter(__func__)

#define CALLED()     \
	ENTER();     \
	if (planned) \
	return planned

/* All that works on memory or streams wants a current context. */
#define WANT_CONTEXT()          \
	CALLED();               \
	if (!current_context()) \
	return INVALID_CONTEXT

/* What ends or gives back goes on after a fault. */
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
	bool (*may_run)(const void *args); /* touches what it may */
};

/* It is what it has: a kernel, a call, a wait, a copy, or bytes to set. */
struct job {
	struct job *next;
	const struct kernel *kernel;
	unsigned char args[256];
	void (*call)(void *arg);
	void *arg;
	const struct stream *behind;
	uint64_t number; /* of the job there */
	void *to;
	const void *from;
	unsigned char byte;
	size_t bytes;
};

struct graph {
	struct job *first, **end;
	bool spoilt; /* somebody asked what is done of its stream */
};

/* It stays when it is destroyed, as others may be behind it. */
struct stream {
	struct stream *older;
	struct graph jobs, *capture;
	uint64_t nr_added, nr_done;
	int failed;
	bool destroyed;
	bool blocking; /* waits for the legacy stream, and it for this one */
	char *context;
};

int add_job(struct stream *s, const struct job *job);
/* Those of a context fail with it. */
void fail_streams(const char *context, int result);
/* A stream, or the legacy one of the current context for its names. */
struct stream *stream_of(struct stream *s);
/* Until no stream touches memory. */
void await_touches(void);
/* Until all is done that is queued. */
void await_jobs(const struct stream *s);
