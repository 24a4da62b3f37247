//! The allocator with its blocks entered and removed.
//!
//! A block is entered after it was allocated, and removed before it is freed. In between, no other thread can own it.

use std::ffi::{c_int, c_void};

use super::{
    COUNT, early, next_aligned_alloc, next_calloc, next_free, next_malloc, next_memalign,
    next_posix_memalign, next_pvalloc, next_realloc, next_reallocarray, next_valloc,
};
use crate::{
    objects::{self, Caller},
    translated,
};

/// The functions of this module in the order of the hooks.
pub const TARGETS: [*const c_void; COUNT] = [
    malloc as *const c_void,
    calloc as *const c_void,
    realloc as *const c_void,
    reallocarray as *const c_void,
    free as *const c_void,
    posix_memalign as *const c_void,
    aligned_alloc as *const c_void,
    memalign as *const c_void,
    valloc as *const c_void,
    pvalloc as *const c_void,
];

/// The stack pointer that a hook saw: it points to the return address.
type HookStack = *const u64;

/// # Safety
/// `sp` is that of a hook that jumped here, and `fp` the frame pointer there.
unsafe fn caller(sp: HookStack, fp: u64) -> Caller {
    // SAFETY: the hook was called.
    let ip = unsafe { *sp };
    let ip = translated::goes_back_to(sp.addr() as u64).unwrap_or(ip);
    Caller { ip, sp: sp.addr() as u64 + 8, fp }
}

/// Declares functions that return a new block of `$bytes` bytes.
macro_rules! allocate {
    ($($name:ident by $next:ident($($arg:ident),*), $bytes:expr;)*) => {$(
        unsafe extern "C" fn $name($($arg: usize,)* sp: HookStack, fp: u64) -> *mut c_void {
            // SAFETY: the program's arguments.
            let block = unsafe { $next($($arg),*) };
            // SAFETY: only the hook jumps here.
            objects::allocated(block, $bytes, unsafe { caller(sp, fp) });
            block
        }
    )*};
}

// A product that overflows has allocated nothing.
allocate! {
    malloc by next_malloc(size), size;
    calloc by next_calloc(count, size), count.wrapping_mul(size);
    aligned_alloc by next_aligned_alloc(alignment, size), size;
    memalign by next_memalign(alignment, size), size;
    valloc by next_valloc(size), size;
    pvalloc by next_pvalloc(size), size;
}

unsafe extern "C" fn posix_memalign(
    place: *mut *mut c_void,
    alignment: usize,
    size: usize,
    sp: HookStack,
    fp: u64,
) -> c_int {
    // SAFETY: the program's arguments.
    let status = unsafe { next_posix_memalign(place, alignment, size) };
    if status == 0 {
        // SAFETY: the call has succeeded, so the place is valid and filled.
        let block = unsafe { *place };
        // SAFETY: only the hook jumps here.
        objects::allocated(block, size, unsafe { caller(sp, fp) });
    }
    status
}

/// Changes the size of `block` to `size` bytes by `change`.
fn resize(
    block: *mut c_void,
    size: usize,
    caller: Caller,
    change: impl FnOnce() -> *mut c_void,
) -> *mut c_void {
    let before = objects::freeing(block);
    let after = change();
    match before {
        // The C library frees a block whose new size is 0; any other failure leaves it as it was.
        Some(object) if after.is_null() && size > 0 => objects::kept(object),
        _ => objects::allocated(after, size, caller),
    }
    after
}

unsafe extern "C" fn realloc(block: *mut c_void, size: usize, sp: HookStack, fp: u64) -> *mut c_void {
    // SAFETY: only the hook jumps here.
    let caller = unsafe { caller(sp, fp) };
    // SAFETY: the program's arguments.
    resize(block, size, caller, || match unsafe { early::moved(block, size) } {
        Some(moved) => moved,
        // SAFETY: the program's arguments.
        None => unsafe { next_realloc(block, size) },
    })
}

unsafe extern "C" fn reallocarray(
    block: *mut c_void,
    count: usize,
    size: usize,
    sp: HookStack,
    fp: u64,
) -> *mut c_void {
    // SAFETY: only the hook jumps here.
    let caller = unsafe { caller(sp, fp) };
    // A product that overflows is a failure whatever the sizes.
    let bytes = count.saturating_mul(size);
    // SAFETY: the program's arguments. The early buffer's blocks are never passed here: the loader does not.
    resize(block, bytes, caller, || unsafe { next_reallocarray(block, count, size) })
}

unsafe extern "C" fn free(block: *mut c_void) {
    objects::freeing(block);
    if !early::is_ours(block) {
        // SAFETY: the program's argument.
        unsafe { next_free(block) }
    }
}
