use crate::{Access, Cpu, Ip, Nanos, Skip, StackId, ThreadId};

/// The two kinds of sample, which are never mixed in one estimate. `burst` takes both, `translate` only [`Step`](Self::Step).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Population {
    /// The instruction just before the interrupted one. A timer lands behind slow instructions, so these samples are
    /// weighted by time: they find and rank contended accesses.
    LastInstruction = 0,
    /// An access that was drawn with known odds, whatever it costs, for populations and fractions. `burst` draws among
    /// the next instructions, as many steps on, or among their accesses; `translate` draws one of a period of accesses.
    Step = 1,
}

impl Population {
    /// The inverse of `self as u8`.
    pub const fn from_u8(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::LastInstruction),
            1 => Some(Self::Step),
            _ => None,
        }
    }
}

/// What a sample found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleOutcome {
    /// The instruction made this access.
    Access(Access),
    /// There is no address, for this reason. `Ip` is the sampled instruction if it is known, otherwise the
    /// interrupted one.
    Skipped(Ip, Skip),
}

/// One sample of one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The sampled thread.
    pub thread: ThreadId,
    /// When.
    pub time: Nanos,
    /// On which processor.
    pub cpu: Cpu,
    /// Which kind of sample.
    pub population: Population,
    /// 0 for the first memory operand of the instruction, 1 for the second, … Shares of samples count only part 0, so
    /// an instruction with two operands weighs as much as one with one.
    pub part: u8,
    /// The access, or why there is none.
    pub outcome: SampleOutcome,
    /// The call path, innermost frame first.
    pub stack: StackId,
    /// How often the period had been doubled when the sample was drawn: it stands for 2^`doublings` times what one of the
    /// recording's period does. 0 where the period is fixed.
    pub doublings: u8,
}

impl Sample {
    /// The largest number of doublings.
    pub const MOST_DOUBLINGS: u8 = 16;

    /// The number of samples of the recording's period that this one stands for.
    pub fn periods(&self) -> f64 {
        f64::from(1_u32 << self.doublings.min(Self::MOST_DOUBLINGS))
    }
}

/// How sharing was noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Via {
    /// The sampled line was on the bulletin board.
    Lookup = 0,
    /// The published line was watched, by debug registers or by translated code, and touched.
    Watchpoint = 1,
}

impl Via {
    /// The inverse of `self as u8`.
    pub const fn from_u8(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::Lookup),
            1 => Some(Self::Watchpoint),
            _ => None,
        }
    }
}

/// Whether the two accesses touch common bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum SharingClass {
    /// They overlap: the threads exchange data.
    True = 0,
    /// They only share the line.
    False = 1,
}

impl SharingClass {
    /// The inverse of `self as u8`.
    pub const fn from_u8(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::True),
            1 => Some(Self::False),
            _ => None,
        }
    }
}

/// The published write that a later access of another thread touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EarlierWrite {
    /// The thread that wrote.
    pub thread: ThreadId,
    /// When it was published.
    pub time: Nanos,
    /// From which processor.
    pub cpu: Cpu,
    /// The write.
    pub access: Access,
    /// The writer's call path.
    pub stack: StackId,
}

/// One thread touched a line that another had written: the unit of every communication matrix.
///
/// The direction is from `earlier` to `thread`. It is a read-after-write if `later` only loads, otherwise a
/// write-after-write. A write-after-read shows as the other thread's read-after-write (ComDetective 3.1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SharingEvent {
    /// The thread that noticed.
    pub thread: ThreadId,
    /// When it noticed.
    pub time: Nanos,
    /// On which processor.
    pub cpu: Cpu,
    /// The kind of sample that led to it.
    pub population: Population,
    /// Board or watchpoint.
    pub via: Via,
    /// True or false sharing.
    pub class: SharingClass,
    /// The number of samples that it stands for: 1 for a look-up, line size over watched bytes for a watchpoint
    /// (ComDetective 3.3), times the weight with which the write was published.
    pub weight: f32,
    /// This thread's access. For a watchpoint whose instruction could not be recovered, `width` is that of the
    /// watched chunk and `exact` is false.
    pub later: Access,
    /// False where `later` is the watched chunk and not the access itself.
    pub exact: bool,
    /// The call path of `later`.
    pub stack: StackId,
    /// The other thread's earlier write.
    pub earlier: EarlierWrite,
}
