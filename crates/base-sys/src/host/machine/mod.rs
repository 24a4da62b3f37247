//! Facts about the machine: kernel, processor, hypervisor, container, topology, privileges, settings.
//!
//! Facts only; what follows from them is decided in [`crate::host::probe`]. Readers take a [`Root`], so that tests
//! bring machines of their own.

mod cache;
mod container;
mod cpu;
mod hypervisor;
mod kernel;
mod kernel_events;
mod pmu;
mod privilege;
mod root;
mod settings;
mod space;
#[cfg(test)]
mod tests;
mod topology;

pub use cache::{Cache, CacheKind, caches};
pub use container::Container;
pub use cpu::{CpuModel, ShadowStack};
pub use hypervisor::{Hypervisor, HypervisorKind};
pub use kernel::{Kernel, tick_hz};
pub use kernel_events::{KernelPmuEvent, kernel_events};
pub use pmu::{MemorySampler, Pmus};
pub use privilege::{Privilege, Seccomp};
pub use root::Root;
pub use settings::Settings;
pub use space::Space;
pub(in crate::host) use topology::cpu_list;
pub use topology::{CpuInfo, cpus};

/// Everything that is read about the machine and this process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// The kernel.
    pub kernel: Kernel,
    /// The host's name (the nodename of uname(2)), where it tells this host from others.
    pub hostname: Option<String>,
    /// Clock interrupts per second (CONFIG_HZ).
    pub tick_hz: Option<u32>,
    /// The processor.
    pub cpu: CpuModel,
    /// Its logical processors.
    pub cpus: Vec<CpuInfo>,
    /// Its caches.
    pub caches: Vec<Cache>,
    /// What virtualises it.
    pub hypervisor: Option<Hypervisor>,
    /// What isolates this process.
    pub container: Option<Container>,
    /// What this process may do.
    pub privilege: Privilege,
    /// Kernel settings.
    pub settings: Settings,
    /// Advertised hardware units.
    pub pmus: Pmus,
}

impl Machine {
    /// Reads the running system.
    pub fn here() -> Self {
        Self { tick_hz: tick_hz(), ..Self::read(&Root::system(), hypervisor::cpuid_signature()) }
    }

    /// Reads the running system, except for its processors and caches: where there are many, that takes tens of milliseconds.
    pub fn without_caches() -> Self {
        let (root, signature) = (Root::system(), hypervisor::cpuid_signature());
        Self { tick_hz: tick_hz(), ..Self::read_without_caches(&root, signature) }
    }

    /// Reads a tree of files; `signature` is CPUID leaf 0x4000_0000 where there is one. Unreadable files leave
    /// the defaults.
    pub fn read(root: &Root, signature: Option<[u8; 12]>) -> Self {
        let cpus = cpus(root);
        Self { caches: caches(root, &cpus), cpus, ..Self::read_without_caches(root, signature) }
    }

    fn read_without_caches(root: &Root, signature: Option<[u8; 12]>) -> Self {
        let cpu = CpuModel::read(root);
        Self {
            kernel: Kernel::read(root),
            hostname: kernel::hostname(root),
            tick_hz: None,
            hypervisor: Hypervisor::read(root, cpu.virtual_machine, signature),
            cpu,
            cpus: Vec::new(),
            caches: Vec::new(),
            container: Container::read(root),
            privilege: Privilege::read(root),
            settings: Settings::read(root),
            pmus: Pmus::read(root),
        }
    }
}
