//! The manifest's entry for reuse.

use carom_base::LINE_BYTES;
use carom_base_wire::{Domains, DomainsOf, Engine, ReuseMethod, ReuseSettings};
use carom_store::ReuseInfo;

/// How reuse is looked for by `engine`.
pub fn info(settings: &ReuseSettings, engine: Engine) -> ReuseInfo {
    let common = ReuseInfo {
        distances: match engine {
            Engine::Burst => "ns",
            Engine::Translate => "accesses",
        }
        .into(),
        sample_rate: 1.0,
        domains_of: match settings.domains.of {
            DomainsOf::Cpus => "cpus",
            DomainsOf::Threads => "threads",
        }
        .into(),
        domains: groups(&settings.domains),
        ..ReuseInfo::default()
    };
    match settings.method {
        ReuseMethod::Sampled { watch, slots } => ReuseInfo {
            mode: "sampled".into(),
            watch: watch.name().into(),
            slots,
            granularities: vec![LINE_BYTES as u32],
            ..common
        },
        ReuseMethod::Exact { granularities, sample_rate, pairs, keep: _ } => ReuseInfo {
            mode: "exact".into(),
            granularities: (0..u32::BITS)
                .map(|bit| 1 << bit)
                .filter(|size| granularities & size != 0)
                .collect(),
            sample_rate,
            pairs,
            ..common
        },
        ReuseMethod::Kept | ReuseMethod::Reduced(_) => ReuseInfo { mode: "kept".into(), ..common },
    }
}

/// The members of each domain, in the order of their numbers.
fn groups(domains: &Domains) -> Vec<Vec<u32>> {
    let mut groups: Vec<Vec<u32>> = Vec::new();
    for (member, &domain) in (0..).zip(&domains.map) {
        if domain == Domains::REST {
            continue;
        }
        let place = usize::from(domain);
        if groups.len() <= place {
            groups.resize(place + 1, Vec::new());
        }
        if let Some(group) = groups.get_mut(place) {
            group.push(member);
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use carom_base_wire::WatchChoice;

    use super::*;

    #[test]
    fn domains_are_listed_as_they_were_asked_for() {
        let domains = Domains::new(DomainsOf::Threads, [&[0, 2][..], &[1, 3]]);
        let method = ReuseMethod::Sampled { watch: WatchChoice::Registers, slots: 4 };
        let sampled = info(&ReuseSettings { method, domains }, Engine::Burst);
        assert_eq!(sampled.domains, [[0, 2], [1, 3]]);
        assert_eq!((&*sampled.domains_of, &*sampled.distances), ("threads", "ns"));
        assert_eq!((&*sampled.watch, sampled.slots), ("registers", 4));
    }

    #[test]
    fn places_are_listed_by_size() {
        let method = ReuseMethod::Exact {
            granularities: 1 | 1 << 6 | 1 << 12,
            sample_rate: 0.1,
            pairs: true,
            keep: false,
        };
        let domains = Domains::new(DomainsOf::Cpus, []);
        let exact = info(&ReuseSettings { method, domains }, Engine::Translate);
        assert_eq!(exact.granularities, [1, 64, 4096]);
        assert_eq!((&*exact.mode, exact.sample_rate, exact.pairs), ("exact", 0.1, true));
    }
}
