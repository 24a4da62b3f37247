use super::{Root, root::field};

/// The processor, and what of it user mode may use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuModel {
    /// Its name for itself.
    pub name: String,
    /// `GenuineIntel`, `AuthenticAMD`; empty on other architectures.
    pub vendor: String,
    /// Family, as Linux counts it.
    pub family: Option<u32>,
    /// Model number within the family.
    pub model: Option<u32>,
    /// True where the processor says that it runs under a hypervisor.
    pub virtual_machine: bool,
    /// Programs may read and write the FS and GS bases (AT_HWCAP2); `None` where the auxiliary vector was
    /// not readable.
    pub fsgsbase: Option<bool>,
    /// What the CPU and the kernel say about shadow stacks.
    pub shadow_stack: ShadowStack,
}

/// Shadow stacks (Intel CET, AMD alike): returns are checked against a second stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShadowStack {
    /// The CPU or the kernel has none for user mode.
    #[default]
    Absent,
    /// Available, not in use by this process.
    Available,
    /// In use by this process.
    Active,
}

/// Key of the second word of hardware capabilities in the auxiliary vector (`linux/auxvec.h`).
const AT_HWCAP2: u64 = 26;
/// Bit of AT_HWCAP2 (`asm/hwcap2.h`, Linux 5.9).
const HWCAP2_FSGSBASE: u64 = 1 << 1;

impl CpuModel {
    pub(super) fn read(root: &Root) -> Self {
        let info = root.text("proc/cpuinfo").unwrap_or_default();
        let status = root.text("proc/self/status").unwrap_or_default();
        let flags = field(&info, "flags").unwrap_or_default();
        let has = |flag: &str| flags.split_whitespace().any(|f| f == flag);
        let name = ["model name", "cpu", "Processor"].iter().find_map(|key| field(&info, key));
        Self {
            name: name.unwrap_or_default().to_owned(),
            vendor: field(&info, "vendor_id").unwrap_or_default().to_owned(),
            family: field(&info, "cpu family").and_then(|n| n.parse().ok()),
            model: field(&info, "model").and_then(|n| n.parse().ok()),
            virtual_machine: has("hypervisor"),
            fsgsbase: root.bytes("proc/self/auxv").map(|auxv| hwcap2(&auxv) & HWCAP2_FSGSBASE != 0),
            shadow_stack: shadow_stack(has("user_shstk"), field(&status, "x86_Thread_features")),
        }
    }
}

fn shadow_stack(cpu: bool, thread: Option<&str>) -> ShadowStack {
    match thread {
        Some(features) if features.split_whitespace().any(|f| f == "shstk") => ShadowStack::Active,
        _ if cpu => ShadowStack::Available,
        _ => ShadowStack::Absent,
    }
}

/// AT_HWCAP2 of an auxiliary vector: pairs of native words, ended by a zero key.
fn hwcap2(auxv: &[u8]) -> u64 {
    let (words, _) = auxv.as_chunks::<8>();
    let (pairs, _) = words.as_chunks::<2>();
    let found = pairs.iter().find(|[key, _]| u64::from_ne_bytes(*key) == AT_HWCAP2);
    found.map_or(0, |[_, value]| u64::from_ne_bytes(*value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_auxiliary_vector_is_searched_by_key() {
        let words = [16u64, 0xffff, AT_HWCAP2, HWCAP2_FSGSBASE, 0, 0];
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_ne_bytes()).collect();
        assert_eq!(hwcap2(&bytes), HWCAP2_FSGSBASE);
        assert_eq!(hwcap2(&bytes[..16]), 0, "cut before the key");
        assert_eq!(hwcap2(&bytes[..25]), 0, "cut within the pair");
    }

    #[test]
    fn a_thread_with_shstk_runs_with_a_shadow_stack() {
        assert_eq!(shadow_stack(true, Some("shstk")), ShadowStack::Active);
        assert_eq!(shadow_stack(true, Some("")), ShadowStack::Available);
        assert_eq!(shadow_stack(false, None), ShadowStack::Absent);
    }
}
