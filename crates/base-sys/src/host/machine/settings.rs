use super::Root;

/// Kernel settings that decide what may be observed. `None`: the kernel has no such setting, or hides it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// `kernel.perf_event_paranoid`. Mainline: -1 to 2; Debian adds 3, Ubuntu 3 and 4.
    pub perf_event_paranoid: Option<i32>,
    /// `kernel.perf_event_max_sample_rate`, samples per second; the kernel lowers it under load.
    pub max_sample_rate: Option<u64>,
    /// `kernel.nmi_watchdog`: holds one hardware counter on every CPU.
    pub nmi_watchdog: Option<bool>,
    /// The mode in force: `none`, `integrity`, `confidentiality`.
    pub lockdown: Option<String>,
    /// `kernel.yama.ptrace_scope`, 0 to 3.
    pub ptrace_scope: Option<u32>,
}

impl Settings {
    pub(super) fn read(root: &Root) -> Self {
        Self {
            perf_event_paranoid: root.number("proc/sys/kernel/perf_event_paranoid"),
            max_sample_rate: root.number("proc/sys/kernel/perf_event_max_sample_rate"),
            nmi_watchdog: root.number::<u32>("proc/sys/kernel/nmi_watchdog").map(|on| on != 0),
            lockdown: root.line("sys/kernel/security/lockdown").and_then(|modes| bracketed(&modes)),
            ptrace_scope: root.number("proc/sys/kernel/yama/ptrace_scope"),
        }
    }
}

/// The chosen one of `none [integrity] confidentiality`.
fn bracketed(modes: &str) -> Option<String> {
    let (_, rest) = modes.split_once('[')?;
    rest.split_once(']').map(|(mode, _)| mode.to_owned())
}
