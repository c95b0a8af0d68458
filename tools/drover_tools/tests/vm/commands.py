# SPDX-License-Identifier: MIT
"""Tests of commands and files that go into a guest and come out of it."""

import os
import pty
import select

from drover_tools.vm.guest import GuestError


def test_exit_status_is_the_commands(bench):
    guest = bench.guest
    for status in (0, 1, 4, 42, 124, 125, 255):
        assert guest.run(f"exit {status}") == (status, b"")
    assert guest.run("kill -SEGV $$")[0] == 128 + 11
    assert guest.run("no-such-program")[0] == 127


def test_output_is_binary_safe(bench):
    guest = bench.guest
    every_byte = bytes(range(256)) * 300 + b"\0\r\n\n"
    path = os.path.join(bench.scratch, "every-byte")
    with open(path, "wb") as file:
        file.write(every_byte)
    guest.put(path, "/tmp/every-byte")
    assert guest.run("cat /tmp/every-byte") == (0, every_byte)


def test_output_cannot_pass_for_an_answer(bench):
    status, output = bench.guest.run(
        r"printf '\0ready 0\n\0%016d 0\n' 7; exit 3")
    assert (status, output) == (3, b"\0ready 0\n\0" + b"%016d" % 7 + b" 0\n")


def test_command_is_taken_literally(bench):
    guest = bench.guest
    text = "  two  spaces\n\\backslash\\n 'quote' \"quote\" $HOME ü\n\tend"
    assert guest.run(f"cat <<'EOF'\n{text}\nEOF") == (0, f"{text}\n".encode())


def test_stdin_is_empty(bench):
    assert bench.guest.run("cat; echo over", timeout=20) == (0, b"over\n")


def test_signals_have_their_default_action(bench):
    assert bench.guest.run("kill -INT $$; echo ignored")[0] == 128 + 2


def test_file_is_put_and_fetched(bench):
    guest = bench.guest
    there, back = (os.path.join(bench.scratch, name) for name in ("a", "b"))
    with open(there, "wb") as file:
        file.write(os.urandom(50000))
    os.chmod(there, 0o750)
    guest.put(there, "/tmp/new folder/it's")
    assert guest.run('stat -c %a "/tmp/new folder/it\'s"') == (0, b"750\n")
    guest.get("/tmp/new folder/it's", back)
    with open(there, "rb") as first, open(back, "rb") as second:
        assert first.read() == second.read()


def test_folder_is_fetched(bench):
    guest = bench.guest
    guest.run("mkdir -p /tmp/results/deep && echo 1 >/tmp/results/deep/one")
    host = os.path.join(bench.scratch, "results")
    guest.get("/tmp/results", host)
    with open(os.path.join(host, "deep", "one"), encoding="ascii") as file:
        assert file.read() == "1\n"


def test_missing_file_is_an_error(bench):
    try:
        bench.guest.get("/no/such/file", bench.scratch + "/nothing")
    except GuestError as error:
        assert b"no/such" in error.output or b"can't" in error.output
    else:
        raise AssertionError("got a file that does not exist")


def test_preloaded_library_replaces_a_function(bench):
    guest = bench.guest
    assert guest.run("./guest_program uid") == (0, b"0\n")
    assert guest.run("LD_PRELOAD=./preload.so ./guest_program uid") == \
        (0, b"4242\n")


def test_thread_can_be_cancelled(bench):
    assert bench.guest.run("./guest_program cancel") == (0, b"")


def test_command_line_tool_adds_and_gets_files(bench):
    host = os.path.join(bench.scratch, "fetched")
    done = bench.vm(f"--add={bench.program}", "--get=/tmp/uid:" + host, "--",
                    "sh", "-c", "./guest_program uid >/tmp/uid; exit 5")
    assert done.returncode == 5, done
    with open(host, encoding="ascii") as file:
        assert file.read() == "0\n"


def _read_until(fd, text):
    """Read from a terminal until text comes."""
    seen = b""
    while text not in seen:
        ready, _, _ = select.select([fd], [], [], 60)
        assert ready, f"{text} did not come after {seen}"
        seen += os.read(fd, 4096)


def _read_to_end(fd):
    """Read until no process has the terminal's other end open."""
    while True:
        ready, _, _ = select.select([fd], [], [], 60)
        assert ready, "the shell does not end"
        try:
            os.read(fd, 4096)
        except OSError:
            return


def _in_shell(bench, talk):
    """Run the runner on a terminal of its own. Return: its exit status."""
    command = bench.command()
    pid, fd = pty.fork()
    if pid == 0:
        os.execv(command[0], command)
    try:
        _read_until(fd, b"# ")
        talk(fd)
        _read_to_end(fd)
    finally:
        os.close(fd)
        _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)


def test_shell_on_a_terminal(bench):
    def talk(fd):
        os.write(fd, b"echo $((6*7)); tty\n")
        _read_until(fd, b"\n42\r\n/dev/ttyS1\r\n")
        os.write(fd, b"sh -c 'echo be''gun; exec sleep 1000'\n")
        _read_until(fd, b"begun\r\n")
        os.write(fd, b"\x03")               # ends the command, not the shell
        os.write(fd, b"echo $((7*7))\n")
        _read_until(fd, b"\n49\r\n")
        os.write(fd, b"exit 5\n")
    assert _in_shell(bench, talk) == 5


def test_shell_is_left_with_ctrl_a_x(bench):
    assert _in_shell(bench, lambda fd: os.write(fd, b"\x01x")) == 0
