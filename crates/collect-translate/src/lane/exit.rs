//! Exits from the cache: the record that an exit leaves for the dispatcher.

/// Why code leaves the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Reason {
    /// On to the code at `pc`, for which no link was there when this was written. `detail`: where the link goes.
    Link = 0,
    /// The countdown of a block is over. `detail`: its counter. `back`: the block itself, behind that; 0 where it is to run in
    /// a copy.
    Sample,
    /// Something is to be done in front of the instruction at `pc`. `detail`: which hook.
    Hook,
    /// The system call at `pc` is one that concerns us.
    SystemCall,
    /// The instruction at `pc` must run in its own place. `detail`: where in the cache it would be.
    Instruction,
    /// A return to `Slots::target`, which the table does not have.
    Return,
    /// An indirect call, likewise.
    Call,
    /// An indirect jump, likewise.
    Jump,
    /// Native code wants to go on in the cache, at `Slots::target`.
    Enter,
    /// A native function that was called from the cache has returned.
    Back,
    /// The thread's buffer has no room for the block at `pc`, at `back` in the cache, which was not counted yet.
    Full,
}

/// One exit. Lies in the cold half in front of its code, or in `passages`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Exit {
    /// A [`Reason`].
    pub reason: Reason,
    /// See [`Reason`].
    pub detail: u64,
    /// The original address that the exit stands for.
    pub pc: u64,
    /// Where the cache goes on, for exits that come back.
    pub back: u64,
}

impl Exit {
    /// As it lies in memory.
    pub fn bytes(&self) -> [u8; size_of::<Self>()] {
        let mut bytes = [0; size_of::<Self>()];
        let words = [self.reason as u64, self.detail, self.pc, self.back];
        for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }
}
