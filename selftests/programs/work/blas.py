#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Matrices, multiplied by OpenBLAS's threads for several of Python's at once.

All numbers are small integers, so no sum is rounded and the order of adding
does not matter.
"""

import importlib
import threading

# Not of the standard library: without it there is no such test.
numpy = importlib.import_module("numpy")

SIZE = 220
ROUNDS = 12
lines = [[] for _ in range(4)]


def multiply(number):
    """Products of matrices that nobody else has."""
    numbers = numpy.random.RandomState(number)
    for _ in range(ROUNDS):
        one = numbers.randint(-9, 9, (SIZE, SIZE)).astype(float)
        other = numbers.randint(-9, 9, (SIZE, SIZE)).astype(float)
        product = one @ other
        lines[number].append(f"{product.trace():.0f} {product.sum():.0f}"
                             f" {(product @ one).max():.0f}")


threads = [threading.Thread(target=multiply, args=(n,)) for n in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for line in lines:
    print(*line, sep="\n")
with open("/proc/self/maps", encoding="utf-8") as maps:
    print("OpenBLAS:", "openblas-pthread" in maps.read())
