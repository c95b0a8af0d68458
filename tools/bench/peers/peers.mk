# SPDX-License-Identifier: MIT
#
# build/bin/drover-bench-PEER: the suites over other projects' mutexes and
# condition variables, one program each. `make -C tools peers` builds those whose
# packages or toolchains are here and says what is missing for the others;
# nothing else needs any of them.

PEERS := cxx nsync abseil musl rust-std parking_lot go

peer_programs := $(PEERS:%=$(O)/bin/drover-bench-%)
peer_obj := $(obj)/peers
peer_suites := $(SUITES:%=$(obj)/%.peer.o)

# What the result calls the peer's version.
version_of = $(shell dpkg-query -W -f '$${source:Upstream-Version}' $(1) 2>&1)
$(peer_obj)/nsync.o: version = nsync $(call version_of,libnsync-dev)
$(peer_obj)/abseil.o: version = abseil $(call version_of,libabsl-dev)
$(peer_obj)/cxx.o: version = libstdc++ $(shell $(CXX) -dumpfullversion)
musl_version = musl $(call version_of,musl-dev)

$(eval $(call suite_object,peer))

$(peer_obj)/%.o: bench/peers/%.c
	@mkdir -p $(@D)
	$(CC) $(flags) -DPEER_VERSION='"$(version)"' $(CPPFLAGS) $(CFLAGS) \
		-c -o $@ $<

$(peer_obj)/%.o: bench/peers/%.cc
	@mkdir -p $(@D)
	$(CXX) -std=gnu++17 -pthread -Wall -Wextra -MMD -MP -Ibench \
		-DPEER_VERSION='"$(version)"' $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

link_peer = $(1) $(CFLAGS) $(LDFLAGS) -pthread -o $@ $^ $(2)

$(O)/bin/drover-bench-nsync: $(peer_obj)/nsync.o $(peer_suites) $(harness_objs)
	$(call link_peer,$(CC),-lnsync)

$(O)/bin/drover-bench-cxx: $(peer_obj)/cxx.o $(peer_suites) $(harness_objs)
	$(call link_peer,$(CXX))

$(O)/bin/drover-bench-abseil: $(peer_obj)/abseil.o $(peer_suites) \
		$(harness_objs)
	$(call link_peer,$(CXX),-labsl_synchronization -labsl_time -labsl_base)

# Its own C library: everything is compiled once more. The kernel's headers
# come from glibc's folders, after musl's own.
musl_flags = -idirafter /usr/include \
	      -idirafter /usr/include/$(shell $(CC) -print-multiarch)

$(peer_obj)/musl/%.o: bench/%.c
	@mkdir -p $(@D)
	musl-gcc $(flags) $(musl_flags) -DIMPL_pthread \
		-DBENCH_LIBC='"$(musl_version)"' $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

$(O)/bin/drover-bench-musl: $(SUITES:%=$(peer_obj)/musl/%.o) \
		$(harness:%=$(peer_obj)/musl/%.o)
	musl-gcc -static $(CFLAGS) -o $@ $^

# Two archives out of one source. RUSTFLAGS and the like are cargo's business.
cargo = PEER_RUSTC="$$(rustc --version | cut -d' ' -f2)" \
	CARGO_TARGET_DIR=$(peer_obj)/$(1) cargo build --quiet --locked \
	--release --manifest-path bench/peers/rust/Cargo.toml --features $(2)

$(peer_obj)/%/release/libpeer.a: bench/peers/rust/src/lib.rs \
		bench/peers/rust/Cargo.toml bench/peers/rust/Cargo.lock
	$(call cargo,$*,$(patsubst rust-std,std,$*))

$(O)/bin/drover-bench-rust-std $(O)/bin/drover-bench-parking_lot: \
$(O)/bin/drover-bench-%: $(peer_obj)/%/release/libpeer.a $(peer_suites) \
		$(harness_objs)
	$(CC) $(CFLAGS) $(LDFLAGS) -pthread -o $@ $(filter %.o,$^) $< -ldl

$(O)/bin/drover-bench-go: bench/peers/go/main.go bench/peers/go/suites.go \
		bench/peers/go/go.mod
	cd bench/peers/go && CGO_ENABLED=0 go build -o $@ .

# A peer that cannot be built is left out, with the first line that says why.
peers: all
	@for peer in $(PEERS); do \
		log=$(peer_obj)/$$peer.log; mkdir -p $(peer_obj); \
		if $(MAKE) -s O=$(O) $(O)/bin/drover-bench-$$peer >$$log 2>&1; \
		then echo "  PEER    $$peer"; \
		else rm -f $(O)/bin/drover-bench-$$peer; \
			echo "  PEER    $$peer: not built:" \
			"$$(grep -m 1 -iE 'error|not found|no such|no rule' $$log)"; \
		fi; \
	done

-include $(wildcard $(peer_obj)/*.d $(peer_obj)/musl/*.d)
