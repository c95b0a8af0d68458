/* SPDX-License-Identifier: MIT */
/*
 * drover_stream_t: a queue of operations. An operation is a copy, a set (which
 * fills memory with a byte), a kernel, or a host call (a function that runs on
 * the host). A backend carries the operations out, on CPUs or on a CUDA device,
 * while the host goes on. A synchronization is a call by which
 * the host waits for operations. The library itself keeps the order of
 * operations that touch the same memory. Where this is all that the wait would
 * ensure, the wait is "elided": the call returns at once. drover_stream(3) has
 * an example.
 *
 * Device memory is memory that drover_stream_alloc() has returned, or that the
 * program has passed to drover_stream_declare(). All other memory is host
 * memory. With CUDA, a copy reaches the device memory of all devices, a set
 * reaches only the memory of its own device, and a kernel reaches whatever its
 * code can reach. Before a program touches device memory by other means than
 * operations of streams, it has to call drover_stream_drain().
 *
 * The library guarantees the following (how: Documentation/stream.rst):
 *  - Two operations conflict if they touch the same memory, and at least one of
 *    them writes it. Operations that conflict take effect in the order of their
 *    submission, even if they belong to different streams. The library keeps
 *    this order. For a stream made with DROVER_ORDER_CALLER, the caller has to
 *    keep it. Each backend declares which order it keeps by itself, and the
 *    library relies on this declaration.
 *  - drover_stream_synchronize() waits only for operations that touch host
 *    memory, or may touch any memory. The host cannot see the effects of other
 *    operations.
 *  - If the source of a staged copy is host memory, the source has been read
 *    when the call returns. A borrowed copy may read its source until it is
 *    done. Other arguments of operations (@kernel, @args, @accesses) are copied
 *    during the call.
 *  - The first operation that fails ends its stream. This operation and all
 *    operations behind it in the stream count as done, and get its error, so no
 *    wait hangs. An operation of another stream gets this error, too, if it is
 *    ordered behind one of these operations.
 *
 * In all functions that submit an operation, @ticket is where to store its
 * ticket, or NULL. A ticket serves to wait for its operation. @accesses is the
 * memory that the operation touches. The source and the target of a copy may be
 * device or host memory, and must not overlap. If @attr is NULL, the defaults
 * apply.
 *
 * All threads may use a stream; their calls take effect one after the other.
 * All functions return 0 or an errno value. No function changes errno, and a
 * function blocks only if its description says so. After an error,
 * drover_stream_why() returns a sentence about the error. No function is a
 * cancellation point. A function that takes a stream returns EBADF if the
 * stream was destroyed. In the child of a fork it also returns EBADF for every
 * stream that was made before the fork.
 *
 * If a description says "Return: as every submit", the function submits an
 * operation. It blocks if there is no room for the operation. It also blocks if
 * the operation has to wait for others, and its backend cannot do that by
 * itself. It returns
 *  - 0;
 *  - EINVAL for arguments that make no operation (NULL, an overlap);
 *  - EXDEV for memory that the backend cannot reach;
 *  - EDEADLK if the caller is a kernel or host call that runs in a stream, and
 *    would wait for itself: it would wait for its own stream, or for an
 *    operation of another stream that is ordered behind the caller;
 *  - ENOMEM;
 *  - EIO from the driver (or EINVAL, EPERM or ENOTSUP if that is the driver's
 *    answer); or
 *  - the error that has ended the stream.
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
 * A drover_stream_t only names a stream, so it may be copied. If all its bytes
 * are zero, it names no stream.
 */
typedef union {
	uint32_t name[2];
	uint64_t align;
} drover_stream_t;

/**
 * drover_ticket_t - one submitted operation; the content is private
 *
 * A ticket is done when its operation is done. A ticket may be copied, and need
 * not be given back. A ticket whose bytes are all zero is done.
 */
typedef struct {
	drover_stream_t stream;
	uint64_t number;
} drover_ticket_t;

/**
 * drover_event_t - a point in a stream: a ticket of all operations before it
 *
 * An event is done when all operations before the point are done.
 * drover_ticket_done() says whether an event is done, and drover_ticket_wait()
 * waits for the event. An event whose bytes are all zero was never recorded: it
 * is done.
 */
typedef drover_ticket_t drover_event_t;

/* drover_graph_t - operations kept by drover_stream_capture(), for replays */
typedef struct drover_graph drover_graph_t;

/* drover_streamattr_t.backend: what carries out the operations */
enum drover_backend {
	/* Workers of a pool, in order. Device memory is ordinary memory. */
	DROVER_BACKEND_CPU = 0,
	DROVER_BACKEND_CUDA = 2, /* a CUDA driver, loaded when first needed */
};

/* drover_streamattr_t.order: who orders operations that conflict */
enum drover_order {
	DROVER_ORDER_ENGINE, /* the library */
	/* The caller, by events, drains and the order of the backend. */
	DROVER_ORDER_CALLER,
};

/**
 * drover_streamattr_t - stream attributes
 * @backend: enum drover_backend
 * @order: enum drover_order
 * @depth: how many operations may be under way (0 means 256); a submit waits
 *	until fewer are under way
 * @device: number of the CUDA device
 * @staging: bytes of memory for staged copies under way, at least 8 KiB (0
 *	means 1 MiB). If a staged copy is larger, its caller waits for it.
 * @native: CUDA: a CUstream of the program, for the library to use. The
 *	CUstream has to outlive the drover_stream_t, and is not destroyed with
 *	it. The CUstream has to be in the device's primary context, and must not
 *	be a default stream. It must not capture while this library has work in
 *	it: a wait for such work would return EBUSY. NULL: the library makes a
 *	new CUstream.
 * @priority: CUDA: the priority of a new CUstream, as
 *	cuStreamCreateWithPriority() takes it
 * @reserved: zero
 *
 * If all bytes are zero, the defaults apply: the CPU backend, and the library
 * orders the operations.
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
 * If @accesses of a function is NULL, the operation may touch any memory. If it
 * is another pointer, and @nr_accesses is 0, the operation touches no memory.
 */
typedef struct {
	const void *start;
	size_t bytes;
	uint32_t kind;
} drover_access_t;

/**
 * drover_kernel_t - something to run on a device
 * @run: CPU backend: called with the copy of the arguments that
 *	drover_stream_run() has made. It returns 0, or an errno value if the
 *	operation has failed. It may divide its work among the workers of the
 *	pool that drover_stream_native() returns.
 * @issue: CUDA backend: called by the submitting thread, in the order of
 *	submission, with the device's context current. The function puts its
 *	work into the CUstream @native, by its own launches or those of a
 *	library, and returns 0 or an errno value. It must not call functions of
 *	streams, which are those of this header. If it uses memory of other
 *	devices, it has to make sure that its device can reach this memory. For
 *	a kernel in a graph, the function is called once, by
 *	drover_stream_capture_end(), with a CUstream that captures.
 */
typedef struct {
	int (*run)(const void *args);
	int (*issue)(void *native, const void *args);
} drover_kernel_t;

/* drover_stream_counts_t - what a stream has done since it was made */
typedef struct {
	/* calls of synchronize and wait_event, and the drain calls that waited */
	uint64_t asked;
	uint64_t elided;   /* of those asked: the order was kept already */
	uint64_t deferred; /* of those asked: the device waits, not the host */
	uint64_t waited;   /* of those asked: the host waits */
	uint64_t added_device; /* the library made the device wait */
	uint64_t added_host; /* it made the host wait, for order or for room */
	uint64_t read_backs; /* copies whose call waits until they are done */
} drover_stream_counts_t;

/**
 * drover_stream_create() - make a stream
 * @stream: where to store the name of the stream
 *
 * The first CUDA stream loads the CUDA driver: libcuda.so.1, or the library
 * that the environment variable DROVER_CUDA_LIBRARY names. The first stream of
 * the CPU backend starts the pool on which all streams of that backend run. The
 * pool has one worker for each CPU, or one for each stream if there are more
 * streams than CPUs. The pool ends with the last of these streams.
 *
 * Return: 0; EINVAL for unknown attributes; EAGAIN when there are 128 streams
 * already, or no thread can be made; ENOMEM; ENODEV when there is no CUDA
 * driver that works here, or no such device; ENOSYS when the driver lacks a
 * function; EIO when the driver fails.
 */
int drover_stream_create(drover_stream_t *stream,
			 const drover_streamattr_t *attr);

/**
 * drover_stream_destroy() - wait for all operations and end the stream
 *
 * The call blocks until all operations are done, and until all threads that
 * wait for the stream have returned from their waits. Afterwards calls with a
 * copy of the name, or with tickets of the stream, return EBADF. Device memory
 * stays until it is passed to drover_stream_free(), with any stream of the same
 * backend.
 *
 * Return: 0; the error of the first operation that failed (the stream has ended
 * nevertheless); EBUSY while the stream captures; EDEADLK from a kernel or host
 * call that would wait for itself.
 */
int drover_stream_destroy(drover_stream_t *stream);

/**
 * drover_stream_native() - get the CUstream or pool on which the stream runs
 * @native: where to store the CUstream, or with the CPU backend the pool, a
 *	drover_pool_t *, which must not be shut down or resized
 *
 * Until drover_stream_destroy(), the program may put work of its own into the
 * CUstream or pool. In a CUstream such work runs after every operation whose
 * submit has returned. The library does not track the program's work, so a wait
 * for the whole stream may also wait for this work. (Work that
 * drover_kernel_t.issue puts there belongs to an operation, and is tracked.)
 * Return: 0.
 */
int drover_stream_native(drover_stream_t *stream, void **native);

/*
 * drover_stream_why() - a sentence on the last error of the calling thread. It
 * is valid until that thread next calls a function of streams. If a library,
 * function or device is missing, the sentence names it.
 */
const char *drover_stream_why(void);

/**
 * drover_stream_alloc() - get device memory
 * @stream: any stream of the backend (on CUDA: of the device) to which the
 *	memory is to belong
 * @memory: where to store the address of the memory; the content is not defined
 *
 * The call may block, in the driver. All streams of the backend may use the
 * memory.
 *
 * Return: 0; EINVAL if @bytes is 0; ENOMEM; EIO from the driver.
 */
int drover_stream_alloc(drover_stream_t *stream, size_t bytes, void **memory);

/**
 * drover_stream_alloc_host() - get host memory that a device reaches by itself
 * @stream: any stream of the backend whose device is to reach the memory
 * @memory: where to store the address of the memory; the content is not defined
 *
 * The memory is host memory in all respects. A CUDA driver pins the memory
 * (locks it in RAM), so a copy from or to this memory does not block the
 * caller. The call may block, in the driver. Return: as drover_stream_alloc().
 */
int drover_stream_alloc_host(drover_stream_t *stream, size_t bytes,
			     void **memory);

/**
 * drover_stream_pin() - let a device reach memory that the program allocated
 *
 * This is drover_stream_alloc_host() for host memory that exists already. The
 * memory stays host memory, at its address. The device reaches it until
 * drover_stream_free() has given it back to the program. The call may block, in
 * the driver.
 *
 * Return: as drover_stream_alloc(); EINVAL also if a part of the memory was
 * pinned, allocated or declared before, or if the driver finds no memory there;
 * EPERM when the driver is not allowed to pin memory; ENOTSUP when the driver
 * cannot pin memory.
 */
int drover_stream_pin(drover_stream_t *stream, void *memory, size_t bytes);

/**
 * drover_stream_declare() - tell the library of the program's device memory
 * @stream: any stream of the backend (on CUDA: of the device) with the memory
 * @memory: from cudaMalloc(), or an address range that is or will be mapped
 *
 * Until drover_stream_free() has given the memory back to the program, it is
 * device memory like that of drover_stream_alloc(), and synchronizations are
 * elided for it as well. One call may declare a whole area from which an
 * allocator will give out pieces. If an access does not lie within a single
 * declared or allocated range, it counts as an access to host memory.
 *
 * Return: 0; EINVAL if @bytes is 0, or if a part of the memory was pinned,
 * allocated or declared before; ENOMEM.
 */
int drover_stream_declare(drover_stream_t *stream, void *memory, size_t bytes);

/**
 * drover_stream_free() - give memory back
 * @stream: any stream of the backend to which the memory belongs
 * @memory: from drover_stream_alloc(), _alloc_host(), _pin() or _declare(), or
 *	NULL
 *
 * The call blocks until no operation of any stream touches the memory.
 *
 * Return: 0; EINVAL when @memory is from none of these functions; EDEADLK from
 * a kernel or host call that would wait for itself.
 */
int drover_stream_free(drover_stream_t *stream, void *memory);

/**
 * drover_stream_copy() - copy and wait
 *
 * The call blocks until the copy, and all operations on which it depends, are
 * done.
 *
 * Return: as every submit; EBUSY while the stream captures.
 */
int drover_stream_copy(drover_stream_t *stream, void *to, const void *from,
		       size_t bytes);

/**
 * drover_stream_copy_staged() - copy; the caller has the source back at once
 * @to: device or host memory. Host memory belongs to the copy until the copy is
 *	done.
 * @from: host memory, which is read before the call returns, and then belongs
 *	to the caller again; or device memory, which is read in the copy's turn,
 *	before any operation that is submitted later writes it.
 *
 * If @from is host memory, and operations under way write to it, the call also
 * waits for these operations. If the copy is larger than
 * drover_streamattr_t.staging, the call blocks until the copy is done. Return:
 * as every submit.
 */
int drover_stream_copy_staged(drover_stream_t *stream, void *to,
			      const void *from, size_t bytes,
			      drover_ticket_t *ticket);

/**
 * drover_stream_copy_borrowed() - copy, and use the caller's memory until done
 *
 * Host memory at @from or @to belongs to the copy until @ticket is done, or
 * until a drover_stream_synchronize() behind the copy has returned. Until then
 * @from must exist and not change, and @to must exist and not be looked at. If
 * the host memory of a copy is not pinned, a CUDA driver makes the caller wait
 * for the copy. So to go on while a result is read back, copy it to pinned
 * memory. Return: as every submit.
 */
int drover_stream_copy_borrowed(drover_stream_t *stream, void *to,
				const void *from, size_t bytes,
				drover_ticket_t *ticket);

/**
 * drover_stream_set() - set bytes of memory
 * @to: device or host memory; with CUDA only memory from drover_stream_alloc(),
 *	_alloc_host() or _declare(), but not from _pin()
 * @byte: the new value of each byte
 *
 * Return: as every submit; EINVAL also if @bytes is 0.
 */
int drover_stream_set(drover_stream_t *stream, void *to, int byte, size_t bytes,
		      drover_ticket_t *ticket);

/**
 * drover_stream_run() - run a kernel
 * @kernel: what to run; read during the call
 * @args: its arguments, copied during the call, or NULL
 *
 * The library orders operations and elides waits by @accesses, so an access
 * that is missing there is a race. Return: as every submit; EINVAL also when
 * @kernel has no function for this backend.
 */
int drover_stream_run(drover_stream_t *stream, const drover_kernel_t *kernel,
		      const void *args, size_t args_bytes,
		      const drover_access_t *accesses, size_t nr_accesses,
		      drover_ticket_t *ticket);

/**
 * drover_stream_host_call() - call a function when its turn comes
 * @call: called by a worker of the pool or by a thread of the driver. It
 *	returns 0, or an errno value if the operation has failed. On the CPU
 *	backend the operation also fails if @call ends its thread. On CUDA @call
 *	must not call the driver, so it must not call functions of streams.
 *
 * Return: as every submit.
 */
int drover_stream_host_call(drover_stream_t *stream, int (*call)(void *arg),
			    void *arg, const drover_access_t *accesses,
			    size_t nr_accesses, drover_ticket_t *ticket);

/*
 * drover_stream_record() - make @event the point behind all operations that
 * have been submitted to @stream so far. Return: 0; EBUSY while it captures.
 */
int drover_stream_record(drover_stream_t *stream, drover_event_t *event);

/**
 * drover_stream_wait_event() - make operations submitted later wait for @event
 * @event: recorded in any stream, of any backend
 *
 * The wait is for the point that @event names at the time of this call, even if
 * @event is recorded again later. The wait is an operation, except if the order
 * is kept without it. The call also blocks if the backends of the two streams
 * cannot wait for each other.
 *
 * Return: as every submit; 0 for an event whose stream was destroyed, because
 * all operations of that stream are done; the error of the operations in front
 * of the event, which then ends @stream as well; EBUSY while @stream captures.
 */
int drover_stream_wait_event(drover_stream_t *stream,
			     const drover_event_t *event);

/**
 * drover_stream_synchronize() - wait until the host may touch its memory again
 *
 * The call blocks until all operations of this stream that touch host memory,
 * or may touch any memory, are done. It also waits for such operations of other
 * streams if an operation of this stream waits for them, by an event or because
 * they touch the same memory. All other operations stay under way. Operations
 * that are submitted later are ordered behind them as far as necessary. If an
 * operation fails after this call has returned, the next call for the stream
 * returns the error.
 *
 * Return: 0; the error that has ended the stream; EBUSY while the stream
 * captures; EDEADLK from a kernel or host call that would wait for itself.
 */
int drover_stream_synchronize(drover_stream_t *stream);

/*
 * drover_stream_drain() - as drover_stream_synchronize(), but wait for all
 * operations; this wait is never elided
 */
int drover_stream_drain(drover_stream_t *stream);

/**
 * drover_ticket_done() - whether an operation is done
 *
 * With the CPU backend the function makes no system call.
 *
 * Return: 0: done; EINPROGRESS: not yet; EBADF: the operation's stream was
 * destroyed, and drover_stream_destroy() has waited for the operation; or the
 * operation's error, which may be the error of an earlier operation.
 */
int drover_ticket_done(const drover_ticket_t *ticket);

/**
 * drover_ticket_wait() - wait until an operation is done
 * @clock: CLOCK_REALTIME or CLOCK_MONOTONIC
 * @deadline: absolute time on @clock; NULL: wait without a deadline
 *
 * The call blocks. Return: as drover_ticket_done(), but ETIMEDOUT instead of
 * EINPROGRESS; EINVAL for another clock or a tv_nsec outside 0 to 999,999,999;
 * EBUSY when the CUstream of drover_streamattr_t.native captures; EDEADLK from
 * a kernel or host call that would wait for itself.
 */
int drover_ticket_wait(const drover_ticket_t *ticket, clockid_t clock,
		       const struct timespec *deadline);

/**
 * drover_stream_capture() - keep operations instead of submitting them
 *
 * Until drover_stream_capture_end(), copies, sets and kernels go into a graph.
 * Their tickets are done at once. The source of a staged copy is copied into
 * the graph, and every replay copies that content. All other operations return
 * EBUSY.
 *
 * Return: 0; EBUSY when the stream captures already; ENOMEM.
 */
int drover_stream_capture(drover_stream_t *stream);

/**
 * drover_stream_capture_end() - stop capturing
 * @graph: where to store the graph, which the caller has to destroy
 *
 * Return: 0; EINVAL when the stream does not capture; EIO when the driver
 * cannot make a graph of the operations; the error of a kernel's issue();
 * ENOMEM. After an error the captured operations are lost.
 */
int drover_stream_capture_end(drover_stream_t *stream, drover_graph_t **graph);

/**
 * drover_graph_replay() - submit a captured graph as one operation
 * @stream: a stream of the same backend, and on CUDA of the same device, as the
 *	stream that captured
 *
 * The operations run in the order in which they were captured. Until @ticket is
 * done, the sources of borrowed copies are borrowed again.
 *
 * Return: as every submit; EINVAL also for another backend or device; EBUSY
 * while @stream captures.
 */
int drover_graph_replay(drover_stream_t *stream, drover_graph_t *graph,
			drover_ticket_t *ticket);

/*
 * drover_graph_destroy() - end a graph. @graph may be NULL, and a replay of it
 * may be under way.
 */
int drover_graph_destroy(drover_graph_t *graph);

/* drover_stream_counts() - what @stream has done. Return: 0. */
int drover_stream_counts(drover_stream_t *stream,
			 drover_stream_counts_t *counts);

/*
 * drover_stream_note() - say that the host touches memory now. A debug build of
 * the library (-DDROVER_STREAM_DEBUG) then reports a race with each conflicting
 * access for which no thread has waited. Return: 0.
 */
int drover_stream_note(const drover_access_t *accesses, size_t nr_accesses);

/**
 * drover_stream_watch_races() - choose a function that is called for each race
 * @report: called with @arg and a text that names both accesses and the
 *	addresses of the calls that submitted them. @report must not call
 *	functions of streams. NULL: the text goes to stderr.
 *
 * A race is reported when its second access is submitted or noted.
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
