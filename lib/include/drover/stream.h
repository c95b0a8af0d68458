/* SPDX-License-Identifier: MIT */
/*
 * drover_stream_t: a queue of copies and kernels that a device works off while
 * the host goes on, and that never waits where the order is given anyway.
 * drover_stream(3) has an example.
 *
 * What holds (Documentation/stream.rst says how):
 *  - Operations of all streams that touch the same memory, one of them writing,
 *    take effect in the order in which they were submitted. The library orders
 *    them, by what each backend declares that it keeps, unless the stream was
 *    made with DROVER_ORDER_CALLER.
 *  - drover_stream_synchronize() waits only for operations that the host could
 *    tell from undone ones: those that touch host memory.
 *  - A staged copy has read its source when the call returns. A borrowed one
 *    reads it at any time until its ticket is done. Nothing else is borrowed.
 *  - The first operation that fails ends its stream: it and all behind it are
 *    done, with its error, and nothing hangs. So are operations of other streams
 *    that are ordered behind one of these.
 *
 * Device memory is what drover_stream_alloc() gave, and what drover_stream_declare()
 * was told of. CUDA copies reach that of all devices, sets that of their own one;
 * what kernels reach is up to them. All other memory is host memory. Device memory
 * is touched by operations of streams and by nobody else; whoever has to do
 * otherwise calls drover_stream_drain() first.
 *
 * In all functions @ticket, unless NULL, is where the ticket of the operation goes;
 * @accesses is what it touches; a copy is of device or host memory, which must not
 * overlap; @attr may be NULL, for the defaults.
 *
 * All threads may use a stream; their calls take effect one after the other.
 * All functions return 0 or an errno value, leave errno alone, and block only
 * where they say so; after an error drover_stream_why() has a sentence about
 * it. None is a cancellation point. What takes a stream answers EBADF for one
 * that was destroyed, or was made by a process of which this one is a fork.
 *
 * What submits an operation blocks only when there is no room for it, and
 * answers EINVAL for what is none (NULL, an overlap), EXDEV for memory that the
 * backend cannot reach, EDEADLK where a kernel or host call would wait for itself,
 * ENOMEM, EIO from the driver, or EINVAL, EPERM or ENOTSUP where that says so, or
 * the error that has ended the stream. A kernel or host call waits for itself when
 * it waits for its own stream, or for an operation of another stream that is
 * ordered behind it.
 */
#ifndef DROVER_STREAM_H
#define DROVER_STREAM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct timespec; /* which strict C99 does not declare */

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/**
 * drover_stream_t - a stream; the content is private to the library
 *
 * A name, not the thing: it may be copied. All zero bytes name no stream.
 */
typedef union {
	uint32_t name[2];
	uint64_t align;
} drover_stream_t;

/**
 * drover_ticket_t - one submitted operation; the content is private
 *
 * May be copied and thrown away at any time. All zero bytes are done.
 */
typedef struct {
	drover_stream_t stream;
	uint64_t number;
} drover_ticket_t;

/**
 * drover_event_t - a point in a stream: the ticket of all that is in front of it
 *
 * So drover_ticket_done() asks for an event, and drover_ticket_wait() waits for
 * one. All zero bytes are an event that was never recorded: it is done.
 */
typedef drover_ticket_t drover_event_t;

/* drover_graph_t - captured operations */
typedef struct drover_graph drover_graph_t;

/* drover_streamattr_t.backend: who carries the operations out */
enum drover_backend {
	DROVER_BACKEND_CPU = 0,	 /* workers of a pool, in order; plain memory */
	DROVER_BACKEND_CUDA = 2, /* a CUDA driver, found when it is asked for */
};

/* drover_streamattr_t.order: who sees to the order of conflicting operations */
enum drover_order {
	DROVER_ORDER_ENGINE, /* the library */
	/* The caller, by events, drains and what the backend keeps by itself. */
	DROVER_ORDER_CALLER,
};

/**
 * drover_streamattr_t - stream attributes
 * @backend: enum drover_backend
 * @order: enum drover_order
 * @depth: operations under way at most, then a submit waits; 0: 256
 * @device: number of the CUDA device
 * @staging: bytes of memory for staged copies under way; 0: 1 MiB, and at least
 *	8 KiB. A larger copy is waited for.
 * @native: CUDA: a CUstream to be used and left as it is, which outlives this one;
 *	in the device's primary context, no default stream, and not capturing while
 *	this library has work there: waits for it then answer EBUSY. NULL: a new one
 * @priority: CUDA: of a new one, as cuStreamCreateWithPriority() takes it
 * @reserved: zero
 *
 * All zero bytes are the defaults: the CPU backend, ordered by the library.
 */
typedef struct {
	uint32_t backend;
	uint32_t order;
	uint32_t depth;
	uint32_t device;
	size_t staging;
	void *native;
	int32_t priority;
	uint32_t reserved;
} drover_streamattr_t;

/* drover_access_t.kind, one or both */
#define DROVER_READ  0x1u
#define DROVER_WRITE 0x2u

/**
 * drover_access_t - memory that an operation touches
 * @start: the first byte
 * @bytes: how many
 * @kind: DROVER_READ, DROVER_WRITE or both
 *
 * Where a function takes accesses, NULL says that anything may be touched; a
 * pointer and a count of 0 that nothing is.
 */
typedef struct {
	const void *start;
	size_t bytes;
	uint32_t kind;
} drover_access_t;

/**
 * drover_kernel_t - something to run on a device
 * @run: CPU backend: called with the copied arguments; returns 0 or an errno
 *	value, which fails the operation. To share its work out it may use the
 *	pool, see drover_stream_native().
 * @issue: CUDA backend: called by the submitting thread, with the context current,
 *	when it is its turn: puts its work into the CUstream, by launches of its
 *	own or by a library's, and returns 0 or an errno value. It calls no
 *	functions of streams. It has to see to it by itself if it uses memory of
 *	other devices. Captured, it is called once, with a stream that captures.
 */
typedef struct {
	int (*run)(const void *args);
	int (*issue)(void *native, const void *args);
} drover_kernel_t;

/* drover_stream_counts_t - what a stream has done since it was made */
typedef struct {
	/* drover_stream_synchronize(), _wait_event(), and _drain() if it waits; */
	uint64_t asked;
	uint64_t elided;   /* of those, the order was given already */
	uint64_t deferred; /* of those, the device waits, the host does not */
	uint64_t waited;   /* of those, the host had to wait: all others */
	uint64_t added_device; /* waits that the library has put in, */
	uint64_t added_host;   /* those of the host also for room */
	uint64_t read_backs;   /* blocking copies, each of which waits */
} drover_stream_counts_t;

/**
 * drover_stream_create() - make a stream
 * @stream: where its name goes
 *
 * Loads the CUDA driver, libcuda.so.1 or what the environment variable
 * DROVER_CUDA_LIBRARY names; the first stream of the CPU backend starts the pool
 * that all of them run on. It has as many workers as there are CPUs, or streams, if
 * they are more, and ends with the last stream.
 *
 * Return: 0; EINVAL for unknown attributes; EAGAIN when there are 128 streams,
 * or no thread; ENOMEM; ENODEV when there is no CUDA driver that works here, or
 * no such device; ENOSYS when the driver lacks a function; EIO when it fails.
 */
int drover_stream_create(drover_stream_t *stream,
			 const drover_streamattr_t *attr);

/**
 * drover_stream_destroy() - wait for all operations and end the stream
 *
 * Blocks, also until threads have left that wait for the stream. Calls with a
 * copy of the name, or with its tickets, answer EBADF afterwards. Device memory
 * is kept until drover_stream_free(), by any stream of the same backend.
 *
 * Return: 0; the error of the first operation that failed, with the stream
 * ended all the same; EBUSY while it captures; EDEADLK from a kernel or host call
 * that would wait for itself.
 */
int drover_stream_destroy(drover_stream_t *stream);

/**
 * drover_stream_native() - what the stream runs on
 * @native: where the CUstream goes, or for the CPU backend the drover_pool_t, which
 *	is not to be shut down or resized
 *
 * What is put there by others than drover_kernel_t.issue comes behind what was
 * submitted and issued before, and the library knows nothing else of it; a wait
 * for all of the stream may wait for it, too. To be used until
 * drover_stream_destroy(). Return: 0.
 */
int drover_stream_native(drover_stream_t *stream, void **native);

/*
 * drover_stream_why() - a sentence on the last error of the calling thread, valid
 * until its next call; names the library, function or device that is missing
 */
const char *drover_stream_why(void);

/**
 * drover_stream_alloc() - get device memory
 * @stream: a stream of the backend whose memory it is to be
 * @memory: where its address goes; its content is not defined
 *
 * May block, in the driver. All streams of the backend may use the memory.
 *
 * Return: 0; EINVAL for no bytes; ENOMEM; EIO from the driver.
 */
int drover_stream_alloc(drover_stream_t *stream, size_t bytes, void **memory);

/**
 * drover_stream_alloc_host() - get host memory that a device reaches by itself
 * @stream: a stream of the backend that is to reach it
 * @memory: where its address goes; its content is not defined
 *
 * It is host memory in all ways. A CUDA driver pins it, and a copy from or to it
 * blocks nobody. May block, in the driver. Return: as drover_stream_alloc().
 */
int drover_stream_alloc_host(drover_stream_t *stream, size_t bytes,
			     void **memory);

/**
 * drover_stream_pin() - the same with memory that the program has
 *
 * It stays host memory, and where it is, until drover_stream_free() has given
 * it back to the program. May block, in the driver. Return: as
 * drover_stream_alloc(); EINVAL also if a part of it is such memory already, or
 * the driver does not take it for memory; EPERM or ENOTSUP when the driver may not
 * pin memory, or cannot.
 */
int drover_stream_pin(drover_stream_t *stream, void *memory, size_t bytes);

/**
 * drover_stream_declare() - device memory that the program has
 * @stream: a stream of the backend, and on CUDA the device, whose memory it is
 * @memory: from cudaMalloc(), or an address range that is or will be mapped
 *
 * From then on it is device memory like that of drover_stream_alloc(), and
 * synchronizations are elided there as well, until drover_stream_free() has given it
 * back to the program. One call may declare all that an allocator is going to give
 * out pieces of. An access that is not within one range counts as one of host memory.
 *
 * Return: 0; EINVAL for no bytes, or if a part of it is known already; ENOMEM.
 */
int drover_stream_declare(drover_stream_t *stream, void *memory, size_t bytes);

/**
 * drover_stream_free() - give memory back
 * @stream: a stream of the same backend
 * @memory: from drover_stream_alloc(), _alloc_host(), _pin() or _declare(), or NULL
 *
 * Blocks until no operation of any stream touches it.
 *
 * Return: 0; EINVAL when it is no such memory; EDEADLK from a kernel or host
 * call that would wait for itself.
 */
int drover_stream_free(drover_stream_t *stream, void *memory);

/**
 * drover_stream_copy() - copy and wait
 *
 * Blocks until the copy, and so everything it depends on, is done.
 *
 * Return: as every submit; EBUSY while the stream captures.
 */
int drover_stream_copy(drover_stream_t *stream, void *to, const void *from,
		       size_t bytes);

/**
 * drover_stream_copy_staged() - copy; the source is free at once
 * @to: device or host memory. Host memory belongs to the copy until it is done.
 * @from: host memory: read before the call returns, and the caller's again
 *	then. Device memory: read in its turn, before anything that is submitted
 *	later writes it.
 *
 * Blocks also while operations under way write host memory @from, and until it
 * is done if it is larger than drover_streamattr_t.staging. Return: as every
 * submit.
 */
int drover_stream_copy_staged(drover_stream_t *stream, void *to,
			      const void *from, size_t bytes,
			      drover_ticket_t *ticket);

/**
 * drover_stream_copy_borrowed() - copy; the source stays as it is until then
 *
 * Host memory on either side belongs to the copy until @ticket is done, or a
 * drover_stream_synchronize() behind it has returned: @from must exist and not
 * change, @to must exist and not be looked at. A CUDA driver makes the caller
 * wait for a copy whose host memory is not pinned: so to read a result back while
 * the caller goes on is such a copy to pinned memory. Return: as every submit.
 */
int drover_stream_copy_borrowed(drover_stream_t *stream, void *to,
				const void *from, size_t bytes,
				drover_ticket_t *ticket);

/**
 * drover_stream_set() - set bytes of memory
 * @to: device or host memory; with CUDA only what this library has allocated
 * @byte: what they are to be
 *
 * Return: as every submit; EINVAL also for no bytes.
 */
int drover_stream_set(drover_stream_t *stream, void *to, int byte, size_t bytes,
		      drover_ticket_t *ticket);

/**
 * drover_stream_run() - run a kernel
 * @kernel: what to run; read during the call
 * @args: its arguments, copied during the call, or NULL
 *
 * The order and the elision rest on @accesses: what is missing there is a race.
 * Return: as every submit; EINVAL also when the kernel is none for this
 * backend.
 */
int drover_stream_run(drover_stream_t *stream, const drover_kernel_t *kernel,
		      const void *args, size_t args_bytes,
		      const drover_access_t *accesses, size_t nr_accesses,
		      drover_ticket_t *ticket);

/**
 * drover_stream_host_call() - call a function when its turn comes
 * @call: called by a worker of the pool or a thread of the driver's; returns 0 or
 *	an errno value, which fails the operation; so does, on the CPU, the end
 *	of its thread. On CUDA it may not call the driver, so no functions of
 *	streams. Return: as every submit.
 */
int drover_stream_host_call(drover_stream_t *stream, int (*call)(void *arg),
			    void *arg, const drover_access_t *accesses,
			    size_t nr_accesses, drover_ticket_t *ticket);

/*
 * drover_stream_record() - make @event the point behind all submitted so far.
 * Return: 0; EBUSY while the stream captures.
 */
int drover_stream_record(drover_stream_t *stream, drover_event_t *event);

/**
 * drover_stream_wait_event() - what is submitted later waits for @event
 * @event: recorded in any stream, of any backend
 *
 * The point counts at which the event is recorded now. An operation, unless the
 * order is given already. Blocks also between backends of which neither can
 * wait for the other.
 *
 * Return: as every submit; 0 for an event whose stream was destroyed, for then
 * all of it is done; the error of the operations in front of the event, which
 * this stream then ends with as well; EBUSY while this stream captures.
 */
int drover_stream_wait_event(drover_stream_t *stream,
			     const drover_event_t *event);

/**
 * drover_stream_synchronize() - the host may touch its memory again
 *
 * Blocks until all operations are done that touch host memory or may touch
 * anything, of this stream, and of others as far as something of this one waits
 * for them: by an event, or for memory. Others stay under way: whatever is submitted
 * later is ordered behind them as far as it has to be. An operation that fails later
 * than that is reported by the next call.
 *
 * Return: 0; the error that has ended the stream; EBUSY while it captures;
 * EDEADLK from a kernel or host call that would wait for itself.
 */
int drover_stream_synchronize(drover_stream_t *stream);

/* The same for all operations, and never elided. */
int drover_stream_drain(drover_stream_t *stream);

/**
 * drover_ticket_done() - whether an operation is done
 *
 * For the CPU backend it makes no system call.
 *
 * Return: 0: done; EINPROGRESS: not yet; EBADF: its stream was destroyed, which
 * waited for it; the operation's error, which may be that of an earlier one.
 */
int drover_ticket_done(const drover_ticket_t *ticket);

/**
 * drover_ticket_wait() - wait until an operation is done
 * @clock: CLOCK_REALTIME or CLOCK_MONOTONIC
 * @deadline: absolute time on @clock; NULL: without end
 *
 * Blocks. Return: as drover_ticket_done(), but ETIMEDOUT for not yet; EINVAL
 * for another clock or a tv_nsec outside 0 to 999,999,999; EBUSY when the caller's
 * CUstream captures; EDEADLK from a kernel or host call that would wait for itself.
 */
int drover_ticket_wait(const drover_ticket_t *ticket, clockid_t clock,
		       const struct timespec *deadline);

/**
 * drover_stream_capture() - keep operations instead of submitting them
 *
 * Until drover_stream_capture_end() copies, sets and kernels go into a graph. Their
 * tickets are done at once. The source of a staged copy is copied into the graph;
 * every replay copies it as it was. All else answers EBUSY.
 *
 * Return: 0; EBUSY when it captures already; ENOMEM.
 */
int drover_stream_capture(drover_stream_t *stream);

/**
 * drover_stream_capture_end() - stop capturing
 * @graph: where the graph goes; to be destroyed by the caller
 *
 * Return: 0; EINVAL when it does not capture; EIO when the driver cannot make a
 * graph of it, or the error of a kernel's issue(), and the operations are lost;
 * ENOMEM.
 */
int drover_stream_capture_end(drover_stream_t *stream, drover_graph_t **graph);

/**
 * drover_graph_replay() - submit a captured graph as one operation
 * @stream: a stream of the backend, and on CUDA the device, of the capture
 *
 * The operations run in the order in which they were captured. Borrowed sources
 * are borrowed anew until the ticket is done.
 *
 * Return: as every submit; EINVAL also for another backend; EBUSY while it
 * captures.
 */
int drover_graph_replay(drover_stream_t *stream, drover_graph_t *graph,
			drover_ticket_t *ticket);

/* drover_graph_destroy() - let go of a graph, also one under way, or of NULL */
int drover_graph_destroy(drover_graph_t *graph);

/* drover_stream_counts() - what @stream has done. Return: 0. */
int drover_stream_counts(drover_stream_t *stream,
			 drover_stream_counts_t *counts);

/*
 * drover_stream_note() - the host touches memory now, as it believes it may: so a
 * debug build reports a race with what nobody has waited for. Return: 0.
 */
int drover_stream_note(const drover_access_t *accesses, size_t nr_accesses);

/**
 * drover_stream_watch_races() - who is told of races
 * @report: called with a text that names both accesses and the addresses of the
 *	calls that submitted them, and with @arg; NULL: the text goes to stderr. It must not
 *	call functions of streams.
 *
 * A race is reported where its second access is submitted or noted.
 *
 * Return: 0; ENOTSUP when the library is not a debug build.
 */
int drover_stream_watch_races(void (*report)(const char *text, void *arg),
			      void *arg);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* DROVER_STREAM_H */
