# SPDX-License-Identifier: MIT
"""The numbers that libdrover gives to threads: lib/base/thread.h.

In an ordinary mutex of libdrover such a number is the owner. Each thread has
its number in struct thread: generation, number, tid, and the C library's id.
This structure lies before the thread's descriptor, at the same distance in all
threads. The distance is not known, and is found by a vote: most threads have
something that looks like the structure, with their tid, at that distance.
"""

import collections
import struct

#: So many bytes of a thread's own memory are searched.
SEARCHED = 16384
IDS = struct.Struct("=4I")
TID_AT = 8


def distances(source, begin, tid):
    """The distances at which something looks like a thread's struct thread."""
    mapping = source.maps.at(begin)
    low = max(begin - SEARCHED, mapping.start) if mapping else begin
    data = source.read(low, begin - low) or b""
    at = data.find(struct.pack("=I", tid))
    while at >= 0:
        start = at - TID_AT
        if start >= 0 and not (low + start) % 8 and (
                start + IDS.size <= len(data)):
            generation, number, _, libc_id = IDS.unpack_from(data, start)
            if generation and number and libc_id in (0, tid):
                yield begin - low - start
        at = data.find(struct.pack("=I", tid), at + 1)


def numbers_of(source, threads):
    """({number: thread}, whether all threads that have a number are in it)."""
    begins, votes = {}, collections.Counter()
    for thread in threads:
        begin = source.descriptor(thread)
        if begin:
            begins[thread] = begin
            votes.update(distances(source, begin, thread.inner))
    found = {}
    for distance, _ in votes.most_common(1):
        for thread, begin in begins.items():
            number = source.number(begin - distance + 4)
            if number in found:         # so these are not the numbers
                return {}, False
            if number:
                found[number] = thread
    return found, bool(found) and all(
        thread in begins or thread.state in "ZX" for thread in threads)
