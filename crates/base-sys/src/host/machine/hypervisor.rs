use std::fmt;

use super::Root;

/// What runs this virtual machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hypervisor {
    /// Which.
    pub kind: HypervisorKind,
    /// Vendor and product as the (virtual) firmware states them, such as `Amazon EC2 m5.large`.
    pub product: Option<String>,
}

/// Hypervisors with remedies of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HypervisorKind {
    /// KVM, under QEMU, libvirt, Firecracker or a cloud's own monitor.
    Kvm,
    /// Microsoft Hyper-V, Azure, WSL 2.
    HyperV,
    /// VMware.
    Vmware,
    /// Xen.
    Xen,
    /// Oracle VirtualBox.
    VirtualBox,
    /// QEMU without hardware support.
    QemuTcg,
    /// Something else.
    Other,
}

impl HypervisorKind {
    /// Its name in sentences.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kvm => "KVM",
            Self::HyperV => "Hyper-V",
            Self::Vmware => "VMware",
            Self::Xen => "Xen",
            Self::VirtualBox => "VirtualBox",
            Self::QemuTcg => "QEMU (emulation)",
            Self::Other => "unnamed",
        }
    }

    /// From the twelve bytes of CPUID leaf 0x4000_0000, EBX ECX EDX.
    fn from_signature(signature: &[u8; 12]) -> Self {
        match signature {
            b"KVMKVMKVM\0\0\0" | b"Linux KVM Hv" => Self::Kvm,
            b"Microsoft Hv" => Self::HyperV,
            b"VMwareVMware" => Self::Vmware,
            b"XenVMMXenVMM" => Self::Xen,
            b"VBoxVBoxVBox" => Self::VirtualBox,
            b"TCGTCGTCGTCG" => Self::QemuTcg,
            _ => Self::Other,
        }
    }
}

impl fmt::Display for Hypervisor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.name())?;
        match &self.product {
            Some(product) => write!(f, " ({product})"),
            None => Ok(()),
        }
    }
}

impl Hypervisor {
    /// `present`: the processor's hypervisor flag. `signature`: what CPUID says, where there is CPUID.
    /// A Xen guest may hide the flag, so `/sys/hypervisor` counts too.
    pub(super) fn read(root: &Root, present: bool, signature: Option<[u8; 12]>) -> Option<Self> {
        let xen = root.line("sys/hypervisor/type").is_some_and(|kind| kind == "xen");
        if !present && !xen {
            return None;
        }
        let kind = match signature {
            _ if xen => HypervisorKind::Xen,
            Some(signature) => HypervisorKind::from_signature(&signature),
            None => HypervisorKind::Other,
        };
        let vendor = root.line("sys/class/dmi/id/sys_vendor");
        let name = root.line("sys/class/dmi/id/product_name");
        let product = match (vendor, name) {
            (Some(vendor), Some(name)) if !name.starts_with(&vendor) => Some(format!("{vendor} {name}")),
            (vendor, name) => name.or(vendor),
        };
        Some(Self { kind, product })
    }
}

/// CPUID leaf 0x4000_0000 of a virtual machine, as stored text.
#[cfg(target_arch = "x86_64")]
pub(super) fn cpuid_signature() -> Option<[u8; 12]> {
    const HYPERVISOR_LEAF: u32 = 0x4000_0000;
    // SAFETY: every x86-64 processor has CPUID.
    #[allow(unused_unsafe, reason = "an unsafe function up to Rust 1.93, a safe one after")]
    let answer = unsafe { std::arch::x86_64::__cpuid(HYPERVISOR_LEAF) };
    let mut text = [0; 12];
    for (place, word) in text.chunks_exact_mut(4).zip([answer.ebx, answer.ecx, answer.edx]) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    Some(text)
}

/// Other architectures have no such leaf.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn cpuid_signature() -> Option<[u8; 12]> {
    None
}
