/* SPDX-License-Identifier: MIT */
/* cuda.h - the CUDA backend */
#ifndef DROVER_STREAM_CUDA_H
#define DROVER_STREAM_CUDA_H

#include "stream/backend.h"

extern const struct backend stream_cuda;

#endif /* DROVER_STREAM_CUDA_H */
