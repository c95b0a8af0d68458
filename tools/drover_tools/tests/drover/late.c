// SPDX-License-Identifier: MIT
/* A wait that times out at once; compare.py builds it with AddressSanitizer. */
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t late = PTHREAD_COND_INITIALIZER;

int main(void)
{
	struct timespec past = { 1, 0 };

	pthread_mutex_lock(&lock);
	pthread_cond_timedwait(&late, &lock, &past);
	pthread_mutex_unlock(&lock);
	return 0;
}
