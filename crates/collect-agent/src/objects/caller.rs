//! Where an allocator was called, and what can be read from there of the frames further out.

/// Where an allocator was called: the registers as its caller will have them back.
#[derive(Clone, Copy, Debug)]
pub struct Caller {
    /// The return address, in the calling function.
    pub ip: u64,
    /// The stack pointer once the call has returned.
    pub sp: u64,
    /// RBP.
    pub fp: u64,
}

/// A word that tells something of a call path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place(u32);

impl Place {
    /// Not in memory, but in RBP.
    const IN_RBP: u32 = 1;
    /// The word is an address on the stack, and its value is the distance from the caller's stack pointer.
    const RELATIVE: u32 = 2;
    /// The bits of these; the others are the distance of the word from the caller's stack pointer.
    const FLAGS: u32 = 7;

    /// The frame pointer in RBP.
    pub const FRAME_POINTER: Self = Self(Self::IN_RBP | Self::RELATIVE);

    /// The word `distance` bytes above the caller's stack pointer. `None` for one that is not aligned, or too far.
    pub fn above(distance: u64) -> Option<Self> {
        let distance = u32::try_from(distance).ok()?;
        (distance & Self::FLAGS == 0).then_some(Self(distance))
    }

    /// The same word, taken as a frame pointer that was saved there.
    pub const fn saved(self) -> Self {
        Self(self.0 | Self::RELATIVE)
    }

    /// What is there.
    ///
    /// # Safety
    /// It lies in the frames of the functions that have called the allocator.
    #[inline(always)]
    pub unsafe fn read(self, caller: &Caller) -> u64 {
        let word = if self.0 & Self::IN_RBP != 0 {
            caller.fp
        } else {
            let address = caller.sp.wrapping_add(u64::from(self.0 & !Self::FLAGS));
            // SAFETY: the caller vouches for it.
            unsafe { (address as *const u64).read() }
        };
        if self.0 & Self::RELATIVE != 0 { word.wrapping_sub(caller.sp) } else { word }
    }
}

/// A place with what is there on a certain path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    pub place: Place,
    pub value: u64,
}
