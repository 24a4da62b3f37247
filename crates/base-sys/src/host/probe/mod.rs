//! What this machine and this user can do: facts in, reasons and remedies out.
//!
//! [`Facts`] are gathered by reading ([`crate::host::machine`]) and by doing ([`Tried`]). Everything behind them is a pure
//! function, so every cause is tested without its machine. Sources: perf_event_open(2), ptrace(2), and the kernel's
//! `Documentation/admin-guide/sysctl/kernel.rst`.

mod cache;
mod choice;
mod denial;
mod pmu;
mod process;
mod remembered;
mod support;
#[cfg(test)]
mod tests;
mod timers;
mod translate;
mod trial;
mod tried;
mod watch;

pub use cache::Limits;
pub use choice::{BurstChoice, choose_burst_delivery, why_no_watchpoints};
pub use support::{Finding, Remedy, Support};
pub use trial::{DeliveryKind, Outcome, Trial, attempt};
pub use tried::{Slots, Tried};

use crate::host::machine::Machine;
use remembered::Remembered;

/// Everything that the decisions rest on.
#[derive(Clone, Debug)]
pub struct Facts {
    /// What was read.
    pub machine: Machine,
    /// What was tried.
    pub tried: Tried,
}

impl Facts {
    /// Of this machine and this process. Takes some milliseconds.
    pub fn here() -> Self {
        Self { machine: Machine::here(), tried: Tried::here() }
    }

    /// Examines just enough for [`choose_burst_delivery`]. What worked since the machine was started is not tried again.
    pub fn to_choose() -> Self {
        let machine = Machine::without_caches();
        let remembered = Remembered::here(&machine);
        let tried = remembered.as_ref().and_then(Remembered::recall).unwrap_or_else(|| {
            let tried = Tried::until_one_works();
            remembered.iter().for_each(|remembered| remembered.note(&tried));
            tried
        });
        Self { machine, tried }
    }
}

/// One finding per facility.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probes {
    /// perf_event_open can be called.
    pub perf: Finding,
    /// Timers, in the order of [`DeliveryKind::ALL`].
    pub timers: [Finding; 3],
    /// Debug registers watch memory.
    pub watchpoints: Finding,
    /// How many watchpoints a thread can hold.
    pub slots: u32,
    /// Cycles can be counted.
    pub counters: Finding,
    /// Hardware samples memory accesses.
    pub memory_sampling: Finding,
    /// Children can be traced.
    pub ptrace: Finding,
    /// process_vm_readv works on the own process.
    pub own_memory: Finding,
    /// The FS and GS bases are accessible.
    pub thread_base: Finding,
    /// No shadow stack checks returns.
    pub free_returns: Finding,
    /// Files in memory can be mapped executable.
    pub executable_memory: Finding,
    /// Room for a code cache.
    pub address_space: Finding,
    /// The `translate` engine can run programs.
    pub translate: Support,
    /// Enough file descriptors.
    pub descriptors: Finding,
    /// Room for a profile.
    pub space: Finding,
    /// Clock interrupts per second: the limit on POSIX timers.
    pub tick_hz: Option<u32>,
    /// The kernel, for sentences.
    pub kernel: String,
}

impl Probes {
    /// What follows from the facts.
    pub fn judge(facts: &Facts) -> Self {
        let Facts { machine, tried } = facts;
        let perf = perf(machine, tried);
        let counters = pmu::counters(machine, tried, &perf.support);
        let thread_base = process::thread_base(machine);
        let free_returns = translate::free_returns(machine);
        let executable_memory = translate::executable_memory(machine, tried);
        let address_space = translate::address_space(tried);
        Self {
            timers: timers::timers(machine, tried, &perf.support),
            watchpoints: watch::watchpoints(machine, tried, &perf.support),
            slots: tried.slots.opened,
            memory_sampling: pmu::memory(machine, &counters),
            counters,
            ptrace: process::ptrace(machine, tried),
            own_memory: process::own_memory(machine, tried),
            translate: translate::translate([
                &thread_base,
                &free_returns,
                &executable_memory,
                &address_space,
            ]),
            thread_base,
            free_returns,
            executable_memory,
            address_space,
            descriptors: process::descriptors(machine),
            space: process::space(tried),
            tick_hz: machine.tick_hz,
            kernel: machine.kernel.short(),
            perf,
        }
    }

    /// The finding for a kind of timer.
    pub fn timer(&self, kind: DeliveryKind) -> &Finding {
        let [sigtrap, setsig, posix] = &self.timers;
        match kind {
            DeliveryKind::Sigtrap => sigtrap,
            DeliveryKind::Setsig => setsig,
            DeliveryKind::PosixTimer => posix,
        }
    }

    /// All findings, in the order of a report: what `burst` needs, what `translate` needs, what all
    /// need, what `pmu` needs, the rest.
    pub fn all(&self) -> impl Iterator<Item = &Finding> {
        let rest = [
            &self.watchpoints,
            &self.own_memory,
            &self.thread_base,
            &self.free_returns,
            &self.executable_memory,
            &self.address_space,
            &self.descriptors,
            &self.space,
            &self.counters,
            &self.memory_sampling,
            &self.ptrace,
        ];
        std::iter::once(&self.perf).chain(&self.timers).chain(rest)
    }
}

fn perf(machine: &Machine, tried: &Tried) -> Finding {
    let support = match tried.reach {
        Ok(Outcome::Refused(libc::EFAULT)) => allowed(machine, tried),
        Ok(Outcome::Refused(errno)) => denial::refusal(machine, errno),
        Ok(Outcome::Killed(libc::SIGSYS)) => denial::filtered(machine, "kills for"),
        Ok(outcome) => {
            support::unknown(format!("an unexpected answer to an empty perf_event_open: {outcome:?}"))
        }
        Err(error) => support::unknown(error.to_string()),
    };
    let note = machine.settings.perf_event_paranoid.map(|level| {
        let exempt = if machine.privilege.perfmon() { ", from which this user is exempt" } else { "" };
        format!("kernel.perf_event_paranoid is {level}{exempt}")
    });
    let note = note.filter(|_| support == Support::Yes);
    Finding { id: "perf-events", title: "perf_event_open", support, note }
}

/// The call is there. The paranoid level only shows when an event is opened: where no perf timer could be, for
/// want of permission, perf events are denied.
fn allowed(machine: &Machine, tried: &Tried) -> Support {
    let [sigtrap, setsig, _] = tried.timers;
    match (sigtrap, setsig) {
        (Ok(Outcome::Refused(_)), Ok(Outcome::Refused(errno @ (libc::EACCES | libc::EPERM)))) => {
            denial::refusal(machine, errno)
        }
        _ => Support::Yes,
    }
}

/// The verdict on facilities that need perf events where there are none: the cause is stated once, above.
fn needs_perf(perf: &Support) -> Support {
    match perf {
        Support::Unknown { .. } => support::unknown("needs perf_event_open, of which nothing is known"),
        _ => support::no("needs perf_event_open, see there", None),
    }
}
