// SPDX-License-Identifier: GPL-2.0-only
/*
 * No CUDA driver, one without a device, one that lacks a function: an error,
 * and a sentence that names what is missing. Other backends do not care.
 */
#include "../mock/cuda/mock_cuda.h"

static const drover_streamattr_t cuda = { .backend = DROVER_BACKEND_CUDA };

static void expect(int wanted, const char *named, const char *what)
{
	drover_stream_t s;

	tap_is(drover_stream_create(&s, &cuda), wanted, "%s", what);
	tap_ok(strstr(drover_stream_why(), named), "%s: names %s", what, named);
	tap_diag("%s", drover_stream_why());
}

int main(void)
{
	const drover_streamattr_t far = { .backend = DROVER_BACKEND_CUDA,
					  .device = 7 };
	drover_stream_t s;

	tap_plan(11);
	watchdog("no driver");
	setenv("DROVER_CUDA_LIBRARY", "/nowhere/libcuda.so.1", 1);
	expect(ENODEV, "/nowhere/libcuda.so.1", "no driver");
	/* Any library that is no CUDA driver. */
	setenv("DROVER_CUDA_LIBRARY", "libc.so.6", 1);
	expect(ENOSYS, "cuInit", "a driver that lacks functions");
	setenv("DROVER_CUDA_LIBRARY", mock_cuda_path(), 1);
	setenv("DROVER_MOCK_CUDA", "no-device", 1);
	expect(ENODEV, "CUDA_ERROR_NO_DEVICE", "no device");
	unsetenv("DROVER_MOCK_CUDA");
	tap_is(drover_stream_create(&s, &far), ENODEV, "no device 7");
	tap_ok(strstr(drover_stream_why(), "CUDA_ERROR_INVALID_DEVICE"),
	       "no device 7: %s", drover_stream_why());

	MUST(drover_stream_create(&s, NULL));
	tap_is(drover_stream_destroy(&s), 0, "the CPU backend does not care");
	/* Once there is a driver, there is one. */
	tap_is(drover_stream_create(&s, &cuda), 0, "a driver that comes later");
	tap_is(drover_stream_destroy(&s), 0, "and its stream ends");
	return tap_exit();
}
