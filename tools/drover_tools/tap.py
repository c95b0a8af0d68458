# SPDX-License-Identifier: MIT
"""Results of a test program in the Test Anything Protocol."""


class Tap:
    """Prints results as they come and the plan at the end."""

    def __init__(self):
        self._count = 0
        self._failed = 0
        print("TAP version 13", flush=True)

    def ok(self, passed, name, detail=""):
        """Print one result; detail: explains a failure."""
        self._count += 1
        self._failed += not passed
        print(f"{'ok' if passed else 'not ok'} {self._count} {name}",
              flush=True)
        if not passed and detail:
            for line in str(detail).splitlines():
                print(f"# {line}", flush=True)

    def equal(self, got, wanted, name):
        """Print one result, which is passed if both values are equal."""
        self.ok(got == wanted, name, f"got {got!r}, wanted {wanted!r}")

    def skip(self, name, why):
        self._count += 1
        print(f"ok {self._count} {name} # SKIP {why}", flush=True)

    def exit_status(self):
        """Print the plan. Return: the program's exit status."""
        print(f"1..{self._count}", flush=True)
        return 1 if self._failed else 0
