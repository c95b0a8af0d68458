/* SPDX-License-Identifier: MIT */
/*
 * cuda_driver.h - the functions of the CUDA driver that the backend calls
 *
 * They are found at run time, so that nothing of CUDA is needed to build the
 * library. Types and numbers are those of the driver API's documentation, under
 * names of our own.
 */
#ifndef DROVER_STREAM_CUDA_DRIVER_H
#define DROVER_STREAM_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"

typedef int cu_result;
typedef int cu_device;
typedef uint64_t cu_address;
typedef struct cu_context *cu_context;
typedef struct cu_stream *cu_stream;
typedef struct cu_event *cu_event;
typedef struct cu_graph *cu_graph;
typedef struct cu_graph_exec *cu_graph_exec;

enum {
	CU_SUCCESS = 0,
	CU_INVALID_VALUE = 1,
	CU_OUT_OF_MEMORY = 2,
	CU_STUB_LIBRARY = 34, /* the toolkit's, for linking without a driver */
	CU_NO_DEVICE = 100,
	CU_INVALID_DEVICE = 101,
	CU_NOT_READY = 600,
	CU_HOST_MEMORY_ALREADY_REGISTERED = 712,
	CU_NOT_PERMITTED = 800,
	CU_NOT_SUPPORTED = 801,
	CU_SYSTEM_NOT_READY = 802,
	CU_SYSTEM_DRIVER_MISMATCH = 803, /* kernel's and library's versions */
	CU_COMPAT_NOT_SUPPORTED_ON_DEVICE = 804,
	CU_CAPTURE_FIRST = 900, /* some thread's capture forbids the call */
	CU_CAPTURE_LAST = 909,

	CU_STREAM_NON_BLOCKING = 1,
	CU_EVENT_DISABLE_TIMING = 2,
	CU_HOST_ALLOC_PORTABLE = 1,
	CU_HOST_REGISTER_PORTABLE = 1,
	CU_CAPTURE_THREAD_LOCAL = 1,
	CU_CAPTURE_RELAXED = 2,
};

/*
 * Default streams. The first one and the other streams of the context wait for
 * each other. The second one is a different stream in each thread.
 */
#define CU_STREAM_LEGACY     ((void *)1)
#define CU_STREAM_PER_THREAD ((void *)2)

/* F(name of the member, symbol in the library, arguments) */
#define CUDA_FUNCTIONS(F)                                                     \
	F(init, "cuInit", (unsigned int))                                     \
	F(error_name, "cuGetErrorName", (cu_result, const char **))           \
	F(device_get, "cuDeviceGet", (cu_device *, int))                      \
	F(context_retain, "cuDevicePrimaryCtxRetain",                         \
	  (cu_context *, cu_device))                                          \
	F(context_push, "cuCtxPushCurrent_v2", (cu_context))                  \
	F(context_pop, "cuCtxPopCurrent_v2", (cu_context *))                  \
	F(capture_mode, "cuThreadExchangeStreamCaptureMode", (int *))         \
	F(stream_create, "cuStreamCreateWithPriority",                        \
	  (cu_stream *, unsigned int, int))                                   \
	F(stream_context, "cuStreamGetCtx", (cu_stream, cu_context *))        \
	F(stream_destroy, "cuStreamDestroy_v2", (cu_stream))                  \
	F(stream_query, "cuStreamQuery", (cu_stream))                         \
	F(stream_synchronize, "cuStreamSynchronize", (cu_stream))             \
	F(stream_wait_event, "cuStreamWaitEvent",                             \
	  (cu_stream, cu_event, unsigned int))                                \
	F(event_create, "cuEventCreate", (cu_event *, unsigned int))          \
	F(event_destroy, "cuEventDestroy_v2", (cu_event))                     \
	F(event_record, "cuEventRecord", (cu_event, cu_stream))               \
	F(event_query, "cuEventQuery", (cu_event))                            \
	F(event_synchronize, "cuEventSynchronize", (cu_event))                \
	F(alloc, "cuMemAlloc_v2", (cu_address *, size_t))                     \
	F(free, "cuMemFree_v2", (cu_address))                                 \
	F(host_alloc, "cuMemHostAlloc", (void **, size_t, unsigned int))      \
	F(host_free, "cuMemFreeHost", (void *))                               \
	F(host_register, "cuMemHostRegister_v2",                              \
	  (void *, size_t, unsigned int))                                     \
	F(host_unregister, "cuMemHostUnregister", (void *))                   \
	F(copy, "cuMemcpyAsync", (cu_address, cu_address, size_t, cu_stream)) \
	F(set, "cuMemsetD8Async",                                             \
	  (cu_address, unsigned char, size_t, cu_stream))                     \
	F(host_call, "cuLaunchHostFunc",                                      \
	  (cu_stream, void (*)(void *), void *))                              \
	F(capture_begin, "cuStreamBeginCapture_v2", (cu_stream, int))         \
	F(capture_end, "cuStreamEndCapture", (cu_stream, cu_graph *))         \
	F(graph_instantiate, "cuGraphInstantiateWithFlags",                   \
	  (cu_graph_exec *, cu_graph, unsigned long long))                    \
	F(graph_destroy, "cuGraphDestroy", (cu_graph))                        \
	F(graph_launch, "cuGraphLaunch", (cu_graph_exec, cu_stream))          \
	F(graph_exec_destroy, "cuGraphExecDestroy", (cu_graph_exec))

#define CUDA_MEMBER(member, symbol, arguments) cu_result(*member) arguments;

struct cuda_driver {
	void *library;
	CUDA_FUNCTIONS(CUDA_MEMBER)
};

extern struct cuda_driver cuda;

/*
 * Find the driver and start it, unless that has been done. Return: 0 or errno.
 */
int cuda_load(void);
/*
 * Return: 0 or an errno value, for @result of the driver's @called; says why.
 */
int cuda_error(cu_result result, const char *called);

/* Call the driver. Return: 0 or an errno value. */
#define CUDA_CALL(member, ...) \
	cuda_error(cuda.member(__VA_ARGS__), "the driver's " #member)

#endif /* DROVER_STREAM_CUDA_DRIVER_H */
