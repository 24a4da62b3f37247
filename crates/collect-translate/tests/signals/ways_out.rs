//! Handlers that do not return.

use std::{
    arch::naked_asm,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use libc::{SIGUSR1, c_int, siginfo_t, ucontext_t};

use super::basics::{install, mask, turn};
use crate::support::{counted, run};

/// More than a `sigjmp_buf` has (200 bytes in glibc).
static PLACE: [AtomicU64; 64] = [const { AtomicU64::new(0) }; 64];

unsafe extern "C" {
    fn __sigsetjmp(place: *mut u64, with_mask: c_int) -> c_int;
    fn siglongjmp(place: *mut u64, value: c_int) -> !;
    fn raise(signal: c_int) -> c_int;
}

extern "C" fn jumps(_: c_int, _: *mut siginfo_t, _: *mut ucontext_t) {
    // SAFETY: `lands` has set it, and has not returned.
    unsafe { siglongjmp(PLACE[0].as_ptr(), 7) }
}

/// Lands with 7, then counts to 100,000.
#[unsafe(naked)]
unsafe extern "C" fn lands(_a: u64, _b: u64) -> u64 {
    naked_asm!(
        "push rbx",
        "lea rdi, [rip + {place}]",
        "mov esi, 1",
        "call {sigsetjmp}",
        "test eax, eax",
        "jnz 2f",
        "mov edi, {signal}",
        "call {raise}",
        "ud2",
        "2:",
        "mov ecx, 100000",
        "3:",
        "dec ecx",
        "jnz 3b",
        "pop rbx",
        "ret",
        place = sym PLACE,
        sigsetjmp = sym __sigsetjmp,
        raise = sym raise,
        signal = const SIGUSR1,
    )
}

#[test]
fn a_jump_out_of_a_handler_stays_in_the_cache() {
    let _turn = turn();
    unsafe extern "C" fn prepare(_: u64, _: u64) -> u64 {
        install(SIGUSR1, jumps, 0, &[]);
        0
    }
    counted(prepare, 0, 0);
    let before = mask();
    let (value, totals) = counted(lands, 0, 0);
    assert_eq!(value, 7);
    assert_eq!(mask(), before);
    // Two instructions in each of the loop's rounds; the C library's part is some hundred.
    assert!((200_000..202_000).contains(&totals.instructions), "{totals:?}");
}

/// A thread that is cancelled while it reads: the C library's handler unwinds it from the signal's frame.
#[test]
fn a_thread_is_cancelled() {
    static READING: AtomicU64 = AtomicU64::new(0);
    static BYTE: AtomicU64 = AtomicU64::new(0);
    // Without a frame of Rust's, which would not allow itself to be unwound.
    #[unsafe(naked)]
    unsafe extern "C" fn reads(_from: u64, _: u64) -> u64 {
        naked_asm!(
            "mov qword ptr [rip + {reading}], 1",
            "lea rsi, [rip + {byte}]",
            "mov edx, 1",
            "jmp {read}",
            reading = sym READING,
            byte = sym BYTE,
            read = sym libc::read,
        )
    }
    extern "C" fn begin(from: *mut libc::c_void) -> *mut libc::c_void {
        run(reads, from as u64, 0);
        std::ptr::null_mut()
    }
    unsafe extern "C" fn cancels(thread: u64, _: u64) -> u64 {
        // SAFETY: a thread that was not joined.
        unsafe { libc::pthread_cancel(thread) as u64 }
    }
    let _turn = turn();
    let mut ends = [0i32; 2];
    // SAFETY: room for two.
    unsafe { libc::pipe(ends.as_mut_ptr()) };
    let mut thread: libc::pthread_t = 0;
    let from = ends[0] as usize as *mut libc::c_void;
    // SAFETY: a start routine, and its argument.
    assert_eq!(unsafe { libc::pthread_create(&raw mut thread, std::ptr::null(), begin, from) }, 0);
    while READING.load(Relaxed) == 0 {
        std::thread::yield_now();
    }
    std::thread::sleep(std::time::Duration::from_millis(20));
    assert_eq!(run(cancels, thread, 0).0, 0);
    let mut result = std::ptr::null_mut();
    // SAFETY: joined once.
    unsafe { libc::pthread_join(thread, &raw mut result) };
    const PTHREAD_CANCELED: usize = usize::MAX;
    assert_eq!(result as usize, PTHREAD_CANCELED);
}
