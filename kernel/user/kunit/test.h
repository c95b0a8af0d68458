/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * kunit/test.h - a KUnit test as a program: exit status 1 if it fails
 *
 * No more than plist_kunit.c uses.
 */
#ifndef DROVER_KUNIT_TEST_H
#define DROVER_KUNIT_TEST_H

#include <stdio.h>

#define KUNIT_PARAM_DESC_SIZE 128
#define KUNIT_FAILURE	      1

struct kunit {
	int status;
	const void *param_value;
};

struct kunit_case {
	void (*run)(struct kunit *test);
	const void *(*next)(const void *prev, char *desc);
};

struct kunit_suite {
	const char *name;
	struct kunit_case *test_cases;
};

#define KUNIT_EXPECT_TRUE(test, condition) \
	((condition) ? (void)0 : kunit_failed(test, __func__, __LINE__))
#define KUNIT_EXPECT_EQ(test, a, b) KUNIT_EXPECT_TRUE(test, (a) == (b))
#define KUNIT_EXPECT_LE(test, a, b) KUNIT_EXPECT_TRUE(test, (a) <= (b))
#define KUNIT_EXPECT_LT(test, a, b) KUNIT_EXPECT_TRUE(test, (a) < (b))
#define KUNIT_ASSERT_LE(test, a, b) \
	((a) <= (b) ? (void)0 :     \
		      (kunit_failed(test, __func__, __LINE__), exit(1)))

#define KUNIT_ARRAY_PARAM(name, array, describe)                           \
	static const void *name##_gen_params(const void *prev, char *desc) \
	{                                                                  \
		const __typeof__((array)[0]) *next = prev;                 \
                                                                           \
		next = prev ? next + 1 : (array);                          \
		if (next == (array) + sizeof(array) / sizeof((array)[0]))  \
			return NULL;                                       \
		describe(next, desc);                                      \
		return next;                                               \
	}
#define KUNIT_CASE_PARAM(test, params) \
	{                              \
		test, params           \
	}
#define kunit_test_suite(suite)           \
	int main(void)                    \
	{                                 \
		return kunit_run(&suite); \
	}
#define MODULE_DESCRIPTION(text) struct kunit
#define MODULE_LICENSE(text)	 struct kunit

static inline void kunit_failed(struct kunit *test, const char *where, int line)
{
	if (!test->status)
		printf("# %s() fails at line %d\n", where, line);
	test->status = KUNIT_FAILURE;
}

static inline int kunit_run(const struct kunit_suite *suite)
{
	char desc[KUNIT_PARAM_DESC_SIZE];
	const struct kunit_case *one;
	const void *param;
	int failed = 0;

	setbuf(stdout, NULL);
	for (one = suite->test_cases; one->run; one++) {
		param = NULL;
		while ((param = one->next(param, desc))) {
			struct kunit test = { .param_value = param };

			one->run(&test);
			printf("%sok %s\n", test.status ? "not " : "", desc);
			failed |= test.status;
		}
	}
	return failed;
}

#endif /* DROVER_KUNIT_TEST_H */
