use super::{Root, root::field};

/// What this process may do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Privilege {
    /// Effective user id.
    pub uid: u32,
    /// Effective capabilities, bit n is capability n.
    pub capabilities: u64,
    /// False inside a user namespace (rootless containers), whose capabilities the kernel does not honour
    /// for perf events.
    pub initial_user_namespace: bool,
    /// How system calls are filtered.
    pub seccomp: Seccomp,
    /// Whether a filter is on process 1 too, in a container its first; `None` where that is hidden. A filter that
    /// is not was set by something in between.
    pub first_process_filtered: Option<bool>,
    /// The process that traces this one, 0 for none.
    pub tracer: u32,
    /// Largest number of open files that the soft limit may be raised to; `None` for no limit or unknown.
    pub descriptors: Option<u64>,
}

/// Filters on system calls (`Seccomp` in `/proc/self/status`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Seccomp {
    /// None, or the kernel does not say.
    #[default]
    Off,
    /// Only read, write and exit.
    Strict,
    /// A filter program, as container runtimes and systemd install.
    Filter,
}

const CAP_SYS_PTRACE: u32 = 19;
const CAP_SYS_ADMIN: u32 = 21;
const CAP_PERFMON: u32 = 38;

impl Privilege {
    pub(super) fn read(root: &Root) -> Self {
        let status = root.text("proc/self/status").unwrap_or_default();
        let first = root.text("proc/1/status");
        let limits = root.text("proc/self/limits").unwrap_or_default();
        Self {
            // Real, effective, saved, file system.
            uid: field(&status, "Uid")
                .and_then(|ids| ids.split_whitespace().nth(1)?.parse().ok())
                .unwrap_or(0),
            capabilities: field(&status, "CapEff").and_then(|c| u64::from_str_radix(c, 16).ok()).unwrap_or(0),
            initial_user_namespace: root.text("proc/self/uid_map").is_none_or(|map| maps_everything(&map)),
            seccomp: seccomp(&status),
            first_process_filtered: first.map(|status| seccomp(&status) == Seccomp::Filter),
            tracer: field(&status, "TracerPid").and_then(|id| id.parse().ok()).unwrap_or(0),
            descriptors: hard_descriptors(&limits),
        }
    }

    fn has(&self, capability: u32) -> bool {
        self.capabilities >> capability & 1 != 0
    }

    /// CAP_SYS_ADMIN in the initial user namespace.
    pub fn sys_admin(&self) -> bool {
        self.initial_user_namespace && self.has(CAP_SYS_ADMIN)
    }

    /// Exempt from `kernel.perf_event_paranoid`: CAP_PERFMON (Linux 5.8) or CAP_SYS_ADMIN.
    pub fn perfmon(&self) -> bool {
        self.sys_admin() || (self.initial_user_namespace && self.has(CAP_PERFMON))
    }

    /// CAP_SYS_PTRACE: may trace processes of other users.
    pub fn sys_ptrace(&self) -> bool {
        self.has(CAP_SYS_PTRACE)
    }
}

fn seccomp(status: &str) -> Seccomp {
    match field(status, "Seccomp") {
        Some("1") => Seccomp::Strict,
        Some("2") => Seccomp::Filter,
        _ => Seccomp::Off,
    }
}

/// The initial user namespace maps every id to itself.
fn maps_everything(uid_map: &str) -> bool {
    uid_map.split_whitespace().eq(["0", "0", "4294967295"])
}

/// The hard limit of `Max open files` in `/proc/self/limits`.
fn hard_descriptors(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
