//! What is asked of agents that look for reuse, and where that lies in the control page.

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};

use carom_base::{Cpu, ThreadId};

/// Processors, or threads of a process, that a map of domains has room for.
pub const MAPPED: usize = 1024;

/// What watches sampled uses, or lines that other threads have written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchChoice {
    /// The translated code itself compares what it accesses with what is watched.
    Software,
    /// The debug registers of every thread.
    Registers,
}

impl WatchChoice {
    /// The name in manifests and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Software => "software",
            Self::Registers => "registers",
        }
    }
}

/// What domains are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DomainsOf {
    /// Processors: a thread is where it runs at the moment.
    Cpus,
    /// Threads, by their serial number in their process.
    Threads,
}

/// Who shares a cache with whom.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Domains {
    /// What they are made of.
    pub of: DomainsOf,
    /// The domain of each.
    pub map: [u8; MAPPED],
}

impl Domains {
    /// The domain of whatever no group names.
    pub const REST: u8 = u8::MAX;

    /// These groups, in order; what is in none of them is in [`Self::REST`]. Members and groups for which there is no
    /// room are left out.
    pub fn new<'a>(of: DomainsOf, groups: impl IntoIterator<Item = &'a [u32]>) -> Self {
        let mut map = [Self::REST; MAPPED];
        for (domain, group) in (0..Self::REST).zip(groups) {
            for &member in group {
                if let Some(place) = map.get_mut(member as usize) {
                    *place = domain;
                }
            }
        }
        Self { of, map }
    }

    /// Where a thread is that runs on `cpu`. Signal-safe.
    pub fn domain(&self, thread: ThreadId, cpu: Cpu) -> u8 {
        let member = match self.of {
            DomainsOf::Cpus => cpu.0,
            DomainsOf::Threads => thread.0,
        };
        self.map.get(member as usize).copied().unwrap_or(Self::REST)
    }
}

impl std::fmt::Debug for Domains {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mapped = self.map.iter().enumerate().filter(|(_, domain)| **domain != Self::REST);
        write!(f, "{:?} ", self.of)?;
        f.debug_map().entries(mapped).finish()
    }
}

/// How reuse is looked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ReuseMethod {
    /// Sampled accesses are watched for what touches them next.
    Sampled {
        /// What watches.
        watch: WatchChoice,
        /// Uses that are watched at a time in one process. Four at most where registers watch.
        slots: u32,
    },
    /// All accesses are looked at. Needs [`crate::Engine::Translate`].
    Exact {
        /// Bit n: places of 2^n bytes; bit 0: the very range of bytes that was accessed.
        granularities: u32,
        /// The share of places that are looked at, in (0, 1] (SHARDS: Waldspurger and others, FAST 2015).
        sample_rate: f64,
        /// Count pairs of instructions too.
        pairs: bool,
        /// Keep every access, for checks.
        keep: bool,
    },
}

/// What is asked of agents that look for reuse.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReuseSettings {
    /// How it is looked for.
    pub method: ReuseMethod,
    /// Who shares a cache.
    pub domains: Domains,
}

const SAMPLED: u32 = 1;
const EXACT: u32 = 2;

/// What [`ReuseMethod::Exact`] does beyond counting distances.
const PAIRS: u32 = 1;
const KEEP: u32 = 2;

/// The settings in the control page.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct ReusePage {
    sample_rate: AtomicU64,
    /// 0: no reuse is looked for.
    method: AtomicU32,
    watch: AtomicU32,
    slots: AtomicU32,
    granularities: AtomicU32,
    extras: AtomicU32,
    domains_of: AtomicU32,
    domains: [AtomicU8; MAPPED],
}

impl Default for ReusePage {
    fn default() -> Self {
        let zero = AtomicU32::default;
        Self {
            sample_rate: AtomicU64::new(0),
            method: zero(),
            watch: zero(),
            slots: zero(),
            granularities: zero(),
            extras: zero(),
            domains_of: zero(),
            domains: [const { AtomicU8::new(0) }; MAPPED],
        }
    }
}

impl ReusePage {
    pub(crate) fn new(settings: Option<&ReuseSettings>) -> Self {
        let page = Self::default();
        let Some(settings) = settings else { return page };
        match settings.method {
            ReuseMethod::Sampled { watch, slots } => {
                page.method.store(SAMPLED, Relaxed);
                page.watch.store(watch as u32, Relaxed);
                page.slots.store(slots, Relaxed);
            }
            ReuseMethod::Exact { granularities, sample_rate, pairs, keep } => {
                page.method.store(EXACT, Relaxed);
                page.granularities.store(granularities, Relaxed);
                page.sample_rate.store(sample_rate.to_bits(), Relaxed);
                let extras = if pairs { PAIRS } else { 0 } | if keep { KEEP } else { 0 };
                page.extras.store(extras, Relaxed);
            }
        }
        page.domains_of.store(settings.domains.of as u32, Relaxed);
        for (place, &domain) in page.domains.iter().zip(&settings.domains.map) {
            place.store(domain, Relaxed);
        }
        page
    }

    /// In the order of the layout.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.sample_rate.load(Relaxed).to_le_bytes().to_vec();
        let words =
            [&self.method, &self.watch, &self.slots, &self.granularities, &self.extras, &self.domains_of];
        bytes.extend(words.iter().flat_map(|word| word.load(Relaxed).to_le_bytes()));
        bytes.extend(self.domains.iter().map(|domain| domain.load(Relaxed)));
        bytes
    }

    /// The inverse of [`Self::new`]; `Err` where a field means nothing.
    pub(crate) fn settings(&self) -> Result<Option<ReuseSettings>, ()> {
        let method = match self.method.load(Relaxed) {
            0 => return Ok(None),
            SAMPLED => ReuseMethod::Sampled {
                watch: match self.watch.load(Relaxed) {
                    0 => WatchChoice::Software,
                    1 => WatchChoice::Registers,
                    _ => return Err(()),
                },
                slots: self.slots.load(Relaxed),
            },
            EXACT => {
                let sample_rate = f64::from_bits(self.sample_rate.load(Relaxed));
                if !(sample_rate > 0.0 && sample_rate <= 1.0) {
                    return Err(());
                }
                let extras = self.extras.load(Relaxed);
                ReuseMethod::Exact {
                    granularities: self.granularities.load(Relaxed),
                    sample_rate,
                    pairs: extras & PAIRS != 0,
                    keep: extras & KEEP != 0,
                }
            }
            _ => return Err(()),
        };
        let of = match self.domains_of.load(Relaxed) {
            0 => DomainsOf::Cpus,
            1 => DomainsOf::Threads,
            _ => return Err(()),
        };
        let map = std::array::from_fn(|at| self.domains.get(at).map_or(Domains::REST, |d| d.load(Relaxed)));
        Ok(Some(ReuseSettings { method, domains: Domains { of, map } }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn returns(settings: Option<ReuseSettings>) {
        let page = ReusePage::new(settings.as_ref());
        assert_eq!(page.settings(), Ok(settings));
        assert_eq!(page.to_bytes().len(), size_of::<ReusePage>());
    }

    #[test]
    fn settings_come_back() {
        returns(None);
        let domains = Domains::new(DomainsOf::Threads, [&[0, 1][..], &[2, 1023, 4000]]);
        let sampled = ReuseMethod::Sampled { watch: WatchChoice::Registers, slots: 4 };
        returns(Some(ReuseSettings { method: sampled, domains }));
        let exact =
            ReuseMethod::Exact { granularities: 1 << 6 | 1, sample_rate: 0.01, pairs: true, keep: true };
        returns(Some(ReuseSettings { method: exact, domains }));
    }

    #[test]
    fn a_thread_is_where_it_runs_or_where_its_number_says() {
        let groups = [&[0, 1][..], &[2, 3]];
        let cpus = Domains::new(DomainsOf::Cpus, groups);
        assert_eq!(cpus.domain(ThreadId(0), Cpu(3)), 1);
        assert_eq!(cpus.domain(ThreadId(2), Cpu(1)), 0);
        assert_eq!(cpus.domain(ThreadId(2), Cpu(5000)), Domains::REST);
        let threads = Domains::new(DomainsOf::Threads, groups);
        assert_eq!(threads.domain(ThreadId(2), Cpu(0)), 1);
        assert_eq!(threads.domain(ThreadId(4), Cpu(0)), Domains::REST);
    }

    #[test]
    fn nonsense_is_refused() {
        let method = ReuseMethod::Exact { granularities: 1, sample_rate: 1.0, pairs: false, keep: true };
        let settings = ReuseSettings { method, domains: Domains::new(DomainsOf::Cpus, []) };
        let broken = |change: fn(&ReusePage)| {
            let page = ReusePage::new(Some(&settings));
            change(&page);
            assert_eq!(page.settings(), Err(()));
        };
        broken(|page| page.method.store(3, Relaxed));
        broken(|page| page.domains_of.store(2, Relaxed));
        for rate in [0.0, -0.5, 1.5, f64::NAN] {
            let page = ReusePage::new(Some(&settings));
            page.sample_rate.store(rate.to_bits(), Relaxed);
            assert_eq!(page.settings(), Err(()), "{rate}");
        }
    }
}
