#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Python threads that wait for each other: handoffs.py KIND COUNT"""

import queue
import sys
import threading
import zlib
from concurrent.futures import ThreadPoolExecutor


def threads(count, body):
    """Run threads 0 to count - 1 to their end."""
    found = [threading.Thread(target=body, args=(number,))
             for number in range(count)]
    for thread in found:
        thread.start()
    for thread in found:
        thread.join()


def queues(count):
    """4 producers and 4 consumers at a queue of 8 places."""
    places = queue.Queue(maxsize=8)

    def body(mine):
        for number in range(count):
            if mine < 4:
                places.put(number)
            else:
                places.get()

    threads(8, body)


def ring(count):
    """4 threads that pass on a turn, each with a condition of its own."""
    lock, turn = threading.Lock(), [0]
    conditions = [threading.Condition(lock) for _ in range(4)]

    def body(mine):
        for number in range(mine, 4 * count, 4):
            with lock:
                while turn[0] != number:
                    conditions[mine].wait()
                turn[0] += 1
                conditions[(mine + 1) % 4].notify()

    threads(4, body)


def pool(count):
    """A pool of 4 threads that compress, without the interpreter's lock."""
    data = bytes(n * n & 255 for n in range(20000))
    with ThreadPoolExecutor(4) as workers:
        for _ in workers.map(lambda _: zlib.compress(data, 1), range(count)):
            pass


{"queues": queues, "ring": ring, "pool": pool}[sys.argv[1]](int(sys.argv[2]))
