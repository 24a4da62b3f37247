//! The hardware PMU: whether there is one, and what hides it.

use super::{
    denial,
    support::{Finding, Remedy, Support, no, unknown},
    tried::Tried,
};
use crate::host::machine::{Hypervisor, HypervisorKind, Machine};

pub(super) fn counters(machine: &Machine, tried: &Tried, perf: &Support) -> Finding {
    let support = match (perf, tried.cycles) {
        (Support::No { .. } | Support::Unknown { .. }, _) => super::needs_perf(perf),
        (_, Ok(())) => Support::Yes,
        (_, Err(error)) => match error.errno {
            libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP => absent(machine),
            libc::EBUSY => no("another profiler holds the PMU", Remedy::words("stop it")),
            errno => denial::refusal(machine, errno),
        },
    };
    let watchdog = support == Support::Yes && machine.settings.nmi_watchdog == Some(true);
    let note = watchdog.then(|| {
        "the NMI watchdog holds one counter on every CPU; `sudo sysctl kernel.nmi_watchdog=0` frees it"
            .to_owned()
    });
    Finding { id: "hardware-counters", title: "hardware counters", support, note }
}

fn absent(machine: &Machine) -> Support {
    let listed = &machine.pmus.core;
    match &machine.hypervisor {
        Some(hypervisor) if listed.is_empty() => {
            no(format!("the hypervisor, {hypervisor}, exposes no PMU to this guest"), expose(hypervisor))
        }
        Some(hypervisor) => no(
            format!(
                "sysfs lists {}, but the hypervisor, {hypervisor}, gives it no working counters",
                listed.join(", ")
            ),
            expose(hypervisor),
        ),
        None => no(
            "the kernel has no PMU driver for this processor, or the firmware has switched the PMU off",
            Remedy::words(
                "look for `Performance Events` in the kernel log, and for a PMU switch in the BIOS",
            ),
        ),
    }
}

/// How a guest is given a PMU.
fn expose(hypervisor: &Hypervisor) -> Option<Remedy> {
    let product = hypervisor.product.as_deref().unwrap_or_default();
    match hypervisor.kind {
        _ if product.contains("Amazon EC2") => {
            Remedy::words("choose a .metal instance size: EC2 gives smaller ones few counters or none")
        }
        _ if product.contains("Google") => Remedy::run(
            "create the instance with a PMU, on a machine series that offers it",
            "gcloud compute instances create NAME --performance-monitoring-unit=standard …",
        ),
        HypervisorKind::Kvm => Remedy::words(
            "on the host: QEMU `-cpu host,pmu=on`; libvirt `<cpu mode='host-passthrough'/>` and \
             `<features><pmu state='on'/></features>`; in a cloud, a bare-metal instance",
        ),
        HypervisorKind::HyperV => Remedy::run(
            "on the host, while the machine is off",
            "Set-VMProcessor NAME -Perfmon @(\"pmu\", \"pebs\")",
        ),
        HypervisorKind::Vmware => Remedy::words(
            "enable virtual CPU performance counters: `vpmc.enable = \"TRUE\"` in the .vmx file",
        ),
        HypervisorKind::Xen => Remedy::words("on the host: `vpmu=1` on Xen's command line"),
        HypervisorKind::VirtualBox | HypervisorKind::QemuTcg => {
            Remedy::words("run on bare metal, or under a hypervisor that offers a virtual PMU")
        }
        HypervisorKind::Other => Remedy::words("run on bare metal"),
    }
}

/// Sampling of single memory accesses in hardware. Sysfs only advertises; this version has no engine that would
/// prove it.
pub(super) fn memory(machine: &Machine, counters: &Finding) -> Finding {
    let support = match (&counters.support, machine.pmus.memory) {
        (Support::Yes, Some(sampler)) => {
            unknown(format!("sysfs advertises {}; this version does not try it", sampler.name()))
        }
        (Support::Yes, None) => match &machine.hypervisor {
            Some(hypervisor) => no(
                format!("the PMU that {hypervisor} shows cannot sample memory accesses"),
                Remedy::words("run on bare metal"),
            ),
            None => no("this processor's PMU cannot sample memory accesses, or its driver is missing", None),
        },
        (Support::Unknown { .. }, _) => unknown("needs hardware counters, of which nothing is known"),
        (Support::No { .. }, _) => no("needs hardware counters, see there", None),
    };
    let lockdown = machine.settings.lockdown.as_deref() == Some("confidentiality");
    let note = lockdown.then(|| {
        "kernel lockdown (confidentiality) denies samples with registers; it ends with a boot without \
         `lockdown=confidentiality`"
            .to_owned()
    });
    Finding { id: "memory-sampling", title: "memory sampling in hardware", support, note }
}
