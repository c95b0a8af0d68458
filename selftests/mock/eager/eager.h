/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * eager.h - a backend for tests: a copy starts when it is submitted, see
 * eager.c
 */
#pragma once

#include <stdint.h>

#define DROVER_BACKEND_EAGER 1u

/**
 * struct eager_plants - faults that a test plants; all zero: none
 * @fail_copy: the copy with this number, counted from now on, fails with EIO
 * @late: copies are late, by at most so many yields
 */
struct eager_plants {
	_Atomic uint32_t fail_copy;
	_Atomic uint32_t late;
};

extern struct eager_plants eager_plants;
