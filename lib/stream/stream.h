/* SPDX-License-Identifier: MIT */
/*
 * The stream inside: operations with numbers, what backends keep by themselves,
 * and what its files offer each other.
 *
 * Numbers. Each operation of a stream has one, counted from 1 and never again
 * from there: a slot that is used for another stream goes on counting. The
 * number @done says that it and all in front of it are done; its low half is a
 * futex word. So "wait for operation N" is always "wait until done >= N".
 *
 * Locks. stream_lock guards everything but the atomics and what the worker of
 * a queue needs of an operation, which does not change from being posted until
 * it is done. Nobody sleeps with it for longer than a system call, and the
 * threads that carry operations out do without it. Order: stream_lock, then
 * the lock of the checker.
 */
#ifndef DROVER_STREAM_INTERNAL_H
#define DROVER_STREAM_INTERNAL_H

#include <drover/mutex.h>
#include <pthread.h>
#include <stdbool.h>

#include "base/atomic.h"
#include "base/futex.h"
#include "base/thread.h"
#include "pool/pool.h"
#include "stream/op.h"

#define STREAM_MAX     128 /* streams at a time */
#define STREAM_DEPTH   256
#define STREAM_STAGING (1u << 20)
#define STAGING_LEAST  8192u
#define NUMBER_MAX     ((UINT64_C(1) << 48) - 1)
#define FAILURE_NONE   UINT64_MAX
#define CACHE_LINE     64
#define cache_aligned  _Alignas(CACHE_LINE)

struct stream;

enum memory {
	MEMORY_DEVICE,
	MEMORY_HOST,   /* that the device reaches */
	MEMORY_PINNED, /* the same, of the program's */
};

/*
 * Who carries operations out, and what it keeps by itself. The engine relies on
 * the first declarations, and on nothing else.
 */
struct backend {
	const char *name; /* for people */
	enum drover_backend id;
	/* Of equals: the same device memory; queues wait for each other. */
	bool cuda;
	bool copies_queued; /* otherwise they start when submitted */
	/* Fails with a reason for drover_stream_why(). */
	int (*open)(struct stream *s, const drover_streamattr_t *attr);
	void (*close)(struct stream *s); /* nothing is under way */
	/*
	 * Begin to carry @op out, without the lock, when those in front have been:
	 * raises posted, and the stream may be gone after that.
	 */
	int (*issue)(struct stream *s, struct op *op);
	/* @op is next in the queue, see queue_open(); raises done. */
	void (*turn)(struct stream *s, struct op *op);
	/*
	 * Until done >= @number or the deadline: 0 or ETIMEDOUT. NULL: whoever
	 * carries operations out raises it.
	 */
	int (*wait)(struct stream *s, uint64_t number,
		    const struct deadline *deadline);
	/* Bring done up to date; [stream_lock]. NULL: it always is. */
	void (*poll)(struct stream *s);
	/* @memory is what is to be pinned. */
	void *(*alloc)(struct stream *s, size_t bytes, enum memory kind,
		       void *memory);
	void (*free)(struct stream *s, void *memory, enum memory kind);
	/* NULL: nothing to prepare. The second one has stream_lock. */
	int (*graph_make)(struct stream *s, struct drover_graph *graph);
	void (*graph_drop)(struct drover_graph *graph);
	/* NULL: no kernels are loaded. */
	int (*load)(struct stream *s, const void *image, const char *name,
		    drover_kernel_t *kernel);
};

extern const struct backend stream_cpu, stream_cuda;
/* For tests that are linked statically: one of theirs, or NULL. */
extern const struct backend *stream_of_tests;

/* A number that only grows, and those who wait for it. */
struct number {
	_Atomic uint64_t at; /* the low half is a futex word */
	/* Count << 48 | how far below NUMBER_MAX what any waits for is; wait.c */
	_Atomic uint64_t sleepers;
};

/*
 * A slot: one stream after the other. Who has no lock keeps a stream by users
 * [S-USERS]: from then on until it is let go the slot is not used for another one.
 * What says nothing else is guarded by stream_lock, or constant.
 */
struct stream {
	uint32_t slot;
	bool taken; /* also while it is being made or closed */
	_Atomic uint32_t
		life; /* which one of this slot; odd while there is one */
	const struct backend *backend;
	enum drover_order order;
	uint32_t depth;
	uint32_t device;
	struct op *ring; /* number N is in ring[N % depth] until it is retired */
	uint64_t (*clocks)[STREAM_MAX]; /* the same: what is in front of it */
	/* Up to there slot T is in front of the next queued operation. */
	uint64_t clock[STREAM_MAX];
	uint64_t submitted;   /* the last number given */
	uint64_t wanted;      /* somebody is going to wait for the device */
	uint64_t retired;     /* up to here memory is given back */
	uint64_t host_number; /* the last one that touches host memory */
	struct drover_graph *capture; /* that is being made, or NULL */
	unsigned char *staging;	      /* a ring, in use from tail to head */
	size_t staging_bytes;
	uint64_t staging_head;	 /* counted for ever */
	uint64_t staging_wanted; /* head when wanted was set last */
	uint64_t staging_tail;
	drover_stream_counts_t counts;
	_Atomic uint64_t system_calls;
	_Atomic uint64_t driver_calls;
	void *native;	      /* of drover_stream_native(); set by open */
	void *device_private; /* the backend's */
	struct task task;     /* works the queue off, while at_work */
	uint64_t next;	      /* that has its turn; its own */
	_Atomic bool at_work;

	/* Written by the threads that carry operations out. */
	cache_aligned struct number posted; /* may begin, or is issued */
	cache_aligned struct number done;   /* see the top */
	/* number << 12 | errno of the first one that failed, or FAILURE_NONE */
	_Atomic uint64_t failure;
	_Atomic uint32_t users; /* who keep the slot; futex word; never reset */
	_Atomic uint32_t worker; /* thread id of who runs kernels, or 0 */
};

/* What the host has to wait for before it can go on; it keeps the stream. */
struct need {
	struct stream *on;
	uint64_t number;
};

/* ---- stream.c: slots and names ---- */

extern struct stream streams[STREAM_MAX];
extern drover_mutex_t stream_lock;
extern uint32_t nr_slots; /* that were ever used; [lock] */

#define for_each_stream(s)                                            \
	for (struct stream *s = streams; s < streams + nr_slots; s++) \
		if (load_relaxed(&s->life) & 1)

/* Take stream_lock and find a stream; NULL, without the lock: EBADF. */
struct stream *stream_enter(const drover_stream_t *name);
/*
 * Do a step of a call with the lock, and again whenever it answers EAGAIN and the
 * host has waited for what it needs.
 */
int stream_repeat(const drover_stream_t *name,
		  int (*step)(struct stream *s, void *arg, struct need *need),
		  void *arg);

/* EBUSY while it captures. */
int stream_captures(const struct stream *s);
/* Keep a sentence for drover_stream_why() and return @error. */
int stream_because(int error, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static inline struct op *stream_op(const struct stream *s, uint64_t number)
{
	return &s->ring[number % s->depth];
}

static inline uint64_t *stream_clock_of(const struct stream *s, uint64_t number)
{
	return s->clocks[number % s->depth];
}

static inline uint64_t stream_done(const struct stream *s)
{
	return load_acquire(&s->done.at);
}

/* ---- wait.c: numbers ---- */

void number_raise(struct stream *s, struct number *n, uint64_t to);
/* Until it is so far: 0 or ETIMEDOUT; futex calls are counted for @s. */
int number_wait(struct stream *s, struct number *n, uint64_t wanted,
		const struct deadline *deadline);
/* Wait until s->done >= number; EDEADLK from the stream's own callbacks. */
int stream_wait(struct stream *s, uint64_t number,
		const struct deadline *deadline);
/* The error of @number, which is done, or 0. */
int stream_error_at(const struct stream *s, uint64_t number);
/* The error that has ended the stream, or 0. */
int stream_error(const struct stream *s);
/* The first number that failed, or one beyond all. */
uint64_t stream_failed_number(const struct stream *s);
void stream_fail(struct stream *s, uint64_t number, int error);
/* Whether @number is done, asking the device if need be; [lock]. */
bool stream_is_done(struct stream *s, uint64_t number);
bool stream_called_by_worker(const struct stream *s);
/* Wait, and let the stream go. */
int need_wait(const struct need *need);

/*
 * [S-USERS] Keep the slot, then look at the stream's life, or at what is done of
 * it; who ends the stream changes its life, all being done, then looks at users.
 * Store buffering: sequentially consistent on both sides, or the slot could be
 * used anew under somebody's eyes. Model: handle.pml
 */
static inline void stream_use(struct stream *s)
{
	add_seq_cst(&s->users, 1);
}
static inline void stream_unuse(struct stream *s)
{
	if (sub_seq_cst(&s->users, 1) == 1 && !(load_seq_cst(&s->life) & 1))
		futex_wake(&s->users, 1, false);
}

/* The host has to wait. */
static inline int need_of(struct need *need, struct stream *s, uint64_t number)
{
	stream_use(s);
	*need = (struct need){ .on = s, .number = number };
	return EAGAIN;
}

/* ---- engine.c: who has to wait for whom ---- */

/* What covers one operation or one access of the host. */
struct footprint {
	const drover_access_t *accesses;
	size_t nr;
	bool anything;
};

struct footprint op_footprint(const struct op *op);
/* Do both touch the same memory, and one of them writes? */
bool access_conflict(const drover_access_t *a, const drover_access_t *b);
/*
 * Order @op behind all it conflicts with; its dependencies are filled in. 0;
 * EAGAIN: the host has to wait for @need first; or an error that it inherits.
 */
int engine_order(struct stream *s, struct op *op, struct need *need);
/* The same behind one operation of another stream. */
int engine_put_behind(struct stream *s, struct op *op, struct stream *other,
		      uint64_t number, struct need *need);
/* What @op depends on is done: if that has failed, so has @op. */
void engine_inherit(struct stream *s, const struct op *op);
/* Streams that wait for this one, which ends, are to have its error; [lock]. */
void engine_pass_error_on(const struct stream *s);
/* @op has got its number: what it waited for, the stream has now. */
void engine_submitted(struct stream *s, struct op *op);

/* ---- submit.c ---- */

/* Submit @op, which is copied. What it has on the heap is taken over. */
int stream_submit(const drover_stream_t *name, struct op *op,
		  drover_ticket_t *ticket);
/* Give back what operations that are done have held; [lock]. */
void stream_retire(struct stream *s);
/* Free what @op has on the heap. */
void op_free(struct op *op);

static inline void *op_args(struct op *op)
{
	return op->heap ? op->heap : op->args;
}

static inline const drover_access_t *op_accesses(const struct op *op)
{
	if (op->kind == OP_GRAPH)
		return op->graph->accesses;
	if (!op->heap)
		return op->accesses;
	/* Behind the arguments. */
	return (void *)((char *)op->heap + (op->args_bytes + 15) / 16 * 16);
}

/* ---- memory.c: device memory, staging ---- */

/* Which is host memory? Sets @op->host; EXDEV: out of reach. */
int memory_classify(const struct stream *s, struct op *op);
bool memory_is_device(const void *start, size_t bytes);
/* Where the host source of @op is to be copied to; EAGAIN: no room yet. */
int staging_take(struct stream *s, struct op *op, struct need *need);
void memory_after_fork(void);

/* ---- check.c: what the debug build is told ---- */

#ifdef DROVER_STREAM_DEBUG
void check_open(struct stream *s);
void check_close(struct stream *s);
void check_submit(struct stream *s, struct op *op);
void check_host_knows(const struct stream *s, uint64_t number);
void check_host_touches(const struct footprint *f, const void *caller);
void check_after_fork(void);
#else
#define check_open(s)			      ((void)(s))
#define check_close(s)			      ((void)(s))
#define check_submit(s, op)		      ((void)(s))
#define check_host_knows(s, number)	      ((void)(s))
#define check_host_touches(footprint, caller) ((void)(footprint))
#define check_after_fork()		      ((void)0)
#endif

/* ---- graph.c ---- */

int graph_add(struct stream *s, struct op *op);
void graph_put(struct drover_graph *graph);
/* Events recorded in the graph of @op are where @op is. */
void graph_record_events(struct stream *s, const struct op *op);
/* Put @op, a replay, behind the events that its graph waits for. */
int graph_order(struct stream *s, struct op *op, struct need *need);

/* ---- event.c ---- */

/* Put @op behind what @event is for, if that is not given; as engine_order(). */
int event_order(struct stream *s, struct op *op, const drover_event_t *event,
		struct need *need);

/* ---- queue.c: workers that work off a queue ---- */

int queue_open(struct stream *s, const drover_streamattr_t *attr);
void queue_close(struct stream *s);
int queue_issue(struct stream *s, struct op *op);
void queue_after_fork(void);
/* Device memory that is memory. */
void *memory_alloc(struct stream *s, size_t bytes, enum memory kind,
		   void *memory);
void memory_free(struct stream *s, void *memory, enum memory kind);
/* Carry one operation out, here and now. */
void op_perform(struct stream *s, struct op *op);

#endif /* DROVER_STREAM_INTERNAL_H */
