//! Groups that share a cache: from the option, or from the machine's topology.

use carom_base_sys::machine::{Cache, CacheKind};
use carom_collect::{Domains, DomainsOf, MAPPED};

/// The value of `--cache-domains`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Groups {
    /// What is grouped.
    pub of: DomainsOf,
    /// The groups.
    pub groups: Vec<Vec<u32>>,
}

impl Groups {
    /// As a setting of the agents.
    pub fn domains(&self) -> Domains {
        Domains::new(self.of, self.groups.iter().map(Vec::as_slice))
    }

    /// The processors that share the machine's last cache; all in one group where the topology is not known.
    pub fn of_machine(caches: &[Cache]) -> Self {
        let of_data = |cache: &&Cache| cache.kind != CacheKind::Instruction;
        let last = caches.iter().filter(of_data).map(|cache| cache.level).max();
        let mut groups: Vec<Vec<u32>> = caches
            .iter()
            .filter(of_data)
            .filter(|cache| Some(cache.level) == last)
            .map(|c| c.cpus.clone())
            .collect();
        groups.dedup();
        if groups.is_empty() {
            groups.push((0..MAPPED as u32).collect());
        }
        Self { of: DomainsOf::Cpus, groups }
    }
}

/// Reads `0-1,2-3`: groups separated by commas, each of ranges and numbers joined by `+`. With `threads:` in front, the numbers
/// are those of threads.
///
/// # Errors
/// The problem with the text, for the user.
pub fn parse(text: &str) -> Result<Groups, String> {
    let (of, list) = match text.split_once(':') {
        Some(("threads", list)) => (DomainsOf::Threads, list),
        Some(("cpus", list)) => (DomainsOf::Cpus, list),
        Some((other, _)) => return Err(format!("{other:?} is neither cpus nor threads")),
        None => (DomainsOf::Cpus, text),
    };
    let groups: Vec<Vec<u32>> = list.split(',').map(group).collect::<Result<_, _>>()?;
    let mut members: Vec<u32> = groups.iter().flatten().copied().collect();
    members.sort_unstable();
    if let Some(pair) = members.windows(2).find(|pair| pair.first() == pair.last()) {
        return Err(format!("{} is in two groups", pair.first().copied().unwrap_or_default()));
    }
    Ok(Groups { of, groups })
}

fn group(text: &str) -> Result<Vec<u32>, String> {
    let mut members = Vec::new();
    for part in text.split('+') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number =
            |text: &str| text.trim().parse::<u32>().ok().filter(|number| (*number as usize) < MAPPED);
        let (Some(first), Some(last)) = (number(first), number(last)) else {
            return Err(format!("{part:?} is no range of numbers below {MAPPED}, such as 0-3"));
        };
        if first > last {
            return Err(format!("{part:?} ends before it begins"));
        }
        members.extend(first..=last);
    }
    Ok(members)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_ranges_and_what_is_joined() {
        let cpus = |groups: &[&[u32]]| Groups {
            of: DomainsOf::Cpus,
            groups: groups.iter().map(|group| group.to_vec()).collect(),
        };
        assert_eq!(parse("0-1,2-3"), Ok(cpus(&[&[0, 1], &[2, 3]])));
        assert_eq!(parse("cpus:0+2,1+3-4"), Ok(cpus(&[&[0, 2], &[1, 3, 4]])));
        assert_eq!(parse("threads:1,2"), Ok(Groups { of: DomainsOf::Threads, ..cpus(&[&[1], &[2]]) }));
    }

    #[test]
    fn nonsense_is_explained() {
        for (text, part) in [
            ("", "no range"),
            ("0-x", "no range"),
            ("3-1", "ends before"),
            ("0-1,1-2", "1 is in two groups"),
            ("0-4000000000", "no range"),
            ("cores:0", "neither cpus nor threads"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(part), "{text:?}: {error}");
        }
    }

    #[test]
    fn the_last_cache_of_the_machine_decides() {
        let cache = |level, kind, cpus: &[u32]| Cache {
            level,
            kind,
            bytes: 1 << 20,
            line_bytes: 64,
            ways: 8,
            sets: 0,
            cpus: cpus.to_vec(),
        };
        let caches = [
            cache(1, CacheKind::Data, &[0]),
            cache(2, CacheKind::Unified, &[0, 1]),
            cache(2, CacheKind::Unified, &[2, 3]),
        ];
        assert_eq!(Groups::of_machine(&caches).groups, [[0, 1], [2, 3]]);
        assert_eq!(Groups::of_machine(&caches[..1]).groups, [[0]]);
        let unknown = Groups::of_machine(&[]);
        assert_eq!((unknown.groups.len(), unknown.groups[0].len()), (1, MAPPED));
    }
}
