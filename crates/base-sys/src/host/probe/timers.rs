//! Timers that interrupt a thread: three kinds, best first.

use super::{
    denial, needs_perf,
    support::{Finding, Remedy, Support, no, unknown},
    trial::{DeliveryKind, Outcome},
    tried::Tried,
};
use crate::{SysError, host::machine::Machine};

pub(super) fn timers(machine: &Machine, tried: &Tried, perf: &Support) -> [Finding; 3] {
    let [by_trap, by_signal, by_clock] = tried.timers;
    let on_perf = |outcome, judge: fn(&Machine, Outcome) -> Support| match (perf, outcome) {
        (Support::No { .. } | Support::Unknown { .. }, _) => needs_perf(perf),
        (Support::Yes, Ok(outcome)) => judge(machine, outcome),
        (Support::Yes, Err(error)) => failed(error),
    };
    let posix_support = by_clock.map_or_else(failed, posix);
    let rate = machine.tick_hz.filter(|_| posix_support == Support::Yes);
    [
        Finding {
            id: "timer-sigtrap",
            title: "perf timer, synchronous traps",
            support: on_perf(by_trap, sigtrap),
            note: None,
        },
        Finding {
            id: "timer-setsig",
            title: "perf timer, F_SETSIG signals",
            support: on_perf(by_signal, setsig),
            note: None,
        },
        Finding {
            id: "timer-posix",
            title: "POSIX CPU timers",
            support: posix_support,
            note: rate.map(|hz| format!("at most {hz} samples per second and thread")),
        },
    ]
}

fn failed(error: SysError) -> Support {
    unknown(error.to_string())
}

fn sigtrap(machine: &Machine, outcome: Outcome) -> Support {
    let kernel = machine.kernel.short();
    match outcome {
        Outcome::Worked => Support::Yes,
        Outcome::Killed(libc::SIGTRAP) => no(
            format!(
                "{kernel} kills a program that blocks SIGTRAP when a trap arrives; Linux 5.18 and later wait"
            ),
            Remedy::words("update the kernel to 5.18 or later; until then F_SETSIG serves"),
        ),
        Outcome::Refused(libc::EINVAL | libc::E2BIG) => no(
            match machine.kernel.at_least(5, 13) {
                Some(true) => {
                    format!("{kernel} refuses synchronous traps for perf events, which it should know")
                }
                _ => format!("{kernel} has no synchronous traps for perf events; they came with 5.13"),
            },
            Remedy::words("update the kernel to 5.18 or later; until then F_SETSIG serves"),
        ),
        outcome => perf_timer(machine, outcome),
    }
}

fn setsig(machine: &Machine, outcome: Outcome) -> Support {
    match outcome {
        Outcome::Worked => Support::Yes,
        outcome => perf_timer(machine, outcome),
    }
}

fn perf_timer(machine: &Machine, outcome: Outcome) -> Support {
    match outcome {
        Outcome::Worked => Support::Yes,
        Outcome::Silent => {
            no("the timer can be set, but its signal never comes; an emulated kernel does so", None)
        }
        Outcome::Refused(libc::ENOENT) => no("this kernel has no task-clock event", None),
        Outcome::Refused(errno) => denial::refusal(machine, errno),
        Outcome::Killed(signal) => unknown(format!("the trial was killed by signal {signal}")),
    }
}

fn posix(outcome: Outcome) -> Support {
    match outcome {
        Outcome::Worked => Support::Yes,
        Outcome::Silent => {
            no("the timer can be set, but its signal never comes; an emulated kernel does so", None)
        }
        Outcome::Refused(libc::EAGAIN) => no(
            "the limit on pending signals is used up, and every timer counts against it",
            Remedy::run("raises the limit for this shell", "sudo prlimit --sigpending=32768 --pid $$"),
        ),
        Outcome::Refused(libc::EPERM | libc::ENOSYS) => no(
            "timer_create is denied by a sandbox, or the kernel is without CONFIG_POSIX_TIMERS",
            Remedy::words("run outside the sandbox"),
        ),
        Outcome::Killed(libc::SIGSYS) => {
            no("a seccomp filter kills for timer_create", Remedy::words("run outside the sandbox"))
        }
        Outcome::Refused(errno) => unknown(SysError { call: "timer_create", errno }.to_string()),
        Outcome::Killed(signal) => unknown(format!("the trial was killed by signal {signal}")),
    }
}

impl DeliveryKind {
    /// A few words for sentences.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Sigtrap => "synchronous traps",
            Self::Setsig => "F_SETSIG signals",
            Self::PosixTimer => "POSIX CPU timers",
        }
    }

    /// The effect of this way of interrupting on the numbers. A clause without a full stop.
    pub fn costs(self, tick_hz: Option<u32>) -> String {
        match self {
            Self::Sigtrap => "samples as often as the budget allows, and watchpoints that stop right after the \
                              access that they caught"
                .into(),
            Self::Setsig => "samples as often as the budget allows, but a signal may come some instructions late: \
                             the catching access is then named less precisely, and several hits may melt into one"
                .into(),
            Self::PosixTimer => {
                let most = tick_hz.map_or("as many as the kernel's clock ticks".into(), |hz| format!("{hz}"));
                format!(
                    "at most {most} samples per second and thread, and no watchpoints: coarse, needs longer runs, \
                     and misses lines that bounce rarely"
                )
            }
        }
    }
}
