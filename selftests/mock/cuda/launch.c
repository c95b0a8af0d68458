// SPDX-License-Identifier: GPL-2.0-only
/*
 * Launches of the kernels "fill" and "add" of include/blocks.h. If a real
 * driver was preloaded, the functions that are called here are the real
 * driver's, and it runs the kernels in this file.
 */
#include <string.h>

#include "mock.h"

int cuModuleLoadData(void **module, const void *image);
int cuModuleGetFunction(void **function, void *module, const char *name);
int cuLaunchKernel(void *function, unsigned int grid_x, unsigned int grid_y,
		   unsigned int grid_z, unsigned int block_x,
		   unsigned int block_y, unsigned int block_z,
		   unsigned int shared, void *stream, void **params,
		   void **extra);

/* One thread of the device does the work, byte by byte. */
static const char ptx[] =
	".version 6.0\n"
	".target sm_50\n"
	".address_size 64\n"
	".visible .entry fill(.param .u64 to, .param .u64 bytes,\n"
	"		      .param .u32 byte)\n"
	"{\n"
	"	.reg .pred %p;\n"
	"	.reg .b32 %byte;\n"
	"	.reg .b64 %to, %left;\n"
	"	ld.param.u64 %to, [to];\n"
	"	ld.param.u64 %left, [bytes];\n"
	"	ld.param.u32 %byte, [byte];\n"
	"	cvta.to.global.u64 %to, %to;\n"
	"bytes_left:\n"
	"	setp.eq.u64 %p, %left, 0;\n"
	"	@%p bra filled;\n"
	"	st.global.u8 [%to], %byte;\n"
	"	add.u64 %to, %to, 1;\n"
	"	sub.u64 %left, %left, 1;\n"
	"	bra bytes_left;\n"
	"filled:\n"
	"	ret;\n"
	"}\n"
	".visible .entry add(.param .u64 to, .param .u64 from,\n"
	"		     .param .u64 bytes)\n"
	"{\n"
	"	.reg .pred %p;\n"
	"	.reg .b32 %one, %other;\n"
	"	.reg .b64 %to, %from, %left;\n"
	"	ld.param.u64 %to, [to];\n"
	"	ld.param.u64 %from, [from];\n"
	"	ld.param.u64 %left, [bytes];\n"
	"	cvta.to.global.u64 %to, %to;\n"
	"	cvta.to.global.u64 %from, %from;\n"
	"bytes_left:\n"
	"	setp.eq.u64 %p, %left, 0;\n"
	"	@%p bra added;\n"
	"	ld.global.u8 %one, [%to];\n"
	"	ld.global.u8 %other, [%from];\n"
	"	add.u32 %one, %one, %other;\n"
	"	st.global.u8 [%to], %one;\n"
	"	add.u64 %to, %to, 1;\n"
	"	add.u64 %from, %from, 1;\n"
	"	sub.u64 %left, %left, 1;\n"
	"	bra bytes_left;\n"
	"added:\n"
	"	ret;\n"
	"}\n";

static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;

/* The first launch loads the kernels, into the context that is current then. */
static int find(const char *kernel, void **function)
{
	static void *module, *fill, *add;
	int result = SUCCESS;

	pthread_mutex_lock(&loading);
	if (!module)
		result = cuModuleLoadData(&module, ptx);
	if (!result && !fill)
		result = cuModuleGetFunction(&fill, module, "fill");
	if (!result && !add)
		result = cuModuleGetFunction(&add, module, "add");
	*function = strcmp(kernel, "fill") ? add : fill;
	pthread_mutex_unlock(&loading);
	return result;
}

EXPORT int mock_cuda_launch(const char *kernel, const void *args, size_t bytes,
			    void *stream)
{
	void *extra[] = { (void *)1, (void *)args, (void *)2, &bytes, NULL };
	void *function;
	int result = find(kernel, &function);

	return result ? result :
			cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream,
				       NULL, extra);
}
