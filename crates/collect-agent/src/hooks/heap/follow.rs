//! The allocator with its blocks entered and removed.
//!
//! A block is entered after it was allocated, and removed before it is freed. In between, no other thread can own it.
//!
//! These functions lie in the section of code that is translated with the program's, so that each call of the allocator
//! stays in the cache. What they do is not counted as the program's; what the library does is.

use std::{
    ffi::{c_int, c_void},
    sync::atomic::{AtomicPtr, Ordering::Relaxed},
};

use super::COUNT;
use crate::objects::{self, Caller};

/// The functions of this module in the order of the hooks, for hooks that have set the last two arguments.
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

/// The same for the program's calls, which are translated.
#[cfg(not(feature = "static-link"))]
pub const ENTRIES: [*const c_void; COUNT] = [
    entry::malloc as *const c_void,
    entry::calloc as *const c_void,
    entry::realloc as *const c_void,
    entry::reallocarray as *const c_void,
    free as *const c_void,
    entry::posix_memalign as *const c_void,
    entry::aligned_alloc as *const c_void,
    entry::memalign as *const c_void,
    entry::valloc as *const c_void,
    entry::pvalloc as *const c_void,
];

/// The functions that these lead on to.
static LIBRARY: [AtomicPtr<c_void>; COUNT] = [const { AtomicPtr::new(std::ptr::null_mut()) }; COUNT];

/// Must be called with the library's functions before any function of this module is.
pub fn lead_on_to(library: [*const c_void; COUNT]) {
    for (place, function) in LIBRARY.iter().zip(library) {
        place.store(function.cast_mut(), Relaxed);
    }
}

/// The functions by which those of this module lead on.
#[cfg(not(feature = "static-link"))]
pub const WAYS: [*const c_void; COUNT] = [
    way::malloc as *const c_void,
    way::calloc as *const c_void,
    way::realloc as *const c_void,
    way::reallocarray as *const c_void,
    way::free as *const c_void,
    way::posix_memalign as *const c_void,
    way::aligned_alloc as *const c_void,
    way::memalign as *const c_void,
    way::valloc as *const c_void,
    way::pvalloc as *const c_void,
];

/// The stack pointer that a hook saw: it points to the return address.
type HookStack = *const u64;

/// # Safety
/// `sp` is that of a hook that jumped here, and `fp` the frame pointer there.
#[inline(always)]
pub(super) unsafe fn caller(sp: HookStack, fp: u64) -> Caller {
    // SAFETY: the hook was called.
    let ip = unsafe { *sp };
    Caller { ip, sp: sp.expose_provenance() as u64 + 8, fp }
}

/// Declares the function `$name`, with its arguments and those of its hook. `$library` is
/// the function that it leads on to.
macro_rules! follow {
    ($name:ident($($arg:ident: $type:ty),*) -> $result:ty, |$library:ident, $sp:ident, $fp:ident| $body:block) => {
        #[unsafe(link_section = "carom_led_on")]
        unsafe extern "C" fn $name($($arg: $type,)* $sp: HookStack, $fp: u64) -> $result {
            // SAFETY: the C library's function of this name has this signature.
            let $library = unsafe {
                std::mem::transmute::<unsafe extern "C" fn(), unsafe extern "C" fn($($type),*) -> $result>(
                    way::$name,
                )
            };
            $body
        }
    };
}

/// Declares functions that return a new block of `$bytes` bytes.
macro_rules! allocate {
    ($($name:ident($($arg:ident),*), $bytes:expr;)*) => {$(
        follow!($name($($arg: usize),*) -> *mut c_void, |library, sp, fp| {
            // SAFETY: the program's arguments.
            let block = unsafe { library($($arg),*) };
            // SAFETY: only the hook jumps here.
            objects::allocated(block, $bytes, unsafe { caller(sp, fp) });
            block
        });
    )*};
}

// A product that overflows has allocated nothing.
allocate! {
    malloc(size), size;
    calloc(count, size), count.wrapping_mul(size);
    aligned_alloc(alignment, size), size;
    memalign(alignment, size), size;
    valloc(size), size;
    pvalloc(size), size;
}

follow!(posix_memalign(place: *mut *mut c_void, alignment: usize, size: usize) -> c_int, |library, sp, fp| {
    // SAFETY: the program's arguments.
    let status = unsafe { library(place, alignment, size) };
    if status == 0 {
        // SAFETY: the call has succeeded, so the place is valid and filled.
        let block = unsafe { *place };
        // SAFETY: only the hook jumps here.
        objects::allocated(block, size, unsafe { caller(sp, fp) });
    }
    status
});

/// Changes the size of `block` to `size` bytes by `change`.
#[inline(always)]
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

follow!(realloc(block: *mut c_void, size: usize) -> *mut c_void, |library, sp, fp| {
    // SAFETY: only the hook jumps here.
    let caller = unsafe { caller(sp, fp) };
    // SAFETY: the program's arguments. What it leads on to knows the early buffer's blocks.
    resize(block, size, caller, || unsafe { library(block, size) })
});

follow!(reallocarray(block: *mut c_void, count: usize, size: usize) -> *mut c_void, |library, sp, fp| {
    // SAFETY: only the hook jumps here.
    let caller = unsafe { caller(sp, fp) };
    // A product that overflows is a failure whatever the sizes.
    let bytes = count.saturating_mul(size);
    // SAFETY: the program's arguments. The early buffer's blocks are never passed here: the loader does not.
    resize(block, bytes, caller, || unsafe { library(block, count, size) })
});

follow!(free(block: *mut c_void) -> (), |library, _sp, _fp| {
    objects::freeing(block);
    // SAFETY: the program's argument. What it leads on to knows the early buffer's blocks.
    unsafe { library(block) }
});

/// The ways on to the library's functions. Where code is translated, those functions run in their place.
mod way {
    use std::arch::naked_asm;

    use super::LIBRARY;

    macro_rules! way {
        ($($index:literal $name:ident)*) => {$(
            #[unsafe(naked)]
            #[unsafe(link_section = "carom_led_on")]
            pub unsafe extern "C" fn $name() {
                naked_asm!(
                    "jmp qword ptr [rip + {library} + 8 * {index}]",
                    library = sym LIBRARY,
                    index = const $index,
                )
            }
        )*};
    }

    way! {
        0 malloc
        1 calloc
        2 realloc
        3 reallocarray
        4 free
        5 posix_memalign
        6 aligned_alloc
        7 memalign
        8 valloc
        9 pvalloc
    }
}

/// The functions as the program calls them.
#[cfg(not(feature = "static-link"))]
mod entry {
    use std::arch::naked_asm;

    /// Declares the function that sets the last two arguments of the one above with its name: the stack and the frame
    /// pointer, which come in `$sp` and `$fp`.
    macro_rules! entry {
        ($name:ident, $sp:literal, $fp:literal) => {
            #[unsafe(naked)]
            #[unsafe(link_section = "carom_led_on")]
            pub unsafe extern "C" fn $name() {
                naked_asm!(
                    concat!("mov ", $sp, ", rsp"),
                    concat!("mov ", $fp, ", rbp"),
                    "jmp {function}",
                    function = sym super::$name,
                )
            }
        };
    }

    entry!(malloc, "rsi", "rdx");
    entry!(calloc, "rdx", "rcx");
    entry!(realloc, "rdx", "rcx");
    entry!(reallocarray, "rcx", "r8");
    entry!(posix_memalign, "rcx", "r8");
    entry!(aligned_alloc, "rdx", "rcx");
    entry!(memalign, "rdx", "rcx");
    entry!(valloc, "rsi", "rdx");
    entry!(pvalloc, "rsi", "rdx");
}
