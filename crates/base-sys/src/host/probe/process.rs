//! What a process may do beside perf events, and how much room it has.

use super::{
    support::{Finding, Remedy, Support, no, unknown},
    trial::Outcome,
    tried::{Slots, Tried},
};
use crate::{
    SysError,
    host::machine::{Machine, Seccomp},
};

pub(super) fn ptrace(machine: &Machine, tried: &Tried) -> Finding {
    let support = match tried.ptrace {
        Ok(Outcome::Worked) => Support::Yes,
        Ok(Outcome::Refused(libc::EPERM | libc::EACCES)) => untraceable(machine),
        Ok(Outcome::Refused(errno)) => unknown(SysError { call: "ptrace", errno }.to_string()),
        Ok(outcome) => unknown(format!("an unexpected answer: {outcome:?}")),
        Err(error) => unknown(error.to_string()),
    };
    Finding { id: "ptrace", title: "ptrace of children", support, note: None }
}

fn untraceable(machine: &Machine) -> Support {
    match machine.settings.ptrace_scope {
        Some(3) => no(
            "kernel.yama.ptrace_scope is 3: nobody may trace anything until the next boot",
            Remedy::words("reboot"),
        ),
        Some(2) if !machine.privilege.sys_ptrace() => no(
            "kernel.yama.ptrace_scope is 2: only users with CAP_SYS_PTRACE may trace",
            Remedy::run("as root", "sudo sysctl kernel.yama.ptrace_scope=1"),
        ),
        _ if machine.privilege.seccomp == Seccomp::Filter => no(
            "a seccomp filter denies ptrace",
            Remedy::words("containers: start with `--cap-add SYS_PTRACE`; else run outside the sandbox"),
        ),
        _ => no("a security module denies ptrace", Remedy::words("allow it in its policy")),
    }
}

pub(super) fn own_memory(machine: &Machine, tried: &Tried) -> Finding {
    let support = match tried.own_memory {
        Ok(Outcome::Worked) => Support::Yes,
        Ok(Outcome::Refused(libc::EPERM | libc::ENOSYS) | Outcome::Killed(libc::SIGSYS))
            if machine.privilege.seccomp == Seccomp::Filter =>
        {
            no(
                "a seccomp filter denies process_vm_readv",
                Remedy::words("containers: start with `--cap-add SYS_PTRACE`; else run outside the sandbox"),
            )
        }
        Ok(Outcome::Refused(libc::ENOSYS)) => {
            no("the kernel is without process_vm_readv (CONFIG_CROSS_MEMORY_ATTACH)", None)
        }
        Ok(Outcome::Refused(errno)) => unknown(SysError { call: "process_vm_readv", errno }.to_string()),
        Ok(outcome) => unknown(format!("an unexpected answer: {outcome:?}")),
        Err(error) => unknown(error.to_string()),
    };
    Finding { id: "own-memory", title: "process_vm_readv on itself", support, note: None }
}

pub(super) fn thread_base(machine: &Machine) -> Finding {
    let support = match machine.cpu.fsgsbase {
        Some(true) => Support::Yes,
        Some(false) => no(
            "the processor, or a kernel before 5.9 or with `nofsgsbase`, does not let programs use the FS and GS \
             bases, by which `translate` finds a thread's state",
            Remedy::words(match machine.kernel.at_least(5, 9) {
                Some(false) => "update the kernel to 5.9 or later; until then `burst` serves",
                _ => "boot without `nofsgsbase`, on a processor of 2012 or later; until then `burst` serves",
            }),
        ),
        None => unknown("/proc/self/auxv cannot be read"),
    };
    Finding { id: "thread-base", title: "FSGSBASE instructions", support, note: None }
}

pub(super) fn descriptors(machine: &Machine) -> Finding {
    /// A timer and the watchpoints.
    const PER_THREAD: u64 = 1 + Slots::MOST as u64;
    /// Fewer threads than this is a limit that ordinary programs meet.
    const FEW_THREADS: u64 = 100;
    let threads = machine.privilege.descriptors.map(|limit| limit / PER_THREAD);
    let support = match (threads, machine.privilege.descriptors) {
        (Some(threads), Some(limit)) if threads < FEW_THREADS => no(
            format!(
                "a process may hold {limit} descriptors and needs {PER_THREAD} of them per thread: enough for \
                 {threads} threads at a time, less what the program opens"
            ),
            Remedy::run("raises the limit for this shell", "sudo prlimit --nofile=65536 --pid $$"),
        ),
        _ => Support::Yes,
    };
    let note = match threads {
        _ if support != Support::Yes => None,
        None => Some("no limit".to_owned()),
        Some(threads) => Some(format!("enough for {threads} threads at a time in each process")),
    };
    Finding { id: "descriptors", title: "file descriptors", support, note }
}

pub(super) fn space(tried: &Tried) -> Finding {
    /// Below this many bytes a recording of a few threads may not fit.
    const LITTLE: u64 = 64 << 20;
    let (support, note) = match tried.directory {
        Ok(space) if space.free < LITTLE => (
            no(
                format!("only {} are free here, where profiles are written", mebibytes(space.free)),
                Remedy::run(
                    "write the profile elsewhere",
                    "carom share -o /path/with/room/NAME.carom PROGRAM",
                ),
            ),
            None,
        ),
        Ok(space) => (Support::Yes, Some(format!("{} free", mebibytes(space.free)))),
        Err(error) => (unknown(error.to_string()), None),
    };
    Finding { id: "space", title: "room in this directory", support, note }
}

fn mebibytes(bytes: u64) -> String {
    match bytes >> 20 {
        mib @ 0..10_240 => format!("{mib} MiB"),
        mib => format!("{} GiB", mib >> 10),
    }
}
