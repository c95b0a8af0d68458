# SPDX-License-Identifier: MIT
"""drover why: which thread waits for which, and what went wrong.

Each step hands its result to the next, and knows nothing of the later ones:

collect   process.py (/proc, reads only), exact.py (the same with the threads
          stopped) and core.py (a core file) have the same interface: threads,
          each with its system call and registers; mappings; and memory.
unwind    stacks.py finds the functions that each thread is in. dwfl.py asks
          elfutils' libdw if that is installed. Without it, or if it ends
          early, the stack is searched for return addresses, and each function
          from that search is marked as a guess. elf.py reads symbols.
decode    calls.py finds the wait that each thread is in, from its functions
          (functions.py) and its system call. objects.py, condvar.py,
          drover_objects.py and drover_threads.py read the memory of the
          object: its kind, its owner, its count. texts.py says what a thread
          does.
graph     graph.py: which thread waits for which, and which can never go on.
verdict   verdict.py, findings.py, patterns.py, patterns_condvar.py: what went
          wrong, by name.
render    render.py: text, JSON, Graphviz.

When a verdict is certain: a thread is *stuck* only if it sleeps without a
deadline, only threads of its own process can end this sleep, and all threads
that could are stuck themselves (graph.py). Only its owner can end a wait for a
mutex; any thread of the process might end a wait for a condition variable, a
barrier or a semaphore. A thread that runs, or waits for anything outside the
process, can go on. So a wait that `drover why` does not understand leads to no
accusation. Each stuck thread slept from before the first look at the memory
until after the last: the kernel's count of its context switches shows that
(process.py, asleep_since).
"""
