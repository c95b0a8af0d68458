// SPDX-License-Identifier: GPL-2.0-only
/*
 * There is no CUDA driver, or it has no device, or it has another version than
 * the kernel's, or it lacks a function. The program gets an error that says
 * that there is no device, and a sentence that names the reason. Other backends
 * work all the same.
 */
#include "script.h"

static const struct {
	const char *library;
	int init, device, err; /* init: what cuInit() returns */
	const char *named;
} all[] = {
	{ "/nowhere/libcuda.so.1", 0, 0, ENODEV, "/nowhere/libcuda.so.1" },
	/* Any library that is no CUDA driver. */
	{ "libc.so.6", 0, 0, ENOSYS, "cuInit" },
	{ "libcuda-mock.so", 34, 0, ENODEV, "CUDA_ERROR_STUB_LIBRARY" },
	{ "libcuda-mock.so", 100, 0, ENODEV, "CUDA_ERROR_NO_DEVICE" },
	{ "libcuda-mock.so", 803, 0, ENODEV,
	  "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH" },
	{ "libcuda-mock.so", 0, 7, ENODEV, "CUDA_ERROR_INVALID_DEVICE" },
};

int main(void)
{
	drover_streamattr_t attr = { .backend = DROVER_BACKEND_CUDA };
	drover_stream_t s;

	tap_plan(NR_OF(all) + 2);
	watchdog("no driver");
	for (int i = 0; i < NR_OF(all); i++) {
		setenv("DROVER_CUDA_LIBRARY", all[i].library, 1);
		attr.device = all[i].device;
		mock_cuda_fail("cuInit", all[i].init);
		tap_ok(drover_stream_create(&s, &attr) == all[i].err &&
			       strstr(drover_stream_why(), all[i].named),
		       "%s", drover_stream_why());
	}
	MUST(drover_stream_create(&s, NULL));
	tap_is(drover_stream_destroy(&s), 0,
	       "the CPU backend works without a driver");
	/* The library looks for a driver again, as long as it has none. */
	attr.device = 0;
	MUST(drover_stream_create(&s, &attr));
	tap_is(drover_stream_destroy(&s), 0, "a driver that comes later works");
	return tap_exit();
}
