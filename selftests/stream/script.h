/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * script.h - what streams do, in words
 *
 *	{ "a copy waits", "gate x s a; later x; copy s h a; waited x; is h 106" },
 *
 * Statements end with ";". Streams are s and u, of the first backend, and t, of
 * the second; S, T and U are ordered by their caller. All that are named exist
 * from the start, but for those of a "create". Memory a to d is the device's, h to
 * k the host's, p the host's and pinned. All but "is" below may end in "= ERROR"
 * (a result of the test; otherwise they must succeed), submissions in "@1" to "@9"
 * (their ticket). "cpu:", "eager:" and "cuda:" are for a backend t alone.
 *
 *	fill s a 5	put s a 5	add s b a	fail s a	call s a	deny s a
 *	copy s b a	staged s b a	borrow s b a	set h 3
 *	gate x s [a]	reader x s a	open x		later x		waited x
 *	record s e	wait s e	sync s		drain s
 *	ticket 1	done 1		over 1 (a time)	capture s	end s g
 *	replay s g	drop g		create s	destroy s	free s a
 *	alloc t b	soon 1 (a time)	refuse FUNCTION CODE (of the mock)
 *	is h 5		mark s		since s 4100	host s 1	device s 0
 *	submits s 9	called 5	why WORD 1	note h w
 *	races 1		break 2		late 20		count FUNCTION	calls FUNCTION 3
 *
 * A kernel "fail"s with ENOSPC, a host call "call"s or "deny"s with it. A gate is
 * closed until "open", or "later" until this thread sleeps; it fills what it has
 * with 106. "since" mark: asked, elided, deferred, waited, as one number.
 */
#ifndef DROVER_SELFTESTS_SCRIPT_H
#define DROVER_SELFTESTS_SCRIPT_H

#include <ctype.h>
#include <errno.h>

#include "../mock/cuda/mock_cuda.h"

#define BYTES 256

struct scenario {
	const char *name, *text;
};

static struct script {
	const char *name;
	uint32_t backends[2];
	drover_stream_t streams[128];
	bool exists[128];
	unsigned char *memory[128];
	struct gate gates[128];
	drover_event_t events[128];
	drover_graph_t *graphs[128];
	drover_ticket_t tickets[10];
	drover_stream_counts_t mark[128];
	int called, nr_counts;
	struct {
		char function[32];
		int before;
	} counts[4];
} script;

static unsigned char script_host[4][BYTES];

static const struct {
	const char *name;
	int err;
} script_errors[] = {
	{ "0", 0 },	      { "EBUSY", EBUSY },
	{ "EINVAL", EINVAL }, { "EIO", EIO },
	{ "ENOSPC", ENOSPC }, { "ETIMEDOUT", ETIMEDOUT },
	{ "EXDEV", EXDEV },   { "EINPROGRESS", EINPROGRESS },
	{ "EBADF", EBADF },   { NULL, 0 },
};

static inline uint32_t script_backend(int stream)
{
	return script.backends[tolower(stream) == 't'];
}

static inline bool script_is_cuda(int stream)
{
	return script_backend(stream) == DROVER_BACKEND_CUDA;
}

static inline void script_create(int name)
{
	script.streams[name] = stream_of(script_backend(name),
					 isupper(name) ? DROVER_ORDER_CALLER :
							 DROVER_ORDER_ENGINE);
	script.exists[name] = true;
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

	if (name >= 'h' && name <= 'k')
		return script_host[name - 'h'];
	if (!script.memory[name]) {
		memory = name == 'p' ? NULL :
				       device_memory(script_any(), BYTES);
		if (!memory)
			MUST(drover_stream_alloc_host(script_any(), BYTES,
						      &memory));
		script.memory[name] = memory;
	}
	return script.memory[name];
}

static inline int script_count_call(void *arg)
{
	script.called++;
	return 0;
}

static inline int script_no_space(void *arg)
{
	return ENOSPC;
}

static inline int script_gate(int name, int stream, drover_access_t access,
			      drover_ticket_t *ticket)
{
	drover_stream_t *s = &script.streams[stream];
	struct gate *gate = &script.gates[name];

	*gate = (struct gate)GATE_INIT;
	if (script_is_cuda(stream)) {
		cuda_gate_block(gate, s);
		return 0;
	}
	return gate_submit_access(gate, s, access, ticket);
}

/* What is submitted: the call's error. @w: the words, @t: of its ticket, or NULL */
static inline int script_submit(char w[5][32], drover_ticket_t *t)
{
	int stream = w[1][0], nr = atoi(w[3]);
	drover_stream_t *s = &script.streams[stream];
	unsigned char *to, *from;
	drover_access_t access = { NULL, BYTES, DROVER_READ | DROVER_WRITE };
	bool cuda = script_is_cuda(stream);

	if (!strcmp(w[0], "replay"))
		return drover_graph_replay(s, script.graphs[(int)w[2][0]], t);
	access.start = to = w[2][0] ? script_memory(w[2][0]) : NULL;
	from = isalpha(w[3][0]) ? script_memory(w[3][0]) : NULL;
	if (!strcmp(w[0], "fill"))
		return (cuda ? cuda_fill_submit : fill_submit)(s, to, nr, BYTES,
							       t);
	if (!strcmp(w[0], "put"))
		return drover_stream_set(s, to, nr, BYTES, t);
	if (!strcmp(w[0], "add"))
		return (cuda ? cuda_add_submit : add_submit)(s, to, from, BYTES,
							     t);
	if (!strcmp(w[0], "fail"))
		return fail_submit(s, ENOSPC, to, BYTES, t);
	if (!strcmp(w[0], "call") || !strcmp(w[0], "deny"))
		return drover_stream_host_call(
			s, w[0][0] == 'c' ? script_count_call : script_no_space,
			NULL, &access, to ? 1 : 0, t);
	if (!strcmp(w[0], "copy"))
		return drover_stream_copy(s, to, from, BYTES);
	if (!strcmp(w[0], "staged"))
		return drover_stream_copy_staged(s, to, from, BYTES, t);
	if (!strcmp(w[0], "borrow"))
		return drover_stream_copy_borrowed(s, to, from, BYTES, t);
	return -1;
}

/* Waits, events, graphs and ends */
static inline int script_control(char w[5][32])
{
	int stream = w[1][0], two = w[2][0];
	drover_stream_t *s = &script.streams[stream];
	drover_ticket_t *ticket = &script.tickets[atoi(w[1]) % 10];
	struct timespec past = deadline_in(CLOCK_MONOTONIC, -1);
	struct timespec soon = deadline_in(CLOCK_MONOTONIC, NS_PER_MS);

	if (!strcmp(w[0], "record"))
		return drover_stream_record(s, &script.events[two]);
	if (!strcmp(w[0], "wait"))
		return drover_stream_wait_event(s, &script.events[two]);
	if (!strcmp(w[0], "sync"))
		return drover_stream_synchronize(s);
	if (!strcmp(w[0], "drain"))
		return drover_stream_drain(s);
	if (!strcmp(w[0], "ticket"))
		return drover_ticket_wait(ticket, CLOCK_MONOTONIC, NULL);
	if (!strcmp(w[0], "over"))
		return drover_ticket_wait(ticket, CLOCK_MONOTONIC, &past);
	if (!strcmp(w[0], "soon"))
		return drover_ticket_wait(ticket, CLOCK_MONOTONIC, &soon);
	if (!strcmp(w[0], "done"))
		return drover_ticket_done(ticket);
	if (!strcmp(w[0], "capture"))
		return drover_stream_capture(s);
	if (!strcmp(w[0], "end"))
		return drover_stream_capture_end(s, &script.graphs[two]);
	if (!strcmp(w[0], "drop"))
		return drover_graph_destroy(script.graphs[stream]);
	if (!strcmp(w[0], "free")) {
		unsigned char *memory = script.memory[two];

		script.memory[two] = NULL;
		return drover_stream_free(s, memory);
	}
	if (!strcmp(w[0], "destroy")) {
		int err = drover_stream_destroy(s);

		script.exists[stream] = err == EBUSY;
		return err;
	}
#ifdef DROVER_STREAM_DEBUG
	if (!strcmp(w[0], "note")) {
		const drover_access_t access = { script_memory(stream), BYTES,
						 two == 'r' ? DROVER_READ :
							      DROVER_WRITE };

		return drover_stream_note(&access, 1);
	}
#endif
	return -1;
}

static inline void script_count(const char *function)
{
	strcpy(script.counts[script.nr_counts].function, function);
	script.counts[script.nr_counts++].before = mock_cuda.calls(function);
}

static inline int script_calls(const char *function)
{
	for (int i = 0; i < script.nr_counts; i++)
		if (!strcmp(function, script.counts[i].function))
			return mock_cuda.calls(function) -
			       script.counts[i].before;
	return -1;
}

/* What has no error; false if it is none of those. */
static inline bool script_do(char w[5][32])
{
	int name = w[1][0];

	if (!strcmp(w[0], "set"))
		memset(script_memory(name), atoi(w[2]), BYTES);
	else if (!strcmp(w[0], "alloc"))
		script.memory[(int)w[2][0]] =
			device_memory(&script.streams[name], BYTES);
	else if (!strcmp(w[0], "refuse"))
		mock_cuda.fail(w[1], 0, atoi(w[2]));
	else if (!strcmp(w[0], "count"))
		script_count(w[1]);
	else if (!strcmp(w[0], "create"))
		script_create(name);
	else if (!strcmp(w[0], "mark"))
		script.mark[name] = counts_of(&script.streams[name]);
	else if (!strcmp(w[0], "open"))
		gate_open(&script.gates[name]);
	else if (!strcmp(w[0], "later"))
		gate_open_when_asleep(&script.gates[name]);
	else if (!strcmp(w[0], "waited"))
		gate_was_waited_for(&script.gates[name]);
#ifdef DROVER_STREAM_DEBUG
	else if (!strcmp(w[0], "late"))
		eager_plants.late = atoi(w[1]);
	else if (!strcmp(w[0], "break"))
		eager_plants.fail_copy = atoi(w[1]);
#endif
	else
		return false;
	return true;
}

/* What is looked at; -1 if it is none of those. */
static inline long script_look(char w[5][32])
{
	int name = w[1][0];
	drover_stream_counts_t now, *was = &script.mark[name];

	if (!strcmp(w[0], "is"))
		return all_are(script_memory(name), atoi(w[2]), BYTES) ?
			       atoi(w[2]) :
			       -2;
	if (!strcmp(w[0], "called"))
		return script.called;
	if (!strcmp(w[0], "calls"))
		return script_calls(w[1]);
	if (!strcmp(w[0], "why"))
		return strstr(drover_stream_why(), w[1]) != NULL;
#ifdef DROVER_STREAM_DEBUG
	if (!strcmp(w[0], "races"))
		return races_found();
#endif
	if (!isalpha(name) || !script.exists[name])
		return -1;
	now = counts_of(&script.streams[name]);
	if (!strcmp(w[0], "since"))
		return (now.asked - was->asked) * 1000 +
		       (now.elided - was->elided) * 100 +
		       (now.deferred - was->deferred) * 10 +
		       (now.waited - was->waited);
	if (!strcmp(w[0], "submits"))
		return now.operations - was->operations;
	if (!strcmp(w[0], "host"))
		return now.added_host - was->added_host;
	if (!strcmp(w[0], "device"))
		return now.added_device - was->added_device;
	return -1;
}

static inline bool script_looks(const char *word)
{
	static const char words[] = " is called calls why races since "
				    "submits host device ";
	char found[40];

	snprintf(found, sizeof(found), " %s ", word);
	return strstr(words, found);
}

static inline int script_error(const char *text)
{
	for (int i = 0; script_errors[i].name; i++)
		if (!strcmp(text, script_errors[i].name))
			return script_errors[i].err;
	tap_bail("%s: no error is called %s", script.name, text);
}

/* One statement, without its ";". @counts: only say how many results it has */
static inline int script_line(char *line, bool counts)
{
	static const char *const of[] = { "cpu:", "eager:", "cuda:" };
	static const uint32_t backends[] = {
		DROVER_BACKEND_CPU,
#ifdef DROVER_STREAM_DEBUG
		DROVER_BACKEND_EAGER,
#else
		~0u,
#endif
		DROVER_BACKEND_CUDA,
	};
	char w[5][32] = { "" }, wanted[20] = "", *equals, *at;
	drover_ticket_t *ticket = NULL;
	int err;

	line += strspn(line, " ");
	for (int i = 0; i < 3; i++)
		if (!strncmp(line, of[i], strlen(of[i]))) {
			if (script.backends[1] != backends[i])
				return 0;
			line += strlen(of[i]);
			line += strspn(line, " ");
		}
	equals = strchr(line, '=');
	if (equals)
		sscanf(equals + 1, "%19s", wanted);
	at = strchr(line, '@');
	sscanf(line, "%31[a-z] %31[^ =@] %31[^ =@] %31[^ =@] %31[^ =@]", w[0],
	       w[1], w[2], w[3], w[4]);
	if (counts || !w[0][0])
		return equals || script_looks(w[0]);
	if (script_looks(w[0])) {
		long got = script_look(w);

		tap_is(got, atoi(w[w[2][0] ? 2 : 1]), "%s: %s", script.name,
		       line);
		return 1;
	}
	if (at)
		ticket = &script.tickets[at[1] - '0'];
	if (!strcmp(w[0], "gate") || !strcmp(w[0], "reader")) {
		drover_access_t access = { 0 };

		if (w[3][0])
			access = (drover_access_t){
				script_memory(w[3][0]), BYTES,
				w[0][0] == 'g' ? DROVER_WRITE : DROVER_READ
			};
		err = script_gate(w[1][0], w[2][0], access, ticket);
	} else if (script_do(w)) {
		return 0;
	} else {
		err = script_control(w);
		if (err == -1)
			err = script_submit(w, ticket);
	}
	if (equals)
		tap_is(err, script_error(wanted), "%s: %s", script.name, line);
	else if (err)
		tap_bail("%s: %s: %s (%s)", script.name, line, strerror(err),
			 drover_stream_why());
	return equals != NULL;
}

static inline int script_lines(const char *text, bool counts)
{
	char copy[2000], *save, *line;
	int nr = 0;

	if (strlen(text) >= sizeof(copy))
		tap_bail("%s: too long", script.name);
	strcpy(copy, text);
	for (line = strtok_r(copy, ";", &save); line;
	     line = strtok_r(NULL, ";", &save))
		nr += script_line(line, counts);
	return nr;
}

static inline void script_begin(const char *text)
{
	static bool has_kernels;
	char word[] = " s", end[] = " create s";
	const char *made;

	for (const char *s = "stuSTU"; *s; s++) {
		const char *at = text;

		word[1] = end[8] = *s;
		while ((at = strstr(at, word)) && !strchr(" ;=@", at[2]))
			at++;
		made = strstr(text, end);
		if (at && (!made || at < made))
			script_create(*s);
	}
	if (script_is_cuda('s') && !has_kernels)
		mock_cuda_kernels(script_any());
	has_kernels |= script_is_cuda('s');
}

static inline void script_end(void)
{
	for (const char *m = "abcdp"; *m; m++)
		if (script.memory[(int)*m])
			drover_stream_free(script_any(),
					   script.memory[(int)*m]);
	for (const char *s = "stuSTU"; *s; s++)
		if (script.exists[(int)*s])
			drover_stream_destroy(&script.streams[(int)*s]);
}

/*
 * Beside C: script_start() makes the streams that are named, script_say() carries
 * out statements, as often as it takes, and script_end() cleans up.
 */
static inline void script_start(const char *name, const char *streams,
				uint32_t one, uint32_t two)
{
	script = (struct script){ .name = name, .backends = { one, two } };
	memset(&script.events['o'], 0xff, sizeof(script.events['o']));
	memset(script_host, 0, sizeof(script_host));
	if (!streams)
		return;
	watchdog(name);
	script_begin(streams);
}

static inline void script_say(const char *text)
{
	script_lines(text, false);
}

/* script_run - carry it out, or only say how many results it has */
static inline int script_run(const struct scenario *scenario, const char *with,
			     uint32_t one, uint32_t two, bool counts)
{
	static char name[200];
	int nr;

	snprintf(name, sizeof(name), "%s: %s", with, scenario->name);
	script_start(name, counts ? NULL : scenario->text, one, two);
	nr = script_lines(scenario->text, counts);
	if (!counts)
		script_end();
	return nr;
}

/* Pairs of backends */
struct pairing {
	const char *name;
	uint32_t one, two;
};

__attribute__((unused)) static const struct pairing cpu_alone[] = {
	{ "cpu", DROVER_BACKEND_CPU, DROVER_BACKEND_CPU },
	{ NULL, 0, 0 },
};

#ifdef DROVER_STREAM_DEBUG
__attribute__((unused)) static const struct pairing eager[] = {
	{ "eager", DROVER_BACKEND_EAGER, DROVER_BACKEND_EAGER },
	{ NULL, 0, 0 },
};
#endif

__attribute__((unused)) static const struct pairing cuda[] = {
	{ "cuda", DROVER_BACKEND_CUDA, DROVER_BACKEND_CUDA },
	{ NULL, 0, 0 },
};

__attribute__((unused)) static const struct pairing cpu_pairings[] = {
	{ "cpu", DROVER_BACKEND_CPU, DROVER_BACKEND_CPU },
#ifdef DROVER_STREAM_DEBUG
	{ "eager", DROVER_BACKEND_EAGER, DROVER_BACKEND_EAGER },
#endif
	{ NULL, 0, 0 },
};

/* scripts_run - all of them with each pair, or only how many results there are */
static inline int scripts_run(const struct scenario *scenarios,
			      const struct pairing *pairings, bool counts)
{
	int nr = 0;

	for (const struct pairing *p = pairings; p->name; p++)
		for (const struct scenario *s = scenarios; s->name; s++)
			nr += script_run(s, p->name, p->one, p->two, counts);
	return nr;
}

/* scripts_main - what main() returns where there is nothing else */
static inline int scripts_main(const struct scenario *scenarios,
			       const struct pairing *pairings)
{
	tap_plan(scripts_run(scenarios, pairings, true));
	scripts_run(scenarios, pairings, false);
	return tap_exit();
}

#endif /* DROVER_SELFTESTS_SCRIPT_H */
