use super::Root;

/// Hardware units that sysfs advertises. Virtual machines advertise some that do not work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pmus {
    /// Counting units of the cores: `cpu`, `cpu_core` and `cpu_atom`, `armv8_pmuv3_0`.
    pub core: Vec<String>,
    /// How single memory accesses could be sampled, where something can.
    pub memory: Option<MemorySampler>,
}

/// Hardware that samples memory accesses with their addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemorySampler {
    /// `mem-loads` events of the core unit: Intel PEBS, or POWER.
    MemLoads,
    /// AMD instruction-based sampling.
    IbsOp,
    /// Arm statistical profiling extension.
    ArmSpe,
}

impl MemorySampler {
    /// Its name in sentences.
    pub const fn name(self) -> &'static str {
        match self {
            Self::MemLoads => "mem-loads events (PEBS)",
            Self::IbsOp => "IBS (ibs_op)",
            Self::ArmSpe => "SPE (arm_spe)",
        }
    }
}

const DEVICES: &str = "sys/bus/event_source/devices";

impl Pmus {
    pub(super) fn read(root: &Root) -> Self {
        let names = root.names(DEVICES);
        let core: Vec<String> = names.iter().filter(|name| is_core(name)).cloned().collect();
        let loads = core.iter().any(|unit| root.exists(&format!("{DEVICES}/{unit}/events/mem-loads")));
        let memory = if names.iter().any(|name| name.starts_with("arm_spe_")) {
            Some(MemorySampler::ArmSpe)
        } else if names.iter().any(|name| name == "ibs_op") {
            Some(MemorySampler::IbsOp)
        } else {
            loads.then_some(MemorySampler::MemLoads)
        };
        Self { core, memory }
    }
}

fn is_core(name: &str) -> bool {
    matches!(name, "cpu" | "cpu_core" | "cpu_atom") || name.starts_with("armv8_")
}
