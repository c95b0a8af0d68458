// SPDX-License-Identifier: GPL-2.0-only
/*
 * sets.c - waiters whose requeue is measured, and the kernel's functions that a
 * requeue calls
 *
 * A futex_q lies as on a kernel stack: 16 KB from the next one, at an offset
 * that differs by up to 1 KB (CONFIG_RANDOMIZE_KSTACK_OFFSET). The order in
 * which threads wait is not the order of their stacks.
 */
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include "sets.h"

#define STACK	  16384
#define LINE	  64
#define HUGE_PAGE (2UL << 20)
#define PRIO	  100 /* the priority of a thread that is not real-time */
#define NR_PRIOS  90

struct set sets[ENOUGH];
int nr_sets;
u32 words[ENOUGH][3];
struct task_struct the_task;

static int nr_waiters; /* in each set */
static enum shape shape;
static struct mm_struct mm;
static struct futex_q *order[MOST];
static char *memory;
static size_t size;

int get_futex_key(u32 *uaddr, unsigned int flags, union futex_key *key,
		  enum futex_access rw)
{
	(void)flags;
	(void)rw;
	key->both.ptr = (unsigned long)&mm;
	key->both.word = 0x1000;
	key->both.offset = (char *)uaddr - (char *)words;
	key->both.node = FUTEX_NO_NODE;
	return 0;
}

struct futex_bucket_ref futex_hash(union futex_key *key)
{
	unsigned int word = key->both.offset / sizeof(u32);
	struct set *set = &sets[word / 3];

	return (struct futex_bucket_ref){ .hb = word % 3 == 1 ? set->target :
								&set->from };
}

struct futex_private_hash *futex_private_hash(struct mm_struct *unused)
{
	(void)unused;
	return NULL;
}

void futex_private_hash_put(struct futex_private_hash *hash)
{
	(void)hash;
}

void put_pi_state(struct futex_pi_state *pi_state)
{
	WARN_ON(pi_state);
}

static void no_wake(struct wake_q_head *wake_q, struct futex_q *q)
{
	(void)wake_q;
	(void)q;
	abort();
}

static bool is_bystander(int i)
{
	return (shape == ONE_BYSTANDER && i == nr_waiters / 2) ||
	       (shape == BYSTANDERS && i % 2);
}

/* Queue a futex_q as futex_wait_setup() does. */
static void queue_one(struct set *set, int i)
{
	struct futex_q *q = set->queue[i];
	int word = is_bystander(i) ? 2 : 0;

	memset(q, 0, sizeof(*q));
	get_futex_key(&words[set - sets][word], 0, &q->key, FUTEX_READ);
	q->task = &the_task;
	q->wake = no_wake;
	futex_hb_waiters_inc(&set->from);
	spin_lock(&set->from.lock);
	q->lock_ptr = &set->from.lock;
	plist_node_init(&q->list, shape == PRIORITIES ? i % NR_PRIOS : PRIO);
	plist_add(&q->list, &set->from.chain);
	spin_unlock(&set->from.lock);
}

static void queue_all(void)
{
	for (struct set *set = sets; set < sets + nr_sets; set++) {
		memset(&set->from, 0, sizeof(set->from));
		memset(&set->to, 0, sizeof(set->to));
		plist_head_init(&set->from.chain);
		plist_head_init(&set->to.chain);
		set->target = shape == SAME_BUCKET ? &set->from : &set->to;
		for (int i = 0; i < set->nr; i++)
			queue_one(set, i);
	}
}

/* The thread on the other CPU queues when it is asked to. */
static struct {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	bool asked;
} other = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false };

static void run_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		abort();
}

static void *other_cpu(void *cpu)
{
	run_on((long)cpu);
	pthread_mutex_lock(&other.mutex);
	for (;;) {
		while (!other.asked)
			pthread_cond_wait(&other.cond, &other.mutex);
		queue_all();
		other.asked = false;
		pthread_cond_broadcast(&other.cond);
	}
	return NULL;
}

static void ask_other_cpu(void)
{
	pthread_mutex_lock(&other.mutex);
	other.asked = true;
	pthread_cond_broadcast(&other.cond);
	while (other.asked)
		pthread_cond_wait(&other.cond, &other.mutex);
	pthread_mutex_unlock(&other.mutex);
}

static void evict(void *at, size_t size)
{
	char *p = at - (unsigned long)at % LINE;

	for (; p < (char *)at + size; p += LINE) {
#if defined(__x86_64__) || defined(__i386__)
		__builtin_ia32_clflush(p);
#elif defined(__aarch64__)
		asm volatile("dc civac, %0" : : "r"(p) : "memory");
#endif
	}
}

static void evict_all(void)
{
	for (struct set *set = sets; set < sets + nr_sets; set++) {
		for (int i = 0; i < set->nr; i++)
			evict(set->queue[i], sizeof(struct futex_q));
		evict(set, sizeof(*set));
	}
	smp_mb();
}

void prepare(enum state state)
{
	if (state == OTHER) {
		ask_other_cpu();
		return;
	}
	queue_all();
	if (state == EVICTED)
		evict_all();
}

int nr_moved(void)
{
	int nr = 0;

	for (int i = 0; i < nr_waiters; i++)
		nr += !is_bystander(i);
	return nr;
}

static void shuffle(int nr)
{
	for (int i = nr - 1; i > 0; i--) {
		int j = random() % (i + 1);
		struct futex_q *q = order[i];

		order[i] = order[j];
		order[j] = q;
	}
}

void make_sets(int nr, enum shape the_shape, bool huge)
{
	char *stacks;
	int nr_stacks;

	nr_waiters = nr;
	shape = the_shape;
	nr_sets = nr >= ENOUGH ? 1 : nr ? ENOUGH / nr : ENOUGH;
	nr_stacks = nr * nr_sets;
	size = nr_stacks * (size_t)STACK + HUGE_PAGE;
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED ||
	    madvise(memory, size, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE))
		abort();
	stacks = memory + HUGE_PAGE - (unsigned long)memory % HUGE_PAGE;
	for (int i = 0; i < nr_stacks; i++)
		order[i] = (void *)(stacks + i * (size_t)STACK + STACK -
				    2 * 1024 + random() % 64 * 16);
	shuffle(nr_stacks);
	for (int i = 0; i < nr_sets; i++) {
		sets[i].queue = &order[i * nr_waiters];
		sets[i].nr = nr_waiters;
	}
}

void free_sets(void)
{
	munmap(memory, size);
}

bool choose_cpus(void)
{
	int cpus[2], nr = 0;
	pthread_t thread;
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set))
		abort();
	for (int cpu = CPU_SETSIZE - 1; cpu >= 0 && nr < 2; cpu--)
		if (CPU_ISSET(cpu, &set))
			cpus[nr++] = cpu;
	if (nr == 2 &&
	    pthread_create(&thread, NULL, other_cpu, (void *)(long)cpus[1]))
		abort();
	run_on(cpus[0]);
	return nr == 2;
}
