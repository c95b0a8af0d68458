# SPDX-License-Identifier: MIT
"""The functions in which threads wait, and those of the program itself."""

#: The functions of the C library and of libdrover, without leading underscores
#: and "64" in their names, and the kind of object for which a thread waits in
#: each.
FUNCTIONS = {
    **dict.fromkeys((
        "pthread_mutex_lock", "pthread_mutex_lock_full", "mtx_lock",
        "pthread_mutex_cond_lock", "pthread_mutex_cond_lock_full",
        "pthread_mutex_timedlock", "pthread_mutex_clocklock", "mtx_timedlock",
        "pthread_mutex_clocklock_common"), "mutex"),
    **dict.fromkeys((
        "pthread_cond_wait", "pthread_cond_timedwait", "cnd_wait",
        "pthread_cond_clockwait", "pthread_cond_wait_common",
        "cnd_timedwait"), "condvar"),
    **dict.fromkeys((
        "pthread_cond_signal", "pthread_cond_broadcast", "cnd_signal",
        "cnd_broadcast", "condvar_quiesce_and_switch_g1"), "signal"),
    **dict.fromkeys(("pthread_cond_destroy", "cnd_destroy"), "destroy"),
    **dict.fromkeys((
        "pthread_rwlock_rdlock", "pthread_rwlock_wrlock",
        "pthread_rwlock_timedrdlock", "pthread_rwlock_timedwrlock",
        "pthread_rwlock_clockrdlock", "pthread_rwlock_clockwrlock",
        "pthread_rwlock_rdlock_full", "pthread_rwlock_wrlock_full"),
        "rwlock"),
    "pthread_barrier_wait": "barrier",
    **dict.fromkeys((
        "sem_wait", "new_sem_wait", "new_sem_wait_slow", "sem_timedwait",
        "sem_clockwait", "sem_wait_common"), "semaphore"),
    **dict.fromkeys((
        "pthread_join", "pthread_clockjoin_ex", "pthread_timedjoin_np",
        "pthread_timedjoin_ex", "pthread_clockjoin_np", "thrd_join"),
        "thread"),
    **dict.fromkeys(("pthread_once", "pthread_once_slow", "call_once"),
                    "once"),
    "cxa_guard_acquire": "once",
    "lll_lock_wait_private": "lock",
    "syscall": "futex",
    **dict.fromkeys((
        "drover_mutex_lock", "drover_mutex_timedlock", "mutex_lock_slow",
        "mutex_take_contended", "mutex_pi_lock"), "drover mutex"),
    **dict.fromkeys((
        "drover_cond_wait", "drover_cond_timedwait",
        "drover_cond_clockwait", "drover_cond_await",
        "drover_cond_await_until"), "drover condvar"),
    **dict.fromkeys(("drover_cond_destroy", "drover_cond_destroy_on"),
                    "drover destroy"),
    **dict.fromkeys((
        "drover_barrier_wait", "drover_barrier_wait_for",
        "drover_barrier_arrive", "drover_barrier_wait_until",
        "drover_barrier_arrive_and_drop", "barrier_await_long"),
        "drover barrier"),
    **dict.fromkeys((
        "drover_pool_wait", "drover_pool_clockwait", "drover_pool_wait_all",
        "drover_pool_for", "drover_pool_loop", "drover_pool_shutdown"),
        "drover task"),
    **dict.fromkeys((
        "drover_stream_synchronize", "drover_stream_drain",
        "drover_stream_destroy", "drover_ticket_wait"), "drover operation"),
}
C_LIBRARY = ("libc.so", "libc-", "libpthread")
DROP_IN, DROVER = "libdrover-pthread.so", "libdrover.so"
#: How the names of files begin whose functions are not the program's own.
RUNTIME = C_LIBRARY + (
    "ld-linux", "ld-2", "libstdc++", "libdrover", "libgomp", "libgcc_s",
    "[vdso]", "libtsan", "libasan")
RUNTIME_NAMES = ("std::", "void std::", "__", "_start", "start_thread")


def plain(name):
    """A function's name without the parts that differ between releases."""
    name = (name or "").lstrip("_")
    if name.startswith("GI_"):
        name = name[len("GI_"):].lstrip("_")
    if name.startswith("drop_in_"):
        name = "pthread_" + name[len("drop_in_"):]
    return name[:-2] if name.endswith("64") else name


def is_runtime(frame):
    return (not frame.path or frame.module.startswith(RUNTIME)
            or plain(frame.name) in FUNCTIONS
            or (frame.name or "").startswith(RUNTIME_NAMES))


def own_frames(thread):
    """The frames of the program's own functions; or else those in its files.
    """
    own = [frame for frame in thread.frames if not is_runtime(frame)]
    return own or [frame for frame in thread.frames if frame.path
                   and not frame.module.startswith(RUNTIME)
                   and not (frame.name or "_").startswith("_")
                   and plain(frame.name) not in FUNCTIONS]
