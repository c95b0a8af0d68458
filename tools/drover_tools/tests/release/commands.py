# SPDX-License-Identifier: MIT
"""For each command of the documents, which test runs it.

A command is looked up in RUN, KERNELS, ELSEWHERE and NOT_RUN, in this order;
the first pattern that matches the whole command decides. The static check
`commands` says if none does, and if a row is of no use any more.
"""

import re

#: Commands that pages.py runs: a pattern of the command; then, if it would
#: take long or has a name for a reader to fill in, what is run instead; then
#: what the output must match; then the programs that are needed. A command
#: that is installed runs in $DESTDIR, which is a temporary folder.
RUN = (
    (r"(build/bin/drover run )?build/priority 10", r"\1build/priority 1",
     r"\d", ("root",)),
    (r"(?:build/bin/)?drover why (?:PID|\d+)",
     r"build/bin/drover why $PPID", "The process has "),
    (r"(?:build/bin/)?drover why -d 1 PID",
     r"build/bin/drover why -d 1 $PPID", "The process has "),
    (r"(.*drover (?:compare|stat) --|.*drover run) PROGRAM.*", r"\1 true"),
    (r"(?:build/bin/)?drover (?:bench|compare|info|run|stat|why) .*xz .*",
     "", "", ("xz",)),
    (r"(?:build/bin/)?drover (?:bench|compare|run|stat|why) (?!chromium"
     r"|valgrind|--stock$|--core|\$).* .*|build/bin/drover run .*"
     r"|(?:build/bin/)?drover info",),
    (r"gcc .* tools/\S+.*",),
    (r"make lib|make lib tools|make install PREFIX=/usr/local",),
    (r"make help", "", "(?s:Build:.* check .*Packages:)"),
    (r"make check-fast", r"\g<0> CHECK=--list", r"stages:\n(?!.*guest)"),
    (r"make check ONLY=format", "make check ONLY=whitespace",
     "\n1 passed, 0 failed, 0 skipped$"),
    (r"make check ONLY=host/cond", r"\g<0> CHECK=--list",
     "stages:\n  host/cond\n"),
    # No target is made for stages whose names begin with g: these are guests.
    (r'make check CHECK="(.*)"', r'make check ONLY=g CHECK="\1 --list"',
     r"stages:\n  guest/\S+2\S*\n"),
    (r"make build/selftests/futex/requeue_crossing",),
    (r"make -C tools peers",
     r"\g<0> PEERS=cxx && test -x build/bin/drover-bench-cxx"),
    (r"tools/deps (?!SET)(.*)", r"tools/deps -n \1"),
    (r"tools/(?:models|mutants|mutants-kernel|check --long) --list",
     "", r"\w+\n.*\w"),
    (r"tools/models", r"\g<0> --list", r"\w+\n.*\w"),
    (r"tools/mutants-kernel --checker=rt (preemption-off)", r"\g<0> --list",
     r"^\1\b"),
    (r"tools/mutants NAME\.\.\.", "tools/mutants 'order-*' --list",
     r"\border-(?!(?s:.*)^\s*(?!order-)\w)"),
    (r"tools/check --checkers rt --only=checker", r"\g<0> --list",
     "stages:\n  checker/rt\nstatic"),
    (r"(?:tools/)?measure (\w+) --help", r"tools/measure \1 --help",
     "--runs(?s:.*)--print"),
    (r"tools/measure stream --runs=\d+ --tokens=\d+(.*)",
     r"DROVER_CUDA_LIBRARY=$O/lib/libcuda-mock.so tools/measure"
     r" stream --build=$DESTDIR/build --runs=2 --tokens=20\1", "by.hand"),
    (r"tools/measure hardware", r"\g<0> --build=$DESTDIR/build --runs=1"
     " --ms=1 --threads=2", "(?s:(?=.*barrier)(?=.*pool).*turn)"),
    (r"cond-perf -r (\d+) -n (\d+).*", "", r"\1 rounds of \2 threads"),
    (r"pp -n (\d+) .*", "", r"\b\1 games"),
    (r"build/selftests/explore/schedules list", "", r"(?m)^groups/requeue$"),
    (r"build/selftests/explore/schedules groups/requeue",
     r"\g<0> seconds=1", "ok 1 .*groups/requeue"),
    (r"(schedules pair-cancel/requeue replay=.*)",
     r"build/selftests/explore/\1", "pair-cancel"),
    (r"build/selftests/attack/pthread_storm seed=(\d+) seconds=0", "",
     r"seed=\1"),
    (r"build/selftests/pthread/cond_mixed pairs=50000 seed=7",
     "build/selftests/pthread/cond_mixed pairs=1000 seed=7", "seed=7"),
    (r"build/selftests/attack/storm seconds=3600",
     "build/selftests/attack/storm seconds=1", "ok 1"),
    (r"grep -m 1 drover /proc/PID/maps",
     "build/bin/drover run grep -m 1 drover /proc/self/maps",
     "libdrover-pthread.so.1"),
    (r"(LD_PRELOAD=.*libasan.so\):)(\S+) PROGRAM",
     r"\1$DESTDIR\2 grep -m 1 drover /proc/self/maps",
     "libdrover-pthread.so.1"),
    (r"git clean -xdf", "git clean -xdfn", "Would remove", ("git",)),
    (r"clang-format -i FILE",
     r"sed 's/^\t/  /' lib/pthread/cond.c >build/pages.c &&"
     " clang-format -i build/pages.c && cmp build/pages.c lib/pthread/cond.c",
     "", ("clang-format",)),
    (r"bear -- make", "bear --output $DESTDIR/bear.json -- make -s -C lib"
     " O=$DESTDIR/bear && grep -c file $DESTDIR/bear.json", r"\d\d",
     ("bear",)),
    (r"tools/selftest release --update", r"\g<0> $DESTDIR/layouts && cmp"
     " $DESTDIR/layouts tools/drover_tools/tests/release/layouts"),
    # These measure nothing, but print a result.
    (r"make table (?:HOST=1|TABLE=)",
     'make table HOST=1 TABLE="--print $DESTDIR/table.json"', "glibc"),
    (r"make bench HOST=1", 'make bench HOST=1 PEERS=cxx'
     ' BENCH="--print $DESTDIR/bench.json"', "glibc"),
    (r'make bench HOST=1 BENCH="?([^"]*)"?', 'make bench HOST=1 PEERS=cxx'
     r' BENCH="\1 --print $DESTDIR/bench.json"', "glibc"),
    (r'make bench-programs(?: PROGRAMS="?([^"]*)"?)?',
     r'make bench-programs PROGRAMS="\1 --print $DESTDIR/programs.json"',
     "stock"),
    (r'make bench-ggml(?: GGML="(.*--rounds 9)")?',
     r'make bench-ggml GGML="\1 --print $DESTDIR/ggml.json"', "Goals"),
    (r'make bench-ggml GGML="(.*)"',
     r"tools/measure ggml \1 --print $DESTDIR/ggml.json", "Goals"),
)

#: Commands that need the kernels of the guests: tests/kernel.py runs them by
#: pages.py, with rows as above.
KERNELS = (
    (r"make table", 'make table TABLE="--print $DESTDIR/table.json"', "glibc"),
    (r"make bench", 'make bench PEERS=cxx BENCH="--print $DESTDIR/bench.json"',
     "glibc"),
    (r"make -C kernel caches", r"TO=$DESTDIR/caches \g<0> CACHES='1 64'",
     "own"),
    (r"make -C kernel litmus", "", r"litmus: (?:not run|.*(?:Never|Some))"),
    (r"chrt -f 50 build/kernel/requeue-tail .*",
     r"chrt -f 50 build/kernel/requeue-tail 100 2 64",
     r"requeue_p500\t\d", ("root", "chrt")),
    (r"make lib selftests kselftest KERNEL_VARIANTS=.*", "",
     "kernel: mainline drover up to date"),
    (r"(make vm VARIANT=none CPUS=4 CMD='cond-perf) -n 200 -r 100'",
     r"\1 -n 20 -r 10; nproc'", "10 rounds of 20 threads(?s:.*)\n4\n"),
    (r"make vm", "echo 'uname -r; exit' | make vm", r"7\.3\S*-drover"),
    (r"tools/vm --variant=drover --cpus=4 .*", "", r"(?s:-drover.*)\n4\n"),
    (r"(tools/vm --kernel=)arch/x86/boot(/bzImage .*)",
     r"\1build/kernel/mainline\2", r"\b4 games"),
    (r"tools/vm --accel=icount --cpus=2 .* -r (\d+)'", "",
     r"\1 rounds of 64 threads"),
)

#: Commands that other tests run: a pattern, and the place: a test of tools, a
#: test program, a stage of `make check` or `make check-long`, or a target.
ELSEWHERE = (
    # The stage makes the same counts of the same command.
    (r"make counts|tools/vm --accel=icount -- .*", "counts"),
    (r"make kernel-bench|perf bench futex", "kernel/bench"),
    (r"make -C kernel (cost|bench-smp)", r"kernel/\1"),
    (r"make|make check|make kselftest|make selftests|tools/deps SET\.\.\.",
     "make check"),
    (r"make check SAN=.*", "sanitizer/thread"),
    (r"tools/selftest NAME", "tools/drover"),
    (r"tools/selftest (\w+)", r"tools/\1"),
    (r"tools/models --quick", "models"),
    (r"tools/models --long", "models"),
    (r"tools/models --only=chain", "tests/models.py"),
    (r"tools/check-programs --all|gcc -O2", "programs"),
    (r"tools/mutants", "mutants/library"),
    (r"tools/mutants-kernel", "mutants/kernel"),
    (r"tools/mutants --explore", "mutants/explore"),
    (r"tools/differential --calls=.*", "differential"),
    (r"tools/differential mainline .*", "differential/6.12"),
    (r"build/(?:selftests)/explore/schedules(?: seconds=.*)?", "explore"),
    # The stage runs its test of the C library without STOCK=1, too.
    (r"STOCK=1 build/selftests/(pthread/lost_wakeup_25847)", r"\1"),
    (r"build/selftests/futex/requeue_crossing", "futex/requeue_crossing"),
    (r"build/selftests/stress/cond_mixed pairs=.*", "host/stress/cond_mixed"),
    (r"build/selftests/(stream/debug_random_programs) .*", r"host/\1"),
    (r"make lib O=DIR CPPFLAGS=-DDROVER_\w+", "selftests/Makefile"),
    (r"make dist|make deb|make doc", "tests/release/main.py"),
    (r"make wheel|.*/?pip (?:install|uninstall) .*|/opt/drover/bin/drover .*"
     r"|python3 -m venv /opt/drover", "tests/wheel.py"),
    (r"make install|make uninstall", "tests/drover/main.py"),
    (r"drover (?:compare|run|stat|stat --stock|top|why)",
     "tests/drover/main.py"),
    (r"drover run valgrind .*", "tests/drover/valgrind.py"),
    (r"drover why --core FILE", "tests/drover/why.py"),
    (r"bpftrace -p .*|gdb -x .*", "tests/drover/trace.py"),
    (r"make waiting|tools/measure (?:waiting --crowd|NAME)",
     "tests/bench/main.py"),
    (r"cond-perf (?:-n 200|-n THREADS .*|-o)|drover-bench .*|pp \[-v\] .*"
     r"|build/bin/drover-bench .*", "tests/bench/suites.py"),
    (r"(?:barrier|pool)-perf .*", "tests/bench/main.py"),
    (r"stream-perf .*", "tests/bench/streams.py"),
    (r"measure table --print FILE|make report|.*tools/hardware-day"
     r"|tools/measure programs|tools/report .*", "tests/report/main.py"),
    (r"make -C kernel (?:agree|kselftest-32)", "tests/kernel.py"),
    (r"make -C kernel backport", "make check-long"),
    (r"tools/vm (?:.*'perf record .*|-- 'cd /sys.*)", "tests/kernel.py"),
    (r"tools/vm --add=\./prog .*", "tests/vm/commands.py"),
    (r"tools/vm --add=build/kselftest.*", "kselftest/drover-4cpu"),
    (r"tools/vm --help", "static"),
    (r"DROVER=\S+ EXAMPLES=.*|python3 -m venv /tmp/pip|/tmp/pip/.*"
     r"|(?:tar|cd|patch|ninja) .*|LD_LIBRARY_PATH=.* build/bin/llama-bench .*",
     "tests/ggml.py"),
)

#: Commands that no test runs: a pattern, and why.
NOT_RUN = (
    (r"make (?:check-long|check-systems|series-check|check CHECKERS=.*)"
     r"|selftests/systems/run .*", "takes hours, and is run by hand"),
    (r"make -C kernel (?:rt|trace)|tools/vm --variant=trace .*",
     "builds a kernel, or needs it, that `make check` does not build: it takes"
     " ten minutes"),
    (r"make waiting ONNXRUNTIME=DIR|apt-get source onnxruntime",
     "needs the source of onnxruntime"),
    (r"apt-get remove", "would remove packages of this machine"),
    (r"D=.*|docker .*|drover why \$\(docker .*", "needs a container daemon"),
    (r"systemctl .*|.*systemctl show .*", "needs systemd as process 1"),
    (r"flatpak .*", "needs flatpak and an application"),
    (r"drover run chromium", "takes minutes, and needs chromium"),
    (r"cmake -G Ninja .*",
     "takes minutes; tools/selftest ggml has options of its own"),
)


def find(table, command):
    """(row, match) of the first row of a table that has the command."""
    for row in table:
        found = re.fullmatch(row[0], command)
        if found:
            return row, found
    return None, None


def to_run(command, table=RUN):
    """(what pages.py runs for a command, what its output must match, what it
    needs), or None.
    """
    row, found = find(table, command)
    if not row:
        return None
    instead, said, needs = (*row[1:], "", "", ())[:3] if len(row) > 1 else (
        "", "", ())
    return (found.expand(instead) if instead else command,
            re.sub(r"\\(\d)", lambda group: found[int(group[1])], said),
            needs)
