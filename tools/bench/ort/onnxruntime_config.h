/* SPDX-License-Identifier: MIT */
/* What onnxruntime's build would find out about the compiler: nothing is needed. */
