/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * kernel.h - the definitions with which requeue.c and plist.c compile for user
 * space
 *
 * Lists, READ_ONCE() and the like come from the kernel's tools/include. Locks,
 * atomic operations and barriers are real, so that they cost as much as in the
 * kernel. Only one thread uses them at a time, so a lock is never contended. PI
 * requeue is never called.
 */
#ifndef DROVER_KERNEL_H
#define DROVER_KERNEL_H

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

#define CONFIG_SMP		  1
#define CONFIG_MMU		  1
#define CONFIG_64BIT		  1
#define CONFIG_FUTEX		  1
#define CONFIG_FUTEX_PRIVATE_HASH 1
#define CONFIG_FUTEX_REQUEUE	  1

#define ____cacheline_aligned_in_smp __attribute__((aligned(64)))
#define __randomize_layout
#undef __releases
#undef __acquires
#undef __no_context_analysis
#define __releases(lock)
#define __acquires(lock)
#define __no_context_analysis
#define __release(lock)
#define auto __auto_type

#undef WARN_ON
#undef WARN_ON_ONCE
#define WARN_ON(condition)	((condition) ? abort() : (void)0)
#define WARN_ON_ONCE(condition) WARN_ON(condition)
#define BUG_ON(condition)	WARN_ON(condition)
#define swap(a, b)                       \
	do {                             \
		__typeof__(a) old = (a); \
		(a) = (b);               \
		(b) = old;               \
	} while (0)
#define in_compat_syscall()		false
#define nr_node_ids			2
#define cond_resched()			((void)0)
#define signal_pending(task)		((void)(task), 0)
#define get_user(value, pointer)	((value) = *(pointer), 0)
#define get_user_inline(value, pointer) get_user(value, pointer)
#define pagefault_disable()		((void)0)
#define pagefault_enable()		((void)0)

/*
 * As in <linux/cleanup.h>: a class whose value is given back at the scope's end
 */
#define DEFINE_CLASS(name, type, _exit, _init, args...) \
	typedef type class_##name##_t;                  \
	static inline void class_##name##_end(type *p)  \
	{                                               \
		type _T = *p;                           \
		_exit;                                  \
	}                                               \
	static inline type class_##name##_start(args)   \
	{                                               \
		return _init;                           \
	}
#define CLASS(name, variable)                                          \
	class_##name##_t variable                                      \
		__attribute__((cleanup(class_##name##_end), unused)) = \
			class_##name##_start
#define guard(name) nothing_to_guard
static inline void nothing_to_guard(void)
{
}

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
#define smp_mb()		      __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define smp_load_acquire(p)	      __atomic_load_n(p, __ATOMIC_ACQUIRE)

/* As on x86, where a locked operation is a barrier */
#define smp_mb__after_atomic() barrier()

static inline void spin_lock(spinlock_t *lock)
{
	WARN_ON(__atomic_exchange_n(&lock->locked, 1, __ATOMIC_ACQUIRE));
}

static inline void spin_unlock(spinlock_t *lock)
{
	WARN_ON(!lock->locked);
	__atomic_store_n(&lock->locked, 0, __ATOMIC_RELEASE);
}

#define ATOMIC(op, v, n) \
	((void)__atomic_##op##_fetch(&(v)->counter, n, __ATOMIC_SEQ_CST))

#define atomic_read(v)			       READ_ONCE((v)->counter)
#define atomic_read_acquire(v)		       smp_load_acquire(&(v)->counter)
#define atomic_set(v, value)		       WRITE_ONCE((v)->counter, value)
#define atomic_add(n, v)		       ATOMIC(add, v, n)
#define atomic_sub(n, v)		       ATOMIC(sub, v, n)
#define atomic_inc(v)			       ATOMIC(add, v, 1)
#define atomic_dec(v)			       ATOMIC(sub, v, 1)
#define atomic_try_cmpxchg(v, old, value)      (*(old) = (v)->counter = (value), 1)
#define atomic_cond_read_relaxed(v, condition) atomic_read(v)

struct mm_struct {
	int unused;
};

union futex_key {
	struct {
		struct mm_struct *mm;
		unsigned long address;
		unsigned int offset;
	} private;
	struct {
		u64 ptr;
		unsigned long word;
		unsigned int offset;
		unsigned int node;
	} both;
};

#define FUT_OFF_INODE	 1
#define FUT_OFF_MMSHARED 2
#define FUTEX_NO_NODE	 (-1)
#define FUTEX_KEY_INIT                 \
	(union futex_key)              \
	{                              \
		.both = {.ptr = 0ULL } \
	}

struct task_struct {
	unsigned long timer_slack_ns;
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

/* A hint; or with -Dprefetchw= a function of the program, which checks it */
#ifndef prefetchw
#define prefetchw(pointer) __builtin_prefetch(pointer, 1)
#endif
void check_prefetch(const void *address);

#define DEFINE_WAKE_Q(name) struct wake_q_head name = { NULL }
#define wake_up_q(wake_q)   ((void)(wake_q))

extern struct task_struct the_task;
#define current (&the_task)

/* Defined by the program that marks targets; the other never calls them */
struct futex_q;
struct futex_hash_bucket;
struct futex_q *futex_top_waiter(struct futex_hash_bucket *hb,
				 union futex_key *key);
int fault_in_user_writeable(u32 *uaddr);
int futex_atomic_cmpxchg_inatomic(u32 *curval, u32 *uaddr, u32 old, u32 new);
#pragma weak futex_top_waiter
#pragma weak fault_in_user_writeable
#pragma weak futex_atomic_cmpxchg_inatomic

/* Never called, because no waiter uses a PI operation */
int wake_up_state(struct task_struct *task, unsigned int state);
void rt_mutex_init_waiter(void *waiter);
void hrtimer_cancel(void *timer);
void destroy_hrtimer_on_stack(void *timer);

#define TASK_NORMAL			     3
#define trace_futex_requeue(...)	     ((void)0)
#define trace_futex_requeue_locked(...)	     ((void)0)
#define trace_futex_requeue_locked_enabled() 0
#define local_clock()			     0

#define FUTEX_PRIVATE_FLAG   128
#define FUTEX_CLOCK_REALTIME 256
#define FUTEX_ROBUST_UNLOCK  512
#define FUTEX_ROBUST_LIST32  1024
#define FUTEX2_SIZE_MASK     3
#define FUTEX2_NUMA	     4
#define FUTEX2_MPOL	     8
#define FUTEX2_PRIVATE	     FUTEX_PRIVATE_FLAG

#endif /* DROVER_KERNEL_H */
