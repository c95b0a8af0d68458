# SPDX-License-Identifier: GPL-2.0-only
#
# One object's tests as a collection of the kernel's kselftest, by the
# kernel's own lib.mk: targets install, emit_tests and run_tests.
#
#	make -f collection.mk PROGRAMS="requeue_absent requeue_crossing" \
#		OUTPUT=../build/selftests/futex \
#		KSELFTEST=/usr/src/linux/tools/testing/selftests run_tests
#
# The programs in OUTPUT are those that the Makefile built.

TEST_GEN_PROGS := $(PROGRAMS)
OVERRIDE_TARGETS := 1

include $(KSELFTEST)/lib.mk
