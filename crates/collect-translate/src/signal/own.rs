//! A thread's signal state as the program believes it to be, where the kernel's is different: the alternate stack,
//! and whether signals of the embedder are blocked.

use std::sync::{
    OnceLock,
    atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
};

use crate::memory::program::Plain;

/// An alternate stack, as `stack_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stack {
    /// Its lowest byte.
    pub low: u64,
    /// `SS_*`.
    pub flags: u32,
    /// Unused.
    pub padding: u32,
    /// Its size; 0 where there is none.
    pub bytes: u64,
}

impl Plain for Stack {}

/// A signal that arrives on this stack disables it until its handler is done (`linux/signal.h`).
const AUTODISARM: u32 = 1 << 31;

impl Stack {
    /// No alternate stack.
    pub const NONE: Self = Self { low: 0, flags: libc::SS_DISABLE as u32, padding: 0, bytes: 0 };

    /// A stack from `low` on.
    pub const fn new(low: u64, bytes: u64) -> Self {
        Self { low, flags: 0, padding: 0, bytes }
    }

    /// Whether there is one.
    pub const fn is_set(&self) -> bool {
        self.bytes != 0
    }

    /// One past its highest byte.
    pub const fn top(&self) -> u64 {
        self.low.wrapping_add(self.bytes)
    }

    /// Whether the stack pointer `sp` lies on it.
    pub const fn holds(&self, sp: u64) -> bool {
        sp > self.low && sp - self.low <= self.bytes
    }

    /// Whether it is disabled while a handler runs.
    pub const fn disarms(&self) -> bool {
        self.flags & AUTODISARM != 0
    }

    /// Whether a thread with this stack pointer runs on it, as the kernel sees it.
    pub const fn is_in_use(&self, sp: u64) -> bool {
        !self.disarms() && self.holds(sp)
    }

    /// As the kernel reports it to a thread with this stack pointer.
    pub const fn as_told(self, sp: u64) -> Self {
        let state = match (self.is_set(), self.is_in_use(sp)) {
            (false, _) => libc::SS_DISABLE as u32,
            (true, true) => libc::SS_ONSTACK as u32,
            (true, false) => 0,
        };
        Self { flags: state | self.flags & AUTODISARM, ..self }
    }
}

/// A thread's signal state as the program believes it to be. Used by the thread itself; written with all signals
/// blocked.
#[derive(Debug)]
pub struct OwnSignals {
    /// The alternate stack that the kernel has.
    ours: Stack,
    low: AtomicU64,
    flags: AtomicU64,
    bytes: AtomicU64,
    hidden: AtomicU64,
    stepped: AtomicBool,
}

impl OwnSignals {
    /// For a thread whose handlers the kernel starts on this memory.
    pub const fn new(low: u64, bytes: u64) -> Self {
        let none = Stack::NONE;
        Self {
            ours: Stack::new(low, bytes),
            low: AtomicU64::new(none.low),
            flags: AtomicU64::new(none.flags as u64),
            bytes: AtomicU64::new(none.bytes),
            hidden: AtomicU64::new(0),
            stepped: AtomicBool::new(false),
        }
    }

    /// The kernel's alternate stack.
    pub const fn ours(&self) -> Stack {
        self.ours
    }

    /// The alternate stack that the program has set.
    pub fn stack(&self) -> Stack {
        Stack {
            low: self.low.load(Relaxed),
            flags: self.flags.load(Relaxed) as u32,
            padding: 0,
            bytes: self.bytes.load(Relaxed),
        }
    }

    /// Notes the alternate stack that the program has set.
    pub fn set_stack(&self, stack: Stack) {
        self.low.store(stack.low, Relaxed);
        self.flags.store(u64::from(stack.flags), Relaxed);
        self.bytes.store(stack.bytes, Relaxed);
    }

    /// Signals that the program blocks although the kernel does not.
    pub fn hidden(&self) -> u64 {
        self.hidden.load(Relaxed)
    }

    /// Notes that the embedder has set the thread's trap flag.
    pub fn begin_steps(&self) {
        self.stepped.store(true, Relaxed);
    }

    /// Whether the trap flag is the embedder's.
    pub fn is_stepped(&self) -> bool {
        self.stepped.load(Relaxed)
    }

    /// Whether the trap flag is the embedder's; the stepping then ends.
    pub fn end_steps(&self) -> bool {
        self.stepped.swap(false, Relaxed)
    }

    /// Notes the signals that the program blocks although the kernel does not.
    pub fn set_hidden(&self, mask: u64) {
        self.hidden.store(mask, Relaxed);
    }
}

static FIND: OnceLock<fn() -> Option<&'static OwnSignals>> = OnceLock::new();

/// Sets how the calling thread's state is found, without locks; threads without one have the kernel's.
pub fn find_own_signals(find: fn() -> Option<&'static OwnSignals>) {
    FIND.get_or_init(|| find);
}

/// The calling thread's state.
pub fn own() -> Option<&'static OwnSignals> {
    FIND.get().and_then(|find| find())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_is_told_as_the_kernel_tells_it() {
        let stack = Stack::new(0x1000, 0x1000);
        let flags = |stack: Stack, sp| stack.as_told(sp).flags as i32;
        assert_eq!(flags(Stack::NONE, 0x1800), libc::SS_DISABLE);
        assert_eq!((flags(stack, 0x1000), flags(stack, 0x1001)), (0, libc::SS_ONSTACK));
        assert_eq!((flags(stack, 0x2000), flags(stack, 0x2001)), (libc::SS_ONSTACK, 0));
        let disarming = Stack { flags: AUTODISARM, ..stack };
        assert_eq!(disarming.as_told(0x1800), disarming);
    }

    #[test]
    fn what_the_program_sets_is_kept() {
        let own = OwnSignals::new(0x9000, 0x1000);
        assert_eq!((own.stack(), own.hidden()), (Stack::NONE, 0));
        own.set_stack(Stack::new(0x1000, 2048));
        own.set_hidden(1 << 4);
        assert_eq!((own.stack(), own.hidden()), (Stack::new(0x1000, 2048), 1 << 4));
        assert_eq!(own.ours(), Stack::new(0x9000, 0x1000));
    }
}
