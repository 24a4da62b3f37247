//! A handler's frame, moved to the stack on which the kernel would have put it. The kernel itself puts frames on a
//! stack of the embedder, so that there is room for them even if the program's stacks are small.

use std::mem::offset_of;

use libc::{mcontext_t, siginfo_t, ucontext_t};

use super::own::Stack;
use crate::memory::program;

/// What the kernel writes for a handler (Linux, arch/x86/include/asm/sigframe.h, `struct rt_sigframe`): the return
/// address, the context (its `ucontext` is shorter than the C library's), and the signal's information.
const CONTEXT: u64 = 8;
const INFO: u64 = CONTEXT + CONTEXT_BYTES;
const BYTES: u64 = INFO + size_of::<siginfo_t>() as u64;
const CONTEXT_BYTES: u64 = offset_of!(ucontext_t, uc_sigmask) as u64 + 8;
const STACK: u64 = CONTEXT + offset_of!(ucontext_t, uc_stack) as u64;
/// The offset of the address of the vector registers.
const FPREGS: usize = CONTEXT as usize + offset_of!(ucontext_t, uc_mcontext) + offset_of!(mcontext_t, fpregs);

/// The bytes below its stack pointer that a function may use (System V ABI for x86-64, section 3.2.2).
const RED_ZONE_BYTES: u64 = 128;

/// A frame in the kernel's layout.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame(pub u64);

impl Frame {
    /// The second argument of the handler.
    pub const fn info(self) -> u64 {
        self.0 + INFO
    }

    /// The third.
    pub const fn context(self) -> u64 {
        self.0 + CONTEXT
    }

    /// The frame with this context.
    pub const fn with_context(context: u64) -> Self {
        Self(context.wrapping_sub(CONTEXT))
    }

    /// The frame that a handler has returned from, with this stack pointer: the return address has been popped.
    pub const fn left(sp: u64) -> Self {
        Self(sp.wrapping_sub(CONTEXT))
    }

    /// The place of the alternate stack that is set when the frame is left.
    pub const fn stack(self) -> u64 {
        self.0 + STACK
    }

    /// A copy of it and of its vector registers, as far as they are in `state`, in free memory that ends at `top`.
    pub fn keep_below(self, top: u64, state: &[u8]) -> Self {
        let (kept, at) = place_below(top, state.len() as u64);
        let copy = self.copy(if state.is_empty() { 0 } else { at });
        for (place, bytes) in [(at, state), (kept.0, &copy[..])] {
            let place = std::ptr::with_exposed_provenance_mut::<u8>(place as usize);
            // SAFETY: the caller's memory.
            unsafe { place.copy_from(bytes.as_ptr(), bytes.len()) };
        }
        kept
    }

    /// Its bytes, with the vector registers at `state`.
    ///
    /// A copy is changed, not the frame itself: with two ways to the same memory, one of them a reference, the
    /// compiler may omit writes by one that are just to be read by the other.
    fn copy(self, state: u64) -> [u8; BYTES as usize] {
        let bytes = std::ptr::with_exposed_provenance::<[u8; BYTES as usize]>(self.0 as usize);
        // SAFETY: as long as the kernel makes them.
        let mut copy = unsafe { bytes.read() };
        if let Some(place) = copy.get_mut(FPREGS..FPREGS + size_of::<u64>()) {
            place.copy_from_slice(&state.to_ne_bytes());
        }
        copy
    }
}

/// Where the kernel puts a frame and the extended state that belongs to it (Linux, arch/x86/kernel/signal.c,
/// `get_sigframe`), for a thread that was interrupted with the stack pointer `sp`. `asks`: the handler asks for the
/// alternate stack. `None` where the frame does not fit there.
fn place(sp: u64, state_bytes: u64, asks: bool, stack: &Stack) -> Option<(Frame, u64)> {
    let nested = stack.is_in_use(sp);
    let below = sp.wrapping_sub(RED_ZONE_BYTES);
    let enters = asks && stack.is_set() && !stack.is_in_use(below);
    let (frame, state) = place_below(if enters { stack.top() } else { below }, state_bytes);
    let fits = !(nested || enters) || stack.holds(frame.0);
    fits.then_some((frame, state))
}

/// Where a frame and its extended state lie that end at `top`.
fn place_below(top: u64, state_bytes: u64) -> (Frame, u64) {
    const STATE_ALIGNMENT: u64 = 64;
    const ALIGNMENT: u64 = 16;
    let state = top.wrapping_sub(state_bytes) & !(STATE_ALIGNMENT - 1);
    let frame = (state.wrapping_sub(BYTES) & !(ALIGNMENT - 1)).wrapping_sub(8);
    (Frame(frame), state)
}

/// Moves the kernel's frame at `frame` to where the kernel would natively have made it. `stack`: the alternate stack
/// in force. `sp`: of the interrupted thread. `None` where the kernel could not have made it.
pub fn put_right(frame: Frame, state: &[u8], sp: u64, asks: bool, stack: &Stack) -> Option<Frame> {
    let (wanted, to) = place(sp, state.len() as u64, asks, stack)?;
    // The kernel chose this place itself.
    if wanted.0.abs_diff(frame.0) < BYTES + state.len() as u64 {
        return Some(frame);
    }
    let copy = frame.copy(if state.is_empty() { 0 } else { to });
    // From the top down, as the stack grows.
    (program::write_bytes(to, state) && program::write_bytes(wanted.0, &copy)).then_some(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STACK: Stack = Stack::new(0x10_0000, 8192);

    #[test]
    fn a_frame_is_as_the_kernel_makes_it() {
        assert_eq!((INFO, BYTES), (312, 440));
    }

    #[test]
    fn a_frame_elsewhere_has_its_vector_registers_with_it() {
        const STATE: usize = 832;
        let mut stack = vec![0u8; 64 << 10];
        let top = (stack.as_mut_ptr().expose_provenance() + stack.len()) as u64;
        // The kernel's frame, with the registers above it.
        let mut made = vec![0x11u8; BYTES as usize];
        let state = vec![0x22u8; STATE];
        let frame = Frame(made.as_mut_ptr().expose_provenance() as u64);
        let at = put_right(frame, &state, top, false, &Stack::NONE).expect("room");
        let (wanted, to) = place(top, STATE as u64, false, &Stack::NONE).expect("room");
        assert_eq!(at, wanted);
        let from = stack.len() - (top - at.0) as usize;
        let there = &stack[from..];
        assert_eq!(there[FPREGS..FPREGS + 8], to.to_ne_bytes());
        assert!(there[..FPREGS].iter().all(|&byte| byte == 0x11));
        assert!(there[FPREGS + 8..BYTES as usize].iter().all(|&byte| byte == 0x11));
        assert_eq!(there[(to - at.0) as usize..][..STATE], state);
        assert!(made.iter().all(|&byte| byte == 0x11));
    }

    #[test]
    fn it_lies_below_the_red_zone_of_what_was_interrupted() {
        let (frame, state) = place(0x7fff_1234, 2700, false, &STACK).unwrap();
        assert!(state + 2700 <= 0x7fff_1234 - 128 && frame.0 + BYTES <= state);
        assert_eq!((state % 64, (frame.0 + 8) % 16), (0, 0));
        assert_eq!(place(0x7fff_1234, 2700, true, &Stack::NONE), Some((frame, state)));
    }

    #[test]
    fn it_begins_the_alternate_stack_for_whom_asks() {
        let (frame, state) = place(0x7fff_1234, 2700, true, &STACK).unwrap();
        assert!(state + 2700 <= STACK.top() && state + 2700 + 64 > STACK.top() && STACK.holds(frame.0));
        // A nested one.
        let (nested, _) = place(frame.0, 2700, true, &STACK).unwrap();
        assert!(nested.0 < frame.0 - BYTES - 2700 && STACK.holds(nested.0));
        // A third does not fit, whether it asks or not.
        assert_eq!(place(nested.0, 2700, true, &STACK), None);
        assert_eq!(place(nested.0, 2700, false, &STACK), None);
    }

    #[test]
    fn one_that_disarms_begins_anew() {
        let stack = Stack { flags: 1 << 31, ..STACK };
        let first = place(0x7fff_1234, 2700, true, &stack);
        assert_eq!(first, place(STACK.top() - 5000, 2700, true, &stack));
    }
}
