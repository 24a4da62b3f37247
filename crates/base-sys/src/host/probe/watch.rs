//! Watchpoints: four debug registers per thread on x86, shared with debuggers.

use super::{
    denial, needs_perf,
    support::{Finding, Remedy, Support, no, unknown},
    trial::Outcome,
    tried::{Slots, Tried},
};
use crate::host::machine::Machine;

pub(super) fn watchpoints(machine: &Machine, tried: &Tried, perf: &Support) -> Finding {
    let support = match perf {
        Support::No { .. } | Support::Unknown { .. } => needs_perf(perf),
        Support::Yes => watch(machine, tried),
    };
    let Slots { opened, .. } = tried.slots;
    let note = (support == Support::Yes).then(|| match Slots::MOST.saturating_sub(opened) {
        0 => format!("{opened} per thread"),
        taken => {
            let whose = match machine.privilege.tracer {
                0 => "by something that watches whole CPUs".to_owned(),
                tracer => format!("by the debugger that traces this process (process {tracer}); detach it"),
            };
            format!("only {opened} of {} per thread: {taken} are taken, {whose}", Slots::MOST)
        }
    });
    Finding { id: "watchpoints", title: "hardware watchpoints", support, note }
}

fn watch(machine: &Machine, tried: &Tried) -> Support {
    if tried.slots.opened == 0 {
        return match tried.slots.stopped.map(|error| error.errno) {
            Some(libc::ENOSPC) => taken(machine),
            Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP) => {
                no("the kernel is without hardware breakpoints (CONFIG_HAVE_HW_BREAKPOINT)", None)
            }
            Some(errno) => denial::refusal(machine, errno),
            None => unknown("none was tried"),
        };
    }
    match tried.watchpoint {
        Ok(Outcome::Worked) => Support::Yes,
        Ok(Outcome::Silent) => {
            let who = machine
                .hypervisor
                .as_ref()
                .map_or("this machine".into(), |h| format!("the hypervisor, {h},"));
            no(
                format!("they can be set but never fire: {who} does not carry out debug registers"),
                Remedy::words("run elsewhere; sampling alone still works"),
            )
        }
        Ok(Outcome::Killed(libc::SIGTRAP)) => no(
            "a hit kills a program that blocks SIGTRAP",
            Remedy::words("update the kernel to 5.18 or later"),
        ),
        // The child of the trial had none left while this process had: they changed hands in between.
        Ok(Outcome::Refused(libc::ENOSPC)) => taken(machine),
        Ok(Outcome::Refused(errno)) => denial::refusal(machine, errno),
        Ok(Outcome::Killed(signal)) => unknown(format!("the trial was killed by signal {signal}")),
        Err(error) => unknown(error.to_string()),
    }
}

fn taken(machine: &Machine) -> Support {
    match machine.privilege.tracer {
        0 => no(
            "all debug registers are taken by something that watches whole CPUs, such as a kernel debugger or \
             `perf record -a -e mem:…`",
            Remedy::words("stop it"),
        ),
        tracer => no(
            format!(
                "all debug registers are taken by the debugger that traces this process (process {tracer})"
            ),
            Remedy::words("delete its hardware watchpoints, or detach it (gdb: `detach`)"),
        ),
    }
}
