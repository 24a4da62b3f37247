//! The settings for reuse.

use carom_base::{Cpu, Keep, Reduction, ThreadId};

use super::{Lines, Section, SettingsError, WatchChoice};

/// Processors, or threads of a process, that a map of domains has room for.
pub const MAPPED: usize = 1024;

/// What domains are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DomainsOf {
    /// Processors: a thread is in the domain of the processor on which it runs.
    Cpus,
    /// Threads, by their serial number in their process.
    Threads,
}

impl DomainsOf {
    const fn name(self) -> &'static str {
        match self {
            Self::Cpus => "cpus",
            Self::Threads => "threads",
        }
    }
}

/// The domains of shared caches.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Domains {
    /// What they are made of.
    pub of: DomainsOf,
    /// The domain of each.
    pub map: [u8; MAPPED],
}

impl Domains {
    /// The domain of all that no group names.
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

    /// The domain of a thread that runs on `cpu`. Signal-safe.
    pub fn domain(&self, thread: ThreadId, cpu: Cpu) -> u8 {
        let member = match self.of {
            DomainsOf::Cpus => cpu.0,
            DomainsOf::Threads => thread.0,
        };
        self.map.get(member as usize).copied().unwrap_or(Self::REST)
    }

    /// The domain of each, up to the last that is in any.
    fn to_text(self) -> String {
        let named = self.map.iter().rposition(|domain| *domain != Self::REST).map_or(0, |last| last + 1);
        self.map.iter().take(named).map(u8::to_string).collect::<Vec<_>>().join(" ")
    }

    /// The inverse of [`Self::to_text`].
    fn from_text(of: DomainsOf, text: &str) -> Option<Self> {
        let mut map = [Self::REST; MAPPED];
        for (at, domain) in text.split_whitespace().enumerate() {
            *map.get_mut(at)? = domain.parse().ok()?;
        }
        Some(Self { of, map })
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
    /// Sampled accesses are watched until the next touch.
    Sampled {
        /// What watches.
        watch: WatchChoice,
        /// Uses that are watched at a time in one process. Four at most where registers watch.
        slots: u32,
    },
    /// All accesses are analysed. Needs [`super::Engine::Translate`].
    Exact {
        /// Bit n: places of 2^n bytes; bit 0: the very range of bytes that was accessed.
        granularities: u32,
        /// The share of places that are analysed, in (0, 1] (SHARDS: Waldspurger and others, FAST 2015).
        sample_rate: f64,
        /// Count pairs of instructions too.
        pairs: bool,
        /// Keep every access, for checks.
        keep: bool,
    },
    /// All accesses are kept, and none is analysed. Needs [`super::Engine::Translate`].
    Kept,
    /// Some accesses are kept, and none is analysed. Needs [`super::Engine::Translate`]. Where it is targeted, the file
    /// [`super::TARGETS_FILE`] lists the instructions whose loads are timed.
    Reduced(Reduction),
}

/// What is asked of agents that look for reuse.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReuseSettings {
    /// The method.
    pub method: ReuseMethod,
    /// The domains of shared caches.
    pub domains: Domains,
}

impl Section for ReuseSettings {
    const NAME: &'static str = "reuse";

    fn write(&self, lines: &mut Lines) {
        match self.method {
            ReuseMethod::Sampled { watch, slots } => {
                lines.add("method", "sampled");
                lines.add("watch", watch.name());
                lines.add("slots", slots);
            }
            ReuseMethod::Exact { granularities, sample_rate, pairs, keep } => {
                lines.add("method", "exact");
                lines.add("granularities", granularities);
                lines.add("sample-rate", sample_rate);
                lines.add("pairs", pairs);
                lines.add("keep", keep);
            }
            ReuseMethod::Kept => lines.add("method", "kept"),
            ReuseMethod::Reduced(reduction) => {
                lines.add("method", "reduced");
                write_reduction(lines, reduction);
            }
        }
        lines.add("domains-of", self.domains.of.name());
        lines.add("domains", self.domains.to_text());
    }

    fn read(lines: &mut Lines) -> Result<Self, SettingsError> {
        let method = match lines.choice("method", ["sampled", "exact", "kept", "reduced"], |name| name)? {
            "kept" => ReuseMethod::Kept,
            "reduced" => ReuseMethod::Reduced(read_reduction(lines)?),
            "sampled" => ReuseMethod::Sampled {
                watch: lines.choice("watch", WatchChoice::ALL, WatchChoice::name)?,
                slots: lines.number("slots")?,
            },
            _ => ReuseMethod::Exact {
                granularities: lines.number("granularities")?,
                sample_rate: sample_rate(lines)?,
                pairs: lines.number("pairs")?,
                keep: lines.number("keep")?,
            },
        };
        let of = lines.choice("domains-of", [DomainsOf::Cpus, DomainsOf::Threads], DomainsOf::name)?;
        let text = lines.text("domains")?;
        let domains = Domains::from_text(of, &text).ok_or_else(|| lines.bad("domains", text))?;
        Ok(Self { method, domains })
    }
}

fn write_reduction(lines: &mut Lines, Reduction { latency, keep }: Reduction) {
    lines.add("latency", latency);
    match keep {
        Keep::Lossy { sample, itanium } => {
            lines.add("keep", "lossy");
            lines.add("sample", sample);
            lines.add("itanium", itanium);
        }
        Keep::Targeted { stores } => {
            lines.add("keep", "targeted");
            lines.add("stores", stores);
        }
        Keep::Loads => lines.add("keep", "loads"),
    }
}

fn read_reduction(lines: &mut Lines) -> Result<Reduction, SettingsError> {
    let latency = lines.number("latency")?;
    let keep = match lines.choice("keep", ["lossy", "targeted", "loads"], |name| name)? {
        "lossy" => Keep::Lossy { sample: lines.number("sample")?, itanium: lines.number("itanium")? },
        "targeted" => Keep::Targeted { stores: lines.number("stores")? },
        _ => Keep::Loads,
    };
    Ok(Reduction { latency, keep })
}

fn sample_rate(lines: &mut Lines) -> Result<f64, SettingsError> {
    let rate: f64 = lines.number("sample-rate")?;
    if rate > 0.0 && rate <= 1.0 { Ok(rate) } else { Err(lines.bad("sample-rate", rate.to_string())) }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn maps_come_back_from_text() {
        let domains = Domains::new(DomainsOf::Cpus, [&[1][..], &[0, 3]]);
        assert_eq!(domains.to_text(), "1 0 255 1");
        for domains in
            [domains, Domains::new(DomainsOf::Threads, []), Domains::new(DomainsOf::Cpus, [&[1023][..]])]
        {
            assert_eq!(Domains::from_text(domains.of, &domains.to_text()), Some(domains));
        }
        let too_many = "0 ".repeat(MAPPED + 1);
        for bad in ["0 x", "0 256", too_many.trim_end()] {
            assert_eq!(Domains::from_text(DomainsOf::Cpus, bad), None, "{bad}");
        }
    }
}
