# SPDX-License-Identifier: MIT
#
# Everything is built by the Makefile of its own folder, into build/. What a
# target needs beyond gcc, make and libc6-dev is installed by tools/deps.

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:

# All CPUs, unless the caller says how many.
ifeq ($(MAKELEVEL)$(filter -j%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell nproc)
endif

O ?= $(CURDIR)/build
override O := $(abspath $(O))
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
PYTHON := /usr/bin/python3

include $(if $(wildcard .config),.config,defconfig)

# Strings come out of Kconfig in quotes.
unquote = $(subst ",,$(1))

LINUX ?= $(call unquote,$(CONFIG_KERNEL_TREE))
ACCEL ?= $(call unquote,$(CONFIG_VM_ACCEL))
KERNEL_VARIANTS ?= $(if $(CONFIG_KERNEL_NONE),none) \
		   $(if $(CONFIG_KERNEL_MAINLINE),mainline) \
		   $(if $(CONFIG_KERNEL_DROVER),drover)
LIB_PARTS ?= $(if $(CONFIG_LIB_DROP_IN),drop-in) \
	     $(if $(CONFIG_LIB_STATIC),static) \
	     $(if $(CONFIG_LIB_DEBUG),debug) \
	     $(if $(CONFIG_LIB_BARRIER),barrier) \
	     $(if $(CONFIG_LIB_POOL),pool) \
	     $(if $(CONFIG_LIB_STREAM),stream) \
	     $(if $(CONFIG_LIB_STREAM_DEBUG),stream-debug)

# A sanitizer build lives beside the ordinary one.
ifdef SAN
override O := $(patsubst %/san-$(SAN),%,$(O))/san-$(SAN)
export CFLAGS := -O1 -g -fno-omit-frame-pointer -fsanitize=$(SAN) \
	-fno-sanitize-recover=undefined
export LDFLAGS := -fsanitize=$(SAN)
export SAN
endif

export O PREFIX LIBDIR DESTDIR LINUX ACCEL KERNEL_VARIANTS LIB_PARTS

kernel_deps := kernel
kconfig := KCONFIG_CONFIG=.config $(PYTHON) -m

##@ Build

all: lib tools selftests ## libraries, programs and tests, into build/

lib: ## the libraries
	+$(MAKE) -C lib O=$(O)

tools: lib ## the benchmark programs
	+$(MAKE) -C tools O=$(O)

peers: lib ## the suites over other projects' condition variables, if here
	+$(MAKE) -C tools O=$(O) peers

selftests: lib ## the test programs
	+$(MAKE) -C selftests O=$(O)

install: lib tools ## libraries, headers and programs to DESTDIR= PREFIX= LIBDIR=
	+$(MAKE) -C lib O=$(O) install
	+$(MAKE) -C tools O=$(O) install

uninstall: ## remove what install with the same variables put there
	+$(MAKE) -C lib O=$(O) uninstall
	+$(MAKE) -C tools O=$(O) uninstall

kernel: ## the kernel variants for the guests; LINUX=tree or tarball
	@tools/deps $(kernel_deps)
	+$(MAKE) -C kernel O=$(O)

kselftest: kernel selftests ## the kernel's test machinery with all tests
	+$(MAKE) -C kernel O=$(O) kselftest
	+$(MAKE) -C selftests O=$(O) kselftest

##@ Measure

table: ## the main table; HOST=1: on this kernel only, no guests
ifdef HOST
	@tools/deps build table
	@+$(MAKE) -s lib tools
	@tools/report/measure table --host-only $(table_flags)
else
	@tools/deps build table $(kernel_deps) vm
	@+$(MAKE) -s lib tools kernel KERNEL_VARIANTS="none mainline drover"
	@tools/report/measure table $(table_flags) --accel=$(ACCEL) \
		--cpus="$(call unquote,$(CONFIG_VM_CPUS))" \
		--mem=$(CONFIG_VM_MEM_MB)
endif

table_flags = --build=$(O) --runs=$(CONFIG_TABLE_RUNS) \
	      --run-limit=$(CONFIG_TABLE_LIMIT)

waiting: ## barriers and thread pools against their peers, on this machine
	@tools/deps build waiting
	@+$(MAKE) -s lib tools
	@tools/report/measure waiting --build=$(O)

counts: ## context switches per waiter and round, exact, in a guest
	@tools/deps build table $(kernel_deps) vm
	@+$(MAKE) -s lib tools kernel KERNEL_VARIANTS="none mainline drover"
	@tools/report/measure counts --build=$(O)

bench: ## all suites against all peers, 10 minutes; HOST=1: no guests; BENCH=options
	@tools/deps $(bench_deps)
	@+$(MAKE) -s $(bench_builds)
	@$(bench_command)

bench-full: ## the same with all rows, peers and CPU counts: hours
	@tools/deps $(bench_deps)
	@command -v cargo >/dev/null || tools/deps rust
	@command -v go >/dev/null || tools/deps go
	@+$(MAKE) -s $(bench_builds)
	@$(bench_command) --full

bench_deps = build table peers $(if $(HOST),,$(kernel_deps) vm)
bench_builds = peers $(if $(HOST),,kernel KERNEL_VARIANTS=drover)
bench_command = tools/report/measure bench --build=$(O) --mem=$(CONFIG_VM_MEM_MB) \
	$(if $(HOST),--host-only,--accel=$(ACCEL)) $(BENCH)

bench-programs: ## real programs, stock and drop-in, 20 minutes; PROGRAMS=options
	@tools/deps build table
	@tools/deps -k bench-programs
	@+$(MAKE) -s lib
	@tools/report/measure programs --build=$(O) $(PROGRAMS)

kernel-bench: ## both movers: with this machine's caches, and instructions in guests
	@tools/deps build $(kernel_deps) vm perf
	@+$(MAKE) -s lib tools kernel KERNEL_VARIANTS="mainline drover"
	@+$(MAKE) -s -C kernel O=$(O) bench

report: ## tables and plots of what was measured; KEEP=1: keep a plot and a JSON
	@tools/deps plots
	@tools/report/report --build=$(O) $(if $(KEEP),--keep)

vm: ## a guest; VARIANT=none|mainline|drover CPUS=n CMD='...' or a shell
	@tools/deps build $(kernel_deps) vm
	@+$(MAKE) -s all kernel KERNEL_VARIANTS=$(VARIANT)
	@tools/vm/vm --variant=$(VARIANT) --cpus=$(CPUS) --build=$(O) \
		--mem=$(CONFIG_VM_MEM_MB) --accel=$(ACCEL) \
		$(if $(CMD),-- "$$CMD")

VARIANT ?= drover
CPUS ?= 1
export CMD

##@ Test

check: ## all tests, on the host and in guests; SAN=thread|address|undefined
	@tools/deps build check $(if $(SAN),,$(kernel_deps) vm models perf)
	@$(if $(SAN),,tools/deps -k deb doc)
	@+$(MAKE) -s all $(if $(SAN),,kselftest)
	@selftests/run-check

check-fast: ## the tests that need no guest: minutes
	@tools/deps build check
	@+$(MAKE) -s all
	@selftests/run-check --fast

check-systems: ## what is committed, in Debian 11, 12, 13, unstable; SYSTEMS=
	@tools/deps systems
	@selftests/systems/run $(SYSTEMS)

check-long: ## hours: 10^8 wakeups under stress, large models, all sanitizers
	@tools/deps build check $(kernel_deps) vm models programs
	@+$(MAKE) -s all kselftest
	@+$(MAKE) -s -C kernel O=$(O) backport
	@selftests/run-check --long

check-models: ## the protocol in Spin, proved, and its busted twins, which fail
	@tools/deps models
	@selftests/models/run

check-kernel-debug: ## kernel tests in kernels that check themselves; CHECKERS=
	@tools/deps build check $(kernel_deps) vm
	@+$(MAKE) -s all kselftest KERNEL_VARIANTS="$(CHECKERS)"
	@selftests/run-check --checkers $(CHECKERS)

CHECKERS ?= rt debug kcsan

check-mutants: ## bugs put into the library, one at a time: each must be caught
	@tools/deps build
	@selftests/mutants/run

check-mutants-kernel: ## the same with bugs in the mover
	@tools/deps build $(kernel_deps) vm
	@+$(MAKE) -s lib selftests kselftest KERNEL_VARIANTS="mainline drover"
	@selftests/mutants/run-kernel

check-differential: ## the same futex calls to mainline and drover, a million
	@tools/deps build $(kernel_deps) vm
	@+$(MAKE) -s lib selftests kernel KERNEL_VARIANTS="mainline drover"
	@selftests/differential/run --calls=1000000

check-programs: ## real programs with and without the drop-in, the same results
	@tools/deps build programs
	@+$(MAKE) -s lib
	@selftests/programs/run --all

format-check: ## whether all C is formatted as .clang-format says
	@tools/deps check
	@selftests/run-check --only=format

series-check: ## whether the kernel series is fit to be sent
	@tools/deps series $(kernel_deps)
	+$(MAKE) -C kernel O=$(O) series-check

##@ Packages

# The first line and the date of the newest entry, the time of all files.
version := $(shell sed -n '1s/.*(\(.*\)).*/\1/p' debian/changelog)
tarball = $(O)/drover-$(version).tar.gz

dist: ## the source as a tarball: the same files, the same bytes
	@mkdir -p $(O)
	@if [ -e .git ]; then git ls-files -z; else \
		find . \( -path ./build -o -name __pycache__ \) -prune -o \
			! -type d -printf '%P\0'; fi | LC_ALL=C sort -z | \
	tar -c --null -T - --format=gnu --owner=0 --group=0 --numeric-owner \
		--mode=u=rwX,go=rX --transform='s,^,drover-$(version)/,' \
		--mtime="$$(sed -n 's/^ -- .*>  //p;T;q' debian/changelog)" | \
	gzip -9n >$(tarball)
	@echo $(tarball)

deb: dist ## Debian packages of it, in build/deb/
	@tools/deps deb
	@$(RM) -r $(O)/deb
	@mkdir -p $(O)/deb
	@tar -C $(O)/deb -xf $(tarball)
	@cd $(O)/deb/drover-$(version) && env -i PATH="$$PATH" HOME=/nonexistent \
		LC_ALL=C.UTF-8 DEB_BUILD_OPTIONS="$(DEB_BUILD_OPTIONS)" \
		dpkg-buildpackage -us -uc -b
	@cd $(O)/deb && lintian --allow-root --fail-on error *.changes
	@ls $(O)/deb/*.deb

doc: ## the manual as HTML, in build/doc/html/
	@tools/deps doc
	@tools/release/manual $(O)/doc

##@ Configure

menuconfig: ## choose build options
	@tools/deps kconfig
	@$(kconfig) menuconfig Kconfig

olddefconfig: ## complete .config with the defaults of new options
	@tools/deps kconfig
	@$(kconfig) olddefconfig Kconfig

defconfig-update: ## write defconfig anew from the defaults in Kconfig
	@tools/deps kconfig
	@KCONFIG_CONFIG=defconfig KCONFIG_CONFIG_HEADER="$$(sed '/\.config\.$$/q' \
		defconfig)" $(PYTHON) -m alldefconfig Kconfig
	@$(RM) defconfig.old

##@ Other

compile_commands.json: ## for editors and language servers
	@tools/deps build tags
	bear --output $@ -- $(MAKE) -s O=$(O)/compile-commands all

deps: ## install the Debian packages that all targets need
	tools/deps build check table vm models series tags $(kernel_deps)

clean: ## remove build/, except the kernels
	$(RM) -r $(filter-out $(O)/kernel,$(wildcard $(O)/*))

distclean: clean ## remove all that was built or configured
	$(RM) -r $(O) .config .config.old compile_commands.json

help: ## this list
	@awk -F ':.*## ' '/^##@/ { print "\n" substr($$0, 5) ":" } \
		/^[a-z_.-]+:.*## / { printf "  %-22s %s\n", $$1, $$2 }' \
		$(firstword $(MAKEFILE_LIST))

.PHONY: all lib tools peers selftests install uninstall kernel kselftest table counts \
	waiting bench bench-full bench-programs kernel-bench report vm \
	check check-fast check-systems check-long check-kernel-debug check-models check-mutants \
	check-mutants-kernel check-differential check-programs format-check \
	series-check dist deb doc menuconfig olddefconfig defconfig-update \
	compile_commands.json deps clean distclean help
