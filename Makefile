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

# What `make menuconfig` has chosen of the kernels; all of them without that.
-include .config

# Strings come out of Kconfig in quotes.
LINUX ?= $(subst ",,$(CONFIG_KERNEL_TREE))
ACCEL ?= auto
KERNEL_VARIANTS ?= $(if $(wildcard .config),\
	$(if $(CONFIG_KERNEL_NONE),none) \
	$(if $(CONFIG_KERNEL_MAINLINE),mainline) \
	$(if $(CONFIG_KERNEL_DROVER),drover),none mainline drover)

# A sanitizer build lives beside the ordinary one.
ifdef SAN
override O := $(patsubst %/san-$(SAN),%,$(O))/san-$(SAN)
export CFLAGS := -O1 -g -fno-omit-frame-pointer -fsanitize=$(SAN) \
	-fno-sanitize-recover=undefined
export LDFLAGS := -fsanitize=$(SAN)
export SAN
endif

export O PREFIX LIBDIR DESTDIR LINUX ACCEL KERNEL_VARIANTS

kernel_deps := kernel

##@ Build

all: lib tools selftests ## libraries, programs and tests, into build/; parts: lib tools selftests

lib:
	+$(MAKE) -C lib O=$(O)

tools: lib
	+$(MAKE) -C tools O=$(O)

selftests: lib
	+$(MAKE) -C selftests O=$(O)

# The kernel's test machinery with all tests, for guests
kselftest: kernel selftests
	+$(MAKE) -C kernel O=$(O) kselftest
	+$(MAKE) -C selftests O=$(O) kselftest

# One of them, build/selftests/<object>/<test>.
$(patsubst $(CURDIR)/%,%,$(O))/selftests/%: lib
	+$(MAKE) -C selftests O=$(O) $(O)/selftests/$*

install: lib tools ## libraries, headers and programs to DESTDIR= PREFIX= LIBDIR=
	+$(MAKE) -C lib O=$(O) install
	+$(MAKE) -C tools O=$(O) install

uninstall: ## remove what install with the same variables put there
	+$(MAKE) -C lib O=$(O) uninstall
	+$(MAKE) -C tools O=$(O) uninstall

kernel: ## the kernel variants for the guests; LINUX=tree or tarball
	@tools/deps $(kernel_deps)
	+$(MAKE) -C kernel O=$(O)

##@ Measure

table: ## the main table; HOST=1: on this kernel only; TABLE=options
	@tools/deps build table $(if $(HOST),,$(kernel_deps) vm)
	@+$(MAKE) -s lib tools $(if $(HOST),,kernel KERNEL_VARIANTS="none mainline drover")
	@tools/measure table --build=$(O) \
		$(if $(HOST),--host-only,--accel=$(ACCEL)) $(TABLE)

waiting: ## barriers and thread pools against their peers; WAITING=options
	@tools/deps build waiting
	@+$(MAKE) -s lib tools
	@tools/measure waiting --build=$(O) $(WAITING)

counts: ## context switches per waiter and round, exact, in a guest; COUNTS=options
	@tools/deps build table $(kernel_deps) vm
	@+$(MAKE) -s lib tools kernel KERNEL_VARIANTS="mainline drover"
	@tools/measure counts --build=$(O) $(COUNTS)

bench: ## all suites, all peers, 10 minutes; FULL=1: hours; HOST=1 BENCH=options
	@tools/deps build table peers $(if $(HOST),,$(kernel_deps) vm)
	@$(if $(FULL),command -v cargo >/dev/null || tools/deps rust)
	@$(if $(FULL),command -v go >/dev/null || tools/deps go)
	@+$(MAKE) -s lib $(if $(HOST),,kernel KERNEL_VARIANTS=drover)
	@+$(MAKE) -s -C tools O=$(O) peers
	@tools/measure bench --build=$(O) $(if $(FULL),--full) \
		$(if $(HOST),--host-only,--accel=$(ACCEL)) $(BENCH)

bench-programs: ## real programs, stock and drop-in, 20 minutes; PROGRAMS=options
	@tools/deps build table
	@tools/deps -k bench-programs
	@+$(MAKE) -s lib
	@tools/measure programs --build=$(O) $(PROGRAMS)

bench-ggml: ## ggml with Drover's barrier, OpenMP's and its own; GGML=options
	@tools/deps build ggml
	@+$(MAKE) -s lib tools
	@tools/measure ggml --build=$(O) $(GGML)

kernel-bench: ## both movers: with this machine's caches, and instructions in guests
	@tools/deps build $(kernel_deps) vm perf
	@+$(MAKE) -s lib tools kernel KERNEL_VARIANTS="mainline drover"
	@+$(MAKE) -s -C kernel O=$(O) bench

report: ## tables and a plot of what was measured; KEEP=1: keep it and a JSON
	@tools/deps plots
	@tools/report --build=$(O) $(if $(KEEP),--keep)

vm: ## a guest; VARIANT=none|mainline|drover CPUS=n CMD='...' or a shell
	@tools/deps build $(kernel_deps) vm
	@+$(MAKE) -s all kernel KERNEL_VARIANTS=$(VARIANT)
	@tools/vm --variant=$(VARIANT) --cpus=$(CPUS) --build=$(O) \
		--accel=$(ACCEL) $(if $(CMD),-- "$$CMD")

VARIANT ?= drover
CPUS ?= 1
export CMD

##@ Test

check: ## tests here and in guests; ONLY=, SAN=, CHECKERS=, CHECK=: testing.rst
	@tools/deps build check $(if $(in_guests),$(kernel_deps) vm) \
		$(if $(ONLY)$(SAN)$(CHECKERS),,models perf)
	@$(if $(ONLY)$(SAN)$(CHECKERS),,tools/deps -k deb doc)
	@+$(MAKE) -s all $(if $(in_guests),kselftest) \
		$(if $(CHECKERS),KERNEL_VARIANTS="$(CHECKERS)")
	@tools/check $(ONLY:%=--only=%) $(if $(CHECKERS),--checkers $(CHECKERS)) \
		$(CHECK)

# Whether any of the stages boots guests
in_guests = $(CHECKERS)$(if $(ONLY)$(SAN),$(filter guest% broken% counts% \
	    differential% tools/vm% tools/kernel%,$(ONLY)),yes)

check-fast: ## the tests that need no guest: minutes; CHECK=options
	@tools/deps build check
	@+$(MAKE) -s all
	@tools/check --fast $(CHECK)

check-systems: ## what is committed, in Debian 11, 12, 13, unstable; SYSTEMS=
	@tools/deps systems
	@selftests/systems/run $(SYSTEMS)

check-long: ## hours: 10^8 wakeups under stress, large models, all sanitizers
	@tools/deps build check $(kernel_deps) vm models programs ggml
	@+$(MAKE) -s all kselftest
	@+$(MAKE) -s -C kernel O=$(O) backport
	@tools/check --long

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

wheel: dist ## wheels of it for pip, in build/wheel/; as root, or with glibc 2.31
	@tools/deps systems
	@tools/wheel $(tarball) $(O)

doc: ## the manual as HTML, in build/doc/html/
	@tools/deps doc
	@tools/manual $(O)/doc

##@ Configure

menuconfig: ## choose the kernels that are built
	@tools/deps kconfig
	@KCONFIG_CONFIG=.config $(PYTHON) -m menuconfig Kconfig

##@ Other

clean: ## remove build/, except the kernels
	$(RM) -r $(filter-out $(O)/kernel,$(wildcard $(O)/*))

help: ## this list
	@awk -F ':.*## ' '/^##@/ { print "\n" substr($$0, 5) ":" } \
		/^[a-z_.-]+:.*## / { printf "  %-22s %s\n", $$1, $$2 }' \
		$(firstword $(MAKEFILE_LIST))

.PHONY: all lib tools selftests kselftest install uninstall kernel table counts \
	waiting bench bench-programs bench-ggml kernel-bench report vm check check-fast \
	check-systems check-long series-check dist deb wheel doc \
	menuconfig clean help
