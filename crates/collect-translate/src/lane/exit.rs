//! Exits from the cache: the record that translated code leaves for the dispatcher.

/// Why code leaves the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Reason {
    /// To the code at `pc`, to which there was no link when this was written. `detail`: where the link goes.
    Link = 0,
    /// The countdown of a block is over. `detail`: its counter. `back`: the block itself, after the counter; 0 if it
    /// is to run in a copy.
    Sample,
    /// A hook in front of the instruction at `pc`. `detail`: its number.
    Hook,
    /// A system call at `pc` that concerns the translator.
    SystemCall,
    /// The instruction at `pc` must run in its own place. `detail`: where in the cache it would be.
    Instruction,
    /// A return to `Slots::target`, which the table does not have.
    Return,
    /// An indirect call, likewise.
    Call,
    /// An indirect jump, likewise.
    Jump,
    /// Native code continues in the cache, at `Slots::target`.
    Enter,
    /// A native function that was called from the cache has returned.
    Back,
    /// The thread's buffer has no room for the block at `pc`, at `back` in the cache, which was not counted yet.
    Full,
    /// The block at `pc` is to be watched, and has no translation for that yet. `back`: the block itself.
    Switch,
}

impl Reason {
    /// How many there are.
    pub const COUNT: usize = Self::Switch as usize + 1;

    /// Whether signals are only deferred on the way to the dispatcher, which saves two system calls: where it does nothing that changes
    /// the mask or that takes long. It blocks them later if it has to ([`block_signals`]).
    ///
    /// [`block_signals`]: crate::threads::thread::Thread::block_signals
    pub const fn defers(self) -> bool {
        // There is one for each reason.
        Self::BLOCKS[self as usize] == 0
    }

    /// By reason: whether they are blocked, 1 or 0.
    pub const BLOCKS: [u64; Self::COUNT] = {
        let mut blocks = [1; Self::COUNT];
        let deferring =
            [Self::Link, Self::Sample, Self::Hook, Self::Return, Self::Call, Self::Jump, Self::Switch];
        let mut index = 0;
        while index < deferring.len() {
            blocks[deferring[index] as usize] = 0;
            index += 1;
        }
        blocks
    };
}

/// One exit. Lies in the cold part in front of its code, or in `passages`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Exit {
    /// The reason.
    pub reason: Reason,
    /// Depends on the reason.
    pub detail: u64,
    /// The original address that the exit stands for.
    pub pc: u64,
    /// Where the thread continues in the cache, for exits that come back.
    pub back: u64,
}

impl Exit {
    /// The bytes in memory.
    pub fn bytes(&self) -> [u8; size_of::<Self>()] {
        let mut bytes = [0; size_of::<Self>()];
        let words = [self.reason as u64, self.detail, self.pc, self.back];
        for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }
}
