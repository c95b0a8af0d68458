/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * victim.h - a process that uses a condvar while one of its threads is held
 *
 *	victim_start(&v, library);
 *	if (hold(&v, 200, false)) {	// after 200 instructions of its wait
 *		begin(&v, 1);		// another thread waits for a token
 *		post(&v, false);	// a token, and a signal
 *	}
 *	let_go(&v);
 *	settle(&v);
 *	if (v.lost) ...
 *	victim_end(&v);
 *
 * The victim has a semaphore: a mutex, a condvar and a number of tokens. A
 * wakeup is lost when all its threads sleep, none of them held, and there is
 * both a token and a thread that waits for one. It is the same program, started
 * as "victim=FD", with FD a file that both have mapped.
 */
#ifndef DROVER_SELFTESTS_VICTIM_H
#define DROVER_SELFTESTS_VICTIM_H

#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "api.h"
#include "futex_call.h"
#include "blocked.h"
#include "stepper.h"

#define NR_WAITERS     6
#define SETTLE_SECONDS 60
/* Beyond that somebody spins until the held thread goes on. */
#define HELD_SECONDS 2

/* What the victim's main thread is asked to do. */
struct order {
	int tokens; /* to post; -1: take one, if there is one */
	bool all;   /* broadcast rather than signal */
	bool keep;  /* the mutex, meanwhile */
};

/* Shared by the victim and this program; written by one of them each. */
struct arena {
	atomic_uint begun[NR_WAITERS]; /* take a token, the nth time */
	atomic_bool stop;	       /* the first waiter, at its wait */
	atomic_uint nr_orders;
	struct order order;

	atomic_uint ended[NR_WAITERS];
	atomic_uint nr_obeyed;
	atomic_int tid[NR_WAITERS];
	atomic_int nr_ready;
	atomic_int tokens; /* [mutex] */
	uintptr_t wait;	   /* where pthread_cond_wait() begins */
};

static struct arena *arena;
static int arena_fd;

/* The victim. */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

static inline void sleep_while(atomic_uint *word, unsigned int value)
{
	while (atomic_load(word) == value)
		sys_futex_wait(word, 0, value, NULL);
}

static inline void *take_tokens(void *arg)
{
	int i = (intptr_t)arg;

	atomic_store(&arena->tid[i], blocked_gettid());
	atomic_fetch_add(&arena->nr_ready, 1);
	for (unsigned int turn = 0;; turn++) {
		sleep_while(&arena->begun[i], turn);
		pthread_mutex_lock(&mutex);
		if (i == 0 && arena->stop)
			stepper_stop_here();
		while (!arena->tokens)
			pthread_cond_wait(&cond, &mutex);
		arena->tokens--;
		pthread_mutex_unlock(&mutex);
		atomic_fetch_add(&arena->ended[i], 1);
	}
	return NULL;
}

static inline void wake(const struct order *order)
{
	if (order->all)
		pthread_cond_broadcast(&cond);
	else
		for (int i = 0; i < order->tokens; i++)
			pthread_cond_signal(&cond);
}

static inline void obey(struct order order)
{
	pthread_mutex_lock(&mutex);
	if (order.tokens > 0 || arena->tokens)
		arena->tokens += order.tokens;
	if (order.keep)
		wake(&order);
	pthread_mutex_unlock(&mutex);
	if (!order.keep)
		wake(&order);
}

static inline void arena_map(void)
{
	arena = mmap(NULL, sizeof(*arena), PROT_READ | PROT_WRITE, MAP_SHARED,
		     arena_fd, 0);
	if (arena == MAP_FAILED)
		tap_bail("mmap: %s", strerror(errno));
}

static inline void arena_create(void)
{
	FILE *file = tmpfile();

	if (!file || ftruncate(fileno(file), sizeof(*arena)))
		tap_bail("a temporary file: %s", strerror(errno));
	arena_fd = fileno(file);
	arena_map();
}

static inline _Noreturn void victim_main(int fd)
{
	pthread_t thread;

	arena_fd = fd;
	arena_map();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	arena->wait = (uintptr_t)dlsym(RTLD_DEFAULT, "pthread_cond_wait");
	for (intptr_t i = 0; i < NR_WAITERS; i++)
		if (pthread_create(&thread, NULL, take_tokens, (void *)i))
			tap_bail("pthread_create");
	for (unsigned int turn = 0;; turn++) {
		sleep_while(&arena->nr_orders, turn);
		obey(arena->order);
		atomic_fetch_add(&arena->nr_obeyed, 1);
	}
}

/* The program that holds one of the victim's threads, always the first. */

struct victim {
	pid_t pid;
	pid_t held; /* the thread's id, 0: not held any more */
	bool lost;  /* a wakeup */
	uintptr_t place;
};

/* Take the drop-in out of what is preloaded. */
static inline void drop_in_unload(void)
{
	const char *before = getenv("LD_PRELOAD");
	char list[2 * PATH_MAX] = "", copy[2 * PATH_MAX], *path;

	snprintf(copy, sizeof(copy), "%s", before ? before : "");
	for (path = strtok(copy, " :"); path; path = strtok(NULL, " :")) {
		if (strstr(path, DROP_IN_LIBRARY))
			continue;
		strcat(list, ":");
		strcat(list, path);
	}
	setenv("LD_PRELOAD", list, 1);
}

/* @library: the drop-in to load first, or NULL for the C library's condvars */
static inline void victim_start(struct victim *v, const char *library)
{
	char fd[32];

	memset(arena, 0, sizeof(*arena));
	*v = (struct victim){ .pid = fork() };
	if (v->pid < 0)
		tap_bail("fork: %s", strerror(errno));
	if (v->pid == 0) {
		snprintf(fd, sizeof(fd), "victim=%d", arena_fd);
		drop_in_unload();
		if (library)
			drop_in_preload(library);
		/* Not the first call's search for a symbol, step by step. */
		setenv("LD_BIND_NOW", "1", 1);
		execl("/proc/self/exe", "victim", fd, NULL);
		tap_bail("exec: %s", strerror(errno));
	}
	if (wait_at_least(&arena->nr_ready, NR_WAITERS) ||
	    wait_quiet(v->pid, SETTLE_SECONDS))
		tap_bail("the victim does not start");
}

static inline void victim_end(struct victim *v)
{
	kill(v->pid, SIGKILL);
	if (v->held && waitpid(v->held, NULL, __WALL) != v->held)
		tap_bail("waitpid: %s", strerror(errno));
	if (waitpid(v->pid, NULL, __WALL) != v->pid)
		tap_bail("waitpid: %s", strerror(errno));
}

static inline void let_go(struct victim *v)
{
	if (v->held)
		stepper_let_go(v->held);
	v->held = 0;
}

static inline unsigned int nr_waiting(void)
{
	unsigned int nr = 0;

	for (int i = 0; i < NR_WAITERS; i++)
		nr += arena->begun[i] - arena->ended[i];
	return nr;
}

/* Wait until nobody runs. Who waits for the held thread ends its being held. */
static inline void settle(struct victim *v)
{
	int err = wait_quiet(v->pid, v->held ? HELD_SECONDS : SETTLE_SECONDS);

	if (v->held && (err || arena->nr_obeyed != arena->nr_orders)) {
		let_go(v);
		err = wait_quiet(v->pid, SETTLE_SECONDS);
	}
	if (err)
		tap_bail("the victim's threads never come to rest");
	if (!v->held && (arena->nr_obeyed != arena->nr_orders ||
			 (arena->tokens && nr_waiting())))
		v->lost = true;
}

static inline void begin(struct victim *v, int i)
{
	if (v->lost || arena->begun[i] != arena->ended[i])
		return;
	arena->begun[i]++;
	sys_futex_wake(&arena->begun[i], 0, 1);
	settle(v);
}

static inline void tell(struct victim *v, struct order order)
{
	if (v->lost)
		return;
	arena->order = order;
	arena->nr_orders++;
	sys_futex_wake(&arena->nr_orders, 0, 1);
	settle(v);
}

static inline void post(struct victim *v, bool keep)
{
	tell(v, (struct order){ .tokens = 1, .keep = keep });
}

/*
 * Hold the first waiter where it has done @place instructions of its wait,
 * with a token posted as soon as it sleeps. Return: false if it has returned.
 */
static inline bool hold(struct victim *v, int place, bool keep)
{
	pid_t tid = arena->tid[0];
	uintptr_t end;

	if (stepper_seize(tid))
		tap_bail("ptrace: %s", strerror(errno));
	v->held = tid;
	arena->stop = true;
	arena->begun[0]++;
	sys_futex_wake(&arena->begun[0], 0, 1);
	stepper_await(tid);
	arena->stop = false;
	while (step_at(tid) != arena->wait)
		step(tid);
	end = ptrace(PTRACE_PEEKDATA, tid, step_stack(tid), NULL);
	while (place-- && step_at(tid) != end) {
		if (step(tid) == STEP_DONE)
			continue;
		post(v, keep);
		if (step_wait(tid) == STEP_ASLEEP)
			tap_bail("a signal does not wake the held thread");
	}
	v->place = step_at(tid) - arena->wait;
	return step_at(tid) != end;
}

#endif /* DROVER_SELFTESTS_VICTIM_H */
