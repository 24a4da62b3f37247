//! Marks: from an address in the cache back to the original instruction, and to what added code has changed.
//!
//! Every cache address maps to an original address, and to what must be undone to have the program's registers in
//! front of that instruction. A mark takes about three bytes. Contexts of faults, timers and watchpoints are
//! translated back by them.

use crate::lane::registers::Gpr;

/// What must be undone to restore the program's state in front of the instruction at `pc`.
///
/// "In A" and so on: the register's value is in that `Scratch` word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Undo {
    /// Nothing: every register is the program's.
    Nothing = 0,
    /// RAX is in C.
    Rax,
    /// RAX is in C, the arithmetic flags in AX.
    Flags,
    /// The block at `pc` was counted although none of it has run.
    Counted,
    /// `Counted` and `Rax`.
    CountedRax,
    /// `Counted` and `Flags`.
    CountedFlags,
    /// A return is in progress: the true `pc` is in RSI, RSI's value in A, RCX's in B.
    Return,
    /// An indirect jump or call is in progress: the true `pc` is in R11; R11's value is in A, RCX's in B. In the ABI
    /// R11 is dead at a call, but hand-written code (x264's) calls its own functions by other rules.
    Jump,
    /// The repeated instruction at `pc` was counted with RCX iterations that it has still to make.
    Repeat,
    /// `Repeat` and `Rax`.
    RepeatRax,
    /// `Repeat` and `Flags`.
    RepeatFlags,
    /// The repeated instruction before `pc` ended RCX iterations early, which were counted.
    Spared,
    /// `Spared` and `Rax`.
    SparedRax,
    /// `Spared` and `Flags`.
    SparedFlags,
    /// The active lanes of the instruction at `pc` were counted, although it has still to run.
    Lanes,
    /// `Lanes` and `Rax`.
    LanesRax,
    /// `Lanes` and `Flags`.
    LanesFlags,
    /// On the way into a system call: its number is in RCX.
    NumberInRcx,
    /// Likewise, in R11.
    NumberInR11,
    /// An indirect call has loaded its target into R11; R11's value is in A.
    CallR11,
    /// The branch in front of `pc` was counted as taken and has fallen through.
    Fallen,
    /// `Fallen` and `Rax`.
    FallenRax,
    /// `Fallen` and `Flags`.
    FallenFlags,
    /// RAX's and RDX's values are in the spilled registers ([`Spilled::Two`]), whose own values are in their usual
    /// words.
    RaxAndRdx,
    /// The block's accesses up to and including the instruction at `pc` are in the thread's buffer
    /// ([`Spilled::Two`]), although that instruction has still to run.
    Streamed,
    /// A stamp is being written: RAX, RCX and RDX are in `Slots::stamping`.
    Stamp,
    /// `Stamp`; then RAX is in C, the arithmetic flags in AX.
    StampFlags,
    /// A branch has left its superblock for `pc`, which is still to be counted.
    Left,
    /// `Left` and `Rax`.
    LeftRax,
}

/// General registers that added code has borrowed across several instructions of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spilled {
    /// None.
    #[default]
    None,
    /// This one; its value is in `Scratch::T`.
    One(Gpr),
    /// The first holds the position in the thread's buffer, with its own value in `Scratch::P`; the second holds
    /// addresses, with its own value in `Scratch::T`. Unless marked [`Undo::Streamed`], the block's entries are not
    /// part of the buffer yet.
    Two(Gpr, Gpr),
}

impl Spilled {
    /// One byte, if not `None`: no register is spilled twice.
    const fn code(self) -> Option<u8> {
        match self {
            Self::None => None,
            Self::One(register) => Some(register.0 << 4 | register.0),
            Self::Two(position, address) => Some(position.0 << 4 | address.0),
        }
    }

    const fn decode(code: u8) -> Self {
        let (high, low) = (Gpr(code >> 4), Gpr(code & 15));
        if high.0 == low.0 { Self::One(low) } else { Self::Two(high, low) }
    }
}

impl Undo {
    const ALL: [Self; 29] = [
        Self::Nothing,
        Self::Rax,
        Self::Flags,
        Self::Counted,
        Self::CountedRax,
        Self::CountedFlags,
        Self::Return,
        Self::Jump,
        Self::Repeat,
        Self::RepeatRax,
        Self::RepeatFlags,
        Self::Spared,
        Self::SparedRax,
        Self::SparedFlags,
        Self::Lanes,
        Self::LanesRax,
        Self::LanesFlags,
        Self::NumberInRcx,
        Self::NumberInR11,
        Self::CallR11,
        Self::Fallen,
        Self::FallenRax,
        Self::FallenFlags,
        Self::RaxAndRdx,
        Self::Streamed,
        Self::Stamp,
        Self::StampFlags,
        Self::Left,
        Self::LeftRax,
    ];

    /// In an encoded mark: the spilled registers follow.
    const WITH_LENT: u8 = 0x80;
    /// Then the register with a counter.
    const WITH_COUNTER: u8 = 0x40;

    /// Whether RCX is a number of iterations that were counted but not made.
    pub const fn counts_iterations(self) -> bool {
        matches!(
            self,
            Self::Repeat
                | Self::RepeatRax
                | Self::RepeatFlags
                | Self::Spared
                | Self::SparedRax
                | Self::SparedFlags
        )
    }

    /// What must still be added to the number of taken branches.
    pub const fn branches_to_count(self) -> i64 {
        match self {
            Self::Fallen | Self::FallenRax | Self::FallenFlags => -1,
            _ => 0,
        }
    }

    /// Whether it is still to be counted that a superblock was left.
    pub const fn leaves_superblock(self) -> bool {
        matches!(self, Self::Left | Self::LeftRax)
    }

    /// Whether the lanes of an instruction were counted that has still to run.
    pub const fn counts_lanes(self) -> bool {
        matches!(self, Self::Lanes | Self::LanesRax | Self::LanesFlags)
    }
}

/// The state from one cache address to the next mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The cache address from which it holds.
    pub cache: u64,
    /// The original instruction.
    pub pc: u64,
    /// What must be undone.
    pub undo: Undo,
    /// The registers that are spilled in addition.
    pub spilled: Spilled,
    /// The register that holds the counter of the block that was counted last, with its own value in `Scratch::L`. What
    /// memory has of the counter is old.
    pub counting: Option<Gpr>,
}

/// The marks of a fragment in the making, in the order of cache addresses, as differences: about three bytes each.
#[derive(Debug)]
pub struct Marks {
    /// Addresses of the fragment.
    first: (u64, u64),
    /// Those of the last mark. No whole mark, whose small parts would be written one by one and read together at once, for which
    /// the processor waits.
    last: (u64, u64),
    encoded: Vec<u8>,
}

/// The marks of one fragment.
#[derive(Debug)]
pub struct Finished {
    cache: u64,
    pc: u64,
    encoded: Box<[u8]>,
}

impl Marks {
    /// For a fragment at `cache` made from the code at `pc`.
    pub fn new(cache: u64, pc: u64) -> Self {
        Self { first: (cache, pc), last: (cache, pc), encoded: Vec::new() }
    }

    /// The same, in the memory of an earlier one.
    pub fn reusing(cache: u64, pc: u64, mut encoded: Vec<u8>) -> Self {
        encoded.clear();
        Self { encoded, ..Self::new(cache, pc) }
    }

    /// From `cache` on, this state holds.
    pub fn push(&mut self, cache: u64, pc: u64, undo: Undo) {
        self.push_mark(Mark { cache, pc, undo, spilled: Spilled::None, counting: None });
    }

    /// The same, with registers borrowed.
    pub fn push_mark(&mut self, mark: Mark) {
        let (cache, pc) = self.last;
        self.unsigned(mark.cache.wrapping_sub(cache));
        let step = mark.pc.wrapping_sub(pc) as i64;
        // Zigzag: small numbers of either sign become small numbers.
        self.unsigned((step << 1 ^ step >> 63) as u64);
        let (spilled, counting) = (mark.spilled.code(), mark.counting.map(|register| register.0));
        let with = |code: Option<u8>, flag| code.map_or(0, |_| flag);
        self.encoded
            .push(mark.undo as u8 | with(spilled, Undo::WITH_LENT) | with(counting, Undo::WITH_COUNTER));
        self.encoded.extend(spilled.into_iter().chain(counting));
        self.last = (mark.cache, mark.pc);
    }

    /// The marks in no more memory than they need, and the memory in which they were made.
    pub fn finish(self) -> (Finished, Vec<u8>) {
        let (cache, pc) = self.first;
        (Finished { cache, pc, encoded: self.encoded.as_slice().into() }, self.encoded)
    }

    /// LEB128.
    fn unsigned(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.encoded.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.encoded.push(value as u8);
    }
}

impl Finished {
    const fn first(&self) -> Mark {
        let (cache, pc) = (self.cache, self.pc);
        Mark { cache, pc, undo: Undo::Nothing, spilled: Spilled::None, counting: None }
    }

    /// The state at `cache`; the first state if it lies before all marks.
    pub fn find(&self, cache: u64) -> Mark {
        self.iter().take_while(|mark| mark.cache <= cache).last().unwrap_or(self.first())
    }

    /// All marks.
    pub fn iter(&self) -> impl Iterator<Item = Mark> {
        let mut bytes = self.encoded.iter().copied();
        let mut mark = self.first();
        std::iter::from_fn(move || {
            mark.cache = mark.cache.wrapping_add(read_unsigned(&mut bytes)?);
            let step = read_unsigned(&mut bytes)?;
            mark.pc = mark.pc.wrapping_add(step >> 1 ^ (step & 1).wrapping_neg());
            let undo = bytes.next()?;
            mark.undo = *Undo::ALL.get(usize::from(undo & !(Undo::WITH_LENT | Undo::WITH_COUNTER)))?;
            mark.spilled =
                if undo & Undo::WITH_LENT == 0 { Spilled::None } else { Spilled::decode(bytes.next()?) };
            mark.counting = if undo & Undo::WITH_COUNTER == 0 { None } else { Some(Gpr(bytes.next()?)) };
            Some(mark)
        })
    }
}

fn read_unsigned(bytes: &mut impl Iterator<Item = u8>) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = bytes.next()?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn spilled() -> impl Strategy<Value = Spilled> {
        let two = (0u8..16, 0u8..16).prop_filter("two registers", |(a, b)| a != b);
        prop_oneof![
            Just(Spilled::None),
            (0u8..16).prop_map(|register| Spilled::One(Gpr(register))),
            two.prop_map(|(position, address)| Spilled::Two(Gpr(position), Gpr(address))),
        ]
    }

    proptest! {
        #[test]
        fn what_was_pushed_is_found(
            steps in prop::collection::vec(
                (0u64..300, any::<i32>(), 0..Undo::ALL.len(), spilled(), prop::option::of(0u8..16)),
                1..50,
            ),
        ) {
            let mut marks = Marks::new(0x1000, 0x5555_0000_0000);
            let (mut cache, mut pc) = (0x1000u64, 0x5555_0000_0000u64);
            let mut pushed = Vec::new();
            for (ahead, step, undo, spilled, counting) in steps {
                cache += ahead;
                pc = pc.wrapping_add(step as i64 as u64);
                let mark = Mark { cache, pc, undo: Undo::ALL[undo], spilled, counting: counting.map(Gpr) };
                marks.push_mark(mark);
                pushed.push(mark);
            }
            let (marks, _) = marks.finish();
            prop_assert_eq!(marks.iter().collect::<Vec<_>>(), pushed.clone());
            for wanted in pushed.iter().map(|mark| mark.cache) {
                let last = pushed.iter().rfind(|mark| mark.cache <= wanted).unwrap();
                prop_assert_eq!(marks.find(wanted), *last);
            }
        }
    }
}
