use super::{CpuInfo, Root, topology::cpu_list};

/// What a cache holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CacheKind {
    /// Data alone.
    Data,
    /// Instructions alone.
    Instruction,
    /// Both.
    Unified,
}

impl CacheKind {
    /// In lower case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Instruction => "instruction",
            Self::Unified => "unified",
        }
    }
}

/// One cache of the machine. A guest may be shown caches that it shares with others, or none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    /// 1 for what is nearest to the core.
    pub level: u32,
    /// What it holds.
    pub kind: CacheKind,
    /// Its size.
    pub bytes: u64,
    /// The size of one line.
    pub line_bytes: u32,
    /// Lines of a set; 0 where not known.
    pub ways: u32,
    /// Sets; 0 where not known.
    pub sets: u32,
    /// The logical processors that share it.
    pub cpus: Vec<u32>,
}

/// The caches of these processors, each once, by level and first processor; empty where sysfs has none.
pub fn caches(root: &Root, cpus: &[CpuInfo]) -> Vec<Cache> {
    // Each by its name. What a processor shares has the same name at the others, where it need not be read again.
    let mut found: Vec<(String, Cache)> = Vec::new();
    for cpu in cpus {
        let folder = format!("sys/devices/system/cpu/cpu{}/cache", cpu.cpu.0);
        for name in root.names(&folder).into_iter().filter(|name| name.starts_with("index")) {
            let is_it = |(other, cache): &(String, Cache)| *other == name && cache.cpus.contains(&cpu.cpu.0);
            if !found.iter().any(is_it)
                && let Some(cache) = read(root, &format!("{folder}/{name}"), cpu.cpu.0)
            {
                found.push((name, cache));
            }
        }
    }
    let mut found: Vec<Cache> = found.into_iter().map(|(_, cache)| cache).collect();
    found.sort_by_key(|cache| (cache.level, cache.kind, cache.cpus.first().copied()));
    found
}

/// Linux, Documentation/ABI/testing/sysfs-devices-system-cpu.
fn read(root: &Root, folder: &str, cpu: u32) -> Option<Cache> {
    let number = |name: &str| root.number(&format!("{folder}/{name}"));
    let shared = root.line(&format!("{folder}/shared_cpu_list")).map(|list| cpu_list(&list));
    Some(Cache {
        level: number("level")?,
        kind: match root.line(&format!("{folder}/type"))?.as_str() {
            "Data" => CacheKind::Data,
            "Instruction" => CacheKind::Instruction,
            "Unified" => CacheKind::Unified,
            _ => return None,
        },
        bytes: size(&root.line(&format!("{folder}/size"))?)?,
        line_bytes: number("coherency_line_size").unwrap_or(carom_base::LINE_BYTES as u32),
        ways: number("ways_of_associativity").unwrap_or(0),
        sets: number("number_of_sets").unwrap_or(0),
        cpus: shared.filter(|cpus| !cpus.is_empty()).unwrap_or_else(|| vec![cpu]),
    })
}

/// `32K`, as the kernel prints it. `None` for no size.
fn size(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let scale: u64 = match unit {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(scale).filter(|bytes| *bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(size("32K"), Some(32_768));
        assert_eq!(size("16M"), Some(16 << 20));
        for bad in ["", "K", "0K", "3T", "99999999999999999999K", "18014398509481984K"] {
            assert_eq!(size(bad), None, "{bad}");
        }
    }
}
