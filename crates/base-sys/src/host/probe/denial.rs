//! Why perf_event_open is refused, and how to change that (`perf_event_open(2)`, section errors).

use super::support::{Remedy, Support, no, unknown};
use crate::{
    SysError,
    host::machine::{Container, Machine, Seccomp},
};

/// What a refusal by perf_event_open means on this machine, for events of the own threads in user mode.
pub(super) fn refusal(machine: &Machine, errno: i32) -> Support {
    match errno {
        libc::EACCES => access(machine),
        libc::EPERM if machine.privilege.seccomp == Seccomp::Filter => filtered(machine, "denies"),
        libc::EPERM => no(
            "a security module or sandbox denies perf_event_open",
            Remedy::words("allow perf events in its policy (SELinux: class perf_event)"),
        ),
        libc::ENOSYS if machine.privilege.seccomp == Seccomp::Filter => filtered(machine, "hides"),
        libc::ENOSYS => no(
            "there is no perf_event_open here: a kernel without CONFIG_PERF_EVENTS, or a sandbox such as gVisor",
            Remedy::words("run on a kernel with perf events"),
        ),
        libc::EMFILE | libc::ENFILE => no(
            "no file descriptor is left",
            Remedy::run("raises the limit for this shell", "sudo prlimit --nofile=65536 --pid $$"),
        ),
        _ => unknown(SysError { call: "perf_event_open", errno }.to_string()),
    }
}

/// The least restrictive level that ordinary users need here: events of their own threads in user mode.
const ENOUGH: i32 = 2;

fn access(machine: &Machine) -> Support {
    let level = machine.settings.perf_event_paranoid;
    match level {
        Some(level) if level > ENOUGH && !machine.privilege.perfmon() => {
            let place = match (machine.container, machine.privilege.initial_user_namespace) {
                (Some(_), _) => "on the host: containers share its setting",
                (None, false) => "as root outside this user namespace",
                (None, true) => "lasts until the next boot; a file in /etc/sysctl.d makes it permanent",
            };
            no(
                format!(
                    "kernel.perf_event_paranoid is {level}, with which Debian's and Ubuntu's kernels deny all perf \
                     events to users without privileges"
                ),
                Remedy::run(place, format!("sudo sysctl kernel.perf_event_paranoid={ENOUGH}")),
            )
        }
        Some(level) => no(
            format!(
                "a security module (SELinux, AppArmor) or a patched kernel denies perf events; \
                 kernel.perf_event_paranoid is {level} and would allow them"
            ),
            Remedy::words("allow perf events in its policy; the kernel log names the denial"),
        ),
        None => no(
            "the kernel denies perf events, and kernel.perf_event_paranoid cannot be read",
            Remedy::words("run outside the sandbox that hides /proc/sys"),
        ),
    }
}

/// Docker's and Podman's default filters allow the call to containers with the capability, on older kernels with
/// CAP_SYS_ADMIN only.
pub(super) fn filtered(machine: &Machine, verb: &str) -> Support {
    let capability = match machine.kernel.at_least(5, 8) {
        Some(false) => "SYS_ADMIN",
        _ => "PERFMON",
    };
    let flag = match machine.privilege.perfmon() {
        true => "--security-opt seccomp=unconfined".to_owned(),
        false => format!("--cap-add {capability}"),
    };
    let container = machine.container.filter(|_| machine.privilege.first_process_filtered != Some(false));
    let start = "start the container with this option added";
    let (who, remedy) = match container {
        Some(Container::Docker) => {
            ("the container's seccomp filter", Remedy::run(start, format!("docker run {flag} …")))
        }
        Some(Container::Podman) => {
            ("the container's seccomp filter", Remedy::run(start, format!("podman run {flag} …")))
        }
        Some(Container::Kubernetes) => (
            "the pod's seccomp filter",
            Remedy::words(format!(
                "add to the container in the pod's manifest: securityContext: {{capabilities: {{add: [{capability}]}}}}; \
                 where that is not enough: securityContext: {{seccompProfile: {{type: Unconfined}}}}"
            )),
        ),
        Some(Container::Lxc | Container::Other) => (
            "the container's seccomp filter",
            Remedy::words("allow perf_event_open in the container's seccomp profile"),
        ),
        None => (
            "a seccomp filter on this process",
            Remedy::words(
                "run outside the sandbox that set the filter, or allow perf_event_open there \
                 (systemd: in SystemCallFilter=)",
            ),
        ),
    };
    no(format!("{who} {verb} perf_event_open"), remedy)
}
