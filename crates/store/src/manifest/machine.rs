use carom_base::Cpu;
use serde::{Deserialize, Serialize};

use super::plain;

/// The machine that was recorded on: no study asks the present one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MachineInfo {
    /// Kernel release, as `uname -r` prints it.
    pub kernel: String,
    /// The processor's name for itself.
    pub cpu_model: String,
    /// The host's name, where it may be known.
    pub hostname: Option<String>,
    /// Its logical processors. Empty where the topology could not be read.
    pub cpus: Vec<CpuInfo>,
    /// The hypervisor, where there is one.
    pub hypervisor: Option<String>,
    /// Its caches, each once, from the first level on. Empty where they could not be read.
    pub caches: Vec<CacheInfo>,
}

/// Where a logical processor sits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuInfo {
    /// The logical processor.
    #[serde(with = "plain")]
    pub cpu: Cpu,
    /// Its core; numbers repeat from package to package.
    pub core: u32,
    /// Its package (socket).
    pub package: u32,
    /// Its NUMA node.
    pub node: u32,
}

/// One cache.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CacheInfo {
    /// Its level; 1 is nearest to the core.
    pub level: u32,
    /// What it holds: `data`, `instruction` or `unified`.
    pub kind: String,
    /// Its size.
    pub bytes: u64,
    /// The size of one line.
    pub line_bytes: u32,
    /// Lines of a set.
    pub ways: u32,
    /// Sets.
    pub sets: u32,
    /// The logical processors that share it.
    pub cpus: Vec<u32>,
}
