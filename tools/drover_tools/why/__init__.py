# SPDX-License-Identifier: MIT
"""drover why: who waits for whom, and what went wrong.

Each step hands its result to the next, and knows nothing of those after it:

collect   process.py (/proc, reads only), exact.py (the same with the threads
          stopped) and core.py (a core file) give the same: threads, each with
          its system call and registers, the mappings, and the memory.
unwind    stacks.py: the functions that each thread is in. dwfl.py asks
          elfutils' libdw where that is installed. Without it, or where it
          ends early, the stack is searched for return addresses, and each
          function that was found so is marked as a guess. elf.py has symbols.
decode    calls.py: the wait that each thread is in, from the functions
          (functions.py) and the system call. objects.py, condvar.py,
          drover_objects.py and drover_threads.py: what the memory of the
          object says: its kind, its owner, its count.
graph     graph.py: which thread waits for which, and who can never go on.
verdict   verdict.py, findings.py, patterns.py, patterns_condvar.py: what went
          wrong, by name.
render    render.py: text, JSON, Graphviz.

What makes a verdict certain. A thread is *stuck* only if it sleeps in a wait
that nobody but threads of its own process can end, has no deadline, and all
of those who could end it are stuck themselves (graph.py). Its owner alone can
end the wait for a mutex; for a condition variable, a barrier or a semaphore
any thread of the process might. A thread that runs, or waits for anything
outside of the process, can go on. So a wait that is not understood makes no
accusation. All threads that are called stuck slept from before the first look
at the memory until after the last: the kernel's count of their context
switches says so (process.py, asleep_since).
"""
