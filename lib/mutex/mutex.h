/* SPDX-License-Identifier: MIT */
/*
 * drover_mutex_t inside. Ordinary mutexes have the three states of enum
 * lock_word (base/lock.h). PI and robust ones are PI futexes: the holder's
 * thread id, and the kernel's bits (mutex_pi.c).
 */
#ifndef DROVER_MUTEX_INTERNAL_H
#define DROVER_MUTEX_INTERNAL_H

#include <drover/mutex.h>
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#else /* glibc before 2.32, and musl, do not tell */
#define __libc_single_threaded false
#endif

#include "base/debug.h"
#include "base/thread.h"
#include "mutex/user_mutex.h"

/* What a robust mutex has gone through. */
enum mutex_health {
	MUTEX_SOUND,
	MUTEX_INCONSISTENT, /* a holder died, and the next one was told */
	MUTEX_LOST,	    /* the next one then unlocked it without repair */
};

/**
 * struct mutex - the inside of drover_mutex_t; all zero bytes are valid
 * @word: an enum lock_word, or a PI futex
 * @owner: mutex_owner_id() of the holder, 0 when free. Only the holder writes
 *	   it, so a thread that reads its own id does hold the mutex.
 * @flags: DROVER_MUTEX_*; constant
 * @count: how many times more than once a recursive mutex is locked; [holder]
 * @health: an enum mutex_health; [holder]
 */
struct mutex {
	futex_word word;
	_Atomic uint32_t owner;
	uint32_t flags;
	uint32_t count;
	uint32_t health;
};

#define MUTEX_FLAGS                                                           \
	(DROVER_MUTEX_RECURSIVE | DROVER_MUTEX_ERRORCHECK | DROVER_MUTEX_PI | \
	 DROVER_MUTEX_ROBUST | DROVER_MUTEX_SHARED)

/* The mutex that a caller has passed to this function. */
#define mutex_of(mutex) debug_object(mutex, struct mutex, MUTEX_FLAGS, "mutex")

static inline bool mutex_is_pi(const struct mutex *m)
{
	return m->flags & (DROVER_MUTEX_PI | DROVER_MUTEX_ROBUST);
}

static inline bool mutex_is_shared(const struct mutex *m)
{
	return m->flags & DROVER_MUTEX_SHARED;
}

/*
 * The caller's id as the owner of @m; base/thread.h has a table of all ids. In
 * the child of a fork the caller still has the private mutexes that it had in
 * the parent, so these know it by a number that a fork does not change. Shared
 * mutexes stay the parent's. PI futexes do, too, as the kernel knows the holder
 * by the thread id in the word.
 */
static inline uint32_t mutex_owner_id(const struct mutex *m)
{
	if (mutex_is_pi(m) || mutex_is_shared(m))
		return thread_tid();
	return thread_self()->number;
}

static inline bool mutex_held_by_caller(struct mutex *m)
{
	return load_relaxed(&m->owner) == mutex_owner_id(m);
}

/* Take a mutex that is no PI futex, if it is free. @caller: mutex_owner_id() */
static inline bool mutex_take_free(struct mutex *m, uint32_t caller)
{
	uint32_t old = LOCK_FREE;

	if (!cas_acquire(&m->word, &old, LOCK_HELD))
		return false;
	store_relaxed(&m->owner, caller);
	return true;
}

/* Release a mutex that is no PI futex. */
static inline void mutex_drop(struct mutex *m, bool shared)
{
	store_relaxed(&m->owner, 0);
	/*
	 * [L-PASS] [L-SLEEP] The next holder may free the mutex, so this thread
	 * touches the word once, and not again.
	 */
	if (swap_release(&m->word, LOCK_FREE) == LOCK_CONTENDED)
		wake_sleepers(&m->word, 1, shared);
}

/*
 * mutex_take_free() and mutex_drop() for a plain mutex. The C library knows
 * whether the process has only one thread. As long as it has, no other thread
 * can look at the mutex or sleep on it, so the steps need not be atomic.
 * glibc's mutex does the same.
 */
static inline bool mutex_take_plain(struct mutex *m, uint32_t caller)
{
	if (!__libc_single_threaded)
		return mutex_take_free(m, caller);
	if (load_relaxed(&m->word) != LOCK_FREE)
		return false;
	store_relaxed(&m->word, LOCK_HELD);
	store_relaxed(&m->owner, caller);
	return true;
}

static inline void mutex_drop_plain(struct mutex *m)
{
	if (!__libc_single_threaded) {
		mutex_drop(m, false);
		return;
	}
	store_relaxed(&m->owner, 0);
	store_relaxed(&m->word, LOCK_FREE);
}

/*
 * Take a mutex that is no PI futex, and leave it contended: other threads may
 * be asleep on it, for example because a requeue has moved them there. The
 * caller has the duty "woken" of the table in cond/cond.h, and becomes the
 * "holder".
 */
int mutex_take_contended(struct mutex *m, const struct deadline *deadline);

/*
 * Lock @m of any kind. @deadline: NULL or unchecked. Return: 0 or an errno
 * value.
 */
APART int mutex_lock_slow(struct mutex *m, const struct deadline *deadline,
			  bool polls);

/* The PI futex: try, lock (NULL: no deadline), unlock. Return: 0 or errno. */
int mutex_pi_try(struct mutex *m);
int mutex_pi_lock(struct mutex *m, const struct deadline *deadline);
void mutex_pi_unlock(struct mutex *m);

#endif /* DROVER_MUTEX_INTERNAL_H */
