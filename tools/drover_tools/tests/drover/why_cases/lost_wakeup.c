// SPDX-License-Identifier: MIT
/*
 * The lost wake-up of glibc 2.25 to 2.40, sourceware bug 25847, step by step as
 * in Documentation/lost-wakeup.rst. The first waiter runs with the processor's
 * trap flag, and stops right after the instruction that takes its signal. Where
 * that instruction is not met, as in a C library without the bug, or with
 * Drover's drop-in, all threads get what they wait for, and the program ends.
 */
#include "stuck.h"

#ifdef __x86_64__
#include <ucontext.h>

#define NR	  4
#define TRAP_FLAG 0x100

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t tokens_there = PTHREAD_COND_INITIALIZER;
static int tokens; /* [mutex] */

static pthread_t threads[NR];
static atomic_int tids[NR], done[NR];
static atomic_bool stopped, go_on;

/* Signals that were posted and not taken, in glibc's layout up to 2.40. */
static unsigned int posted(void)
{
	const unsigned int *words = (const unsigned int *)&tokens_there;

	return (words[10] | words[11]) >> 1;
}

/* Has the first waiter's last instruction taken the signal? */
static void each_instruction(int number, siginfo_t *info, void *arg)
{
	static unsigned int before;
	unsigned int now = posted();
	ucontext_t *context = arg;
	bool taken = before && !now;

	before = now;
	if (!taken)
		return;
	context->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
	atomic_store(&stopped, true);
	while (!atomic_load(&go_on))
		sched_yield();
}

static void *taker(void *arg)
{
	long number = (long)arg;

	pthread_mutex_lock(&mutex);
	atomic_store(&tids[number], own_tid());
	if (number == 0)
		__asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::
					 : "memory", "cc");
	while (!tokens)
		pthread_cond_wait(&tokens_there, &mutex);
	__asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::
				 : "memory", "cc");
	tokens--;
	pthread_mutex_unlock(&mutex);
	atomic_store(&done[number], 1);
	return NULL;
}

/* Wait until the thread has its token, or sleeps. */
static void settle(int number)
{
	unsigned long before, now = 0;
	char name[12];

	while (!atomic_load(&tids[number]))
		sched_yield();
	snprintf(name, sizeof(name), "%d", atomic_load(&tids[number]));
	do {
		before = now;
		now = 0;
		sched_yield();
	} while (!atomic_load(&done[number]) &&
		 (!sleeps(getpid(), name, &now) || now != before));
}

static void begin(long number)
{
	CHECK(!pthread_create(&threads[number], NULL, taker, (void *)number));
	settle(number);
}

static void post(int nr)
{
	pthread_mutex_lock(&mutex);
	if (nr > 0 || tokens)
		tokens += nr;
	pthread_mutex_unlock(&mutex);
	if (nr > 0)
		pthread_cond_signal(&tokens_there);
	for (int i = 1; i < NR; i++)
		if (threads[i])
			settle(i);
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = each_instruction,
				    .sa_flags = SA_SIGINFO };

	watch();
	sigaction(SIGTRAP, &action, NULL);
	begin(0);
	post(1);
	while (!atomic_load(&stopped) && !atomic_load(&done[0]))
		sched_yield();
	post(-1);
	begin(1);
	post(1);
	begin(2);
	begin(3);
	post(1);
	atomic_store(&go_on, true);
	settle(0);
	settle(3);
	post(1);
	/* All remaining threads sleep, although there is a token. */
	if (!atomic_load(&done[0]) && !atomic_load(&done[3]))
		soon_stuck(3);
	for (int i = 0; i < NR; i++) {
		if (i == 3 && !atomic_load(&done[3]))
			post(1);
		pthread_join(threads[i], NULL);
	}
	return 0;
}
#else
int main(void)
{
	return 77; /* the trap flag is x86-64's */
}
#endif
