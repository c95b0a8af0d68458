/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * script.h - what streams do, in words: see run.h
 *
 *	{ "a copy waits", "gate x s a; later x; copy s h a; waited x; is h 106" },
 *
 * Streams s and u are of the first backend, and t is of the second. The caller
 * orders streams S, T and U. All streams that a script names exist from the
 * start, except those of a "create". Memory a to d is the device's, h to k the
 * host's, and p the host's and pinned. A step without "=" must return 0, that
 * is, succeed. A submission may end in "@1" to "@9", its ticket. A step after
 * "cpu:", "eager:" or "cuda:" is done only if this is the backend of t.
 *
 * Step "fail" submits a kernel that fails with ENOSPC, "call" a host call, and
 * "deny" a host call that fails with ENOSPC. A gate is closed until "open", or
 * with "later" until this thread sleeps; then it fills its memory with 106.
 * Step "since" returns the counts since "mark" as the digits of one number:
 * asked, elided, deferred, waited.
 */
#pragma once

#include <semaphore.h>

#include "blocks.h"
#include "run.h"

#define BYTES	  256
#define GATE_BYTE 106

/* The driver that is made of threads: the next @function returns @result. */
void mock_cuda_fail(const char *function, int result);
/*
 * Return: the calls of functions whose names start with @begin; NULL: count
 * anew.
 */
int mock_cuda_calls(const char *begin);
/*
 * Push contexts of the caller's own, or pop -@nr. Return: how many are current.
 */
int mock_cuda_push(int nr);
/* Return: the priority of the stream that was made last. */
int mock_cuda_priority(void);
/* As long as this is true, waits for events do not return. */
void mock_cuda_late(bool are);
/* Copies from and to pageable memory do not wait. A driver may do either. */
void mock_cuda_pageable_early(bool is);
/* Has a device had a fault, so that its context cannot be used any more? */
bool mock_cuda_faulted(void);
/* The program resets its devices: contexts, memory and streams are gone. */
void mock_cuda_reset(void);
/* Another thread of the program captures, which forbids some calls. */
void mock_cuda_capture_elsewhere(bool is);

/* A function of the driver, for programs that call the driver, too. */
int cuLaunchHostFunc(void *stream, void (*call)(void *arg), void *arg);

/* @name: may begin with the backends of s and t, such as "cpu eager+cpu: " */
struct scenario {
	const char *name, *text;
};

struct gate {
	sem_t opened;
	void *to; /* the memory that it fills when it is open, or NULL */
	pthread_t opener;
	pid_t sleeper;
};

static struct script {
	const char *name;
	uint32_t backends[2];
	drover_streamattr_t attr; /* of the next stream, except its backend */
	drover_stream_t streams[128];
	bool exists[128];
	unsigned char *memory[128];
	struct gate gates[128];
	drover_event_t events[128];
	drover_graph_t *graphs[128];
	drover_ticket_t tickets[10];
	drover_stream_counts_t mark[128];
	atomic_int called;
} script;

static _Thread_local drover_ticket_t *script_ticket; /* of the next step */
static unsigned char script_host[4][BYTES];

#ifndef DROVER_STREAM_DEBUG
#define DROVER_BACKEND_EAGER ~0u
#endif

/* Return: false for a backend that is not in this build. */
static inline bool script_backend_of(const char *text, uint32_t *id)
{
	if (!strncmp(text, "cpu", 3))
		*id = DROVER_BACKEND_CPU;
	else if (!strncmp(text, "cuda", 4))
		*id = DROVER_BACKEND_CUDA;
	else if (!strncmp(text, "eager", 5))
		*id = DROVER_BACKEND_EAGER;
	else
		tap_bail("%s: no backend is called so", text);
	return *id != ~0u;
}

static inline int script_create(int name)
{
	script.attr.backend = script.backends[tolower(name) == 't'];
	script.attr.order = isupper(name) ? DROVER_ORDER_CALLER :
					    DROVER_ORDER_ENGINE;
	MUST(drover_stream_create(&script.streams[name], &script.attr));
	script.exists[name] = true;
	return 0;
}

static inline drover_stream_t *script_any(void)
{
	for (const char *s = "stuSTU"; *s; s++)
		if (script.exists[(int)*s])
			return &script.streams[(int)*s];
	script_create('s');
	return &script.streams['s'];
}

static inline unsigned char *script_memory(int name)
{
	void *memory;

	if (name == 1 || script.memory[name])
		return script.memory[name];
	if (name >= 'h' && name <= 'k')
		return script_host[name - 'h'];
	if (name == 'p')
		MUST(drover_stream_alloc_host(script_any(), BYTES, &memory));
	else
		memory = device_memory(script_any(), BYTES);
	return script.memory[name] = memory;
}

/* ---- words ---- */

#define STREAM	 (&script.streams[args[0]])
#define TO	 script_memory(args[1])
#define FROM	 script_memory(args[2])
#define TICKET	 script_ticket
#define SINCE(f) (counts_of(STREAM).f - script.mark[args[0]].f)

STEP(destroy)
{
	int err = drover_stream_destroy(STREAM);

	script.exists[args[0]] = err == EBUSY;
	return err;
}

STEP_DO(alloc, script.memory[args[1]] = device_memory(STREAM, BYTES));

STEP(free)
{
	unsigned char *memory = script.memory[args[1]];

	script.memory[args[1]] = NULL;
	return drover_stream_free(STREAM, memory);
}

STEP_DO(set, memset(script_memory(args[0]), args[1], BYTES));

static inline int script_count_call(void *arg)
{
	script.called++;
	return 0;
}

static inline int script_no_space(void *arg)
{
	return ENOSPC;
}

static inline int script_host_call(const long *args, int (*call)(void *arg))
{
	drover_access_t access = { TO, BYTES, DROVER_READ | DROVER_WRITE };

	return drover_stream_host_call(STREAM, call, NULL, &access,
				       access.start ? 1 : 0, TICKET);
}

static inline int script_fail_run(const void *args)
{
	return ENOSPC;
}

STEP(fail)
{
	const drover_kernel_t kernel = { .run = script_fail_run };
	const drover_access_t access = { TO, BYTES, DROVER_WRITE };

	return drover_stream_run(STREAM, &kernel, NULL, 0, &access, 1, TICKET);
}

static const drover_kernel_t add_kernel = { .run = add_run,
					    .issue = add_issue };

STEP(add)
{
	const struct add add = { TO, FROM, BYTES };
	const drover_access_t accesses[] = {
		{ add.to, BYTES, DROVER_READ | DROVER_WRITE },
		{ add.from, BYTES, DROVER_READ },
	};

	return drover_stream_run(STREAM, &add_kernel, &add, sizeof(add),
				 accesses, 2, TICKET);
}

static inline int gate_run(const void *args)
{
	struct gate *gate = *(struct gate *const *)args;

	while (sem_wait(&gate->opened))
		;
	if (gate->to)
		memset(gate->to, GATE_BYTE, BYTES);
	return 0;
}

static inline void gate_call(void *gate)
{
	gate_run(&gate);
}

static inline int gate_issue(void *native, const void *args)
{
	return cuLaunchHostFunc(native, gate_call, *(void *const *)args);
}

/* gate GATE STREAM MEMORY: the memory may be left out */
STEP(gate)
{
	const drover_kernel_t kernel = { .run = gate_run, .issue = gate_issue };
	struct gate *gate = &script.gates[args[0]];
	const drover_access_t access = { FROM, BYTES, DROVER_WRITE };

	gate->to = FROM;
	MUST(sem_init(&gate->opened, 0, 0));
	return drover_stream_run(&script.streams[args[1]], &kernel, &gate,
				 sizeof(gate), &access, gate->to ? 1 : 0,
				 TICKET);
}

static inline void *gate_opener(void *arg)
{
	struct gate *gate = arg;

	asleep(gate->sleeper);
	sem_post(&gate->opened);
	return NULL;
}

/* later GATE: another thread opens the gate; "waited" joins that thread */
STEP(later)
{
	struct gate *gate = &script.gates[args[0]];

	gate->sleeper = blocked_gettid();
	gate->opener = thread_of(gate_opener, gate);
	return 0;
}

/* until TICKET MILLISECONDS; -1 milliseconds: an invalid time */
STEP(until)
{
	struct timespec until = { 0, NS_PER_S };

	if (args[1] >= 0)
		until = deadline_in(CLOCK_MONOTONIC, args[1] * NS_PER_MS);
	return drover_ticket_wait(&script.tickets[args[0]], CLOCK_MONOTONIC,
				  &until);
}

STEP_DO(open, sem_post(&script.gates[args[0]].opened));
STEP_DO(waited, joined(script.gates[args[0]].opener));
STEP_DO(mark, script.mark[args[0]] = counts_of(STREAM));
STEP_DO(refuse, mock_cuda_fail((const char *)args[0], args[1]));
STEP_IS(create, script_create(args[0]));
STEP_IS(fill, fill_submit(STREAM, TO, args[2], BYTES, TICKET));
STEP_IS(put, drover_stream_set(STREAM, TO, args[2], BYTES, TICKET));
STEP_IS(call, script_host_call(args, script_count_call));
STEP_IS(deny, script_host_call(args, script_no_space));
STEP_IS(copy, drover_stream_copy(STREAM, TO, FROM, BYTES));
STEP_IS(staged, drover_stream_copy_staged(STREAM, TO, FROM, BYTES, TICKET));
STEP_IS(borrow, drover_stream_copy_borrowed(STREAM, TO, FROM, BYTES, TICKET));
STEP_IS(record, drover_stream_record(STREAM, &script.events[args[1]]));
STEP_IS(wait, drover_stream_wait_event(STREAM, &script.events[args[1]]));
STEP_IS(pin, drover_stream_pin(STREAM, TO, BYTES));
STEP_IS(declare, drover_stream_declare(STREAM, TO, BYTES));
STEP_IS(undeclare, drover_stream_free(STREAM, TO));
STEP_IS(sync, drover_stream_synchronize(STREAM));
STEP_IS(drain, drover_stream_drain(STREAM));
STEP_IS(ticket,
	drover_ticket_wait(&script.tickets[args[0]], CLOCK_MONOTONIC, NULL));
STEP_IS(done, drover_ticket_done(&script.tickets[args[0]]));
STEP_IS(event,
	drover_ticket_wait(&script.events[args[0]], CLOCK_MONOTONIC, NULL));
STEP_IS(passed, drover_ticket_done(&script.events[args[0]]));
STEP_IS(capture, drover_stream_capture(STREAM));
STEP_IS(end, drover_stream_capture_end(STREAM, &script.graphs[args[1]]));
STEP_IS(replay, drover_graph_replay(STREAM, script.graphs[args[1]], TICKET));
STEP_IS(drop, drover_graph_destroy(script.graphs[args[0]]));
STEP_IS(is, all_are(script_memory(args[0]), args[1], BYTES) ? 0 : -1);
STEP_IS(count, mock_cuda_calls(NULL));
STEP_IS(called, script.called);
STEP_IS(calls, mock_cuda_calls((const char *)args[0]));
STEP_IS(why, strstr(drover_stream_why(), (const char *)args[0]) ? 0 : -1);
STEP_IS(since, SINCE(asked) * 1000 + SINCE(elided) * 100 +
		       SINCE(deferred) * 10 + SINCE(waited));
STEP_IS(host, SINCE(added_host));
STEP_IS(device, SINCE(added_device));

#ifdef DROVER_STREAM_DEBUG
STEP(note)
{
	const drover_access_t access = { script_memory(args[0]), BYTES,
					 args[1] == 'r' ? DROVER_READ :
							  DROVER_WRITE };

	return drover_stream_note(&access, 1);
}

STEP_DO(late, eager_plants.late = args[0]);
STEP_DO(break, eager_plants.fail_copy = args[0]);
STEP_IS(races, races_found());
#endif

NUMBER(EBADF, EBADF);
NUMBER(EINPROGRESS, EINPROGRESS);
NUMBER(EIO, EIO);
NUMBER(ENOSPC, ENOSPC);
NUMBER(EXDEV, EXDEV);

/* ---- scripts ---- */

/* Do one step, which run.h reads when "cpu:" and "@1" are removed. */
static inline bool script_step(char *text)
{
	char step[200], *colon = strchr(text, ':'), *at = strchr(text, '@');
	uint32_t backend;

	if (colon && (!script_backend_of(text + strspn(text, " "), &backend) ||
		      backend != script.backends[1]))
		return true;
	TICKET = at ? &script.tickets[at[1] - '0'] : NULL;
	if (at)
		memset(at, ' ', 2);
	text = colon ? colon + 1 : text;
	snprintf(step, sizeof(step), "%s%s", text,
		 strchr(text, '=') ? "" : " = 0");
	if (!text[strspn(text, " ")] || steps_do(step))
		return true;
	tap_diag("%s:%s (%s)", script.name, text, drover_stream_why());
	return false;
}

/* script_say - do all steps: did all go well? */
static inline bool script_say(const char *text)
{
	char *copy = strdup(text), *rest, *step;
	bool right = true;

	for (step = strtok_r(copy, ";", &rest); step;
	     step = strtok_r(NULL, ";", &rest))
		right = script_step(step) && right;
	free(copy);
	return right;
}

/* script_start - make the streams that @text names, except those it creates */
static inline void script_start(const char *name, const char *text,
				uint32_t one, uint32_t two)
{
	char word[] = " s", create[] = "create s";

	script = (struct script){ .name = name, .backends = { one, two } };
	memset(&script.events['o'], 0xff, sizeof(script.events['o']));
	memset(script_host, 0, sizeof(script_host));
	watchdog(name);
	for (const char *s = "stuSTU"; *s; s++) {
		const char *at = text, *made;

		word[1] = create[7] = *s;
		made = strstr(text, create);
		while ((at = strstr(at, word)) && !strchr(" ;=@", at[2]))
			at++;
		if (at && (!made || at < made))
			script_create(*s);
	}
}

static inline void script_end(void)
{
	if (mock_cuda_faulted())
		mock_cuda_reset();
	for (const char *m = "abcdp"; *m; m++)
		if (script.memory[(int)*m])
			drover_stream_free(script_any(),
					   script.memory[(int)*m]);
	for (const char *s = "stuSTU"; *s; s++)
		if (script.exists[(int)*s])
			drover_stream_destroy(&script.streams[(int)*s]);
}

/* Run a scenario on the backends @on, if this build has them: one result. */
static inline void script_run(const struct scenario *s, const char *on)
{
	const char *name = strstr(s->name, ": "), *plus = strchr(on, '+');
	uint32_t one, two;
	bool right;

	if (!script_backend_of(on, &one) ||
	    !script_backend_of(plus ? plus + 1 : on, &two))
		return;
	script_start(s->name, s->text, one, two);
	right = script_say(s->text);
	script_end();
	tap_ok(right, "%s: %s", on, name ? name + 2 : s->name);
}

/*
 * script_driver - choose the mock, unless there is another driver: see
 * on_device.c
 *
 * The mock is loaded already, because the program is linked to it by this name.
 */
static inline void script_driver(void)
{
	setenv("DROVER_CUDA_LIBRARY", "libcuda-mock.so", 0);
}

/* scripts_main - what main() returns */
static inline int scripts_main(const struct scenario *scenarios)
{
	script_driver();
	tap_start();
	for (const struct scenario *s = scenarios; s->name; s++) {
		bool has_on = strstr(s->name, ": ");
		char all[200], *rest, *on = all;

		snprintf(all, sizeof(all), "%s",
			 has_on ? s->name : "cpu eager:");
		all[strcspn(all, ":")] = '\0';
		while ((on = strtok_r(on, " ", &rest))) {
			script_run(s, on);
			on = NULL;
		}
	}
	return tap_exit();
}

#define SCRIPTS_MAIN(scenarios)                 \
	int main(void)                          \
	{                                       \
		return scripts_main(scenarios); \
	}
