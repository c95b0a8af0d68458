# SPDX-License-Identifier: GPL-2.0-only
#
# O/selftests/explore/schedules: the explorer, and the library's own sources as it
# sees them. The compiler tells of each access (-fsanitize=thread; the library of
# that name is not linked), system calls go to the explorer (DROVER_FAKE_FUTEX and
# --wrap), and all static variables are in two sections, which are put back before
# each schedule. base/cpus reads files: libc.c has it.

explore := $(out)/explore/schedules
explore_obj := $(O)/obj/explore
explore_scenarios := waits cond kinds await fork barrier pool
explore_engine := $(filter-out $(explore_scenarios),\
		    $(basename $(notdir $(wildcard explore/*.c))))
explore_lib := $(filter-out base/cpus,$(basename $(patsubst $(LIB)/%,%,\
		 $(wildcard $(foreach folder,base mutex cond barrier pool,\
			      $(LIB)/$(folder)/*.c)))))
explore_flags := -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Wno-unused-parameter \
	-g -fno-pie -pthread -U_FORTIFY_SOURCE -iquote explore -iquote $(LIB) \
	-I$(LIB)/include -DDROVER_FAKE_FUTEX -DDROVER_VERSION='""' -MMD -MP
explore_wrapped := aligned_alloc cancellation_is_due clock_gettime free getpid \
	malloc mmap pthread_atfork pthread_create pthread_detach \
	pthread_getattr_np pthread_getspecific pthread_join pthread_key_create pthread_once \
	pthread_self pthread_setname_np pthread_setspecific pthread_sigmask \
	sched_getaffinity sched_getcpu sched_setaffinity sched_yield syscall

# A sanitizer would be in its way, and clang calls other functions than gcc.
all: $(if $(SAN)$(findstring clang,$(shell $(CC) --version)),,$(explore))

$(explore_obj)/engine/%.o: explore/%.c explore/explore.mk
	@mkdir -p $(@D)
	$(CC) $(explore_flags) -O2 -c $< -o $@

define explored
	@mkdir -p $(@D)
	$(CC) $(explore_flags) -Wno-maybe-uninitialized -O1 -fexceptions \
		-fsanitize=thread -c $< -o $@
	objcopy --rename-section .data=lib_data --rename-section .bss=lib_bss $@
endef

$(explore_obj)/scenarios/%.o: explore/%.c explore/explore.mk
	$(explored)

$(explore_obj)/lib/%.o: $(LIB)/%.c explore/explore.mk
	$(explored)

$(explore_obj)/explored.o: $(explore_scenarios:%=$(explore_obj)/scenarios/%.o) \
	$(explore_lib:%=$(explore_obj)/lib/%.o)
	ld -r $(explore_wrapped:%=--wrap=%) $^ -o $@

$(explore): $(explore_engine:%=$(explore_obj)/engine/%.o) \
	$(explore_obj)/explored.o
	@mkdir -p $(@D)
	$(CC) -no-pie -pthread $^ -o $@

-include $(wildcard $(explore_obj)/*/*.d $(explore_obj)/lib/*/*.d)
