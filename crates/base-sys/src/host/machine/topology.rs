use carom_base::Cpu;

use super::Root;

/// Where a logical processor sits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuInfo {
    /// The logical processor.
    pub cpu: Cpu,
    /// Its core; numbers repeat from package to package.
    pub core: u32,
    /// Its package (socket).
    pub package: u32,
    /// Its NUMA node.
    pub node: u32,
}

/// All online processors in ascending order; empty where sysfs is not readable. What sysfs leaves out is
/// filled in with the plainest machine: every processor a core of its own, one package, one node.
pub fn cpus(root: &Root) -> Vec<CpuInfo> {
    let online = root.line("sys/devices/system/cpu/online").unwrap_or_default();
    cpu_list(&online).into_iter().map(|cpu| place(root, cpu)).collect()
}

fn place(root: &Root, cpu: u32) -> CpuInfo {
    let folder = format!("sys/devices/system/cpu/cpu{cpu}");
    // A package of -1 means that the firmware did not say; it parses as no number.
    let number = |name: &str| root.number(&format!("{folder}/topology/{name}"));
    let node = root.names(&folder).iter().find_map(|name| name.strip_prefix("node")?.parse().ok());
    CpuInfo {
        cpu: Cpu(cpu),
        core: number("core_id").unwrap_or(cpu),
        package: number("physical_package_id").unwrap_or(0),
        node: node.unwrap_or(0),
    }
}

/// Parses the kernel's list format, `0-3,8`. Parts that are no numbers are left out, and so are ranges of more
/// CPUs than Linux can have.
pub(in crate::host) fn cpu_list(list: &str) -> Vec<u32> {
    /// NR_CPUS of the largest configuration.
    const MOST_CPUS: u32 = 8192;
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        (last < MOST_CPUS).then_some(first..=last)
    };
    list.split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_lists() {
        assert_eq!(cpu_list("0-3,8"), [0, 1, 2, 3, 8]);
        assert_eq!(cpu_list("5"), [5]);
        assert_eq!(cpu_list(""), [0; 0]);
        assert_eq!(cpu_list("3-1,x,0-4294967295,7"), [7]);
    }
}
