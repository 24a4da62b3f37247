//! Data that threads use in functions that take a lock, which lies elsewhere.

use std::collections::BTreeMap;

use carom_base::ThreadId;

use super::{Contended, LineFinding, Remedy, Site};
use crate::symbols::Frame;

/// This part of the accesses to the data is made by functions that take the lock, or by what these call.
const NEARLY_ALL: f64 = 0.9;

/// The same threads use both, in this part of the accesses.
const TOGETHER: f64 = 0.75;

/// Where threads share data truly and nearly all accesses to it are made in functions that take one of the contended locks, it is
/// the lock that is to be used less: the data follows.
pub(super) fn by_locks(lines: &mut [LineFinding]) {
    let locks: Vec<(Contended, String, BTreeMap<ThreadId, u64>)> = lines
        .iter()
        .filter_map(|line| match &line.remedy {
            Remedy::Contend(lock) if lock.primitive.protects() => {
                Some((lock.clone(), line.object.name.clone(), threads(&line.sites)))
            }
            _ => None,
        })
        .collect();
    for line in lines {
        if let Remedy::ShareLess { .. } = line.remedy
            && let Some((lock, object, _)) =
                locks.iter().find(|(lock, _, takers)| protects(lock, takers, &line.sites))
        {
            // A part of the data may have its lock beside it: `struct part { mutex lock; map data; } parts[16]`.
            let elsewhere = *object != line.object.name;
            line.remedy = Remedy::Contend(Contended { elsewhere, ..lock.clone() });
        }
    }
}

fn protects(lock: &Contended, takers: &BTreeMap<ThreadId, u64>, sites: &[Site]) -> bool {
    let takes = |frame: &Frame| {
        lock.users.iter().any(|user| user.function == frame.function && user.file == frame.file)
    };
    let all: u64 = sites.iter().map(|site| site.seen).sum();
    let under_it: u64 = sites.iter().filter(|site| site.frames.iter().any(takes)).map(|site| site.seen).sum();
    all > 0 && under_it as f64 >= NEARLY_ALL * all as f64 && overlap(takers, &threads(sites)) >= TOGETHER
}

fn threads(sites: &[Site]) -> BTreeMap<ThreadId, u64> {
    let mut seen = BTreeMap::new();
    for site in sites {
        *seen.entry(site.thread).or_default() += site.seen;
    }
    seen
}

/// The parts of the threads in each, the smaller of both for every thread, added up.
fn overlap(one: &BTreeMap<ThreadId, u64>, other: &BTreeMap<ThreadId, u64>) -> f64 {
    let part = |of: &BTreeMap<ThreadId, u64>, thread| {
        let whole: u64 = of.values().sum();
        of.get(&thread).map_or(0.0, |seen| *seen as f64 / whole as f64)
    };
    one.keys().map(|thread| part(one, *thread).min(part(other, *thread))).sum()
}

#[cfg(test)]
mod tests {
    use carom_base::AccessKind;

    use super::*;
    use crate::share::Primitive;

    /// Accesses of a thread in this function, called by that one.
    fn site(thread: u32, function: &str, caller: &str, seen: u64) -> Site {
        let frame = |name: &str| Frame { function: Some(name.to_owned()), ..Frame::default() };
        Site {
            thread: ThreadId(thread),
            kind: AccessKind::Store,
            offset: 0,
            width: 8,
            splits_line: false,
            field: None,
            frames: vec![frame(function), frame(caller)],
            share: 0.0,
            seen,
        }
    }

    #[test]
    fn what_functions_use_that_take_a_lock_belongs_to_it() {
        let taken = [site(1, "report", "serve", 50), site(2, "report", "serve", 50)];
        let lock = Contended {
            primitive: Primitive::Mutex,
            name: Some("guard".to_owned()),
            users: vec![Frame { function: Some("report".to_owned()), ..Frame::default() }],
            elsewhere: false,
            several: false,
        };
        let by = |sites: &[Site]| protects(&lock, &threads(&taken), sites);
        assert!(by(&[site(1, "add", "report", 40), site(2, "add", "report", 30)]));
        assert!(!by(&[site(1, "add", "report", 40), site(2, "add", "serve", 30)]), "some without the lock");
        assert!(!by(&[site(1, "add", "report", 40), site(3, "add", "report", 30)]), "another thread");
    }
}
