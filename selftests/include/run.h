/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * run.h - the options of a test, the kernel it runs on, scenarios in words, and
 * policies
 */
#pragma once

#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <sys/wait.h>

#include "tap.h"

/*
 * Name=number arguments of a test program, and random numbers
 *
 *	struct args args = args_parse(argc, argv, "seed seconds");
 *	uint64_t seed = args_get(&args, "seed", args_fresh_seed());
 *
 * An argument that is not in the list ends the program with a message and
 * status 2, so that a misspelt argument is noticed.
 */

struct args {
	int argc;
	char **argv;
};

static inline bool args_valid(const char *names, const char *arg)
{
	char all[256], word[40] = " ", rest;
	long long number;

	snprintf(all, sizeof(all), " %s ", names);
	return sscanf(arg, "%30[a-z_]=%lli%c", word + 1, &number, &rest) == 2 &&
	       strstr(all, strcat(word, " "));
}

/* args_parse - check all arguments against @names, separated by spaces */
static inline struct args args_parse(int argc, char **argv, const char *names)
{
	for (int i = 1; i < argc; i++) {
		if (args_valid(names, argv[i]))
			continue;
		fprintf(stderr, "%s: bad argument '%s'\n", argv[0], argv[i]);
		fprintf(stderr, "usage: name=number, names: %s\n",
			*names ? names : "(none)");
		exit(2);
	}
	return (struct args){ .argc = argc, .argv = argv };
}

/* args_get - the last number given for @name, or @missing */
static inline uint64_t args_get(const struct args *args, const char *name,
				uint64_t missing)
{
	size_t len = strlen(name);

	for (int i = args->argc - 1; i > 0; i--) {
		const char *arg = args->argv[i];

		if (strncmp(arg, name, len) == 0 && arg[len] == '=')
			return strtoull(arg + len + 1, NULL, 0);
	}
	return missing;
}

/* args_fresh_seed - a seed for a run without seed=; the test has to print it */
static inline uint64_t args_fresh_seed(void)
{
	return ns_of(CLOCK_REALTIME);
}

/*
 * random_next - splitmix64. Any seed is good, each thread has a state of its
 * own, and the same seed gives the same numbers on every machine.
 */
static inline uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* random_below - a number from 0 to @bound - 1 */
static inline uint32_t random_below(uint64_t *state, uint32_t bound)
{
	return (random_next(state) >> 32) * bound >> 32;
}

/* variant_is - is this a guest with this kernel? The runner tells guests so. */
static inline bool variant_is(const char *name)
{
	const char *variant = getenv("DROVER_VARIANT");

	return variant && strcmp(variant, name) == 0;
}

/*
 * variant_is_host - is this no guest? A guest's kernel must have all system
 * calls, and the host's may be older.
 */
static inline bool variant_is_host(void)
{
	return !variant_is("none") && !variant_is("mainline") &&
	       !variant_is("drover");
}

/*
 * guest_share - how often to repeat a test: guests, which are slow, do a third
 */
static inline long guest_share(long nr)
{
	return variant_is_host() ? nr : nr / 3;
}

/*
 * child_status - the exit status of a child that does @work: 0 if the work
 * returns true, 1 if not, or another if the child calls _exit(); -1 if a signal
 * ends the child. @what: for the watchdog
 */
static inline int child_status(bool (*work)(void), const char *what)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		tap_bail("fork: %s", strerror(errno));
	if (!pid) {
		watchdog(what);
		_exit(work() ? 0 : 1);
	}
	if (waitpid(pid, &status, 0) != pid)
		tap_bail("waitpid: %s", strerror(errno));
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static inline bool child_does(bool (*work)(void), const char *what)
{
	return child_status(work, what) == 0;
}

/*
 * Scenarios in words
 *
 *	STEP(wait) { ... args[0] ... }
 *	NUMBER(some, 8);
 *
 *	tap_ok(steps_do("wait some; signal; returned = 1"), "a signal");
 *
 * A step is a verb and its arguments: numbers, letters, or 'words. An argument
 * that is left out is 1. The verb must return the number behind the "=". If it
 * does not, the step is printed, and the other steps follow all the same. If it
 * returns STEPS_END, no more steps follow.
 */

#define STEP_NUMBERS 4
#define STEPS_LENGTH 1024
#define STEPS_END    LONG_MIN

struct step_word {
	const char *word;
	long (*act)(const long *args); /* NULL: the word is a number */
	long value;
} __attribute__((aligned(32))); /* so that there are no gaps between them */

#define STEP_WORDS __attribute__((used, section("step_words")))

#define STEP(name)                                                             \
	static long do_##name(const long *args);                               \
	static struct step_word word_##name STEP_WORDS = { .word = #name,      \
							   .act = do_##name }; \
	static long do_##name(const long *args)
#define NUMBER(name, number)                                              \
	static struct step_word word_##name STEP_WORDS = { .word = #name, \
							   .value = number }

/* STEP_IS - a step that returns @call; STEP_DO - a step that returns 0 */
#define STEP_IS(name, call)  \
	STEP(name)           \
	{                    \
		return call; \
	}                    \
	_Static_assert(true, #name)
#define STEP_DO(name, call) \
	STEP(name)          \
	{                   \
		call;       \
		return 0;   \
	}                   \
	_Static_assert(true, #name)

NUMBER(max, INT_MAX);
NUMBER(EAGAIN, EAGAIN);
NUMBER(EBUSY, EBUSY);
NUMBER(EDEADLK, EDEADLK);
NUMBER(EINTR, EINTR);
NUMBER(EINVAL, EINVAL);
NUMBER(ENOTRECOVERABLE, ENOTRECOVERABLE);
NUMBER(EOWNERDEAD, EOWNERDEAD);
NUMBER(ENOSYS, ENOSYS);
NUMBER(EPERM, EPERM);
NUMBER(ETIMEDOUT, ETIMEDOUT);

/* errno N: sets errno, and returns its old value */
STEP(errno)
{
	int before = errno;

	errno = args[0];
	return before;
}

extern const struct step_word __start_step_words[], __stop_step_words[];

static inline const struct step_word *step_named(const char *name)
{
	const struct step_word *word = __start_step_words;

	while (word < __stop_step_words && strcmp(word->word, name) != 0)
		word++;
	return word < __stop_step_words ? word : NULL;
}

static inline long step_number(const char *text)
{
	bool negated = *text == '-', letter = isalpha(*text) && !text[1];
	const struct step_word *known = step_named(text + negated);
	long number;
	char *end;

	if (*text == '\'')
		return (long)(text + 1);
	if (known && known->act)
		return (long)known->act;
	if (known)
		return negated ? -known->value : known->value;
	number = letter ? *text : strtol(text, &end, 0);
	if (!letter && *end)
		tap_bail("'%s' in a scenario is not a number", text);
	return number;
}

/* Do one step. @text is cut into its words. *end: no more steps follow. */
static inline bool step_do(char *text, bool *end)
{
	long args[STEP_NUMBERS] = { 1, 1, 1, 1 }, got, wanted;
	const struct step_word *verb;
	char *rest, *word, whole[STEPS_LENGTH];
	int nr = 0;

	snprintf(whole, sizeof(whole), "%s", text);
	word = strtok_r(text, " ", &rest);
	verb = step_named(word);
	if (!verb || !verb->act)
		tap_bail("'%s' in a scenario is not a verb", word);
	while ((word = strtok_r(NULL, " ", &rest)) && *word != '=')
		args[nr++] = step_number(word);
	got = verb->act(args);
	*end = got == STEPS_END;
	if (!word || *end)
		return true;
	wanted = step_number(rest + strspn(rest, " "));
	if (got != wanted)
		tap_diag("%s: the result is %ld", whole, got);
	return got == wanted;
}

/* steps_do - do the steps of @text, between semicolons: did all go well? */
static inline bool steps_do(const char *text)
{
	char copy[STEPS_LENGTH], *rest, *step;
	bool ok = true, end = false;

	snprintf(copy, sizeof(copy), "%s", text);
	for (step = strtok_r(copy, ";", &rest); step && !end;
	     step = strtok_r(NULL, ";", &rest))
		ok = step_do(step, &end) && ok;
	return ok;
}

/*
 * The same test under each policy of the library. The library reads
 * DROVER_POLICY when it is loaded, so the program executes itself once for each
 * policy, and hands its results on in the environment.
 *
 *	POLICY_MAIN(test)
 */

#define NR_POLICIES 4

static const char *const policies[NR_POLICIES] = {
	"auto",
	"requeue",
	"wake-all",
	"spin=0",
};

/* policy_moves - does @policy move waiters to a mutex that is in use? */
static inline bool policy_moves(const char *policy)
{
	return !variant_is("none") && strcmp(policy, "wake-all") != 0;
}

/* run_hand_on - hand the results on to the program that is executed next */
static inline void run_hand_on(unsigned int stage)
{
	char state[64];

	snprintf(state, sizeof(state), "%u %u %u %u", stage, tap.passed,
		 tap.failed, tap.skipped);
	setenv("POLICY_STAGE", state, 1);
}

/* run_go_on - take over results that were handed on; their stage, or -1 */
static inline int run_go_on(void)
{
	const char *state = getenv("POLICY_STAGE");
	unsigned int stage;

	if (!state)
		return -1;
	if (sscanf(state, "%u %u %u %u", &stage, &tap.passed, &tap.failed,
		   &tap.skipped) != 4)
		tap_bail("POLICY_STAGE=%s: only the program itself may set it",
			 state);
	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	return stage;
}

static inline _Noreturn void policy_exec(char **argv, const char *policy,
					 unsigned int stage)
{
	run_hand_on(stage);
	setenv("DROVER_POLICY", policy, 1);
	fflush(stdout);
	execv("/proc/self/exe", argv);
	tap_bail("%s: %s", argv[0], strerror(errno));
}

/* policies_main - a main() that runs @test under each of the policies @names */
static inline int policies_main(char **argv, const char *const *names, int nr,
				void (*test)(const char *policy))
{
	int stage = run_go_on();

	if (stage < 0)
		policy_exec(argv, names[0], 0);
	if (stage >= nr)
		tap_bail("there are %d policies", nr);
	if (stage == 0)
		tap_start();
	test(names[stage]);
	if (++stage < nr)
		policy_exec(argv, names[stage], stage);
	return tap_exit();
}

/* policy_main - a main() that runs @test under all policies */
static inline int policy_main(char **argv, void (*test)(const char *policy))
{
	return policies_main(argv, policies, NR_POLICIES, test);
}

/* POLICY_MAIN - define such a main() */
#define POLICY_MAIN(test)                       \
	int main(int argc, char **argv)         \
	{                                       \
		api_start(argv);                \
		return policy_main(argv, test); \
	}
