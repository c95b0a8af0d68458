// SPDX-License-Identifier: MIT
/*
 * stream-perf - a loop like that of a language model that generates tokens. For
 * each token, a few inputs are copied to the device, a kernel runs, and its
 * result is read back and becomes the next token.
 *
 * Each result depends on all inputs of its token and on the result before. So
 * it is wrong if an input comes too late or is overwritten too early.
 */
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "stream_impl.h"

struct args {
	uint64_t tokens, inputs, bytes, kernel_us;
	const char *backend;
};

/* The arguments of the kernel, in one layout for all backends. */
struct token_args {
	const uint32_t *inputs;
	uint32_t *state;
	uint64_t nr_inputs;
	uint64_t stride; /* numbers from one input to the next */
	uint64_t work;	 /* rounds of bench_work(), or ns on a GPU */
};

struct loop {
	const struct args *args;
	struct bench_run *run;
	drover_stream_t stream;
	uint32_t *inputs; /* on the device */
	uint32_t *state;  /* on the device */
	uint32_t *host;	  /* the inputs, where the host writes them */
	uint32_t *back;	  /* the result, where the host reads it */
	uint64_t work;
	struct bench_latency between;
	uint64_t *tokens;	       /* ns of each; in the end, sorted */
	drover_stream_counts_t counts; /* of the measured part */
	_Atomic uint64_t progress;
};

static bool on_cuda(const struct loop *loop)
{
	return loop->args->backend && !strcmp(loop->args->backend, "cuda");
}

static void expect(const char *call, int err)
{
	if (!err)
		return;
	bench_error("%s: %s: %s", call, strerror(err), drover_stream_why());
	exit(BENCH_FAILED);
}

/* ---- the kernel, on a CPU and on a GPU ---- */

static int token_run(const void *args)
{
	const struct token_args *t = args;
	uint32_t sum = *t->state;

	for (uint64_t i = 0; i < t->nr_inputs; i++)
		sum = sum * 31 + t->inputs[i * t->stride];
	bench_work(t->work);
	*t->state = sum;
	return 0;
}

/* The same in PTX: one thread, which reads the clock until its time is over. */
static const char token_ptx[] =
	".version 6.0\n"
	".target sm_50\n"
	".address_size 64\n"
	".visible .entry token(.param .u64 inputs, .param .u64 state,\n"
	"		       .param .u64 nr, .param .u64 stride,\n"
	"		       .param .u64 work)\n"
	"{\n"
	"	.reg .pred %p;\n"
	"	.reg .b32 %sum, %in;\n"
	"	.reg .b64 %i, %n, %from, %to, %step, %end, %now, %w;\n"
	"	mov.u64 %end, %globaltimer;\n"
	"	ld.param.u64 %w, [work];\n"
	"	add.u64 %end, %end, %w;\n"
	"	ld.param.u64 %from, [inputs];\n"
	"	ld.param.u64 %to, [state];\n"
	"	ld.param.u64 %n, [nr];\n"
	"	ld.param.u64 %step, [stride];\n"
	"	cvta.to.global.u64 %from, %from;\n"
	"	cvta.to.global.u64 %to, %to;\n"
	"	shl.b64 %step, %step, 2;\n"
	"	ld.global.u32 %sum, [%to];\n"
	"	mov.u64 %i, 0;\n"
	"inputs_left:\n"
	"	setp.ge.u64 %p, %i, %n;\n"
	"	@%p bra wait;\n"
	"	ld.global.u32 %in, [%from];\n"
	"	mad.lo.u32 %sum, %sum, 31, %in;\n"
	"	add.u64 %from, %from, %step;\n"
	"	add.u64 %i, %i, 1;\n"
	"	bra inputs_left;\n"
	"wait:\n"
	"	mov.u64 %now, %globaltimer;\n"
	"	setp.lt.u64 %p, %now, %end;\n"
	"	@%p bra wait;\n"
	"	st.global.u32 [%to], %sum;\n"
	"	ret;\n"
	"}\n";

/* A function of the driver, which is found as the library finds the driver. */
static void *driver_function(const char *name)
{
	const char *path = getenv("DROVER_CUDA_LIBRARY");
	void *driver = dlopen(path && *path ? path : "libcuda.so.1", RTLD_NOW);
	void *function = driver ? dlsym(driver, name) : NULL;

	if (function)
		return function;
	bench_error("the CUDA driver has no %s", name);
	exit(BENCH_FAILED);
}

/* The context is current, so the first launch loads the module. */
static int token_issue(void *stream, const void *args)
{
	static int (*launch)(void *function, unsigned int grid_x,
			     unsigned int grid_y, unsigned int grid_z,
			     unsigned int block_x, unsigned int block_y,
			     unsigned int block_z, unsigned int shared,
			     void *stream, void **params, void **extra);
	static void *function;
	size_t bytes = sizeof(struct token_args);
	/*
	 * 1: a pointer to the arguments follows; 2: their size; NULL: the end
	 */
	void *extra[] = { (void *)1, (void *)args, (void *)2, &bytes, NULL };
	int (*load)(void **module, const void *image);
	int (*find)(void **function, void *module, const char *name);
	void *module;

	if (!launch) {
		load = driver_function("cuModuleLoadData");
		find = driver_function("cuModuleGetFunction");
		launch = driver_function("cuLaunchKernel");
		if (load(&module, token_ptx) ||
		    find(&function, module, "token"))
			return EINVAL;
	}
	return launch(function, 1, 1, 1, 1, 1, 1, 0, stream, NULL, extra) ?
		       EIO :
		       0;
}

/* ---- one token ---- */

static uint32_t input_of(uint64_t token, uint64_t input, uint32_t before)
{
	return (uint32_t)(token * 2654435761u + input * 40503u) ^ before;
}

static void launch(struct loop *loop)
{
	static const drover_kernel_t kernel = { .run = token_run,
						.issue = token_issue };
	uint64_t bytes = loop->args->bytes, nr = loop->args->inputs;
	const struct token_args args = { .inputs = loop->inputs,
					 .state = loop->state,
					 .nr_inputs = nr,
					 .stride = bytes / sizeof(uint32_t),
					 .work = loop->work };
	const drover_access_t accesses[] = {
		{ loop->inputs, nr * bytes, DROVER_READ },
		{ loop->state, sizeof(uint32_t), DROVER_READ | DROVER_WRITE },
	};

	expect("run", drover_stream_run(&loop->stream, &kernel, &args,
					sizeof(args), accesses, 2, NULL));
}

/* Generate a token. Returns the result that was read back and checked. */
static uint32_t do_token(struct loop *loop, uint64_t token, uint32_t before)
{
	uint64_t numbers = loop->args->bytes / sizeof(uint32_t);
	uint32_t wanted = before;
	uint64_t start = bench_now_ns();

	for (uint64_t i = 0; i < loop->args->inputs; i++) {
		uint32_t input = input_of(token, i, before);

		loop->host[i * numbers] = input;
		wanted = wanted * 31 + input;
		expect("copy",
		       input_copy(&loop->stream, loop->inputs + i * numbers,
				  loop->host + i * numbers, loop->args->bytes));
	}
	launch(loop);
	bench_latency_add(&loop->between, bench_now_ns() - start);
	expect("copy", drover_stream_copy(&loop->stream, loop->back,
					  loop->state, sizeof(*loop->back)));
	if (*loop->back != wanted)
		bench_wrong("token %" PRIu64 ": %08" PRIx32
			    " was read back, and not %08" PRIx32,
			    token, *loop->back, wanted);
	atomic_store_explicit(&loop->progress, token, memory_order_relaxed);
	return *loop->back;
}

/* ---- the run ---- */

static bool set_up(struct loop *loop)
{
	drover_streamattr_t attr = { .backend = on_cuda(loop) ?
							DROVER_BACKEND_CUDA :
							DROVER_BACKEND_CPU,
				     .order = IMPL_ORDER };
	uint64_t bytes = loop->args->inputs * loop->args->bytes;
	int err;

	loop->tokens = bench_alloc(loop->args->tokens, sizeof(uint64_t));
	if (!loop->tokens)
		return false;
	err = drover_stream_create(&loop->stream, &attr);
	if (err) {
		bench_error("no stream: %s", drover_stream_why());
		return false;
	}
	/*
	 * Pinned for all implementations, so that borrowed copies do not pay
	 * for pageable memory.
	 */
	expect("alloc", drover_stream_alloc_host(&loop->stream, bytes,
						 (void **)&loop->host));
	expect("alloc",
	       drover_stream_alloc_host(&loop->stream, sizeof(uint32_t),
					(void **)&loop->back));
	expect("alloc", drover_stream_alloc(&loop->stream, bytes,
					    (void **)&loop->inputs));
	expect("alloc", drover_stream_alloc(&loop->stream, sizeof(uint32_t),
					    (void **)&loop->state));
	loop->work = on_cuda(loop) ?
			     loop->args->kernel_us * 1000 :
			     bench_work_rounds(loop->args->kernel_us * 1000);
	expect("copy", drover_stream_copy(&loop->stream, loop->state,
					  &(uint32_t){ 0 }, sizeof(uint32_t)));
	return true;
}

static void tear_down(struct loop *loop)
{
	expect("free", drover_stream_free(&loop->stream, loop->host));
	expect("free", drover_stream_free(&loop->stream, loop->back));
	expect("free", drover_stream_free(&loop->stream, loop->inputs));
	expect("free", drover_stream_free(&loop->stream, loop->state));
	expect("destroy", drover_stream_destroy(&loop->stream));
}

static void subtract(drover_stream_counts_t *from,
		     const drover_stream_counts_t *before)
{
	uint64_t *a = (uint64_t *)from;
	const uint64_t *b = (const uint64_t *)before;

	for (size_t i = 0; i < sizeof(*from) / sizeof(*a); i++)
		a[i] -= b[i];
}

static void measure(struct loop *loop)
{
	drover_stream_counts_t before;
	uint64_t begin, now;
	uint32_t state = 0;

	/* The first token warms up, and is not measured. */
	state = do_token(loop, 0, state);
	loop->between = (struct bench_latency){ 0 };
	drover_stream_counts(&loop->stream, &before);
	bench_begin(loop->run);
	now = bench_now_ns();
	for (uint64_t i = 1; i <= loop->args->tokens; i++) {
		state = do_token(loop, i, state);
		begin = now;
		now = bench_now_ns();
		loop->tokens[i - 1] = now - begin;
	}
	bench_end(loop->run);
	bench_sort(loop->tokens, loop->args->tokens);
	drover_stream_counts(&loop->stream, &loop->counts);
	subtract(&loop->counts, &before);
	loop->run->operations = loop->args->tokens;
}

static uint64_t progress(void *arg)
{
	struct loop *loop = arg;

	return atomic_load_explicit(&loop->progress, memory_order_relaxed);
}

static void explain(void *arg)
{
	bench_error("at token %" PRIu64, progress(arg));
}

/* The loop that print() and json() report. */
static struct loop loop;

static bool check_args(const struct args *args)
{
	if (args->bytes % sizeof(uint32_t)) {
		bench_error("--bytes: %" PRIu64 " is not a multiple of 4",
			    args->bytes);
		return false;
	}
	if (args->backend && strcmp(args->backend, "cpu") &&
	    strcmp(args->backend, "cuda")) {
		bench_error("--backend: '%s' is neither cpu nor cuda",
			    args->backend);
		return false;
	}
	return true;
}

static enum bench_exit run(struct bench_run *run, const void *args)
{
	struct bench_watch watch = { progress, explain, &loop };
	enum bench_exit status = BENCH_FAILED;

	loop = (struct loop){ .args = args, .run = run };
	if (!check_args(args))
		return BENCH_USAGE;
	if (set_up(&loop) &&
	    bench_watchdog_start(&watch, run->common->watchdog)) {
		measure(&loop);
		bench_watchdog_stop();
		tear_down(&loop);
		status = BENCH_OK;
	}
	free(loop.tokens);
	return status;
}

/* ---- what is printed ---- */

static double per_token(uint64_t count)
{
	return (double)count / loop.args->tokens;
}

static double tokens_per_second(const struct bench_run *run)
{
	return run->operations / (run->end.wall - run->begin.wall);
}

static double median_us(void)
{
	return loop.tokens[loop.args->tokens / 2] * 1e-3;
}

static void print(FILE *out, const struct bench_run *run, const void *args)
{
	const drover_stream_counts_t *c = &loop.counts;

	(void)args;
	fprintf(out,
		"%s on %s: %.1f tokens/s, half within %.1f us; "
		"host between tokens: %.1f us\n"
		"per token: %.2f synchronizations asked for, %.2f elided, "
		"%.2f waited for; %.2f read-backs\n",
		impl.name, on_cuda(&loop) ? "cuda" : "cpu",
		tokens_per_second(run), median_us(),
		loop.between.total / 1e3 / loop.between.nr, per_token(c->asked),
		per_token(c->elided), per_token(c->waited),
		per_token(c->read_backs));
	fprintf(out, "%" PRIu64 " tokens", run->operations);
}

static void json(struct bench_json *json, const struct bench_run *run,
		 const void *args)
{
	const drover_stream_counts_t *c = &loop.counts;
	const struct args *a = args;

	bench_json_string(json, "backend", on_cuda(&loop) ? "cuda" : "cpu");
	bench_json_count(json, "threads", 1);
	bench_json_count(json, "inputs", a->inputs);
	bench_json_count(json, "bytes", a->bytes);
	bench_json_count(json, "kernel_us", a->kernel_us);
	bench_json_count(json, "work_ps", bench_work_cost());
	bench_json_real(json, "tokens_per_second", tokens_per_second(run));
	bench_json_real(json, "median_token_us", median_us());
	bench_json_real(json, "host_us_between_tokens",
			loop.between.total / 1e3 / loop.between.nr);
	bench_json_count(json, "asked", c->asked);
	bench_json_count(json, "elided", c->elided);
	bench_json_count(json, "waited", c->waited);
	bench_json_count(json, "added_host", c->added_host);
	bench_json_count(json, "read_backs", c->read_backs);
}

static const struct bench_option options[] = {
	BENCH_COUNT_OPTION('n', "tokens", tokens, 1, 1000000000, "TOKENS",
			   "tokens to be generated", .required = true,
			   .operand = true),
	BENCH_PRESET_OPTION('c', "inputs", inputs, 1, 1000, "INPUTS", 4,
			    "inputs that are copied for each"),
	BENCH_PRESET_OPTION('b', "bytes", bytes, 4, 1 << 24, "BYTES", 4096,
			    "bytes of each input"),
	BENCH_PRESET_OPTION('k', "kernel", kernel_us, 0, 10000000,
			    "MICROSECONDS", 500, "how long the kernel takes"),
	BENCH_WORD_OPTION('B', "backend", backend, "BACKEND",
			  "cpu (the default) or cuda"),
	{ 0 }
};

BENCH_SUITE(.name = "stream-perf",
	    .summary =
		    "Generate TOKENS tokens: copy inputs, run a kernel, read back.",
	    .operation = "token", .switches_key = "switches_per_token",
	    .json = json);
