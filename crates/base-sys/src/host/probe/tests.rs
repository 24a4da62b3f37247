//! Machines that the tests do not run on: every cause, its words and its remedy.

mod code_cache;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::*;
use crate::{
    SysError,
    calls::door::{Call, with_fake},
    host::machine::{
        Container, CpuModel, Hypervisor, HypervisorKind, Kernel, MemorySampler, Pmus, Privilege, Seccomp,
        Settings, Space,
    },
};

const CAP_PERFMON: u64 = 1 << 38;
const GIB: u64 = 1 << 30;

/// A bare-metal desktop, Linux 6.8, an ordinary user, everything in order.
fn desktop() -> Facts {
    let worked = Ok(Outcome::Worked);
    Facts {
        machine: Machine {
            kernel: Kernel::parse("6.8.0-45-generic"),
            tick_hz: Some(250),
            cpu: CpuModel { fsgsbase: Some(true), ..CpuModel::default() },
            privilege: Privilege { uid: 1000, initial_user_namespace: true, ..Privilege::default() },
            settings: Settings { perf_event_paranoid: Some(2), ..Settings::default() },
            pmus: Pmus { core: vec!["cpu".into()], memory: Some(MemorySampler::MemLoads) },
            ..Machine::default()
        },
        tried: Tried {
            reach: Ok(Outcome::Refused(libc::EFAULT)),
            timers: [worked; 3],
            watchpoint: worked,
            slots: Slots { opened: 4, stopped: None },
            cycles: Ok(()),
            ptrace: worked,
            own_memory: worked,
            address_space: worked,
            memory_file: worked,
            executable_memory: worked,
            limits: Limits::default(),
            directory: Ok(Space { total: 100 * GIB, free: 50 * GIB }),
            shared_memory: Ok(Space { total: GIB, free: GIB }),
        },
    }
}

/// A machine like [`desktop`] on which opening a perf event fails so.
fn refusing(errno: i32) -> Facts {
    let mut facts = desktop();
    let refused = Ok(Outcome::Refused(errno));
    let error = SysError { call: "perf_event_open", errno };
    facts.tried.timers[0] = refused;
    facts.tried.timers[1] = refused;
    facts.tried.watchpoint = refused;
    facts.tried.slots = Slots { opened: 0, stopped: Some(error) };
    facts.tried.cycles = Err(error);
    facts
}

/// A container whose filter answers every perf_event_open with EPERM, as Docker's default does.
fn filtered(container: Option<Container>) -> Facts {
    let mut facts = refusing(libc::EPERM);
    facts.tried.reach = Ok(Outcome::Refused(libc::EPERM));
    facts.machine.privilege.seccomp = Seccomp::Filter;
    facts.machine.container = container;
    facts
}

#[track_caller]
fn says(finding: &Finding, cause: &str, remedy: &str) {
    let Support::No { cause: found, remedy: advice } = &finding.support else {
        panic!("{}: {:?}", finding.id, finding.support);
    };
    assert!(found.contains(cause), "{found}");
    let advice = advice
        .as_ref()
        .map(|r| format!("{} {}", r.text, r.command.as_deref().unwrap_or("")))
        .unwrap_or_default();
    assert!(advice.contains(remedy), "{advice}");
}

fn choice(facts: &Facts) -> BurstChoice {
    choose_burst_delivery(&Probes::judge(facts)).unwrap()
}

#[test]
fn where_all_is_well_nothing_is_missing() {
    let probes = Probes::judge(&desktop());
    let missing: Vec<_> = probes.all().filter(|finding| !finding.works()).map(|finding| finding.id).collect();
    // Whether the hardware can sample memory is advertised, not proved.
    assert_eq!(missing, ["memory-sampling"]);
    let choice = choose_burst_delivery(&probes).unwrap();
    assert_eq!((choice.delivery, choice.watchpoints), (DeliveryKind::Sigtrap, 4));
    let reason = "perf events are allowed, and Linux 6.8 delivers traps synchronously and waits where a program \
                  blocks them";
    assert_eq!(choice.reason, reason);
}

#[test]
fn debian_and_ubuntu_levels_of_paranoia() {
    for level in [3, 4] {
        let mut facts = refusing(libc::EACCES);
        facts.machine.settings.perf_event_paranoid = Some(level);
        let probes = Probes::judge(&facts);
        says(
            &probes.perf,
            &format!("perf_event_paranoid is {level}"),
            "sudo sysctl kernel.perf_event_paranoid=2",
        );
        says(&probes.watchpoints, "see there", "");
        says(&probes.counters, "see there", "");
        let choice = choice(&facts);
        assert_eq!((choice.delivery, choice.watchpoints), (DeliveryKind::PosixTimer, 0));
        assert!(choice.reason.contains("perf_event_paranoid"), "{}", choice.reason);

        facts.machine.container = Some(Container::Docker);
        says(&Probes::judge(&facts).perf, "paranoid", "on the host");
        // Debian checks before it looks at the arguments.
        facts.tried.reach = Ok(Outcome::Refused(libc::EACCES));
        says(&Probes::judge(&facts).perf, "paranoid", "on the host");
    }
}

#[test]
fn a_level_that_would_allow_leaves_a_security_module() {
    says(&Probes::judge(&refusing(libc::EACCES)).perf, "security module", "policy");
    let mut facts = refusing(libc::EACCES);
    facts.machine.settings.perf_event_paranoid = Some(4);
    facts.machine.privilege.capabilities = CAP_PERFMON;
    says(&Probes::judge(&facts).perf, "security module", "policy");
    // The same capability inside a user namespace does not count, so the level is to blame.
    facts.machine.privilege.initial_user_namespace = false;
    says(&Probes::judge(&facts).perf, "perf_event_paranoid is 4", "user namespace");
}

#[test]
fn container_filters_and_the_missing_capability() {
    let remedy = |container, remedy| {
        let facts = filtered(container);
        says(&Probes::judge(&facts).perf, "seccomp filter", remedy);
        assert_eq!(choice(&facts).delivery, DeliveryKind::PosixTimer);
    };
    remedy(Some(Container::Docker), "docker run --cap-add PERFMON");
    remedy(Some(Container::Podman), "podman run --cap-add PERFMON");
    remedy(Some(Container::Kubernetes), "add: [PERFMON]");
    remedy(Some(Container::Lxc), "seccomp profile");
    remedy(None, "SystemCallFilter");

    // The container's first process is free of it, so the filter is not the container's.
    let mut inner = filtered(Some(Container::Docker));
    inner.machine.privilege.first_process_filtered = Some(false);
    says(&Probes::judge(&inner).perf, "a seccomp filter on this process", "SystemCallFilter");

    let mut old = filtered(Some(Container::Docker));
    old.machine.kernel = Kernel::parse("5.4.0");
    says(&Probes::judge(&old).perf, "seccomp", "--cap-add SYS_ADMIN");
    let mut capable = filtered(Some(Container::Docker));
    capable.machine.privilege.capabilities = CAP_PERFMON;
    says(&Probes::judge(&capable).perf, "seccomp", "seccomp=unconfined");
}

#[test]
fn filters_that_hide_or_kill() {
    let mut facts = filtered(Some(Container::Docker));
    facts.tried.reach = Ok(Outcome::Killed(libc::SIGSYS));
    says(&Probes::judge(&facts).perf, "kills for perf_event_open", "--cap-add");
    facts.tried.reach = Ok(Outcome::Refused(libc::ENOSYS));
    says(&Probes::judge(&facts).perf, "hides perf_event_open", "--cap-add");
    facts.machine.privilege.seccomp = Seccomp::Off;
    says(&Probes::judge(&facts).perf, "CONFIG_PERF_EVENTS", "kernel");
}

#[test]
fn old_kernels_sample_by_f_setsig() {
    let mut facts = desktop();
    facts.machine.kernel = Kernel::parse("5.10.0-28-amd64");
    facts.tried.timers[0] = Ok(Outcome::Refused(libc::EINVAL));
    says(&Probes::judge(&facts).timers[0], "Linux 5.10 has no synchronous traps", "5.18");
    let choice_510 = choice(&facts);
    assert_eq!((choice_510.delivery, choice_510.watchpoints), (DeliveryKind::Setsig, 4));
    assert!(choice_510.reason.contains("they came with 5.13"), "{}", choice_510.reason);

    facts.machine.kernel = Kernel::parse("5.15.0-91-generic");
    facts.tried.timers[0] = Ok(Outcome::Killed(libc::SIGTRAP));
    says(&Probes::judge(&facts).timers[0], "Linux 5.15 kills a program that blocks SIGTRAP", "5.18");
    assert_eq!(choice(&facts).delivery, DeliveryKind::Setsig);

    // A distributor's 5.14 with the fix: what was tried counts, not the number.
    facts.machine.kernel = Kernel::parse("5.14.0-427.el9.x86_64");
    facts.tried.timers[0] = Ok(Outcome::Worked);
    assert_eq!(choice(&facts).delivery, DeliveryKind::Sigtrap);
}

#[test]
fn debug_registers_that_a_debugger_holds() {
    let mut facts = desktop();
    let full = SysError { call: "perf_event_open", errno: libc::ENOSPC };
    facts.machine.privilege.tracer = 77;
    facts.tried.slots = Slots { opened: 1, stopped: Some(full) };
    let probes = Probes::judge(&facts);
    let note = probes.watchpoints.note.as_deref().unwrap();
    assert!(
        note.contains("only 1 of 4") && note.contains("3 are taken, by the debugger") && note.contains("77"),
        "{note}"
    );
    let choice_one = choice(&facts);
    assert_eq!(choice_one.watchpoints, 1);
    assert!(choice_one.reason.ends_with("with one watchpoint only"), "{}", choice_one.reason);

    facts.tried.slots.opened = 0;
    says(&Probes::judge(&facts).watchpoints, "taken by the debugger", "detach");
    assert_eq!(choice(&facts).watchpoints, 0);
    facts.machine.privilege.tracer = 0;
    says(&Probes::judge(&facts).watchpoints, "watches whole CPUs", "stop it");
}

#[test]
fn watchpoints_that_never_fire_are_not_watchpoints() {
    let mut facts = desktop();
    facts.tried.watchpoint = Ok(Outcome::Silent);
    says(&Probes::judge(&facts).watchpoints, "never fire", "sampling alone");
    let choice = choice(&facts);
    assert_eq!((choice.delivery, choice.watchpoints), (DeliveryKind::Sigtrap, 0));
    assert!(choice.reason.contains("without watchpoints"), "{}", choice.reason);
}

#[test]
fn guests_without_a_pmu_name_their_hypervisor() {
    let remedy = |kind, product: Option<&str>, expected| {
        let mut facts = desktop();
        facts.machine.pmus = Pmus::default();
        facts.machine.hypervisor = Some(Hypervisor { kind, product: product.map(str::to_owned) });
        facts.tried.cycles = Err(SysError { call: "perf_event_open", errno: libc::ENOENT });
        let probes = Probes::judge(&facts);
        says(&probes.counters, kind.name(), expected);
        says(&probes.memory_sampling, "needs hardware counters, see there", "");
        assert_eq!(choice(&facts).delivery, DeliveryKind::Sigtrap, "burst needs no PMU");
    };
    remedy(HypervisorKind::Kvm, None, "-cpu host,pmu=on");
    remedy(HypervisorKind::Kvm, Some("Amazon EC2 m5.large"), ".metal");
    remedy(HypervisorKind::Kvm, Some("Google Compute Engine"), "--performance-monitoring-unit");
    remedy(HypervisorKind::HyperV, None, "Set-VMProcessor");
    remedy(HypervisorKind::Vmware, None, "vpmc.enable");
    remedy(HypervisorKind::Xen, None, "vpmu=1");
}

#[test]
fn bare_metal_without_a_driver_and_a_busy_pmu() {
    let with = |errno| {
        let mut facts = desktop();
        facts.tried.cycles = Err(SysError { call: "perf_event_open", errno });
        Probes::judge(&facts).counters
    };
    says(&with(libc::ENOENT), "no PMU driver", "BIOS");
    says(&with(libc::EBUSY), "another profiler", "stop");
}

#[test]
fn watchdog_and_lockdown_are_notes_not_refusals() {
    let mut facts = desktop();
    facts.machine.settings.nmi_watchdog = Some(true);
    facts.machine.settings.lockdown = Some("confidentiality".into());
    let probes = Probes::judge(&facts);
    assert!(probes.counters.works());
    assert!(probes.counters.note.as_deref().unwrap().contains("sysctl kernel.nmi_watchdog=0"));
    assert!(probes.memory_sampling.note.as_deref().unwrap().contains("lockdown"));
    assert_eq!(choice(&facts).delivery, DeliveryKind::Sigtrap);
    facts.machine.settings.lockdown = Some("integrity".into());
    assert_eq!(Probes::judge(&facts).memory_sampling.note, None, "integrity leaves register samples alone");
}

#[test]
fn ptrace_and_its_refusals() {
    let with = |scope, seccomp| {
        let mut facts = desktop();
        facts.tried.ptrace = Ok(Outcome::Refused(libc::EPERM));
        facts.machine.settings.ptrace_scope = scope;
        facts.machine.privilege.seccomp = seccomp;
        Probes::judge(&facts).ptrace
    };
    says(&with(Some(3), Seccomp::Off), "until the next boot", "reboot");
    says(&with(Some(2), Seccomp::Off), "CAP_SYS_PTRACE", "sudo sysctl kernel.yama.ptrace_scope=1");
    says(&with(Some(1), Seccomp::Filter), "seccomp", "--cap-add SYS_PTRACE");
    says(&with(None, Seccomp::Off), "security module", "policy");
}

#[test]
fn little_room_and_few_descriptors() {
    let mut facts = desktop();
    facts.tried.directory = Ok(Space { total: GIB, free: 3 << 20 });
    // 100 descriptors at 5 a thread: 20 threads.
    facts.machine.privilege.descriptors = Some(100);
    let probes = Probes::judge(&facts);
    says(&probes.space, "only 3 MiB", "-o ");
    says(&probes.descriptors, "enough for 20 threads", "prlimit");
}

#[test]
fn without_any_timer_there_is_no_burst() {
    let mut facts = filtered(None);
    facts.tried.timers[2] = Ok(Outcome::Refused(libc::EAGAIN));
    let probes = Probes::judge(&facts);
    says(&probes.timers[2], "pending signals", "prlimit --sigpending");
    let cause = choose_burst_delivery(&probes).unwrap_err();
    assert!(cause.contains("seccomp") && cause.contains("pending signals"), "{cause}");
}

#[test]
fn a_failed_probe_is_unknown_and_not_a_no() {
    let mut facts = desktop();
    let error = SysError { call: "fork", errno: libc::EAGAIN };
    facts.tried.reach = Err(error);
    facts.tried.timers = [Err(error); 3];
    let probes = Probes::judge(&facts);
    for finding in [&probes.perf, &probes.timers[0], &probes.timers[2], &probes.watchpoints] {
        assert!(matches!(finding.support, Support::Unknown { .. }), "{finding:?}");
    }
    assert!(matches!(probes.memory_sampling.support, Support::Unknown { .. }));
    assert!(choose_burst_delivery(&probes).unwrap_err().starts_with("no timer could be tried: fork"));
}

/// The fake kernel answers in the trials' children too: they inherit it.
fn tried_under(answer: impl FnMut(&mut Call<'_>) -> Option<Result<i64, i32>> + 'static) -> Tried {
    with_fake(answer, Tried::here)
}

#[test]
fn a_kernel_that_denies_every_call() {
    let tried = tried_under(|_| Some(Err(libc::EPERM)));
    let refused = Ok(Outcome::Refused(libc::EPERM));
    assert_eq!(tried.reach, refused);
    assert_eq!(tried.timers[..2], [refused; 2]);
    assert_eq!(tried.watchpoint, refused);
    assert_eq!(tried.slots.opened, 0);
    assert_eq!(tried.cycles.unwrap_err().errno, libc::EPERM);
}

#[test]
fn a_kernel_from_before_sigtrap() {
    let tried = tried_under(|call| match call {
        Call::Reach => Some(Err(libc::EFAULT)),
        Call::Open { attr, .. } if attr.sigtrap() == 1 => Some(Err(libc::EINVAL)),
        _ => Some(Err(libc::ENOSPC)),
    });
    assert_eq!(tried.reach, Ok(Outcome::Refused(libc::EFAULT)));
    assert_eq!(tried.timers[0], Ok(Outcome::Refused(libc::EINVAL)));
    // Watchpoints are then tried by F_SETSIG, and here all are taken.
    assert_eq!(tried.slots.stopped.unwrap().errno, libc::ENOSPC);
}

/// What is left out to choose an engine changes no choice, neither here nor where every call is denied.
#[test]
fn a_choice_needs_no_more_than_what_is_tried_for_it() {
    let chosen = |tried: Tried| {
        let probes = Probes::judge(&Facts { machine: Machine::here(), tried });
        (choose_burst_delivery(&probes), why_no_watchpoints(&probes), probes.translate)
    };
    assert_eq!(chosen(Tried::until_one_works()), chosen(Tried::here()));
    let denied = |tried: fn() -> Tried| chosen(with_fake(|_| Some(Err(libc::EPERM)), tried));
    assert_eq!(denied(Tried::until_one_works), denied(Tried::here));
}

#[test]
fn slots_are_counted_until_the_kernel_says_full() {
    /// A descriptor that cannot exist, so that nothing real is touched or closed.
    const NOWHERE: i64 = i32::MAX as i64;
    let mut left = 2;
    let kernel = move |call: &mut Call<'_>| match call {
        Call::Open { .. } if left > 0 => {
            left -= 1;
            Some(Ok(NOWHERE))
        }
        Call::Open { .. } => Some(Err(libc::ENOSPC)),
        _ => Some(Err(libc::EBADF)),
    };
    let slots = with_fake(kernel, || tried::slots(DeliveryKind::Sigtrap));
    assert_eq!((slots.opened, slots.stopped.unwrap().errno), (2, libc::ENOSPC));
}

#[test]
fn a_timer_that_opens_but_never_fires_is_silent() {
    let kernel = |call: &mut Call<'_>| match call {
        Call::Open { .. } => Some(Ok(i64::from(i32::MAX))),
        _ => Some(Err(libc::EBADF)),
    };
    let outcome = with_fake(kernel, || attempt(Trial::Timer(DeliveryKind::Sigtrap)));
    assert_eq!(outcome, Ok(Outcome::Silent));
}

/// Beside four busy threads for each processor a thread has one turn in five, and its tick comes with the turn.
#[test]
fn a_timer_works_beside_others() {
    let processors = std::thread::available_parallelism().map_or(2, usize::from);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..4 * processors {
            scope.spawn(|| {
                while !over.load(Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let outcomes: Vec<_> = (0..10).map(|_| attempt(Trial::Timer(DeliveryKind::PosixTimer))).collect();
        over.store(true, Relaxed);
        assert_eq!(outcomes, [Ok(Outcome::Worked); 10]);
    });
}
