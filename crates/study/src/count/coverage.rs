use carom_store::{Leaves, ProcessInfo, ThreadInfo};

/// How much of the threads' CPU time the counts cover.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// CPU time during which everything was counted, in nanoseconds.
    pub translated_ns: u64,
    /// CPU time during which nothing was, in nanoseconds: native code, threads that were not counted at all, children that
    /// could not be profiled, and processes from when they stepped aside.
    pub native_ns: u64,
    /// Of `translated_ns`, the CPU time for which a timer found threads in native code all the same.
    pub unbooked_ns: u64,
    /// How often that timer has looked.
    pub ticks: u64,
    /// Counted threads that had no such timer, or not to their end.
    pub unwitnessed_threads: u64,
    /// Threads in which nothing was counted.
    pub uncounted_threads: u64,
    /// How often threads left the counted code, by reason, in the order of [`Leave::ALL`].
    pub leaves: Vec<(Leave, u64)>,
}

/// Why a thread left the counted code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Leave {
    /// Code that cannot be translated.
    ForeignCode,
    /// An instruction that is not translated.
    Instruction,
    /// A function that always runs natively.
    NativeCall,
    /// A new thread, until it reached translated code.
    ThreadStart,
    /// A signal in a place where the machine's state could not be mapped.
    SignalFrame,
    /// No room for more translated code.
    NoMemory,
    /// Counting ended before the thread did.
    Ended,
    /// The program uses GS itself.
    ProgramGs,
    /// The process stepped aside.
    SteppedAside,
    /// Anything else.
    Other,
}

impl Leave {
    /// All.
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
            Self::ProgramGs => "program-gs",
            Self::SteppedAside => "stepped-aside",
            Self::Other => "other",
        }
    }

    /// A few words for people.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::ForeignCode => "code made at run time, which is not translated",
            Self::Instruction => "an instruction that is not translated",
            Self::NativeCall => "a function of carom's agent",
            Self::ThreadStart => "the start of a thread",
            Self::SignalFrame => "a signal in native code",
            Self::NoMemory => "no room for more translated code",
            Self::Ended => "the end of counting",
            Self::ProgramGs => "the program's own use of GS",
            Self::SteppedAside => "carom stepping aside",
            Self::Other => "other reasons",
        }
    }

    const fn of(self, leaves: &Leaves) -> u64 {
        match self {
            Self::ForeignCode => leaves.foreign_code,
            Self::Instruction => leaves.instruction,
            Self::NativeCall => leaves.native_call,
            Self::ThreadStart => leaves.thread_start,
            Self::SignalFrame => leaves.signal_frame,
            Self::NoMemory => leaves.no_memory,
            Self::Ended => leaves.ended,
            Self::ProgramGs => leaves.program_gs,
            Self::SteppedAside => leaves.stepped_aside,
            Self::Other => leaves.other,
        }
    }
}

impl Coverage {
    pub(super) fn of<'a>(
        threads: impl Iterator<Item = &'a ThreadInfo>,
        processes: impl Iterator<Item = &'a ProcessInfo>,
    ) -> Self {
        let mut coverage = Self { leaves: Leave::ALL.map(|leave| (leave, 0)).into(), ..Self::default() };
        for thread in threads {
            let Some(counts) = &thread.counts else {
                coverage.uncounted_threads += 1;
                coverage.native_ns = coverage.native_ns.saturating_add(thread.cpu_ns);
                continue;
            };
            coverage.translated_ns = coverage.translated_ns.saturating_add(counts.translated_ns);
            coverage.native_ns = coverage.native_ns.saturating_add(counts.native_ns);
            coverage.unbooked_ns = coverage.unbooked_ns.saturating_add(counts.unbooked_ns);
            coverage.ticks = coverage.ticks.saturating_add(counts.ticks);
            coverage.unwitnessed_threads += u64::from(thread.counters.unwitnessed > 0);
            for (leave, times) in &mut coverage.leaves {
                *times = times.saturating_add(leave.of(&counts.leaves));
            }
        }
        for process in processes {
            let aside = process.aside.as_ref().map_or(0, |aside| aside.unseen_ns);
            coverage.native_ns =
                coverage.native_ns.saturating_add(aside).saturating_add(process.unprofiled_ns);
        }
        coverage
    }

    /// The part of all CPU time that is counted, 0 to 1, by the books or by their witness, whichever is less; `None` where no
    /// time was measured.
    pub fn fraction(&self) -> Option<f64> {
        let books = self.books()?;
        Some(self.witness().map_or(books, |witness| witness.min(books)))
    }

    /// That part by the engine's own books.
    pub fn books(&self) -> Option<f64> {
        self.part(self.translated_ns)
    }

    /// That part where time counts as native for which a timer found threads outside of counted code. `None` where it never
    /// looked.
    pub fn witness(&self) -> Option<f64> {
        (self.ticks > 0).then(|| self.part(self.translated_ns.saturating_sub(self.unbooked_ns))).flatten()
    }

    fn part(&self, counted_ns: u64) -> Option<f64> {
        let all = self.translated_ns as f64 + self.native_ns as f64;
        (all > 0.0).then(|| counted_ns as f64 / all)
    }
}
