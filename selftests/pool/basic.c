// SPDX-License-Identifier: GPL-2.0-only
/*
 * The results of drover_pool_t's functions, used rightly and wrongly, what is
 * counted, and which thread runs a task: in words. A thread that waits for a
 * task runs this task or none; a worker that sleeps in such a wait gives its
 * place to another thread.
 */
#include <sys/prctl.h>

#include "steps.h"

/* A worker runs task 0 until "open". */
#define HELD "begin 1; task 0 holds; begun 1 = 0; "
/* Of two workers one runs task 0. The other one waits for task 0 in task 1. */
#define TWO   "begin 2; task 0 holds; begun 1 = 0; task 1 told 0; there = 0; "
#define WAITS "let; asleep = 0; "
/*
 * Another thread runs task 1, because the only worker was busy. Then the worker
 * waits for task 1 in task 2, and a spare thread could take its place.
 */
#define LAST                                                               \
	"begin 1; task 0 holds; begun 1 = 0; task 1 apart; thread 1 = 0; " \
	"begun 2 = 0; task 2 insists 1; "

#define NR_IDLE 3

static drover_task_t *unread;

/*
 * A handler of SIGSEGV: a batch of 2^30 tasks has read its first task, which is
 * not readable. The handler submits a smaller batch, which faults as well, and
 * then calls wait_all().
 */
static void at_first_task(int number)
{
	if (nr_met++)
		drover_pool_wait_all(pool);
	else
		drover_pool_submit_batch(pool, unread, (1 << 30) - 1);
	result = gate;
	mprotect(unread, 1, PROT_READ);
	signal(SIGSEGV, SIG_DFL);
}

STEP(refused)
{
	struct sigaction action = { .sa_handler = at_first_task,
				    .sa_flags = SA_NODEFER };

	unread = mmap(NULL, 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaction(SIGSEGV, &action, NULL);
	return drover_pool_submit_batch(pool, unread, 1 << 30);
}

static const struct scenario {
	const char *name, *text;
} scenarios[] = {
	{ "bad attributes",
	  "begin 1; second too_many = EINVAL; stack 1; second 1 = EINVAL; "
	  "stack 0; spares too_many; second 1 = EINVAL; spares 0; reserved; "
	  "second 1 = EINVAL; others = 0; end" },
	{ "no task, or none that can run",
	  "begin 1; submit null = EINVAL; batch null 1 = EINVAL; "
	  "batch null 0 = 0; init 0 nothing; submit 0 = EINVAL; "
	  "post nothing = EINVAL; end" },
	{ "a task, and the same task once more",
	  "begin 1; init 0 answers 42; wait 0 = EINVAL; test 0 = EINVAL; "
	  "cancel 0 = EINVAL; submit 0 = 0; wait 0 = 0; result = 42; "
	  "wait 0 = 0; test 0 = 0; cancel 0 = EBUSY; submit 0 = 0; wait 0 = 0; "
	  "result = 42; end" },
	{ "a batch that is refused leaves all its tasks as they were",
	  "begin 1; task 0 answers 1; wait 0 = 0; init 1 answers 2; "
	  "init 2 nothing; batch 0 3 = EINVAL; wait 0 = 0; result = 1; "
	  "wait 1 = EINVAL; init 2 answers 3; batch 0 3 = 0; wait 0; "
	  "result = 1; wait 1; result = 2; wait 2; result = 3; end" },
#if HANDLERS_ARE_PROMPT
	{ "wait_all returns when the task has ended, and a batch is refused",
	  HELD "later = 0; refused = EINVAL; result = 1; join = 0; end" },
#endif
	{ "a queued task can be cancelled, or run by a thread that waits",
	  HELD "submit 0 = EBUSY; cancel 0 = EBUSY; test 0 = EBUSY; "
	       "task 1 answers 7; task 2 answers 7; queued = 2; "
	       "submit 1 = EBUSY; cancel 1 = 0; cancelled = 1; "
	       "wait 1 = ECANCELED; result = 0; wait 2 = 0; result = 7; "
	       "helped = 1; open; wait 0 = 0; end" },
	{ "deadlines: the caller never runs the task",
	  HELD "task 1 answers 1; until 1 0 = ETIMEDOUT; "
	       "until 0 1 = ETIMEDOUT; until 0 -1 = EINVAL; "
	       "until 0 1 77 = EINVAL; later = 0; until 0 100000 0 = 0; "
	       "join = 0; wait 1 = 0; test 1 = 0; end" },
	{ "wait_all and shutdown in a task of a worker",
	  "begin 1; task 0 inside; all = 0; here = 0; told_all = EDEADLK; "
	  "told_shutdown = EDEADLK; end" },
	{ "the same in a waiting thread's task, while another thread drains",
	  HELD "task 1 drained; wait 1 = 0; here = 1; told_all = EDEADLK; "
	       "told_shutdown = EDEADLK; told_post = 0; join = 0; ran = 1; "
	       "free = 0" },
	{ "a post that is cancelled calls its function, others do not",
	  "begin 1; post_or holds = 0; begun 1 = 0; post_or holds = 0; "
	  "post_or holds = 0; cancels = 0; otherwise 2 = 2; open; join = 0; "
	  "otherwise 2 = 2; told_all = EDEADLK; post_or holds = ESHUTDOWN; "
	  "free = 0" },
	{ "a worker takes tasks out of the queue of another",
	  "begin 2; post parent; all; steals = 1; helped = 0; ended = 2; end" },
	{ "calls after a shutdown",
	  "begin 1; post counts 100; all = 0; ran = 100; ended = 100; "
	  "steals = 0; free = EBUSY; shutdown 2 = EINVAL; "
	  "shutdown drain = 0; shutdown drain = EALREADY; "
	  "task 0 counts = ESHUTDOWN; wait 0 = EINVAL; "
	  "post counts = ESHUTDOWN; resize 9 = ESHUTDOWN; all = 0; free = 0" },
	{ "a chain of waits comes to its end",
	  TWO WAITS "task 2 waits 1; begun 2 = 0; open; all = 0; end" },
	/* The unrelated task is queued before the wait, and outlasts it. */
	{ "no unrelated task runs on top of a task that waits",
	  TWO "task 2 apart; " WAITS "begun 2 = 0; open; all = 0; end" },
	{ "both workers wait for another pool's task, and two others run",
	  HELD "task 1 holds; thread 1 = 0; begun 2 = 0; second 2 = 0; "
	       "task 2 waits 1; there = 0; asleep = 0; nobody; "
	       "task 3 waits 1; there = 0; asleep = 0; task 4 meets; "
	       "task 5 meets; met 2 = 0; open; join = 0; end; back; end" },
	{ "a task waits for its children, and two run at a time",
	  "begin 2; task 0 family; all = 0; wait 0 = 0; result = 0; end" },
	{ "a spare takes the place of a worker that waits",
	  "spares 1; " LAST "open; there = 0; post holds; begun 3 = 0; "
	  "release; all = 0; join = 0; wait 2; result = 0; end" },
	{ "without a spare the last worker's wait returns EAGAIN",
	  "spares none; " LAST "open; all = 0; join = 0; wait 2; "
	  "result = EAGAIN; end" },
	{ "the same if the system refuses a spare", LAST
	  "refuse; open; all = 0; join = 0; wait 2; result = EAGAIN; end" },
	{ "the last worker ends after all tasks, and later there is a new one",
	  HELD "refuse; post ends; post counts; open; all = 0; ran = 1; "
	       "refuse 0; post counts; runs 2 = 0; end" },
	{ "grow, and shrink",
	  "begin 1; resize 4 = 0; post holds 4; begun 4 = 0; resize 1 = 0; "
	  "open; all; idle 4; post crowds 200; all; most = 1; workers = 1; "
	  "refuse; resize 8 = EAGAIN; refuse 0; resize too_many = EINVAL; "
	  "resize 0 = 0; end" },
	{ "errno is left alone",
	  "errno 4711; begin 1; task 0 holds; begun 1; later; wait 0; join; "
	  "submit null; until 0 -1; end; errno 0 = 4711" },
};

/* In the child of a fork the pool has no workers; no call may hang. */
static bool child_is_told(void)
{
	drover_task_t task = DROVER_TASK_INITIALIZER(answer, NULL);

	return drover_pool_submit(pool, &task) == ECHILD &&
	       drover_pool_post(pool, answer, NULL) == ECHILD &&
	       drover_pool_wait(pool, &task, NULL) == ECHILD &&
	       drover_pool_wait_all(pool) == ECHILD &&
	       drover_pool_shutdown(pool, DROVER_POOL_DRAIN) == ECHILD &&
	       drover_pool_free(pool) == 0;
}

static int run_slowly(void *arg)
{
	return wait_blocked(getpid(), sleeper, NULL);
}

/*
 * A child that a worker has forked is no worker: its waits start no thread of
 * the parent's pool.
 */
static bool child_is_no_worker(void)
{
	drover_task_t slow = DROVER_TASK_INITIALIZER(run_slowly, NULL);
	struct timespec never = { .tv_sec = INT32_MAX };
	drover_pool_t *parents = pool;
	uint64_t before;
	sigset_t none;

	sigemptyset(&none);
	pthread_sigmask(SIG_SETMASK, &none, NULL);
	before = stats_of(parents).threads;
	begin(1);
	sleeper = blocked_gettid();
	drover_pool_submit(pool, &slow);
	drover_pool_clockwait(pool, &slow, CLOCK_REALTIME, &never, NULL);
	return before == stats_of(parents).threads;
}

static int fork_in_task(void *arg)
{
	return child_does(child_is_no_worker, "the child of a worker");
}

static void test_children(void)
{
	drover_task_t task;

	begin(1);
	tap_ok(child_does(child_is_told, "the child of a fork"),
	       "in the child of a fork the calls return ECHILD");
	if (FORK_THREADS_WORK) {
		submit(&task, fork_in_task, NULL);
		drover_pool_wait_all(pool);
		tap_is(result_of(&task), 1,
		       "the child of a worker is no worker");
	} else {
		tap_skip("a child with threads", FORK_THREADS_SKIP);
	}
	end();
}

static pid_t child;
static pthread_t leader;
static int nr_wrong;

/*
 * The task returns in the child, too. There the waiting thread does not exist,
 * so its stack must not be used.
 */
static int fork_and_return(void *stack)
{
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (stack)
			mprotect(stack, THREAD_STACK_SIZE, PROT_NONE);
	}
	return 0;
}

/* No task of the pool may run in the child. */
static int end_child(void *arg)
{
	if (!child)
		_exit(1);
	return 0;
}

/*
 * The caller of the loop forks, or its helper does. In the child the other part
 * never ends.
 */
static int fork_in_part(size_t begin, size_t end, void *stack)
{
	nr_begun++;
	if (pthread_equal(pthread_self(), leader) != (stack != NULL)) {
		reached(&nr_begun, 2);
		fork_and_return(stack);
		gate = 1;
	}
	reached(&gate, 1);
	return 0;
}

static void child_ends_with(int wanted)
{
	int status;

	nr_wrong += waitpid(child, &status, 0) != child ||
		    status != wanted << 8;
}

static void *leave_to_worker(void *stack)
{
	struct timespec never = { .tv_sec = INT32_MAX };
	drover_task_t task, held;
	int err;

	submit(&task, fork_and_return, stack);
	drover_pool_post(pool, end_child, NULL);
	drover_pool_clockwait(pool, &task, CLOCK_REALTIME, &never, NULL);
	child_ends_with(0);
	leader = pthread_self();
	nr_begun = gate = 0;
	err = drover_pool_for(pool, 0, 2, 1, fork_in_part, stack);
	if (!child)
		_exit(err);
	child_ends_with(stack ? 0 : ECHILD);
	nr_wrong += err != 0;
	/* A wait that runs the task returns in the child, too. */
	gate = 0;
	submit_held(&held);
	submit(&task, fork_and_return, NULL);
	err = drover_pool_wait(pool, &task, NULL);
	if (!child)
		_exit(err);
	child_ends_with(ECHILD);
	gate = 1;
	nr_wrong += err != 0 || drover_pool_wait(pool, &held, NULL) != 0;
	return NULL;
}

static void test_return(void)
{
	void *stack = NULL;

	watchdog("back in the child");
	begin(1);
	/*
	 * A sanitizer needs a larger stack, or reads it in the child, so there
	 * is none.
	 */
	if (CHILDREN_MAY_HAVE_THREADS && FRAMES_MAY_UNWIND)
		stack = aligned_alloc(THREAD_STACK_SIZE, THREAD_STACK_SIZE);
	start_thread_on(stack, &helper, leave_to_worker, stack);
	joined(helper);
	leave_to_worker(NULL);
	tap_is(nr_wrong, 0, "a child that returns from a task runs no other");
	end();
}

static void *wait_for_all(void *arg)
{
	sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){ 0 });
	sleeper = blocked_gettid();
	drover_pool_wait_all(pool);
	nr_met = 1;
	return arg;
}

static int begin_to_wait(size_t begin, size_t end, void *arg)
{
	helper = thread_of(wait_for_all, arg);
	reached(&sleeper, 1);
	asleep(sleeper);
	return 0;
}

/*
 * Between the loop and the task the pool has no task, but the thread that waits
 * for all cannot look in this moment.
 */
static void test_moment(void)
{
	cpu_set_t all;

	watchdog("a moment without tasks");
	/* In one of them it may look, if other threads have the CPU. */
	for (int i = 0; i < 5; i++) {
		begin(2);
		nr_met = 0;
		all = to_one_cpu();
		drover_pool_for(pool, 0, 1, 1, begin_to_wait, NULL);
		submit(&tasks[0], hold, NULL);
		reached(&nr_met, 1);
		sched_setaffinity(0, sizeof(all), &all);
		gate = 1;
		joined(helper);
		end();
	}
	tap_ok(true, "a moment without tasks is enough for wait_all");
}

/*
 * Without tasks all workers fall asleep and stay asleep. Then each single task
 * wakes one of them. No thread waits for the task, because a thread that waits
 * would run it.
 */
static void test_idle(void)
{
	drover_poolstats_t before, after;

	begin(NR_IDLE);
	for (int i = 1; i <= 200; i++) {
		if (i % 4 == 0)
			await_sleep(NR_IDLE);
		drover_pool_post(pool, count, NULL);
		reached(&nr_run, i);
	}
	await_sleep(NR_IDLE);
	before = stats_of(pool);
	tap_ok(before.wakes >= 50, "single tasks wake a worker, %lu times",
	       before.wakes);
	for (int i = 0; i < 1000; i++)
		sched_yield();
	after = stats_of(pool);
	tap_ok(before.sleeps == after.sleeps &&
		       before.linger_ns == after.linger_ns &&
		       workers_sleep(NR_IDLE),
	       "workers stay asleep while there are no tasks");
	end();
}

int main(void)
{
	tap_plan(NR_OF(scenarios) + 2 + 2 + 2);
	main_thread = pthread_self();
	for (int i = 0; i < NR_OF(scenarios); i++) {
		watchdog(scenarios[i].name);
		next_attr = (drover_poolattr_t){ 0 };
		may_wait = nr_met = nr_most = nr_otherwise = 0;
		apart = refuse = was_here = 0;
		told_all = told_shutdown = told_post = -1;
		tap_ok(steps_do(scenarios[i].text), "%s", scenarios[i].name);
	}
	watchdog("others");
	test_children();
	test_return();
	test_moment();
	test_idle();
	return tap_exit();
}
