//! The stack of ours that a thread's signal handlers run on.

use std::{ffi::c_void, mem::MaybeUninit, ptr::NonNull};

use carom_base_sys::{SysError, map, signal};
use carom_collect_translate::{OwnSignals, Stack};

/// Bytes of a handler stack. A signal frame with AVX-512 state (3.5 KiB), the unwinder and the decoder touch 28 KiB in
/// a release build; untouched pages cost nothing.
/// Unoptimised code moves the unwinder's cache through several frames: it takes 140 KiB.
const BYTES: usize = if cfg!(debug_assertions) { 512 << 10 } else { 128 << 10 };

/// What a function may use below its stack pointer (System V ABI for x86-64, section 3.2.2).
const RED_ZONE_BYTES: u64 = 128;

/// A handler stack. Never freed.
#[derive(Clone, Copy)]
pub struct HandlerStack(NonNull<u8>);

impl HandlerStack {
    /// A fresh one.
    ///
    /// # Errors
    /// ENOMEM.
    pub fn allocate() -> Result<Self, SysError> {
        map::stack(BYTES).map(Self)
    }

    /// One past its highest byte.
    pub fn top(self) -> u64 {
        self.0.as_ptr().addr() as u64 + BYTES as u64
    }

    /// Is the stack pointer `sp` on it?
    pub fn holds(self, sp: u64) -> bool {
        sp > self.top() - BYTES as u64 && sp <= self.top()
    }

    /// The top of the stack for a handler that came on another stack, and interrupted code with the stack pointer
    /// `interrupted`.
    ///
    /// That is the top, except while the thread begins to be sampled, on this stack: the kernel may deliver the first
    /// signal to a stack of the program's or, in a forked child, of the thread that forked.
    pub fn free_below(self, interrupted: u64) -> u64 {
        /// Of a stack at a call (System V ABI, section 3.2.2).
        const ALIGNMENT: u64 = 16;
        if self.holds(interrupted) {
            let below = interrupted - RED_ZONE_BYTES;
            below - below % ALIGNMENT
        } else {
            self.top()
        }
    }

    /// Runs `work` on this stack, which is the calling thread's. Signals must be blocked.
    pub fn with_room<R>(self, work: impl FnOnce() -> R) -> R {
        let here = 0u8;
        if self.holds((&raw const here).addr() as u64) {
            return work();
        }
        let mut task = Task { work: Some(work), result: MaybeUninit::uninit() };
        let run = Task::<_, R>::runner(&task);
        // SAFETY: only handlers use it, none of which runs: the thread is elsewhere, and no signal comes. What a handler of
        // ours has left there to run one of the program's has been copied.
        unsafe { call_on(self.top(), run, (&raw mut task).cast()) };
        // SAFETY: written when the work was done.
        unsafe { task.result.assume_init() }
    }

    /// The state of signals as the program sees it, for a thread with this stack.
    pub fn signals(self) -> OwnSignals {
        OwnSignals::new(self.0.as_ptr().addr() as u64, BYTES as u64)
    }

    /// Makes it the alternate stack of the calling thread, which begins, in place of the program's.
    pub fn lend(self, signals: &OwnSignals) {
        signals.set_hidden(0);
        signals.set_stack(Stack::NONE);
        self.lend_again(signals);
    }

    /// The same where it was taken back meanwhile.
    pub fn lend_again(self, signals: &OwnSignals) {
        let ours = libc::stack_t { ss_sp: self.0.as_ptr().cast(), ss_flags: 0, ss_size: BYTES };
        // SAFETY: all zeroes is a valid `stack_t`.
        let mut before: libc::stack_t = unsafe { std::mem::zeroed() };
        // Where the thread runs on the program's, that stays.
        // SAFETY: the memory is this thread's for good, and only handlers use it.
        let lent = unsafe { signal::alternate_stack(&raw const ours, &raw mut before) };
        // A change of the program's own has lent it already, and is noted.
        let is_ours = before.ss_sp == ours.ss_sp;
        if lent.is_ok() && before.ss_flags & libc::SS_DISABLE == 0 && !is_ours {
            let flags = before.ss_flags as u32;
            let low = before.ss_sp.expose_provenance() as u64;
            signals.set_stack(Stack { flags, ..Stack::new(low, before.ss_size as u64) });
        }
    }

    /// Takes it away from the calling thread, which gets the program's stack back.
    pub fn take_back(self, signals: &OwnSignals) {
        if installed().is_some_and(|stack| stack.ss_sp == self.0.as_ptr().cast()) {
            install(signals.stack());
        }
    }
}

/// Something to do on another stack.
struct Task<W, R> {
    work: Option<W>,
    result: MaybeUninit<R>,
}

impl<W: FnOnce() -> R, R> Task<W, R> {
    /// What does this task.
    fn runner(&self) -> extern "C" fn(*mut c_void) {
        Self::run
    }

    extern "C" fn run(task: *mut c_void) {
        // SAFETY: the `Task` of `with_room`, which waits for us.
        let task = unsafe { &mut *task.cast::<Self>() };
        if let Some(work) = task.work.take() {
            task.result.write(work());
        }
    }
}

/// Gives the kernel a stack that the program has set.
pub fn install(stack: Stack) {
    let place = std::ptr::with_exposed_provenance_mut(stack.low as usize);
    let stack = libc::stack_t { ss_sp: place, ss_flags: stack.flags as i32, ss_size: stack.bytes as usize };
    // SAFETY: what the program has asked for.
    let _ = unsafe { signal::alternate_stack(&raw const stack, std::ptr::null_mut()) };
}

/// The calling thread's alternate stack as the kernel has it.
fn installed() -> Option<libc::stack_t> {
    // SAFETY: all zeroes is a valid `stack_t`.
    let mut stack: libc::stack_t = unsafe { std::mem::zeroed() };
    // SAFETY: only asks.
    unsafe { signal::alternate_stack(std::ptr::null(), &raw mut stack) }.ok().map(|()| stack)
}

/// Calls `function(argument)` on the stack that ends at `top`.
///
/// # Safety
/// `top` is 16-byte aligned, one past the end of a writable region large enough for the call, and unused.
#[unsafe(naked)]
pub unsafe extern "C" fn call_on(top: u64, function: extern "C" fn(*mut c_void), argument: *mut c_void) {
    std::arch::naked_asm!(
        "push rbp",
        "mov rbp, rsp",
        "mov rsp, rdi",
        "mov rdi, rdx",
        "call rsi",
        "mov rsp, rbp",
        "pop rbp",
        "ret",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_interrupted_on_it_keeps_what_it_has_there() {
        let stack = HandlerStack::allocate().unwrap();
        let interrupted = stack.top() - 1000;
        let free = stack.free_below(interrupted);
        assert!(stack.holds(free) && free <= interrupted - RED_ZONE_BYTES);
        assert_eq!(free % 16, 0);
    }

    #[test]
    fn work_that_needs_room_has_it_there() {
        let stack = HandlerStack::allocate().unwrap();
        let seen = stack.with_room(|| {
            let here = 0u8;
            let outer = (&raw const here).addr() as u64;
            let inner = stack.with_room(|| {
                let here = 0u8;
                (&raw const here).addr() as u64
            });
            [outer, inner]
        });
        assert!(seen.iter().all(|&sp| stack.holds(sp)), "{seen:x?}");
    }

    #[test]
    fn what_is_interrupted_elsewhere_leaves_all_of_it() {
        let stack = HandlerStack::allocate().unwrap();
        let elsewhere = stack.top() + 4096;
        assert_eq!(stack.free_below(elsewhere), stack.top());
        assert!(!stack.holds(elsewhere));
    }
}
