# SPDX-License-Identifier: MIT
"""The programs of `make bench-programs`: unmodified, with threads that wait.

Each runs for about a second. In a command, {work} is the folder of our own
programs, {here} that of their sources, and {folder} has the input and takes
the output.
"""

import dataclasses
import os

from drover_tools.runs import system
from drover_tools.tree import TOP

LOADS = os.path.join(TOP, "tools", "loads")


@dataclasses.dataclass(frozen=True)
class Program:
    """One row.

    needs: commands besides the first word; fresh: files that are removed
    before each run; paced: the program's own clock sets its time, so that only
    its CPU time counts; server: the server whose client the program is
    """

    name: str
    line: str
    packages: str
    needs: tuple = ()
    fresh: tuple = ()
    paced: bool = False
    server: str = ""

    @property
    def promised(self):
        """Whether the drop-in must not be slower in this row."""
        return not self.paced

    @property
    def ours(self):
        """Whether this is a load of ours, whose threads do little but wait."""
        return "{work}" in self.line or "{here}" in self.line

    @property
    def command(self):
        """The name of the row."""
        return self.name

    def words(self, folder, work):
        """The words of the command."""
        return self.line.format(folder=folder, work=work, here=LOADS).split()

    def missing(self):
        """The reason why the program cannot run here, or None."""
        first = self.line.split()[0]
        return system.missing((*([] if "{" in first else [first]),
                               *self.needs), (), self.packages.split())


def _java(kind, count):
    return Program(f"java {kind}", "java -XX:+UseSerialGC"
                   " -XX:TieredStopAtLevel=1 -XX:-UsePerfData -cp {work}"
                   f" Handoffs {kind} {count}", "default-jdk-headless",
                   ("javac",))


def _script(language, package, file, kind, count):
    return Program(f"{language} {kind}",
                   f"{language} {{here}}/{file} {kind} {count}", package)


def _cxx(burst, count):
    return Program(f"c++ pool, burst {burst}",
                   f"{{work}}/pool {burst} {count}", "g++", ("g++",))


def _c(name, line, **more):
    return Program(name, f"{{work}}/{line}", "gcc libc6-dev", ("cc",), **more)


def _packer(name, package, options, **more):
    return Program(name, f"{name} {options}", package, **more)


PROGRAMS = (
    _java("queue", 150000),
    _java("transfer", 250000),
    _java("executor", 12000),
    _java("barrier", 15000),
    _java("monitor", 5000),
    _script("python3", "python3", "handoffs.py", "queues", 24000),
    _script("python3", "python3", "handoffs.py", "ring", 16000),
    _script("python3", "python3", "handoffs.py", "pool", 16000),
    _script("ruby", "ruby", "handoffs.rb", "queues", 80000),
    _script("ruby", "ruby", "handoffs.rb", "ring", 25000),
    _script("node", "nodejs", "handoffs.js", "messages", 20000),
    _script("node", "nodejs", "handoffs.js", "pool", 10000),
    _cxx(1, 60000),
    _cxx(8, 16000),
    _c("submitter, 4 workers", "submitter 4 300000"),
    _c("submitter, 16 workers", "submitter 16 300000"),
    _c("submitter, short run", "submitter 4 30000"),
    _c("reader, 4 workers, 5 us", "reader 4 24000 5"),
    _c("reader, 16 workers, 5 us", "reader 16 16000 5"),
    _c("reader, 16 workers, 20 us", "reader 16 12000 20"),
    _packer("zstd", "zstd", "-q -f -T4 -9 -B512KB -o /dev/null"
            " {folder}/text"),
    _packer("xz", "xz-utils", "-k -c -T4 -1 --block-size=128KiB"
            " {folder}/text"),
    _packer("pbzip2", "pbzip2", "-q -k -c -p4 -1 {folder}/text"),
    _packer("lbzip2", "lbzip2", "-k -c -n 4 -1 {folder}/text"),
    _packer("pigz", "pigz", "-k -c -p4 -6 -b 64 {folder}/text"),
    _packer("7z", "p7zip-full", "a -bd -y -mmt4 -mx1 {folder}/packed.7z"
            " {folder}/text", fresh=("packed.7z",)),
    _packer("x264", "x264", "--no-progress --quiet --threads 6 --preset"
            " medium --output {folder}/film.264 {folder}/film.y4m",
            fresh=("film.264",)),
    Program("rocksdb", "db_bench --db={folder}/rocksdb --num=16000"
            " --benchmarks=fillrandom,readrandom --threads=4 --histogram=0",
            "rocksdb-tools", fresh=("rocksdb",)),
    Program("mariadb", "sysbench oltp_read_write --mysql-user=root"
            " --mysql-socket={folder}/mariadb/socket --tables=1"
            " --table-size=2000 --threads=8 --events=1000 --time=0 run",
            "sysbench mariadb-server-core mariadb-client-core",
            ("mariadbd", "mariadb-install-db"), server="mariadb"),
    _c("producer, 40 us", "producer 20000", paced=True),
)
