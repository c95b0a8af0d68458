// SPDX-License-Identifier: MIT
/*
 * glibc's mutex: the only code that knows its layout.
 *
 * Some mutexes keep their state in __data.__lock: 0 free, 1 held, 2 held and
 * there may be sleepers. They are of type normal, recursive, errorcheck or
 * adaptive, private, not robust, not elided, and have no priority protocol. The
 * sleepers wait on that word with the private futex operations. __data.__owner
 * is the holder's thread id as glibc knows it, struct thread::libc_id. So
 * waiters can be moved there, provided that every thread that takes the mutex
 * after a move leaves the word at 2. When this library is loaded, it tests
 * whether the loaded glibc works like that; before the test, or if it fails,
 * nothing is moved. The test leaves out the kinds, and the members beside the
 * word of a mutex that inherits priorities: processes whose C libraries differ
 * share such mutexes, so these cannot change.
 */
#include <pthread.h>
#include <sys/syscall.h>
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

#include "base/say.h"
#include "base/valgrind.h"
#include "drop_in.h"

/*
 * Bits of __data.__kind. The two lowest are the type. NO_ELISION only says that
 * the mutex shall never be elided. With any other bit (robust 16, PI 32,
 * protect 64, shared 128, elided 256) no thread can be moved to the mutex.
 */
#define KIND_TYPE	0x003
#define KIND_ROBUST	0x010
#define KIND_PI		0x020
#define KIND_NO_ELISION 0x200

#define KIND_PLAIN (KIND_TYPE | KIND_NO_ELISION)

/* The members that are read while other threads use the mutex. */
#define MUTEX(m) ((pthread_mutex_t *)(m))
#define WORD(m)	 ((futex_word *)&MUTEX(m)->__data.__lock)
#define KIND(m)	 __atomic_load_n(&MUTEX(m)->__data.__kind, __ATOMIC_RELAXED)
#define OWNER(m) \
	((uint32_t)__atomic_load_n(&MUTEX(m)->__data.__owner, __ATOMIC_RELAXED))
#define OWN_ID (thread_self()->libc_id ?: libc_id_ask())

/* The C library says that they throw nothing; but a thread may end in them. */
extern int lock_or_end(pthread_mutex_t *mutex) __asm__("pthread_mutex_lock"),
	unlock_or_end(pthread_mutex_t *mutex) __asm__("pthread_mutex_unlock");

static atomic_bool layout_known;

/*
 * Return: the id that glibc writes into a mutex for the calling thread. It is
 * not always the kernel's id. In a thread that clone() has made, or in a child
 * of vfork(), it is the id of the thread whose thread-local memory the caller
 * uses.
 */
COLD static uint32_t libc_id_ask(void)
{
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&m);
	thread_this.libc_id = OWNER(&m);
	pthread_mutex_unlock(&m);
	pthread_mutex_destroy(&m);
	return thread_this.libc_id;
}

/*
 * Take a mutex through its three states. A thread that holds it locks it once
 * more, with a deadline long past: that leaves the mutex as a sleeper would.
 * For valgrind this is an error.
 */
static void three_states(void)
{
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	uint32_t tid = (uint32_t)syscall(SYS_gettid);
	struct timespec past = { 0, 0 };
	bool ok = load_relaxed(WORD(&m)) == LOCK_FREE;

	VALGRIND_DISABLE_ERROR_REPORTING;
	pthread_mutex_lock(&m);
	ok = ok && load_relaxed(WORD(&m)) == LOCK_HELD && OWNER(&m) == tid;
	ok = ok && pthread_mutex_timedlock(&m, &past) == ETIMEDOUT;
	ok = ok && load_relaxed(WORD(&m)) == LOCK_CONTENDED;
	pthread_mutex_unlock(&m);
	VALGRIND_ENABLE_ERROR_REPORTING;
	ok = ok && load_relaxed(WORD(&m)) == LOCK_FREE && OWNER(&m) == 0;
	store_relaxed(&layout_known, ok);
	if (!ok)
		say("drover: this C library's mutex is not as expected: waiters are woken, never moved\n");
}

/* Other libraries' constructors may come first, and have threads that wait. */
__attribute__((constructor)) static void layout_try(void)
{
	static pthread_once_t tried = PTHREAD_ONCE_INIT;

	pthread_once(&tried, three_states);
}

/*
 * Is it of type normal, and of a kind to which waiters can be moved? Then
 * user_mutex_prepare() has nothing to check, except in a debug build.
 */
bool user_mutex_is_plain(void *mutex)
{
	return !DEBUG_BUILD && !(KIND(mutex) & ~KIND_NO_ELISION);
}

int user_mutex_prepare(void *mutex, void **movable, futex_word **pi_word)
{
	int kind = KIND(mutex), type = kind & KIND_TYPE;
	/* Only the holder can unlock these: glibc refuses other threads. */
	bool strict = type == PTHREAD_MUTEX_RECURSIVE ||
		      type == PTHREAD_MUTEX_ERRORCHECK ||
		      kind & (KIND_ROBUST | KIND_PI);

	layout_try();
	if (!load_relaxed(&layout_known))
		return 0;
	/*
	 * Ask again: the child of _Fork() has another id. _Fork() runs no
	 * handlers, so the child still has the parent's where a fork wipes
	 * nothing (base/fork.c).
	 */
	if ((strict || (DEBUG_BUILD && !(kind & ~KIND_PLAIN))) &&
	    OWNER(mutex) != OWN_ID && OWNER(mutex) != libc_id_ask()) {
		if (strict)
			return EPERM;
		debug_wrong(mutex, "mutex",
			    "is not held by the caller: lock it before a wait",
			    "drop_in_cond_*wait");
	}
	if (type == PTHREAD_MUTEX_RECURSIVE && MUTEX(mutex)->__data.__count > 1)
		*movable = NULL;
	/*
	 * A private mutex, not robust, with the kernel's priority inheritance.
	 */
	else if ((kind & ~KIND_PLAIN) == KIND_PI)
		*pi_word = WORD(mutex);
	return 0;
}

int user_mutex_unlock(void *mutex)
{
	return unlock_or_end(mutex);
}

int user_mutex_lock(void *mutex, bool moved)
{
	int err = lock_or_end(mutex);

	/*
	 * The duty "woken", cond/cond.h: every thread that may have been moved
	 * does the same as a sleeper of the mutex. Even if no member of its
	 * group is left, other threads may have queued behind it.
	 */
	if (moved && !err && !(KIND(mutex) & ~KIND_PLAIN))
		lock_set_contended(WORD(mutex));
	return err;
}

void user_mutex_regain(void *mutex)
{
	int kind = KIND(mutex) & ~KIND_PLAIN;

	if (OWNER(mutex) != OWN_ID) {
		/* The kernel may just have handed it over. */
		if (kind == KIND_PI &&
		    (load_relaxed(WORD(mutex)) & FUTEX_TID_MASK) == OWN_ID)
			user_mutex_adopt(mutex);
		else
			user_mutex_lock(mutex, true);
	} else if (!kind) {
		lock_set_contended(WORD(mutex));
	}
}

bool user_mutex_poll(void *mutex)
{
	return load_relaxed(WORD(mutex)) == LOCK_FREE &&
	       pthread_mutex_trylock(mutex) == 0;
}

enum mutex_holder user_mutex_holder(void *mutex, futex_word **word)
{
	bool plain = !(KIND(mutex) & ~KIND_PLAIN);

	*word = load_relaxed(&layout_known) && plain ? WORD(mutex) : NULL;
	if (load_relaxed(WORD(mutex)) == LOCK_FREE)
		return MUTEX_FREE;
	return OWNER(mutex) == OWN_ID ? MUTEX_HELD_BY_CALLER :
					MUTEX_HELD_BY_OTHER;
}

/* The rest of pthread_mutex_lock(), after it has got a PI mutex's word. */
int user_mutex_adopt(void *mutex)
{
	pthread_mutex_t *m = mutex;

#ifdef __SANITIZE_THREAD__ /* does not see that the kernel has locked @m */
	__tsan_mutex_pre_lock(m, __tsan_mutex_try_lock);
	__tsan_mutex_post_lock(m, __tsan_mutex_try_lock, 0);
#endif
	__atomic_store_n(&m->__data.__owner, OWN_ID, __ATOMIC_RELAXED);
	m->__data.__nusers++;
	if ((m->__data.__kind & KIND_TYPE) == PTHREAD_MUTEX_RECURSIVE)
		m->__data.__count = 1;
	return 0;
}

/* glibc tells only whether a pending cancellation may act. */
bool cancellation_is_due(void)
{
	int state, ignored;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	pthread_setcancelstate(state, &ignored);
	return state == PTHREAD_CANCEL_ENABLE;
}
