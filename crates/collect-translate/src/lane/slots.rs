//! What a translated thread keeps within reach of its code: behind GS.

use std::mem::offset_of;

use super::registers::Gpr;

/// The words at a thread's GS base. Their offsets are compiled into translated code and into `passages`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Slots {
    /// The GS base itself, for code that needs a plain address.
    pub this: u64,
    /// Values of registers that added code has borrowed.
    pub scratch: [u64; 6],
    /// The target of exits: `arrive::dispatch`.
    pub dispatch: u64,
    /// Top of the engine's stack for this thread.
    pub stack: u64,
    /// Where the thread continues: in the cache, or in native code.
    pub next: u64,
    /// The program's registers at an exit, by hardware number.
    pub regs: [u64; 16],
    /// The program's flags at an exit.
    pub flags: u64,
    /// The `Exit` that was taken.
    pub exit: u64,
    /// The original address of an indirect transfer's target that was not found.
    pub target: u64,
    /// The area for vector registers, 64-byte aligned.
    pub vectors: u64,
    /// 1 if it holds all of them while the dispatcher runs (`threads::vectors`), 0 if only XMM0 to XMM15.
    pub whole: u64,
    /// The program's signal mask, while the kernel blocks all signals.
    pub mask: u64,
    /// 1 while the kernel blocks all signals for the dispatcher.
    pub blocked: u64,
    /// 1 while signals that arrive are deferred (`signal::defer`).
    pub defers: u64,
    /// The signal that was deferred, 0 for none, with its frame and the handler that the kernel had called.
    pub deferred: u64,
    pub deferred_frame: u64,
    pub deferred_to: u64,
    /// Where the way out of the dispatcher goes if a signal was deferred: `signal::defer::deliver`.
    pub deliver: u64,
    /// The `Thread`.
    pub thread: u64,
    /// The original address that corresponds to `next`.
    pub pc: u64,
    /// Where the thread continues after a signal handler, and the corresponding original address.
    pub resume: u64,
    pub resume_pc: u64,
    /// Where the next entry of the thread's buffer goes: bytes relative to the buffer's end, so never positive.
    pub position: i64,
    /// The position after which a record begins with a stamp (`records`).
    pub stamp_at: i64,
    /// RAX, RCX and RDX, while a stamp is written.
    pub stamping: [u64; 3],
    /// The address of the access that is looked up among watched places.
    pub looked_up: u64,
    /// Where code goes when the first look-up finds something: `exact::look_up_exactly`.
    pub look_up_exactly: u64,
    /// 1 from the entry of the dispatcher to its exit, where the engine makes system calls; otherwise 0.
    pub inside: u64,
    /// Where the native function was called from that is running when the process steps aside.
    pub called_from: u64,
    /// The address of the timed load, and the lower halves of the time before and after it (`timing`).
    pub timed_address: u64,
    pub times: [u32; 2],
}

/// One of the words that hold the values of borrowed registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scratch {
    A,
    B,
    C,
    /// For registers that are spilled across instructions: the one with the buffer's position, the one with
    /// addresses.
    P,
    T,
    /// For the register that holds a counter inside a loop.
    L,
}

impl Scratch {
    /// Relative to GS.
    pub const fn offset(self) -> u32 {
        offset_of!(Slots, scratch) as u32 + 8 * self as u32
    }
}

/// The position in the thread's buffer, relative to GS.
pub const POSITION: u32 = offset_of!(Slots, position) as u32;

/// The position after which a stamp is due, relative to GS.
pub const STAMP_AT: u32 = offset_of!(Slots, stamp_at) as u32;

/// The registers that are saved while a stamp is written, and where, relative to GS.
pub const STAMPING: [(Gpr, u32); 3] = {
    let first = offset_of!(Slots, stamping) as u32;
    [(Gpr::RAX, first), (Gpr::RCX, first + 8), (Gpr::RDX, first + 16)]
};

/// The address of the timed load, relative to GS, and the time before and after it, 32 bits each.
pub const TIMED_ADDRESS: u32 = offset_of!(Slots, timed_address) as u32;
pub const TIMES: u32 = offset_of!(Slots, times) as u32;
pub const TIMED_BEGIN: u32 = TIMES;
pub const TIMED_END: u32 = TIMES + 4;

/// The target of exits, relative to GS.
pub const DISPATCH: u32 = offset_of!(Slots, dispatch) as u32;

/// 1 while signals that arrive are deferred, relative to GS.
pub const DEFERS: u32 = offset_of!(Slots, defers) as u32;

/// The address of the access that is looked up among watched places, relative to GS.
pub const LOOKED_UP: u32 = offset_of!(Slots, looked_up) as u32;

/// Where code goes when the first look-up finds something, relative to GS.
pub const LOOK_UP_EXACTLY: u32 = offset_of!(Slots, look_up_exactly) as u32;

/// Where passages out of the dispatcher and out of signal handlers jump, relative to GS.
pub const NEXT: u32 = offset_of!(Slots, next) as u32;
pub const RESUME: u32 = offset_of!(Slots, resume) as u32;
