//! What the `translate` engine needs, and who denies it.

use super::*;
use crate::host::machine::{Root, ShadowStack};

fn denied(change: impl FnOnce(&mut Facts)) -> Probes {
    let mut facts = desktop();
    change(&mut facts);
    let probes = Probes::judge(&facts);
    assert!(probes.translate != Support::Yes, "translate rests on it");
    assert!(choose_burst_delivery(&probes).is_ok(), "burst does not");
    probes
}

#[test]
fn without_fsgsbase_only_burst_is_left() {
    let with = |kernel, fsgsbase| {
        denied(|facts| {
            facts.machine.kernel = Kernel::parse(kernel);
            facts.machine.cpu.fsgsbase = fsgsbase;
        })
    };
    let old = with("5.4.0", Some(false));
    says(&old.thread_base, "before 5.9", "update the kernel to 5.9");
    assert_eq!(old.translate, old.thread_base.support, "the engine gives the facility's reason");
    says(&with("6.1.0", Some(false)).thread_base, "nofsgsbase", "boot without `nofsgsbase`");
    assert!(matches!(with("6.1.0", None).translate, Support::Unknown { .. }));
}

#[test]
fn files_in_memory_that_are_denied() {
    let with = |outcome, filtered, memfd_noexec| {
        let probes = denied(|facts| {
            facts.tried.memory_file = Ok(outcome);
            facts.tried.executable_memory = Ok(outcome);
            facts.tried.limits.memfd_noexec = memfd_noexec;
            facts.machine.privilege.seccomp = if filtered { Seccomp::Filter } else { Seccomp::Off };
        });
        assert_eq!(probes.translate, probes.executable_memory.support);
        probes.executable_memory
    };
    says(&with(Outcome::Refused(libc::EPERM), true, None), "filter denies memfd_create", "seccomp profile");
    says(
        &with(Outcome::Killed(libc::SIGSYS), true, None),
        "filter kills for memfd_create",
        "SystemCallFilter=",
    );
    says(
        &with(Outcome::Refused(libc::EACCES), true, Some(2)),
        "memfd_noexec is 2",
        "sudo sysctl vm.memfd_noexec=1",
    );
    says(&with(Outcome::Refused(libc::EACCES), false, Some(1)), "security policy", "log");
    says(&with(Outcome::Refused(libc::ENOSYS), false, None), "without memfd_create", "3.17");
    says(&with(Outcome::Killed(libc::SIGXFSZ), false, None), "RLIMIT_FSIZE", "prlimit --fsize=unlimited");
    says(&with(Outcome::Refused(libc::EMFILE), false, None), "descriptor", "--nofile");
}

#[test]
fn a_file_that_may_not_be_executed() {
    let mapped = |outcome| denied(|facts| facts.tried.executable_memory = outcome).executable_memory;
    says(&mapped(Ok(Outcome::Refused(libc::EACCES))), "denies to map a file in memory executable", "policy");
    let error = SysError { call: "fork", errno: libc::EAGAIN };
    assert!(matches!(mapped(Err(error)).support, Support::Unknown { .. }), "not tried is not denied");
}

#[test]
fn too_little_address_space() {
    let refused = |limits| {
        denied(|facts| {
            facts.tried.address_space = Ok(Outcome::Refused(libc::ENOMEM));
            facts.tried.limits = limits;
        })
        .address_space
    };
    let limited = Limits { address_space: Some(64 << 20), ..Limits::default() };
    // Four times 16 MiB and three times 1 MiB.
    says(&refused(limited), "RLIMIT_AS is 64 MiB; the code cache takes 67 MiB", "prlimit --as=unlimited");
    let strict = Limits { overcommit: Some(2), ..Limits::default() };
    says(&refused(strict), "commit limit", "sudo sysctl vm.overcommit_memory=0");
    says(&refused(Limits { overcommit: Some(2), ..limited }), "RLIMIT_AS", "prlimit");
    assert!(matches!(refused(Limits::default()).support, Support::Unknown { .. }));
}

#[test]
fn a_limit_that_leaves_room_is_a_note() {
    let mut facts = desktop();
    facts.tried.limits.address_space = Some(64 * GIB);
    let probes = Probes::judge(&facts);
    assert_eq!(probes.translate, Support::Yes);
    assert!(probes.address_space.note.as_deref().unwrap().contains("65536 MiB"));
}

#[test]
fn shadow_stacks_in_use_forbid_translated_returns() {
    let probes = denied(|facts| facts.machine.cpu.shadow_stack = ShadowStack::Active);
    says(&probes.free_returns, "shadow stack (CET)", "export GLIBC_TUNABLES=glibc.cpu.x86_shstk=off");
    let mut facts = desktop();
    facts.machine.cpu.shadow_stack = ShadowStack::Available;
    let probes = Probes::judge(&facts);
    assert_eq!(probes.translate, Support::Yes);
    assert!(probes.free_returns.note.as_deref().unwrap().contains("refuses programs"));
}

#[test]
fn limits_are_read_where_the_kernel_shows_them() {
    let root = std::env::temp_dir().join(format!("carom-limits-{}", std::process::id()));
    let vm = root.join("proc/sys/vm");
    std::fs::create_dir_all(&vm).unwrap();
    std::fs::write(vm.join("overcommit_memory"), "2\n").unwrap();
    let limits = Limits::read(&Root::at(&root), Some(GIB));
    let _ = std::fs::remove_dir_all(&root);
    assert_eq!(limits, Limits { address_space: Some(GIB), overcommit: Some(2), memfd_noexec: None });
}

/// Whether `trial` ends like this under a limit, which is set in a child of its own because it stays.
fn ends_under(limit: (libc::__rlimit_resource_t, u64), trial: Trial, outcome: Outcome) -> bool {
    let (resource, bytes) = limit;
    // SAFETY: the child makes system calls only, and leaves by _exit.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
        // SAFETY: a live structure.
        unsafe { libc::setrlimit(resource, &raw const limit) };
        let met = attempt(trial) == Ok(outcome);
        // SAFETY: ends the child.
        unsafe { libc::_exit(i32::from(met)) };
    }
    let mut status = 0;
    // SAFETY: a child of ours and a valid place.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 1
}

#[test]
fn without_limits_all_of_it_works() {
    for trial in [Trial::AddressSpace, Trial::MemoryFile, Trial::ExecutableMemory] {
        assert_eq!(attempt(trial), Ok(Outcome::Worked), "{trial:?}");
    }
}

#[test]
fn real_limits_are_met() {
    // It takes more than that, and this process has something already.
    let space = (libc::RLIMIT_AS, 64 << 20);
    assert!(ends_under(space, Trial::AddressSpace, Outcome::Refused(libc::ENOMEM)));
    assert!(ends_under((libc::RLIMIT_AS, GIB), Trial::AddressSpace, Outcome::Worked), "it takes little");
    // An arena has 16 MiB.
    let size = |mib: u64| (libc::RLIMIT_FSIZE, mib << 20);
    assert!(ends_under(size(15), Trial::MemoryFile, Outcome::Killed(libc::SIGXFSZ)));
    assert!(ends_under(size(16), Trial::MemoryFile, Outcome::Worked));
}
