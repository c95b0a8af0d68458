// SPDX-License-Identifier: GPL-2.0-only
/*
 * No CUDA driver, one without a device, one that lacks a function: an error,
 * and a sentence that names what is missing. Other backends do not care.
 */
#include "script.h"

static const struct {
	const char *library;
	int device, err;
	const char *named;
} all[] = {
	{ "/nowhere/libcuda.so.1", 0, ENODEV, "/nowhere/libcuda.so.1" },
	/* Any library that is no CUDA driver. */
	{ "libc.so.6", 0, ENOSYS, "cuInit" },
	{ "libcuda-mock.so", 0, ENODEV, "CUDA_ERROR_NO_DEVICE" },
	{ "libcuda-mock.so", 7, ENODEV, "CUDA_ERROR_INVALID_DEVICE" },
};

int main(void)
{
	drover_streamattr_t attr = { .backend = DROVER_BACKEND_CUDA };
	drover_stream_t s;

	tap_plan(NR_OF(all) + 2);
	watchdog("no driver");
	setenv("DROVER_MOCK_CUDA", "no-device", 1);
	for (int i = 0; i < NR_OF(all); i++) {
		setenv("DROVER_CUDA_LIBRARY", all[i].library, 1);
		attr.device = all[i].device;
		if (attr.device)
			unsetenv("DROVER_MOCK_CUDA");
		tap_ok(drover_stream_create(&s, &attr) == all[i].err &&
			       strstr(drover_stream_why(), all[i].named),
		       "%s", drover_stream_why());
	}
	MUST(drover_stream_create(&s, NULL));
	tap_is(drover_stream_destroy(&s), 0, "the CPU backend does not care");
	/* Once there is a driver, there is one. */
	attr.device = 0;
	MUST(drover_stream_create(&s, &attr));
	tap_is(drover_stream_destroy(&s), 0, "a driver that comes later");
	return tap_exit();
}
