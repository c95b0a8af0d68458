#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Work for Python's threads; what it prints does not depend on their timing.

The interpreter lock is a mutex and a condvar with timed waits on the monotonic
clock, and is passed on at every blocking call below.
"""

import bz2
import hashlib
import queue
import sys
import threading
import zlib
from concurrent.futures import ThreadPoolExecutor

sys.setswitchinterval(0.0002)


def producers_and_consumers():
    """Many hands on a short queue."""
    short, sums = queue.Queue(maxsize=3), []

    def consume():
        total = 0
        while (item := short.get()) is not None:
            total += item
        sums.append(total)

    def produce(first):
        for number in range(first, first + 2000):
            short.put(number)

    consumers = [threading.Thread(target=consume) for _ in range(4)]
    producers = [threading.Thread(target=produce, args=(2000 * n,))
                 for n in range(4)]
    for thread in consumers + producers:
        thread.start()
    for thread in producers:
        thread.join()
    for _ in consumers:
        short.put(None)
    for thread in consumers:
        thread.join()
    return sum(sums)


def in_turns():
    """Threads that wait for their turn, with and without a time limit."""
    turn, order, condition = [0], [], threading.Condition()

    def take(mine):
        for number in range(mine, 240, 6):
            with condition:
                while turn[0] != number:
                    condition.wait(0.001 if number % 3 else None)
                order.append(mine)
                turn[0] += 1
                condition.notify_all()

    threads = [threading.Thread(target=take, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return order == [n % 6 for n in range(240)]


def barriers():
    """Rounds of a barrier."""
    barrier = threading.Barrier(5)
    places = [[] for _ in range(60)]

    def walk():
        for number in range(60):
            place = barrier.wait()
            places[number].append(place)

    threads = [threading.Thread(target=walk) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return all(sorted(found) == [0, 1, 2, 3, 4] for found in places)


def without_the_lock(part):
    """Native code that gives the interpreter lock away while it works."""
    data = bytes((part + i * i) & 255 for i in range(60000))
    return (hashlib.sha256(data * 20).hexdigest(),
            zlib.crc32(zlib.compress(data * 3, 6)),
            zlib.crc32(bz2.compress(data)))


def main():
    """All of them."""
    print(producers_and_consumers())
    print(in_turns())
    print(barriers())
    with ThreadPoolExecutor(6) as pool:
        for result in pool.map(without_the_lock, range(12)):
            print(*result)


if __name__ == "__main__":
    main()
