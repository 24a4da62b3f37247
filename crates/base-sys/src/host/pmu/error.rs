use crate::{error::SysError, host::pfm::PfmError};

/// Why an event of a PMU is not counted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PmuError {
    /// It is no name of one.
    #[error("{0:?} names no event of a PMU: PMU/EVENT/, PMU/event=0xc0,umask=0x01/u or MODEL::EVENT:MASK")]
    Form(String),
    /// There is no such PMU.
    #[error(
        "{name}: this machine has no PMU {pmu:?}; it has {known} (`carom doctor` says whether something hides the processor's)"
    )]
    NoPmu {
        /// As it was asked for.
        name: String,
        /// The PMU.
        pmu: String,
        /// Those that there are.
        known: String,
    },
    /// The PMU has no such event and no such field.
    #[error("{name}: {pmu} has no event or field {term:?}; it has {known}")]
    NoTerm {
        /// As it was asked for.
        name: String,
        /// The PMU.
        pmu: String,
        /// The event or field.
        term: String,
        /// Those that there are.
        known: String,
    },
    /// A value is missing, is no number, or is larger than its field.
    #[error("{name}: {term:?} needs a number from 0 to {most:#x}")]
    Value {
        /// As it was asked for.
        name: String,
        /// The field.
        term: String,
        /// The largest.
        most: u64,
    },
    /// Only `u`, `k` and `h` stand behind an event.
    #[error("{name}: {modifier:?} is no modifier: u (user mode), k (kernel) and h (hypervisor) are")]
    Modifier {
        /// As it was asked for.
        name: String,
        /// The letter.
        modifier: char,
    },
    /// It is a state, not a count.
    #[error("{0}: this event is a level that the kernel reads now and then, not a count: perf stat reads it")]
    Level(String),
    /// The event is one of another processor.
    #[error(
        "{name}: {model} is not this machine's PMU, so that its events are only listed (--list --pmu {model}); here {known}"
    )]
    Elsewhere {
        /// As it was asked for.
        name: String,
        /// The model.
        model: String,
        /// What libpfm finds here.
        known: String,
    },
    /// libpfm does not know it.
    #[error(transparent)]
    Pfm(#[from] PfmError),
    /// The kernel does not count it.
    #[error("{name} is not counted, since {source}: {}", remedy(*source, *of_machine))]
    Refused {
        /// As it was asked for.
        name: String,
        /// How the kernel refused.
        source: SysError,
        /// Whether it counts the whole machine.
        of_machine: bool,
    },
    /// It may be counted, and no counter is free.
    #[error(
        "{0} is not counted, since no counter of its PMU is free: end other profilers, and as root, `sysctl kernel.nmi_watchdog=0`"
    )]
    NoCounter(String),
}

/// What helps against the kernel's refusal.
const fn remedy(refused: SysError, of_machine: bool) -> &'static str {
    match refused.errno {
        libc::EACCES | libc::EPERM if of_machine => {
            "it counts the whole machine: run carom as root, or allow it: as root, `sysctl kernel.perf_event_paranoid=0`"
        }
        libc::EACCES | libc::EPERM => {
            "count user mode alone (u behind the event), run carom as root, or allow it: as root, \
             `sysctl kernel.perf_event_paranoid=1`"
        }
        libc::EMFILE | libc::ENFILE => "too many files are open: ask for fewer events, or raise `ulimit -n`",
        libc::EINVAL => "its PMU cannot count this: leave out u, k or h, and correct its fields",
        _ => "this machine's PMU does not have it; `carom doctor` says what hides it, where something does",
    }
}
