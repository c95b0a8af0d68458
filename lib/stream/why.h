/* SPDX-License-Identifier: MIT */
/* why.h - a sentence about the last error, one for each thread */
#ifndef DROVER_STREAM_WHY_H
#define DROVER_STREAM_WHY_H

/* Keep a sentence for drover_stream_why() and return @error. */
int stream_because(int error, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif /* DROVER_STREAM_WHY_H */
