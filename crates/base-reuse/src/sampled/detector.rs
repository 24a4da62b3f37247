use carom_base::{ReuseEvent, ReuseOutcome, Scope, ThreadId, Touch};

use super::clocks::{Stand, Until};
use super::config::{Config, MAX_SLOTS, Positions};
use super::pending::PendingTouch;
use super::placing::NewWatch;
use super::random::Random;
use super::slot::{Slot, Use};
use super::state::{Phase, State};
use super::tally::Tally;
use super::watch::{Watch, WatchId, WatchedRange};

/// The detector that all threads of a process share.
///
/// It borrows its memory, which may be any memory that starts zeroed and that all threads see. Every operation is
/// lock-free and bounded, also while other threads are stopped in the middle of theirs.
#[derive(Clone, Copy, Debug)]
pub struct Detector<'a> {
    pub(super) slots: &'a [Slot],
    pub(super) tally: &'a Tally,
    pub(super) config: Config,
}

/// A use that has ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Over {
    /// Its watch, to be removed in all threads, unless another use takes its place at once.
    pub watch: Watch,
    /// Its outcome, to be recorded.
    pub event: ReuseEvent,
    /// Another thread had touched the place before, while the using one was held. That touch would have come later,
    /// and does not count.
    pub had_pending: bool,
}

/// The result of a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sampled {
    /// To be set in all threads, each in its [mode](Watch::modes). `None`: the sample was dropped.
    pub arm: Option<Watch>,
    /// The use that had the same slot before.
    pub replaced: Option<Over>,
}

/// The result of a touch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Touched {
    /// The use has ended.
    Over(Over),
    /// The touch does not end the use. The watch stays.
    Active,
    /// The use had ended already. The watch must be removed in this thread, if it is still set.
    Late,
}

impl<'a> Detector<'a> {
    /// A detector that uses the first [`MAX_SLOTS`] slots.
    pub fn new(slots: &'a [Slot], tally: &'a Tally, config: Config) -> Self {
        Self { slots: slots.get(..MAX_SLOTS).unwrap_or(slots), tally, config }
    }

    /// An access was sampled, which stands for `weight` accesses, in units of the shortest sampling period. `random`
    /// has 64 random bits.
    ///
    /// Reads one cache line of every slot, two if all are taken.
    pub fn on_sample(self, positions: &impl Positions, touch: Touch, weight: f32, random: u64) -> Sampled {
        let number = self.tally.sample();
        let mut random = Random::new(random);
        let drawn = self.config.odds.draw(&mut random).filter(|_| weight > 0.0 && weight.is_finite());
        let Some((scope, locality, odds)) = drawn else { return Sampled::default() };
        let domain = positions.domain(touch.thread);
        let held = Use {
            touch,
            scope,
            locality,
            domain,
            start: Stand::of(positions, scope, touch.thread, domain),
            range: WatchedRange::choose(self.config.reach, locality, touch.access, &mut random),
        };
        let new = NewWatch { held, number, weight: f64::from(weight) * odds };
        self.place(positions, &new, &mut random)
    }

    /// Watches for the use are set from now on; earlier touches by other threads were not seen.
    pub fn arm(self, id: WatchId, at: u64) {
        if let Some(slot) = self.slot(id).filter(|_| self.is_active(id)) {
            slot.arm(at);
        }
    }

    /// Watched bytes were touched: a trap, or a hit of the filter. The access may also touch other bytes nearby.
    ///
    /// If the access could not be recovered, it is that of the watched bytes, of the kind for which the watch was
    /// set.
    ///
    /// A thread that is held lags behind the others. So not the first touch decides, but the one that would natively
    /// have been first: touches of other threads wait until the using thread has run for as long.
    pub fn on_touch(self, positions: &impl Positions, id: WatchId, touch: Touch) -> Touched {
        let Some(slot) = self.slot(id) else { return Touched::Late };
        let held = slot.read().filter(|(generation, _)| *generation == id.generation);
        let Some((_, held)) = held else { return Touched::Late };
        let own = touch.thread == held.touch.thread;
        let now = Stand::of(positions, Scope::Private, held.touch.thread, held.domain);
        let window = now.window(&held.start);
        let pending = slot.pending.read(id.generation);
        if let Some(pending) = pending.filter(|pending| pending.after <= window) {
            return self
                .settle(positions, id, &held, Became::pending(&pending))
                .map_or(Touched::Late, Touched::Over);
        }
        let Some(outcome) = held.verdict(&touch, positions.domain(touch.thread)) else {
            return Touched::Active;
        };
        let until = match now.clocks {
            Some(clocks) if !own => {
                // A thread that was stopped before has done nothing since.
                let Some(armed) = slot.armed().filter(|armed| *armed <= clocks.stopped) else {
                    return Touched::Active;
                };
                // A thread that does not remember has run for a long time.
                let after = positions.ran_since(armed).unwrap_or(clocks.grain).max(window);
                if after > window {
                    slot.pending.keep(id.generation, &PendingTouch { after, outcome, touch });
                    return Touched::Active;
                }
                Until::After(after)
            }
            _ => Until::Stopped,
        };
        let became = Became { outcome, later: Some(touch), until, had_pending: pending.is_some() };
        self.settle(positions, id, &held, became).map_or(Touched::Late, Touched::Over)
    }

    /// The current watches, to be set in a thread that starts.
    pub fn active(self) -> impl Iterator<Item = Watch> + use<'a> {
        self.uses().map(|(id, held)| held.watch(id))
    }

    /// Whether the use has not ended yet.
    pub fn is_active(self, id: WatchId) -> bool {
        let active = State { generation: id.generation, phase: Phase::Active };
        self.slot(id).is_some_and(|slot| slot.state() == active)
    }

    /// The watch could not be set: forgets the use. False where it had ended already.
    pub fn give_up(self, id: WatchId) -> bool {
        self.slot(id).and_then(|slot| slot.settle(id.generation)).is_some()
    }

    /// Continuing to watch would cost too much: gives the use up, with its distance as a lower bound and its own
    /// weight. `None` where it had ended already.
    pub fn censor(self, positions: &impl Positions, id: WatchId) -> Option<Over> {
        let (_, held) = self.slot(id)?.read().filter(|(generation, _)| *generation == id.generation)?;
        self.settle(positions, id, &held, Became::nothing(ReuseOutcome::Replaced))
    }

    /// A thread ends: uses that only it could have reused end. Uses that others may reuse do not.
    ///
    /// Uses end as the iterator is advanced.
    pub fn end_thread<P: Positions>(
        self,
        positions: &P,
        thread: ThreadId,
    ) -> impl Iterator<Item = Over> + use<'a, '_, P> {
        let own = move |held: &Use| held.scope == Scope::Private && held.touch.thread == thread;
        self.end(positions, own)
    }

    /// The recording or the process ends: all uses end.
    ///
    /// Uses end as the iterator is advanced.
    pub fn end_all<P: Positions>(self, positions: &P) -> impl Iterator<Item = Over> + use<'a, '_, P> {
        self.end(positions, |_| true)
    }

    fn slot(self, id: WatchId) -> Option<&'a Slot> {
        self.slots.get(usize::from(id.slot))
    }

    fn uses(self) -> impl Iterator<Item = (WatchId, Use)> + use<'a> {
        (0..).zip(self.slots).filter_map(|(slot, it)| {
            let (generation, held) = it.read()?;
            Some((WatchId { slot, generation }, held))
        })
    }

    fn end<P: Positions>(self, positions: &P, which: impl Fn(&Use) -> bool) -> impl Iterator<Item = Over> {
        self.uses().filter_map(move |(id, held)| {
            let nothing = Became::nothing(ReuseOutcome::Ended);
            if which(&held) { self.settle(positions, id, &held, nothing) } else { None }
        })
    }

    /// Ends a use, unless another thread has ended it first.
    fn settle(self, positions: &impl Positions, id: WatchId, held: &Use, became: Became) -> Option<Over> {
        let weight = self.slot(id)?.settle(id.generation)?;
        let Became { outcome, later, until, had_pending } = became;
        let now = Stand::of(positions, held.scope, held.touch.thread, held.domain);
        Some(Over {
            watch: held.watch(id),
            event: held.event(outcome, later, (&now, until), weight),
            had_pending,
        })
    }
}

/// Why a use ends.
struct Became {
    outcome: ReuseOutcome,
    later: Option<Touch>,
    until: Until,
    had_pending: bool,
}

impl Became {
    const fn nothing(outcome: ReuseOutcome) -> Self {
        Self { outcome, later: None, until: Until::Now, had_pending: false }
    }

    const fn pending(pending: &PendingTouch) -> Self {
        let PendingTouch { after, outcome, touch } = *pending;
        Self { outcome, later: Some(touch), until: Until::After(after), had_pending: false }
    }
}
