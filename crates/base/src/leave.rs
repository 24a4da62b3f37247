/// Why a thread left the code cache for native code, in which nothing is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(usize)]
pub enum Leave {
    /// Code that is not translated: made at run time, or in memory that is writable or of no file.
    ForeignCode = 0,
    /// An instruction that must run in its own place.
    Instruction = 1,
    /// A function that always runs natively: the agent's own hooks, and the functions that they call.
    NativeCall = 2,
    /// A new thread, until it reached translated code; also a child that shares the memory of the process.
    ThreadStart = 3,
    /// A signal whose frame could not be translated between the cache and the original code.
    SignalFrame = 4,
    /// No room for more translated code or counters.
    NoMemory = 5,
    /// Counting ended before the thread did.
    Ended = 6,
    /// Anything else.
    Other = 7,
    /// The program uses GS itself: the thread does not come back.
    ProgramGs = 8,
    /// The process stepped aside, in this thread, and does not come back.
    SteppedAside = 9,
}

impl Leave {
    /// How many there are.
    pub const COUNT: usize = Self::ALL.len();

    /// All, in the order of reports.
    pub const ALL: [Self; 10] = [
        Self::ForeignCode,
        Self::Instruction,
        Self::NativeCall,
        Self::ThreadStart,
        Self::SignalFrame,
        Self::NoMemory,
        Self::Ended,
        Self::ProgramGs,
        Self::SteppedAside,
        Self::Other,
    ];

    /// The stable name, in kebab case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ForeignCode => "foreign-code",
            Self::Instruction => "instruction",
            Self::NativeCall => "native-call",
            Self::ThreadStart => "thread-start",
            Self::SignalFrame => "signal-frame",
            Self::NoMemory => "no-memory",
            Self::Ended => "ended",
            Self::Other => "other",
            Self::ProgramGs => "program-gs",
            Self::SteppedAside => "stepped-aside",
        }
    }

    /// A few words for reports.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::ForeignCode => "code made at run time, which is not translated",
            Self::Instruction => "an instruction that is not translated",
            Self::NativeCall => "a function of carom's agent",
            Self::ThreadStart => "thread start",
            Self::SignalFrame => "a signal in native code",
            Self::NoMemory => "no room for more translated code",
            Self::Ended => "the end of counting",
            Self::Other => "other reasons",
            Self::ProgramGs => "the program's own use of GS",
            Self::SteppedAside => "carom stepping aside",
        }
    }
}
