//! Whether the `translate` engine can run programs here: a cache of code, and a register that leads to a thread's
//! state.

use super::{
    cache::ADDRESS_SPACE_BYTES,
    support::{Finding, Remedy, Support, no, unknown},
    trial::Outcome,
    tried::Tried,
};
use crate::{
    SysError,
    host::machine::{Machine, Seccomp, ShadowStack},
};

/// Whether it can, and if not, the first reason. `needs`: the facilities it rests on.
pub(super) fn translate(needs: [&Finding; 4]) -> Support {
    if !cfg!(target_arch = "x86_64") {
        return no("it translates x86-64 only", None);
    }
    let missing = needs.into_iter().find(|finding| !finding.works());
    missing.map_or(Support::Yes, |finding| finding.support.clone())
}

/// Returns that nobody checks: translated code returns by other means.
pub(super) fn free_returns(machine: &Machine) -> Finding {
    let support = match machine.cpu.shadow_stack {
        ShadowStack::Absent | ShadowStack::Available => Support::Yes,
        ShadowStack::Active => no(
            "programs run with a shadow stack (CET) here, which translated returns would violate",
            Remedy::run("for this shell and what it starts", "export GLIBC_TUNABLES=glibc.cpu.x86_shstk=off"),
        ),
    };
    let note = (machine.cpu.shadow_stack == ShadowStack::Available)
        .then(|| "this processor and kernel have them; `translate` refuses programs that use one".to_owned());
    Finding { id: "free-returns", title: "no shadow stack", support, note }
}

/// Memory that holds code.
pub(super) fn executable_memory(machine: &Machine, tried: &Tried) -> Finding {
    let support = match tried.memory_file {
        Ok(Outcome::Worked) => mapped(tried.executable_memory),
        Ok(outcome) => without_file(machine, tried, outcome),
        Err(error) => unknown(error.to_string()),
    };
    Finding { id: "executable-memory", title: "executable files in memory", support, note: None }
}

fn mapped(outcome: Result<Outcome, SysError>) -> Support {
    match outcome {
        Ok(Outcome::Worked) => Support::Yes,
        Ok(Outcome::Refused(libc::EACCES | libc::EPERM)) => no(
            "a security policy (SELinux, a seccomp filter) denies to map a file in memory executable",
            Remedy::words("allow it in the policy; its log names the denial"),
        ),
        Ok(Outcome::Refused(errno)) => unknown(SysError { call: "mmap", errno }.to_string()),
        Ok(outcome) => unknown(format!("an unexpected answer: {outcome:?}")),
        Err(error) => unknown(error.to_string()),
    }
}

fn without_file(machine: &Machine, tried: &Tried, outcome: Outcome) -> Support {
    let filter = |verb| {
        no(
            format!("a seccomp filter {verb} memfd_create"),
            Remedy::words(
                "allow memfd_create in the container's seccomp profile, or in SystemCallFilter= of systemd",
            ),
        )
    };
    match outcome {
        Outcome::Killed(libc::SIGSYS) => filter("kills for"),
        Outcome::Killed(libc::SIGXFSZ) | Outcome::Refused(libc::EFBIG) => no(
            "RLIMIT_FSIZE, which counts for files in memory too, is less than 16 MiB",
            Remedy::run("raises the limit for this shell", "sudo prlimit --fsize=unlimited --pid $$"),
        ),
        // Newer kernels let files pass that renounce being executed as programs.
        Outcome::Refused(libc::EACCES) if tried.limits.memfd_noexec == Some(2) => no(
            "vm.memfd_noexec is 2, and this kernel denies every file in memory then",
            Remedy::run("as root", "sudo sysctl vm.memfd_noexec=1"),
        ),
        Outcome::Refused(libc::EPERM | libc::EACCES | libc::ENOSYS)
            if machine.privilege.seccomp == Seccomp::Filter =>
        {
            filter("denies")
        }
        Outcome::Refused(libc::EPERM | libc::EACCES) => no(
            "a security policy denies memfd_create",
            Remedy::words("allow it in the policy; its log names the denial"),
        ),
        Outcome::Refused(libc::ENOSYS) => no(
            "the kernel is without memfd_create, or a sandbox hides it",
            Remedy::words("run outside the sandbox, on Linux 3.17 or later with CONFIG_MEMFD_CREATE"),
        ),
        Outcome::Refused(libc::EMFILE | libc::ENFILE) => no(
            "no file descriptor is left",
            Remedy::run("raises the limit for this shell", "sudo prlimit --nofile=65536 --pid $$"),
        ),
        Outcome::Refused(errno) => unknown(SysError { call: "memfd_create", errno }.to_string()),
        outcome => unknown(format!("an unexpected answer: {outcome:?}")),
    }
}

/// Room for code, and for the state and the counters of a thread.
pub(super) fn address_space(tried: &Tried) -> Finding {
    let limits = tried.limits;
    let mebibytes = ADDRESS_SPACE_BYTES >> 20;
    let support = match (tried.address_space, limits.address_space) {
        (Ok(Outcome::Worked), _) => Support::Yes,
        // The kernel looks at this limit before it accounts for memory.
        (Ok(Outcome::Refused(libc::ENOMEM)), Some(limit)) => no(
            format!(
                "RLIMIT_AS is {} MiB; the code cache takes {mebibytes} MiB beside what the program takes, \
                 though little of it becomes memory",
                limit >> 20
            ),
            Remedy::run("lifts the limit for this shell", "sudo prlimit --as=unlimited --pid $$"),
        ),
        (Ok(Outcome::Refused(libc::ENOMEM)), None) if limits.overcommit == Some(2) => no(
            "vm.overcommit_memory is 2 and the commit limit is reached",
            Remedy::run(
                "as root; or raise vm.overcommit_ratio, or add swap",
                "sudo sysctl vm.overcommit_memory=0",
            ),
        ),
        (Ok(Outcome::Refused(errno)), _) => unknown(SysError { call: "mmap", errno }.to_string()),
        (Ok(outcome), _) => unknown(format!("an unexpected answer: {outcome:?}")),
        (Err(error), _) => unknown(error.to_string()),
    };
    let limit = limits.address_space.filter(|_| support == Support::Yes);
    let note = limit.map(|limit| {
        format!("RLIMIT_AS is {} MiB, of which the code cache takes {mebibytes} MiB", limit >> 20)
    });
    Finding { id: "address-space", title: "address space of a code cache", support, note }
}
