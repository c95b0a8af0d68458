/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * kernel.h - what move.c, requeue_mainline.c and plist.c need to be compiled
 * for user space
 *
 * Lists, READ_ONCE() and their like are those of the kernel's tools/include.
 * Locks and atomic operations are locked instructions, as in the kernel. PI
 * is left out, and the system call around the movers is in cold.c.
 */
#ifndef DROVER_COLD_KERNEL_H
#define DROVER_COLD_KERNEL_H

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <linux/types.h>
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/kconfig.h>
#include <linux/list.h>
#include <linux/rbtree.h>

#define CONFIG_SMP	     1
#define CONFIG_MMU	     1
#define CONFIG_64BIT	     1
#define CONFIG_FUTEX	     1
#define CONFIG_FUTEX_REQUEUE 1

#define PAGE_SIZE		     4096
#define ____cacheline_aligned_in_smp __attribute__((aligned(64)))
#define __randomize_layout
#define EXPORT_SYMBOL_GPL(symbol)
#undef __releases
#undef __acquires
#define __releases(lock)
#define __acquires(lock)

#undef WARN_ON
#define WARN_ON(condition) ((void)(condition))
#undef WARN_ON_ONCE
#define WARN_ON_ONCE(condition) (!!(condition))
#define BUG_ON(condition)	((void)(condition))
#define swap(a, b)                       \
	do {                             \
		__typeof__(a) old = (a); \
		(a) = (b);               \
		(b) = old;               \
	} while (0)
#define IS_ERR(pointer)		 ((unsigned long)(pointer) >= -4095UL)
#define PTR_ERR(pointer)	 ((long)(pointer))
#define in_compat_syscall()	 false
#define cond_resched()		 ((void)0)
#define signal_pending(task)	 ((void)(task), 0)
#define get_user(value, pointer) ((value) = *(pointer), 0)

#define ERESTARTNOINTR 513

typedef struct {
	atomic_t refs;
} refcount_t;

typedef struct {
	int locked;
} spinlock_t, raw_spinlock_t;

typedef long long ktime_t;

#define SINGLE_DEPTH_NESTING	      1
#define spin_lock_nested(lock, depth) spin_lock(lock)
#define smp_mb__after_atomic()	      __asm__ volatile("" ::: "memory")
#define smp_mb()		      __atomic_thread_fence(__ATOMIC_SEQ_CST)

static inline void spin_lock(spinlock_t *lock)
{
	int unlocked = 0;

	while (!__atomic_compare_exchange_n(&lock->locked, &unlocked, 1, 0,
					    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		unlocked = 0;
}

static inline void spin_unlock(spinlock_t *lock)
{
	__atomic_store_n(&lock->locked, 0, __ATOMIC_RELEASE);
}

static inline int atomic_read(const atomic_t *v)
{
	return __atomic_load_n(&v->counter, __ATOMIC_RELAXED);
}

static inline void atomic_set(atomic_t *v, int value)
{
	__atomic_store_n(&v->counter, value, __ATOMIC_RELAXED);
}

static inline void atomic_add(int n, atomic_t *v)
{
	__atomic_fetch_add(&v->counter, n, __ATOMIC_SEQ_CST);
}

static inline void atomic_sub(int n, atomic_t *v)
{
	atomic_add(-n, v);
}

static inline void atomic_inc(atomic_t *v)
{
	atomic_add(1, v);
}

static inline void atomic_dec(atomic_t *v)
{
	atomic_add(-1, v);
}

static inline bool atomic_try_cmpxchg(atomic_t *v, int *old, int value)
{
	return __atomic_compare_exchange_n(&v->counter, old, value, 0,
					   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

#define atomic_cond_read_relaxed(v, condition) \
	({                                     \
		int VAL;                       \
		do                             \
			VAL = atomic_read(v);  \
		while (!(condition));          \
		VAL;                           \
	})

union futex_key {
	struct {
		u64 ptr;
		unsigned long word;
		unsigned int offset;
	} both;
};

#define FUTEX_KEY_INIT                 \
	(union futex_key)              \
	{                              \
		.both = {.ptr = 0ULL } \
	}

struct task_struct {
	unsigned long timer_slack_ns;
};

struct wake_q_node {
	struct wake_q_node *next;
};

struct wake_q_head {
	struct wake_q_node *first;
};

struct rt_mutex_base {
	struct task_struct *owner;
};

struct futex_waitv {
	u64 uaddr;
};

struct hrtimer_sleeper {
	struct {
		int unused;
	} timer;
	struct task_struct *task;
};

#define WAKE_Q_HEAD_INITIALIZER(name) \
	{                             \
		NULL                  \
	}
#define DEFINE_WAKE_Q(name) struct wake_q_head name = { NULL }
#define wake_up_q(wake_q)   ((void)(wake_q))

/* Never called: no waiter here waits with a PI operation. */
extern struct task_struct *current;
int wake_up_state(struct task_struct *task, unsigned int state);
void rt_mutex_init_waiter(void *waiter);
void hrtimer_cancel(void *timer);
void destroy_hrtimer_on_stack(void *timer);

#define TASK_NORMAL		 3
#define trace_futex_requeue(...) ((void)0)
#define DECLARE_TRACEPOINT(name)
#define tracepoint_enabled(name)	0
#define trace_futex_requeue_locked(...) ((void)0)
#define local_clock()			1

#define FUTEX_PRIVATE_FLAG   128
#define FUTEX_CLOCK_REALTIME 256
#define FUTEX2_SIZE_MASK     3
#define FUTEX2_PRIVATE	     FUTEX_PRIVATE_FLAG
#define FUTEX2_NUMA	     4

#endif /* DROVER_COLD_KERNEL_H */
