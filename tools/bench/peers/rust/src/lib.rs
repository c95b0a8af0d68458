// SPDX-License-Identifier: MIT
//! Rust's own condition variable, or parking_lot's, as peer.h wants it.
//!
//! A guard cannot be handed through C, so it lies beside the mutex, and belongs
//! to whoever holds that.

use std::ffi::{c_char, c_long};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

#[cfg(feature = "parking_lot")]
mod sync {
    pub use parking_lot::{Condvar, Mutex, MutexGuard};
    use std::time::Duration;

    pub const NAME: &[u8; 16] = b"parking_lot\0\0\0\0\0";
    pub const HELP: &[u8; 40] = b"parking_lot::Condvar and Mutex, in Rust\0";
    pub const VERSION: &str = "parking_lot 0.12.1\0";

    pub fn lock(mutex: &Mutex<()>) -> MutexGuard<'_, ()> {
        mutex.lock()
    }

    pub fn wait<'a>(cond: &Condvar, mut guard: MutexGuard<'a, ()>) -> MutexGuard<'a, ()> {
        cond.wait(&mut guard);
        guard
    }

    pub fn wait_for<'a>(
        cond: &Condvar,
        mut guard: MutexGuard<'a, ()>,
        time: Duration,
    ) -> (MutexGuard<'a, ()>, bool) {
        let over = cond.wait_for(&mut guard, time).timed_out();
        (guard, over)
    }
}

#[cfg(feature = "std")]
mod sync {
    pub use std::sync::{Condvar, Mutex, MutexGuard};
    use std::time::Duration;

    pub const NAME: &[u8; 16] = b"rust-std\0\0\0\0\0\0\0\0";
    pub const HELP: &[u8; 40] = b"std::sync::Condvar and Mutex, in Rust  \0";
    pub const VERSION: &str = concat!("Rust ", env!("PEER_RUSTC"), "\0");

    pub fn lock(mutex: &Mutex<()>) -> MutexGuard<'_, ()> {
        mutex.lock().unwrap()
    }

    pub fn wait<'a>(cond: &Condvar, guard: MutexGuard<'a, ()>) -> MutexGuard<'a, ()> {
        cond.wait(guard).unwrap()
    }

    pub fn wait_for<'a>(
        cond: &Condvar,
        guard: MutexGuard<'a, ()>,
        time: Duration,
    ) -> (MutexGuard<'a, ()>, bool) {
        let (guard, result) = cond.wait_timeout(guard, time).unwrap();
        (guard, result.timed_out())
    }
}

use sync::{Condvar, Mutex, MutexGuard};

pub struct PeerMutex {
    mutex: Mutex<()>,
    /// Of the thread that holds `mutex`; nobody else may look.
    guard: Option<MutexGuard<'static, ()>>,
}

pub struct PeerCond {
    cond: Condvar,
}

const _: () = assert!(std::mem::size_of::<PeerMutex>() <= 64);
const _: () = assert!(std::mem::size_of::<PeerCond>() <= 64);

#[no_mangle]
pub static peer_name: [u8; 16] = *sync::NAME;
#[no_mangle]
pub static peer_help: [u8; 40] = *sync::HELP;

#[no_mangle]
pub extern "C" fn peer_version() -> *const c_char {
    sync::VERSION.as_ptr().cast()
}

#[no_mangle]
pub extern "C" fn peer_library() -> *const c_char {
    b"linked statically\0".as_ptr().cast()
}

/// # Safety
/// `mutex` is memory of that size, used for nothing else until its end.
#[no_mangle]
pub unsafe extern "C" fn peer_mutex_init(mutex: *mut PeerMutex) {
    mutex.write(PeerMutex {
        mutex: Mutex::new(()),
        guard: None,
    });
}

/// # Safety
/// `mutex` was made by peer_mutex_init(), and nobody holds it.
#[no_mangle]
pub unsafe extern "C" fn peer_mutex_destroy(mutex: *mut PeerMutex) {
    mutex.drop_in_place();
}

/// # Safety
/// `mutex` was made by peer_mutex_init(); the caller does not hold it.
#[no_mangle]
pub unsafe extern "C" fn peer_mutex_lock(mutex: *mut PeerMutex) {
    let guard = sync::lock(&*std::ptr::addr_of!((*mutex).mutex));
    std::ptr::addr_of_mut!((*mutex).guard).write(Some(guard));
}

/// # Safety
/// The caller holds `mutex`.
#[no_mangle]
pub unsafe extern "C" fn peer_mutex_unlock(mutex: *mut PeerMutex) {
    drop(take_guard(mutex));
}

unsafe fn take_guard(mutex: *mut PeerMutex) -> MutexGuard<'static, ()> {
    let place = std::ptr::addr_of_mut!((*mutex).guard);
    let guard = place.read().unwrap_unchecked();
    place.write(None);
    guard
}

/// # Safety
/// `cond` is memory of that size, used for nothing else until its end.
#[no_mangle]
pub unsafe extern "C" fn peer_cond_init(cond: *mut PeerCond) {
    cond.write(PeerCond {
        cond: Condvar::new(),
    });
}

/// # Safety
/// `cond` was made by peer_cond_init(), and nobody waits on it.
#[no_mangle]
pub unsafe extern "C" fn peer_cond_destroy(cond: *mut PeerCond) {
    cond.drop_in_place();
}

/// # Safety
/// The caller holds `mutex`.
#[no_mangle]
pub unsafe extern "C" fn peer_cond_wait(cond: *mut PeerCond, mutex: *mut PeerMutex) {
    let guard = sync::wait(&(*cond).cond, take_guard(mutex));
    std::ptr::addr_of_mut!((*mutex).guard).write(Some(guard));
}

/// # Safety
/// The caller holds `mutex`.
#[no_mangle]
pub unsafe extern "C" fn peer_cond_timedwait(
    cond: *mut PeerCond,
    mutex: *mut PeerMutex,
    seconds: i64,
    nanoseconds: c_long,
) -> bool {
    let deadline = UNIX_EPOCH + Duration::new(seconds as u64, nanoseconds as u32);
    let left = deadline
        .duration_since(SystemTime::now())
        .unwrap_or(Duration::ZERO);
    let (guard, over) = sync::wait_for(&(*cond).cond, take_guard(mutex), left);
    std::ptr::addr_of_mut!((*mutex).guard).write(Some(guard));
    over
}

/// # Safety
/// `cond` was made by peer_cond_init().
#[no_mangle]
pub unsafe extern "C" fn peer_cond_signal(cond: *mut PeerCond) {
    (*cond).cond.notify_one();
}

/// # Safety
/// `cond` was made by peer_cond_init().
#[no_mangle]
pub unsafe extern "C" fn peer_cond_broadcast(cond: *mut PeerCond) {
    (*cond).cond.notify_all();
}
