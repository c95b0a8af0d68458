// SPDX-License-Identifier: MIT
/*
 * glibc's mutex: the only code that knows its layout.
 *
 * A mutex of type normal, recursive, errorcheck or adaptive that is private,
 * not robust, has no priority protocol and is not elided keeps its state in
 * __data.__lock: 0 free, 1 held, 2 held and there may be sleepers, who wait on
 * that word with the private futex operations. __data.__owner is the holder's
 * thread id as glibc has it. So waiters can be moved there, if whoever takes the
 * mutex after a move leaves it at 2. Whether the loaded glibc works like that is
 * tried when the library is loaded, or by a constructor that comes before and
 * waits; if not, nothing is ever moved. Mutexes that inherit priorities are
 * tried when the first of them is met: a sandbox may end a program that makes
 * one.
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "drop_in.h"

/* ThreadSanitizer sees who locks a pthread mutex, but not the kernel. */
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#define tell_tsan_locked(m)                                          \
	do {                                                         \
		__tsan_mutex_pre_lock(m, __tsan_mutex_try_lock);     \
		__tsan_mutex_post_lock(m, __tsan_mutex_try_lock, 0); \
	} while (0)
#else
#define tell_tsan_locked(m) ((void)(m))
#endif

/*
 * Bits of __data.__kind. The two lowest are the type; NO_ELISION only says
 * that the mutex shall never be elided. Any other bit (robust 16, PI 32,
 * protect 64, shared 128, elided 256) rules moving out.
 */
#define KIND_TYPE	0x003
#define KIND_ROBUST	0x010
#define KIND_PI		0x020
#define KIND_NO_ELISION 0x200

/* What came of the trial; the same for whoever makes it. */
enum layout {
	LAYOUT_UNTRIED,
	LAYOUT_UNKNOWN,
	LAYOUT_KNOWN,
};

static _Atomic int layout, pi_layout;

COLD static int layout_try(void);
COLD static int pi_layout_try(void);

static inline bool layout_is_known(void)
{
	int found = load_relaxed(&layout);

	return (found != LAYOUT_UNTRIED ? found : layout_try()) == LAYOUT_KNOWN;
}

static inline bool pi_layout_is_known(void)
{
	int found = load_relaxed(&pi_layout);

	return layout_is_known() &&
	       (found != LAYOUT_UNTRIED ? found : pi_layout_try()) ==
		       LAYOUT_KNOWN;
}

static pthread_mutex_t *mutex_of(void *mutex)
{
	return mutex;
}

static futex_word *lock_word(void *mutex)
{
	return (futex_word *)&mutex_of(mutex)->__data.__lock;
}

static uint32_t owner_of(void *mutex)
{
	return (uint32_t)__atomic_load_n(&mutex_of(mutex)->__data.__owner,
					 __ATOMIC_RELAXED);
}

/*
 * The id by which glibc knows the calling thread, as it writes it into a mutex.
 * It is not always the kernel's: in a thread that clone() has made, or a child
 * of vfork(), it is the id of the one whose memory for threads it uses. 0: not
 * asked for yet.
 */
static _Thread_local uint32_t own_id;

COLD static uint32_t own_id_ask(void)
{
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&m);
	own_id = owner_of(&m);
	pthread_mutex_unlock(&m);
	pthread_mutex_destroy(&m);
	return own_id;
}

static inline uint32_t own_id_known(void)
{
	uint32_t id = own_id;

	return likely(id) ? id : own_id_ask();
}

static inline bool is_owner(void *mutex)
{
	return owner_of(mutex) == own_id_known();
}

/* In the child of a fork. */
static void own_id_forget(void)
{
	own_id = 0;
}

static bool movable(void *mutex)
{
	int kind = __atomic_load_n(&mutex_of(mutex)->__data.__kind,
				   __ATOMIC_RELAXED);

	return layout_is_known() && !(kind & ~(KIND_TYPE | KIND_NO_ELISION));
}

/* Type normal, and like those that waiters can be moved to. */
bool user_mutex_is_plain(void *mutex)
{
	int kind = __atomic_load_n(&mutex_of(mutex)->__data.__kind,
				   __ATOMIC_RELAXED);

	return !(kind & ~KIND_NO_ELISION);
}

/* The mutexes that glibc does not let anybody unlock but their holder. */
int user_mutex_may_wait(void *mutex)
{
	int kind = __atomic_load_n(&mutex_of(mutex)->__data.__kind,
				   __ATOMIC_RELAXED);
	int type = kind & KIND_TYPE;

	if (!layout_is_known())
		return 0;
	if (type != PTHREAD_MUTEX_RECURSIVE &&
	    type != PTHREAD_MUTEX_ERRORCHECK &&
	    !(kind & (KIND_ROBUST | KIND_PI)))
		return 0;
	/* The child of _Fork(), which tells nobody, has another id. */
	return is_owner(mutex) || owner_of(mutex) == own_id_ask() ? 0 : EPERM;
}

#ifdef DROVER_DEBUG
void glibc_mutex_check(pthread_mutex_t *mutex, const char *call)
{
	debug_pointer(mutex, _Alignof(pthread_mutex_t), "mutex", call);
	/* The others get EPERM; only these have their owner noted. */
	if (movable(mutex) && !user_mutex_may_wait(mutex) &&
	    owner_of(mutex) != own_id_ask())
		debug_wrong(mutex, "mutex",
			    "is not held by the caller: lock it before a wait",
			    call);
}
#endif

bool user_mutex_stays_held(void *mutex)
{
	int kind = __atomic_load_n(&mutex_of(mutex)->__data.__kind,
				   __ATOMIC_RELAXED);

	return (kind & KIND_TYPE) == PTHREAD_MUTEX_RECURSIVE &&
	       mutex_of(mutex)->__data.__count > 1;
}

int user_mutex_unlock(void *mutex)
{
	return pthread_mutex_unlock(mutex);
}

int user_mutex_lock(void *mutex, bool moved)
{
	int err = pthread_mutex_lock(mutex);

	/*
	 * Every thread that may have been moved does what a sleeper of the
	 * mutex does: that nobody of its group is left proves nothing about
	 * those who queued behind it.
	 */
	if (moved && !err)
		user_mutex_set_contended(lock_word(mutex));
	return err;
}

bool user_mutex_try_lock(void *mutex)
{
	return pthread_mutex_trylock(mutex) == 0;
}

futex_word *user_mutex_word(void *mutex)
{
	return movable(mutex) ? lock_word(mutex) : NULL;
}

enum mutex_holder user_mutex_holder(void *mutex)
{
	if (load_relaxed(lock_word(mutex)) == WORD_FREE)
		return MUTEX_FREE;
	return is_owner(mutex) ? MUTEX_HELD_BY_CALLER : MUTEX_HELD_BY_OTHER;
}

/* Private, not robust, and the kernel's priority inheritance. */
futex_word *user_mutex_pi_word(void *mutex)
{
	int kind = __atomic_load_n(&mutex_of(mutex)->__data.__kind,
				   __ATOMIC_RELAXED);

	kind &= ~(KIND_TYPE | KIND_NO_ELISION);
	return kind == KIND_PI && pi_layout_is_known() ? lock_word(mutex) :
							 NULL;
}

/* What pthread_mutex_lock() does after it has got a PI mutex's word. */
int user_mutex_adopt(void *mutex)
{
	pthread_mutex_t *m = mutex_of(mutex);

	tell_tsan_locked(m);
	__atomic_store_n(&m->__data.__owner, own_id_known(), __ATOMIC_RELAXED);
	m->__data.__nusers++;
	if ((m->__data.__kind & KIND_TYPE) == PTHREAD_MUTEX_RECURSIVE)
		m->__data.__count = 1;
	return 0;
}

const bool waits_can_be_cancelled = true;

/* glibc tells only whether one that is pending may act. */
bool cancellation_is_due(void)
{
	int state, ignored;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	pthread_setcancelstate(state, &ignored);
	return state == PTHREAD_CANCEL_ENABLE;
}

/*
 * Walk a mutex through its three states. The second lock, by a thread that
 * holds it and with a deadline long past, leaves it as a sleeper would.
 */
static bool three_states(void)
{
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	uint32_t tid = (uint32_t)syscall(SYS_gettid);
	struct timespec past = { 0, 0 };
	bool ok = load_relaxed(lock_word(&m)) == WORD_FREE;

	pthread_mutex_lock(&m);
	ok = ok && load_relaxed(lock_word(&m)) == WORD_LOCKED;
	ok = ok && owner_of(&m) == tid;
	ok = ok && pthread_mutex_timedlock(&m, &past) == ETIMEDOUT;
	ok = ok && load_relaxed(lock_word(&m)) == WORD_CONTENDED;
	pthread_mutex_unlock(&m);
	ok = ok && load_relaxed(lock_word(&m)) == WORD_FREE;
	return ok && owner_of(&m) == 0;
}

/* The word, owner and counts of a recursive PI mutex that is locked once. */
static bool pi_states(void)
{
	uint32_t tid = own_id_ask();
	pthread_mutexattr_t attr;
	pthread_mutex_t m;
	bool ok;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	ok = pthread_mutex_init(&m, &attr) == 0;
	pthread_mutexattr_destroy(&attr);
	if (!ok)
		return false;
	ok = m.__data.__kind == (PTHREAD_MUTEX_RECURSIVE | KIND_PI);
	ok = ok && pthread_mutex_lock(&m) == 0;
	ok = ok && load_relaxed(lock_word(&m)) == tid && owner_of(&m) == tid;
	ok = ok && m.__data.__nusers == 1 && m.__data.__count == 1;
	ok = ok && pthread_mutex_unlock(&m) == 0;
	ok = ok && load_relaxed(lock_word(&m)) == 0 && owner_of(&m) == 0;
	ok = ok && m.__data.__nusers == 0 && m.__data.__count == 0;
	pthread_mutex_destroy(&m);
	return ok;
}

/* Set the kind that @protocol and @pshared give; -1 if they are refused. */
static int kind_with(int type, int robust, int protocol, int pshared)
{
	pthread_mutexattr_t attr;
	pthread_mutex_t m;
	int kind = -1;

	pthread_mutexattr_init(&attr);
	if (!pthread_mutexattr_settype(&attr, type) &&
	    !pthread_mutexattr_setrobust(&attr, robust) &&
	    !pthread_mutexattr_setprotocol(&attr, protocol) &&
	    !pthread_mutexattr_setpshared(&attr, pshared) &&
	    !pthread_mutex_init(&m, &attr)) {
		kind = m.__data.__kind;
		pthread_mutex_destroy(&m);
	}
	pthread_mutexattr_destroy(&attr);
	return kind;
}

/*
 * Every property that forbids moving shows in the kind, and no type does. That
 * a mutex inherits priorities shows where its protection does.
 */
static bool kinds_tell(void)
{
	const int plain = KIND_TYPE | KIND_NO_ELISION;
	const int stalled = PTHREAD_MUTEX_STALLED;
	const int robust = PTHREAD_MUTEX_ROBUST;
	const int none = PTHREAD_PRIO_NONE;
	const int own = PTHREAD_PROCESS_PRIVATE;

	for (int type = PTHREAD_MUTEX_NORMAL; type <= PTHREAD_MUTEX_ADAPTIVE_NP;
	     type++)
		if (kind_with(type, stalled, none, own) & ~plain)
			return false;
	return (kind_with(0, robust, none, own) & ~plain) &&
	       (kind_with(0, stalled, PTHREAD_PRIO_PROTECT, own) & ~plain) &&
	       (kind_with(0, stalled, none, PTHREAD_PROCESS_SHARED) & ~plain);
}

static int layout_try(void)
{
	int untried = LAYOUT_UNTRIED, found = LAYOUT_UNKNOWN;

	if (three_states() && kinds_tell())
		found = LAYOUT_KNOWN;
	if (cas_relaxed(&layout, &untried, found) && found == LAYOUT_UNKNOWN)
		fputs("drover: this C library's mutex is not as expected: waiters are woken, never moved\n",
		      stderr);
	return found;
}

static int pi_layout_try(void)
{
	int found = pi_states() ? LAYOUT_KNOWN : LAYOUT_UNKNOWN;

	store_relaxed(&pi_layout, found);
	return found;
}

__attribute__((constructor)) static void layout_try_when_loaded(void)
{
	layout_is_known();
	pthread_atfork(NULL, NULL, own_id_forget);
}
