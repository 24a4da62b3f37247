//! Uses, and the curves that they belong to.

use std::collections::BTreeMap;

use carom_base::{
    Addr, Ip, Locality, Nanos, ProcessId, ReuseEvent, ReuseKind, ReuseOutcome, Scope, StackId, ThreadId,
};
use carom_study_stats::reuse::{End, Observation};

use crate::reuse::{CurveKind, CurveScope, ReuseInput, ReusedBy};

/// What one curve is of.
pub type Key = (CurveScope, ReusedBy, CurveKind);

/// A sampled use and what became of it.
#[derive(Clone, Copy, Debug)]
pub struct Use {
    pub time: Nanos,
    pub thread: ThreadId,
    pub process: ProcessId,
    pub scope: Scope,
    /// Whose cache it is in.
    pub owner: CurveScope,
    pub locality: Locality,
    pub outcome: ReuseOutcome,
    pub distance: u64,
    pub weight: f64,
    pub site: (Ip, StackId),
    pub reuse: Option<Reuse>,
    /// Its expected stack distance in lines, where it is a reuse of a line.
    pub stack: Option<u64>,
}

/// The reuse that ended a use.
#[derive(Clone, Copy, Debug)]
pub struct Reuse {
    pub thread: ThreadId,
    pub kind: ReuseKind,
    /// Whether another thread made it.
    pub by_other: bool,
    /// Whether it is of the very bytes.
    pub temporal: bool,
    pub site: (Ip, StackId),
    pub at: Addr,
}

impl Use {
    /// Of threads in the first run.
    pub fn of(event: &ReuseEvent, input: &dyn ReuseInput) -> Self {
        let earlier = event.earlier;
        let later = event.later.filter(|_| event.outcome == ReuseOutcome::Reused);
        let reuse = later.map(|later| Reuse {
            thread: input.in_first_run(later.thread),
            kind: ReuseKind::of(earlier.access.kind, later.access.kind),
            by_other: later.thread != earlier.thread,
            temporal: (earlier.access.addr, earlier.access.width) == (later.access.addr, later.access.width),
            site: (later.access.ip, later.stack),
            at: later.access.addr,
        });
        let entry = input.threads().get(earlier.thread.0 as usize);
        let thread = input.in_first_run(earlier.thread);
        Self {
            time: earlier.time,
            thread,
            process: entry.map_or_else(ProcessId::default, |entry| entry.process),
            scope: event.scope,
            owner: match event.scope {
                Scope::Private => CurveScope::Thread(thread),
                Scope::Shared => CurveScope::Shared(input.domain(thread)),
            },
            locality: event.locality,
            outcome: event.outcome,
            distance: event.distance,
            weight: f64::from(event.weight),
            site: (earlier.access.ip, earlier.stack),
            reuse,
            stack: None,
        }
    }

    /// What the estimators are told.
    pub fn observation(&self, by: ReusedBy) -> Observation {
        let by_other = self.reuse.is_some_and(|reuse| reuse.by_other);
        let end = match self.outcome {
            // The next access is the same thread's: never reused by another before.
            ReuseOutcome::Reused if by == ReusedBy::OtherThread && !by_other => End::Never,
            ReuseOutcome::Reused => End::Reused,
            ReuseOutcome::Invalidated => End::Invalidated,
            ReuseOutcome::Replaced => End::Censored,
            ReuseOutcome::Ended => End::Never,
        };
        Observation { distance: self.distance, weight: self.weight, end }
    }
}

/// The curves that each use belongs to, with the uses by index.
pub fn groups(uses: &[Use]) -> BTreeMap<Key, Vec<usize>> {
    let mut groups: BTreeMap<Key, Vec<usize>> = BTreeMap::new();
    for (index, each) in uses.iter().enumerate() {
        let kind = match each.locality {
            Locality::Temporal => CurveKind::Temporal,
            Locality::Spatial => CurveKind::Spatial,
            Locality::Line => CurveKind::Any,
        };
        let scopes = match each.scope {
            Scope::Private => [CurveScope::All, each.owner].map(|of| (of, ReusedBy::SameThread)),
            Scope::Shared => [ReusedBy::AnyThread, ReusedBy::OtherThread].map(|by| (each.owner, by)),
        };
        for (scope, by) in scopes {
            groups.entry((scope, by, kind)).or_default().push(index);
        }
    }
    groups
}
