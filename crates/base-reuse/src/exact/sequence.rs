//! Accesses of several threads, in order.

use carom_base::{Access, Domain, ThreadId};

/// Accesses of several threads in order, which [`Exact::sequence`](super::Exact::sequence) takes at once: threads may
/// alternate at every access.
#[derive(Clone, Debug, Default)]
pub struct Sequence {
    accesses: Vec<Access>,
    runs: Vec<Run>,
    sources: Vec<Source>,
}

/// The thread that makes accesses, and its domain.
pub(super) type Source = (ThreadId, Domain);

/// Consecutive accesses of one source.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// Which of the sources.
    source: u32,
    count: u32,
}

impl Sequence {
    /// Appends accesses of one thread, made while it ran in this domain.
    #[inline]
    pub fn push(&mut self, thread: ThreadId, domain: Domain, accesses: &[Access]) {
        self.note(thread, domain, accesses.len());
        // Most are single ones, which a loop copies faster than a copy of any number.
        if let [only] = accesses {
            self.accesses.push(*only);
        } else {
            self.accesses.extend_from_slice(accesses);
        }
    }

    /// As [`push`](Self::push). If these are the first accesses, the vector is exchanged for an empty one.
    pub fn push_all(&mut self, thread: ThreadId, domain: Domain, accesses: &mut Vec<Access>) {
        if self.accesses.is_empty() {
            self.note(thread, domain, accesses.len());
            std::mem::swap(&mut self.accesses, accesses);
        } else {
            self.push(thread, domain, accesses);
        }
    }

    #[inline]
    fn note(&mut self, thread: ThreadId, domain: Domain, count: usize) {
        let source = self.source(thread, domain);
        let count = count as u32;
        match self.runs.last_mut() {
            Some(run) if run.source == source && run.count.checked_add(count).is_some() => run.count += count,
            _ => self.runs.push(Run { source, count }),
        }
    }

    #[inline]
    fn source(&mut self, thread: ThreadId, domain: Domain) -> u32 {
        let found = self.sources.iter().position(|source| *source == (thread, domain));
        found.unwrap_or_else(|| {
            self.sources.push((thread, domain));
            self.sources.len() - 1
        }) as u32
    }

    /// The number of accesses.
    pub fn len(&self) -> usize {
        self.accesses.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.accesses.is_empty()
    }

    /// Removes all accesses; their memory stays.
    pub fn clear(&mut self) {
        self.accesses.clear();
        self.runs.clear();
        self.sources.clear();
    }

    pub(super) fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// All runs: the source, and its consecutive accesses.
    #[inline(always)]
    pub(super) fn runs(&self) -> impl Iterator<Item = (Source, &[Access])> {
        let all = Group { runs: &self.runs, accesses: &self.accesses };
        all.runs().filter_map(|(source, accesses)| Some((*self.sources.get(source)?, accesses)))
    }

    /// All runs, in groups that are no longer than needed for this many accesses.
    pub(super) fn groups(&self, least: usize) -> impl Iterator<Item = Group<'_>> {
        let (mut runs, mut accesses) = (self.runs.as_slice(), self.accesses.as_slice());
        std::iter::from_fn(move || {
            let (mut taken, mut count) = (0, 0);
            for run in runs {
                taken += 1;
                count += run.count as usize;
                if count >= least {
                    break;
                }
            }
            let of_group = runs.split_off(..taken)?;
            let accesses = accesses.split_off(..count)?;
            (taken > 0).then_some(Group { runs: of_group, accesses })
        })
    }
}

/// Some of the runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group<'a> {
    runs: &'a [Run],
    accesses: &'a [Access],
}

impl<'a> Group<'a> {
    pub fn is_one_run(&self) -> bool {
        self.runs.len() == 1
    }

    /// The number of the source, and the accesses.
    #[inline(always)]
    pub fn runs(self) -> impl Iterator<Item = (usize, &'a [Access])> {
        let mut accesses = self.accesses;
        self.runs.iter().map(move |run| {
            let (these, rest) = accesses.split_at_checked(run.count as usize).unwrap_or_default();
            accesses = rest;
            (run.source as usize, these)
        })
    }
}

#[cfg(test)]
mod tests {
    use carom_base::{AccessKind, Addr, Ip};

    use super::*;

    fn load(addr: u64) -> Access {
        Access { ip: Ip(1), addr: Addr(addr), width: 8, kind: AccessKind::Load }
    }

    /// Runs of 1, 3 (two pushes of one source), 2 and 1; groups of at least 4: the first two, then the rest.
    #[test]
    fn runs_come_out_in_their_order() {
        let loads: Vec<Access> = (0..7).map(load).collect();
        let mut sequence = Sequence::default();
        let mut all = loads[..1].to_vec();
        sequence.push_all(ThreadId(5), Domain(0), &mut all);
        assert!(all.is_empty());
        sequence.push(ThreadId(6), Domain(0), &loads[1..2]);
        sequence.push(ThreadId(6), Domain(0), &loads[2..4]);
        sequence.push(ThreadId(6), Domain(1), &loads[4..6]);
        sequence.push_all(ThreadId(5), Domain(0), &mut loads[6..].to_vec());
        let groups: Vec<Vec<(usize, &[Access])>> =
            sequence.groups(4).map(|group| group.runs().collect()).collect();
        let expected = [vec![(0, &loads[..1]), (1, &loads[1..4])], vec![(2, &loads[4..6]), (0, &loads[6..])]];
        assert_eq!(groups, expected);
        let sources = [(5, 0), (6, 0), (6, 1)].map(|(thread, domain)| (ThreadId(thread), Domain(domain)));
        assert_eq!((sequence.sources(), sequence.len()), (&sources[..], 7));
        sequence.clear();
        assert!(sequence.is_empty() && sequence.groups(4).next().is_none());
    }
}
