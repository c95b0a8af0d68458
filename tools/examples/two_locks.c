// SPDX-License-Identifier: MIT
/*
 * Two threads move money between two accounts, and soon stop for ever:
 * each holds one lock and waits for the other. Documentation/tutorial.rst
 * finds out by `drover why` which lock each thread holds.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

struct account {
	pthread_mutex_t lock;
	long balance; /* [lock] */
};

static struct account rent = { PTHREAD_MUTEX_INITIALIZER, 1000 };
static struct account savings = { PTHREAD_MUTEX_INITIALIZER, 1000 };

static void transfer(struct account *from, struct account *to, long amount)
{
	pthread_mutex_lock(&from->lock);
	sched_yield(); /* stands for work on the first account */
	pthread_mutex_lock(&to->lock);
	from->balance -= amount;
	to->balance += amount;
	pthread_mutex_unlock(&to->lock);
	pthread_mutex_unlock(&from->lock);
}

static void *pay_rent(void *arg)
{
	for (int i = 0; i < 1000000; i++)
		transfer(&savings, &rent, 1);
	return arg;
}

static void *save(void *arg)
{
	for (int i = 0; i < 1000000; i++)
		transfer(&rent, &savings, 1);
	return arg;
}

int main(void)
{
	pthread_t payer, saver;

	if (pthread_create(&payer, NULL, pay_rent, NULL) ||
	    pthread_create(&saver, NULL, save, NULL))
		return 1;
	pthread_join(payer, NULL);
	pthread_join(saver, NULL);
	printf("%ld and %ld\n", rent.balance, savings.balance);
	return 0;
}
