use super::Root;

/// What this process seems to run in. Hints: each can be missing or left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    /// A Kubernetes pod.
    Kubernetes,
    /// Docker (`/.dockerenv`).
    Docker,
    /// Podman (`/run/.containerenv`).
    Podman,
    /// LXC or Incus.
    Lxc,
    /// Another: systemd-nspawn, a bare cgroup of a runtime.
    Other,
}

impl Container {
    /// Its name in sentences.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kubernetes => "Kubernetes",
            Self::Docker => "Docker",
            Self::Podman => "Podman",
            Self::Lxc => "LXC",
            Self::Other => "unnamed",
        }
    }

    pub(super) fn read(root: &Root) -> Option<Self> {
        let groups = root.text("proc/self/cgroup").unwrap_or_default();
        let mount = root.line("run/systemd/container").unwrap_or_default();
        if groups.contains("kubepods") || root.exists("var/run/secrets/kubernetes.io") {
            Some(Self::Kubernetes)
        } else if root.exists("run/.containerenv") || groups.contains("libpod") {
            Some(Self::Podman)
        } else if root.exists(".dockerenv") || groups.contains("/docker") {
            Some(Self::Docker)
        } else if mount == "lxc" || groups.contains("/lxc") {
            Some(Self::Lxc)
        } else if !mount.is_empty() || groups.contains("containerd") {
            Some(Self::Other)
        } else {
            None
        }
    }
}
