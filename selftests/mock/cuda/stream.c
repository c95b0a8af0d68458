// SPDX-License-Identifier: GPL-2.0-only
/* Streams and their jobs, events, graphs, and the kernels that are built in. */
#include <stdlib.h>
#include <string.h>

#include "blocks.h"
#include "mock.h"

static struct stream *all_streams;
static int last_priority;
static int nr_touch; /* how many streams touch memory just now */

static void do_job(struct job *job)
{
	if (job->kernel)
		job->kernel->run(job->args);
	else if (job->call)
		job->call(job->arg);
	else if (job->from)
		memcpy(job->to, job->from, job->bytes);
	else if (job->to)
		memset(job->to, job->byte, job->bytes);
}

/* May the first job of a stream begin? Not if it is a wait that is not over. */
static bool may_begin(const struct job *job)
{
	return job && (!job->behind || job->behind->nr_done >= job->number);
}

/* Do a job, without the lock; or cause a fault, with the lock. */
static void begin_job(struct stream *s, struct job *job)
{
	if (job->kernel && !job->kernel->may_run(job->args)) {
		poison(s->context, ILLEGAL_ADDRESS);
	} else {
		nr_touch += !job->call;
		pthread_mutex_unlock(&lock);
		do_job(job);
		pthread_mutex_lock(&lock);
		nr_touch -= !job->call;
	}
	free(job);
}

static void *stream_main(void *arg)
{
	struct stream *s = arg;
	struct job *job;

	pthread_mutex_lock(&lock);
	while ((job = s->jobs.first) || !s->destroyed) {
		if (!may_begin(job)) {
			pthread_cond_wait(&changed, &lock);
			continue;
		}
		s->jobs.first = job->next;
		if (!job->next)
			s->jobs.end = &s->jobs.first;
		begin_job(s, job);
		s->nr_done++;
		pthread_cond_broadcast(&changed);
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

static int queue_job(struct stream *s, const struct job *job)
{
	struct graph *to = s->capture ? s->capture : &s->jobs;
	struct job *kept = malloc(sizeof(*kept));

	if (!kept)
		return OUT_OF_MEMORY;
	if (s->failed || s->destroyed) {
		free(kept);
		return s->failed ? s->failed : INVALID_HANDLE;
	}
	*kept = *job;
	kept->next = NULL;
	*to->end = kept;
	to->end = &kept->next;
	s->nr_added += to == &s->jobs;
	pthread_cond_broadcast(&changed);
	return SUCCESS;
}

/* The legacy stream of each context, which is made when it is first used. */
static struct stream *legacy[2];

static int wait_for(struct stream *s, const struct stream *other)
{
	const struct job wait = { .behind = other, .number = other->nr_added };

	return queue_job(s, &wait);
}

int add_job(struct stream *s, const struct job *job)
{
	int result = SUCCESS;

	for (int i = 0; i < NR_OF(legacy) && s->blocking; i++)
		if (legacy[i] && legacy[i]->context == s->context)
			result = wait_for(s, legacy[i]);
	if (s != legacy[0] && s != legacy[1])
		return result ? result : queue_job(s, job);
	for (struct stream *t = all_streams; t && !result; t = t->older)
		if (t->blocking && t->context == s->context)
			result = wait_for(s, t);
	return result ? result : queue_job(s, job);
}

void fail_streams(const char *context, int result)
{
	for (struct stream *s = all_streams; s; s = s->older) {
		struct job *job;

		if (s->context != context)
			continue;
		s->failed = result;
		while ((job = s->jobs.first)) {
			s->jobs.first = job->next;
			s->nr_added--;
			free(job);
		}
		s->jobs.end = &s->jobs.first;
	}
	pthread_cond_broadcast(&changed);
}

void await_touches(void)
{
	while (nr_touch)
		pthread_cond_wait(&changed, &lock);
}

void await_jobs(const struct stream *s)
{
	uint64_t last = s->nr_added;

	while (s->nr_done < last)
		pthread_cond_wait(&changed, &lock);
}

EXPORT int mock_cuda_priority(void)
{
	return last_priority;
}

static struct stream *new_stream(bool blocking)
{
	struct stream *s = calloc(1, sizeof(*s));
	pthread_t thread;

	if (!s)
		return NULL;
	s->jobs.end = &s->jobs.first;
	s->blocking = blocking;
	s->context = current_context();
	s->older = all_streams;
	all_streams = s;
	if (pthread_create(&thread, NULL, stream_main, s))
		return NULL;
	pthread_detach(thread);
	return s;
}

struct stream *stream_of(struct stream *s)
{
	struct stream **own = legacy;

	if ((uintptr_t)s > 1)
		return s;
	while (*own && (*own)->context != current_context())
		own++;
	return *own ? *own : (*own = new_stream(false));
}

EXPORT int cuStreamCreateWithPriority(struct stream **stream,
				      unsigned int flags, int priority)
{
	WANT_SOUND();
	last_priority = priority; /* no value is an error */
	if (flags > 1)
		return INVALID_VALUE;
	*stream = new_stream(!flags);
	return *stream ? SUCCESS : OUT_OF_MEMORY;
}

/* A stream that is destroyed still does the jobs that are queued. */
EXPORT int cuStreamDestroy_v2(struct stream *s)
{
	WANT_CONTEXT();
	s->destroyed = true;
	pthread_cond_broadcast(&changed);
	return SUCCESS;
}

/*
 * Before a wait or a query. A planned failure is a failure of the stream, which
 * stays. A stream that captures must not be asked.
 */
static int ask(struct stream *s, int planned)
{
	if (planned)
		s->failed = planned;
	if (!current_context())
		return INVALID_CONTEXT;
	if (s->failed || !s->capture)
		return s->failed;
	s->capture->spoilt = true;
	return STREAM_CAPTURE_UNSUPPORTED;
}

EXPORT int cuStreamQuery(struct stream *s)
{
	int result;

	ENTER();
	result = ask(s, planned);
	if (is_unsafe())
		return STREAM_CAPTURE_UNSUPPORTED;
	if (!result && s->nr_done < s->nr_added)
		result = NOT_READY;
	return result;
}

EXPORT int cuStreamSynchronize(struct stream *s)
{
	int result;

	ENTER();
	result = ask(s, planned);
	await_jobs(s);
	return s->failed ? s->failed : result;
}

/* ---- events ---- */

struct event {
	const struct stream *behind; /* where it was recorded last, or NULL */
	uint64_t number;
	char *context;
};

static bool is_done(const struct event *event)
{
	return !event->behind || event->behind->nr_done >= event->number;
}

EXPORT int cuEventCreate(struct event **event, unsigned int flags)
{
	WANT_SOUND();
	if (flags != 2)
		return INVALID_VALUE;
	*event = calloc(1, sizeof(**event));
	if (!*event)
		return OUT_OF_MEMORY;
	(*event)->context = current_context();
	return SUCCESS;
}

EXPORT int cuEventDestroy_v2(struct event *event)
{
	WANT_CONTEXT();
	free(event);
	return SUCCESS;
}

EXPORT int cuEventRecord(struct event *event, struct stream *s)
{
	WANT_SOUND();
	if (event->context != s->context)
		return INVALID_HANDLE;
	event->behind = s;
	event->number = s->nr_added;
	return s->failed;
}

EXPORT int cuStreamWaitEvent(struct stream *s, struct event *event,
			     unsigned int flags)
{
	struct job job = { 0 };

	WANT_SOUND();
	job.behind = event->behind;
	job.number = event->number;
	return add_job(s, &job);
}

EXPORT int cuEventQuery(struct event *event)
{
	WANT_SAFE();
	if (event->behind && event->behind->failed)
		return event->behind->failed;
	return is_done(event) ? SUCCESS : NOT_READY;
}

static bool waits_are_late;

EXPORT void mock_cuda_late(bool are)
{
	pthread_mutex_lock(&lock);
	waits_are_late = are;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

EXPORT int cuEventSynchronize(struct event *event)
{
	WANT_CONTEXT();
	/* If the event is recorded again meanwhile, the last record counts. */
	while (!is_done(event) || waits_are_late) {
		if (event->behind->failed)
			return event->behind->failed;
		pthread_cond_wait(&changed, &lock);
	}
	return event->behind ? event->behind->failed : SUCCESS;
}

/* ---- graphs ---- */

EXPORT int cuStreamBeginCapture_v2(struct stream *s, int mode)
{
	WANT_SOUND();
	if (mode != 1)
		return INVALID_VALUE;
	s->capture = calloc(1, sizeof(*s->capture));
	if (!s->capture)
		return OUT_OF_MEMORY;
	s->capture->end = &s->capture->first;
	return SUCCESS;
}

static void graph_free(struct graph *graph)
{
	for (struct job *job = graph->first, *next; job; job = next) {
		next = job->next;
		free(job);
	}
	free(graph);
}

EXPORT int cuStreamEndCapture(struct stream *s, struct graph **graph)
{
	WANT_CONTEXT();
	*graph = s->capture;
	s->capture = NULL;
	if (!*graph || !(*graph)->spoilt)
		return *graph ? SUCCESS : INVALID_VALUE;
	graph_free(*graph);
	*graph = NULL;
	return STREAM_CAPTURE_INVALIDATED;
}

/* The jobs move from @graph to the new executable graph. */
EXPORT int cuGraphInstantiateWithFlags(struct graph **exec, struct graph *graph,
				       unsigned long long flags)
{
	WANT_SOUND();
	*exec = calloc(1, sizeof(**exec));
	if (!*exec)
		return OUT_OF_MEMORY;
	(*exec)->first = graph->first;
	graph->first = NULL;
	return SUCCESS;
}

EXPORT int cuGraphDestroy(struct graph *graph)
{
	CALLED();
	graph_free(graph);
	return SUCCESS;
}

EXPORT int cuGraphExecDestroy(struct graph *exec)
{
	CALLED();
	graph_free(exec);
	return SUCCESS;
}

EXPORT int cuGraphLaunch(struct graph *exec, struct stream *s)
{
	int result = SUCCESS;

	WANT_SOUND();
	for (struct job *job = exec->first; job && !result; job = job->next)
		result = add_job(s, job);
	return result;
}

/* ---- modules ---- */

/* tools/bench/stream-perf.c has this kernel in PTX. */
struct token {
	const uint32_t *inputs;
	uint32_t *state;
	uint64_t nr, stride, work;
};

static int token_run(const void *args)
{
	const struct token *token = args;

	for (uint64_t i = 0; i < token->nr; i++)
		*token->state =
			*token->state * 31 + token->inputs[i * token->stride];
	return 0;
}

static bool token_may_run(const void *args)
{
	const struct token *token = args;

	return is_reached(token->inputs,
			  token->nr * token->stride * sizeof(uint32_t)) &&
	       is_reached(token->state, sizeof(uint32_t));
}

static bool fill_may_run(const void *args)
{
	const struct fill *fill = args;

	return is_reached(fill->to, fill->bytes);
}

static bool add_may_run(const void *args)
{
	const struct add *add = args;

	return is_reached(add->to, add->bytes) &&
	       is_reached(add->from, add->bytes);
}

static const struct kernel kernels[] = {
	{ "fill", fill_run, fill_may_run },
	{ "add", add_run, add_may_run },
	{ "token", token_run, token_may_run },
};

EXPORT int cuModuleLoadData(void **module, const void *image)
{
	WANT_SAFE();
	*module = (void *)image;
	return image ? SUCCESS : INVALID_VALUE;
}

EXPORT int cuModuleGetFunction(void **function, void *module, const char *name)
{
	WANT_SOUND();
	for (int i = 0; i < NR_OF(kernels); i++) {
		if (strcmp(name, kernels[i].name))
			continue;
		*function = (void *)&kernels[i];
		return SUCCESS;
	}
	return NOT_FOUND;
}

EXPORT int cuLaunchKernel(void *function, unsigned int grid_x,
			  unsigned int grid_y, unsigned int grid_z,
			  unsigned int block_x, unsigned int block_y,
			  unsigned int block_z, unsigned int shared,
			  struct stream *s, void **params, void **extra)
{
	struct job job = { .kernel = function };

	WANT_SOUND();
	if (!grid_x || !grid_y || !grid_z || !block_x || !block_y || !block_z ||
	    grid_x > INT32_MAX || grid_y > 65535 || grid_z > 65535 ||
	    block_x * block_y * block_z > 1024 || block_z > 64 ||
	    shared > 48 << 10 || params)
		return INVALID_VALUE;
	if (extra) {
		size_t bytes = *(size_t *)extra[3];

		if (extra[0] != (void *)1 || extra[2] != (void *)2 ||
		    extra[4] || bytes > sizeof(job.args))
			return INVALID_VALUE;
		memcpy(job.args, extra[1], bytes);
	}
	return add_job(s, &job);
}

EXPORT int cuLaunchHostFunc(struct stream *s, void (*call)(void *arg),
			    void *arg)
{
	struct job job = { .call = call, .arg = arg };

	WANT_SOUND();
	return add_job(s, &job);
}
