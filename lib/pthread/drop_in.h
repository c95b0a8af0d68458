/* SPDX-License-Identifier: MIT */
/* The versions of the drop-in's symbols. */
#ifndef DROVER_DROP_IN_H
#define DROVER_DROP_IN_H

#include <pthread.h>

#include "cond/group.h"

/*
 * CONDVARS is the version of the condition variables: the first one of the port
 * of glibc, or the one since 2.3.2. BASE is the version of the other symbols,
 * where it differs.
 */
#if defined(__x86_64__)
#define CONDVARS "GLIBC_2.3.2"
#define BASE	 "GLIBC_2.2.5"
#elif defined(__aarch64__) || (defined(__powerpc64__) && _CALL_ELF == 2)
#define CONDVARS "GLIBC_2.17"
#elif defined(__riscv) && __riscv_xlen == 64
#define CONDVARS "GLIBC_2.27"
#else
#error "symbol versions of this port: add them here and to libdrover-pthread.map"
#endif
#ifndef BASE
#define BASE CONDVARS
#endif

/*
 * EXPORT() - make @function the version @version ("@@NODE" for the default
 * one, "@NODE" for an old one) of the symbol @name. @nr tells the versions of
 * one name apart.
 */
#if __has_attribute(symver)
#define EXPORT(name, nr, function, version)                             \
	extern __typeof__(function) export_##name##_##nr                \
		__attribute__((alias(#function), visibility("default"), \
			       symver(#name version)))
#else
#define EXPORT(name, nr, function, version)                               \
	extern __typeof__(function) export_##name##_##nr                  \
		__attribute__((alias(#function), visibility("default"))); \
	__asm__(".symver export_" #name "_" #nr ", " #name version)
#endif

#endif /* DROVER_DROP_IN_H */
