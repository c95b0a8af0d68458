// SPDX-License-Identifier: MIT
/* Find the CUDA driver at run time, or say what is missing. */
#include "stream/cuda_driver.h"

#include <dlfcn.h>
#include <drover/mutex.h>
#include <errno.h>
#include <stdlib.h>

#include "stream/why.h"

#define CUDA_LIBRARY "libcuda.so.1"

struct cuda_driver cuda;

#define CUDA_SYMBOL(member, symbol, arguments) \
	{ symbol, (void **)&cuda.member },

static const struct {
	const char *name;
	void **to;
} symbols[] = { CUDA_FUNCTIONS(CUDA_SYMBOL) };

int cuda_error(cu_result result, const char *called)
{
	const char *name = NULL;

	if (!result)
		return 0;
	cuda.error_name(result, &name);
	stream_because(0, "%s: %s (%d)", called, name ? name : "unknown error",
		       result);
	switch (result) {
	case CU_INVALID_VALUE:
	case CU_HOST_MEMORY_ALREADY_REGISTERED:
		return EINVAL;
	case CU_OUT_OF_MEMORY:
		return ENOMEM;
	case CU_STUB_LIBRARY:
	case CU_SYSTEM_NOT_READY:
	case CU_SYSTEM_DRIVER_MISMATCH:
	case CU_COMPAT_NOT_SUPPORTED_ON_DEVICE:
	case CU_NO_DEVICE:
	case CU_INVALID_DEVICE:
		return ENODEV;
	case CU_NOT_PERMITTED:
		return EPERM;
	case CU_NOT_SUPPORTED:
		return ENOTSUP;
	}
	return EIO;
}

static int find_symbols(const char *path)
{
	for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++) {
		*symbols[i].to = dlsym(cuda.library, symbols[i].name);
		if (!*symbols[i].to)
			return stream_because(
				ENOSYS,
				"%s has no %s: the CUDA driver is too old",
				path, symbols[i].name);
	}
	return 0;
}

static int load(void)
{
	/* A program with raised privileges ignores its environment. */
	const char *path = secure_getenv("DROVER_CUDA_LIBRARY");
	int err;

	if (cuda.library)
		return 0;
	if (!path || !*path)
		path = CUDA_LIBRARY;
	cuda.library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!cuda.library)
		return stream_because(ENODEV, "no CUDA driver: %s", dlerror());
	err = find_symbols(path);
	if (!err)
		err = cuda_error(cuda.init(0), "cuInit");
	if (err) {
		dlclose(cuda.library);
		cuda = (struct cuda_driver){ 0 };
	}
	return err;
}

static drover_mutex_t lock = DROVER_MUTEX_INITIALIZER;

int cuda_load(void)
{
	int err;

	drover_mutex_lock(&lock);
	err = load();
	drover_mutex_unlock(&lock);
	return err;
}
