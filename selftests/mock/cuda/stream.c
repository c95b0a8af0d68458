// SPDX-License-Identifier: GPL-2.0-only
/* Streams and what they do, events and graphs. */
#include <stdlib.h>
#include <string.h>

#include "mock.h"

static void graph_put(struct graph *graph)
{
	if (--graph->refs)
		return;
	for (struct job *job = graph->first, *next; job; job = next) {
		next = job->next;
		free(job);
	}
	free(graph);
}

static void event_put(struct event *event)
{
	if (!--event->refs)
		free(event);
}

static void do_job(struct job *job)
{
	switch (job->kind) {
	case COPY:
		memcpy(job->to, job->from, job->bytes);
		for (size_t i = 1; i < job->rows; i++)
			memcpy((char *)job->to + i * job->to_pitch,
			       (const char *)job->from + i * job->from_pitch,
			       job->bytes);
		return;
	case SET:
		memset(job->to, (int)job->number, job->bytes);
		return;
	case LAUNCH:
		job->kernel(job->args);
		return;
	case CALL:
		job->call(job->arg);
		return;
	case GRAPH:
		for (struct job *j = job->graph->first; j; j = j->next)
			do_job(j);
		graph_put(job->graph);
		return;
	case RECORD:
		pthread_mutex_lock(&lock);
		if (job->event->done < job->number)
			job->event->done = job->number;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
		event_put(job->event);
		return;
	case WAIT:
		pthread_mutex_lock(&lock);
		while (job->event->done < job->number)
			pthread_cond_wait(&changed, &lock);
		pthread_mutex_unlock(&lock);
		event_put(job->event);
		return;
	}
}

static void *stream_main(void *arg)
{
	struct stream *s = arg;

	pthread_mutex_lock(&lock);
	for (;;) {
		struct job *job = s->first;

		if (!job && s->stop)
			break;
		if (!job) {
			pthread_cond_wait(&changed, &lock);
			continue;
		}
		s->first = job->next;
		if (!s->first)
			s->end = &s->first;
		pthread_mutex_unlock(&lock);
		do_job(job);
		free(job);
		pthread_mutex_lock(&lock);
		s->nr_done++;
		pthread_cond_broadcast(&changed);
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

int add_job(struct stream *s, struct job job)
{
	struct job *kept = malloc(sizeof(*kept));
	int failed;

	if (!kept)
		return OUT_OF_MEMORY;
	*kept = job;
	kept->next = NULL;
	pthread_mutex_lock(&lock);
	failed = s->failed;
	if (s->capture) {
		*s->capture->end = kept;
		s->capture->end = &kept->next;
	} else if (!failed) {
		if (kept->kind == GRAPH)
			kept->graph->refs++;
		if (kept->event)
			kept->event->refs++;
		*s->end = kept;
		s->end = &kept->next;
		s->nr_added++;
		pthread_cond_broadcast(&changed);
	}
	pthread_mutex_unlock(&lock);
	if (failed)
		free(kept);
	return failed;
}

static int last_priority;

EXPORT int mock_cuda_priority(void)
{
	return last_priority;
}

EXPORT int cuStreamCreateWithPriority(struct stream **stream,
				      unsigned int flags, int priority)
{
	struct stream *s;

	WANT_CONTEXT();
	last_priority = priority; /* one out of range is not an error */
	if (flags != 1)
		return INVALID_VALUE;
	s = calloc(1, sizeof(*s));
	if (!s)
		return OUT_OF_MEMORY;
	s->end = &s->first;
	s->context = current_context();
	if (pthread_create(&s->thread, NULL, stream_main, s)) {
		free(s);
		return OUT_OF_MEMORY;
	}
	*stream = s;
	return SUCCESS;
}

EXPORT int cuStreamDestroy_v2(struct stream *s)
{
	WANT_CONTEXT();
	pthread_mutex_lock(&lock);
	s->stop = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	pthread_join(s->thread, NULL);
	free(s);
	return SUCCESS;
}

int await_jobs(struct stream *s)
{
	uint64_t last;
	int result;

	pthread_mutex_lock(&lock);
	last = s->nr_added;
	while (s->nr_done < last)
		pthread_cond_wait(&changed, &lock);
	result = s->failed;
	pthread_mutex_unlock(&lock);
	return result;
}

/* A stream that captures is not to be asked. */
static int spoil_capture(struct stream *s)
{
	int result = SUCCESS;

	pthread_mutex_lock(&lock);
	if (s->capture) {
		s->capture->spoilt = true;
		result = STREAM_CAPTURE_UNSUPPORTED;
	}
	pthread_mutex_unlock(&lock);
	return result;
}

/* A planned failure of a wait is one of the device: it stays. */
static int device_failed(struct stream *s, const char *function)
{
	int result = called(function);

	pthread_mutex_lock(&lock);
	if (result)
		s->failed = result;
	result = s->failed;
	pthread_mutex_unlock(&lock);
	return nr_pushed ? result : INVALID_CONTEXT;
}

EXPORT int cuStreamQuery(struct stream *s)
{
	int result = device_failed(s, __func__);

	UNSAFE();
	if (!result)
		result = spoil_capture(s);
	pthread_mutex_lock(&lock);
	if (!result && s->nr_done < s->nr_added)
		result = NOT_READY;
	pthread_mutex_unlock(&lock);
	return result;
}

EXPORT int cuStreamSynchronize(struct stream *s)
{
	int result = device_failed(s, __func__);
	int spoilt = spoil_capture(s);

	await_jobs(s);
	return result ? result : spoilt;
}

/* ---- events ---- */

EXPORT int cuEventCreate(struct event **event, unsigned int flags)
{
	WANT_CONTEXT();
	if (flags != 2)
		return INVALID_VALUE;
	*event = calloc(1, sizeof(**event));
	if (!*event)
		return OUT_OF_MEMORY;
	(*event)->refs = 1;
	(*event)->context = current_context();
	return SUCCESS;
}

EXPORT int cuEventDestroy_v2(struct event *event)
{
	WANT_CONTEXT();
	event_put(event);
	return SUCCESS;
}

EXPORT int cuEventRecord(struct event *event, struct stream *s)
{
	struct job job = { .kind = RECORD, .event = event };

	WANT_CONTEXT();
	if (event->context != s->context)
		return INVALID_HANDLE;
	job.number = ++event->recorded;
	return add_job(s, job);
}

EXPORT int cuStreamWaitEvent(struct stream *s, struct event *event,
			     unsigned int flags)
{
	struct job job = { .kind = WAIT, .event = event };

	WANT_CONTEXT();
	job.number = event->recorded;
	return add_job(s, job);
}

EXPORT int cuEventQuery(struct event *event)
{
	int result;

	WANT_CONTEXT();
	UNSAFE();
	pthread_mutex_lock(&lock);
	result = event->done < event->recorded ? NOT_READY : SUCCESS;
	pthread_mutex_unlock(&lock);
	return result;
}

EXPORT int cuEventSynchronize(struct event *event)
{
	WANT_CONTEXT();
	pthread_mutex_lock(&lock);
	/* Recorded again meanwhile: for the last time that counts. */
	while (event->done < event->recorded)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	return SUCCESS;
}

/* ---- graphs ---- */

EXPORT int cuStreamBeginCapture_v2(struct stream *s, int mode)
{
	struct graph *graph;

	WANT_CONTEXT();
	graph = calloc(1, sizeof(*graph));
	if (!graph || mode != 1)
		return graph ? INVALID_VALUE : OUT_OF_MEMORY;
	graph->end = &graph->first;
	graph->refs = 1;
	pthread_mutex_lock(&lock);
	s->capture = graph;
	pthread_mutex_unlock(&lock);
	return SUCCESS;
}

EXPORT int cuStreamEndCapture(struct stream *s, struct graph **graph)
{
	WANT_CONTEXT();
	pthread_mutex_lock(&lock);
	*graph = s->capture;
	s->capture = NULL;
	pthread_mutex_unlock(&lock);
	if (*graph && (*graph)->spoilt) {
		graph_put(*graph);
		*graph = NULL;
		return STREAM_CAPTURE_INVALIDATED;
	}
	return *graph ? SUCCESS : INVALID_VALUE;
}

/* An executable graph shares the jobs of the one it was made of. */
EXPORT int cuGraphInstantiateWithFlags(struct graph **exec, struct graph *graph,
				       unsigned long long flags)
{
	WANT_CONTEXT();
	graph->refs++;
	*exec = graph;
	return SUCCESS;
}

EXPORT int cuGraphDestroy(struct graph *graph)
{
	CALLED();
	graph_put(graph);
	return SUCCESS;
}

EXPORT int cuGraphExecDestroy(struct graph *exec)
{
	CALLED();
	graph_put(exec);
	return SUCCESS;
}

EXPORT int cuGraphLaunch(struct graph *exec, struct stream *s)
{
	WANT_CONTEXT();
	return add_job(s, (struct job){ .kind = GRAPH, .graph = exec });
}
