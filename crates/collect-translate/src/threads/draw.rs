//! A thread's use of its countdowns.

use super::thread::Thread;
use crate::{
    blocks::place::Place,
    decode::block::Sums,
    probes::{
        countdown::{Countdown, Countdowns, Drawn},
        strata::{self, Length, Stream},
    },
};

/// The largest number of samples of a kind in one run of units: they take memory, and a run may be longer than what
/// can be accessed, and fault on its way.
const MOST_AT_ONCE: usize = 1 << 16;

impl Thread {
    /// Loads a new counter with the units until the first sample. `periods`: of loads and stores.
    pub fn begin_countdown(&mut self, place: Place<'_>, periods: [u64; 2]) {
        let Some(slots) = place.slots() else { return };
        let countdown = self.countdown(place, periods);
        self.load(place, &slots, countdown, 0);
    }

    /// Some units were counted, and the counter may be negative: calls back for each of their accesses to sample,
    /// loads before stores, and loads the counter with the units until the next sample. Returns the number of counted
    /// units.
    pub fn draw(&mut self, place: Place<'_>, periods: [u64; 2], mut each: impl FnMut(Drawn)) -> u64 {
        let Some(slots) = place.slots() else { return 0 };
        let mut countdown = self.countdown(place, periods);
        let doublings = strata::doublings();
        let value = place.code.windows().value(self.lane, place.id as usize);
        let end = countdown.loaded.wrapping_add_signed(value.wrapping_neg());
        let mut stand_for = 0_u64;
        for (store, accesses) in [(false, slots.loads), (true, slots.stores)] {
            let kind = usize::from(store);
            let (Some(stream), Some(&period)) = (countdown.streams.get_mut(kind), periods.get(kind)) else {
                continue;
            };
            let mut random = |n| self.random(n);
            let wanted = Length { period, doublings };
            for _ in 0..MOST_AT_ONCE {
                let Some((unit, nth, doublings)) = stream.take(end, accesses, wanted, &mut random) else {
                    break;
                };
                stand_for = stand_for.saturating_add(Length { period, doublings }.accesses());
                each(Drawn { unit, nth, store, doublings });
            }
            stream.skip(end, accesses, wanted, &mut random);
        }
        self.load(place, &slots, countdown, end);
        self.purpose.draws(stand_for);
        end
    }

    /// A countdown, which begins now if it has not begun.
    fn countdown(&mut self, place: Place<'_>, periods: [u64; 2]) -> Countdown {
        if self.countdowns.len() <= place.arena {
            self.countdowns.resize_with(place.arena + 1, Countdowns::default);
        }
        let known = self.countdowns.get(place.arena).and_then(|countdowns| countdowns.get(place.id));
        let doublings = strata::doublings();
        known.unwrap_or_else(|| Countdown {
            loaded: 0,
            streams: periods
                .map(|period| Stream::begin(Length { period, doublings }, &mut |n| self.random(n))),
        })
    }

    /// Loads a counter, which has counted `counted` units, with the units until the next sample.
    fn load(&mut self, place: Place<'_>, slots: &Sums, mut countdown: Countdown, counted: u64) {
        let value = countdown.until(slots, counted);
        let before = countdown.loaded;
        countdown.loaded = counted.wrapping_add(value);
        if let Some(countdowns) = self.countdowns.get_mut(place.arena) {
            countdowns.set(place.id, countdown);
            let more = countdown.loaded.wrapping_sub(before) as i64;
            countdowns.note_loaded(more.wrapping_mul(slots.accesses()));
        }
        place.code.windows().set(self.lane, place.id as usize, value as i64);
    }
}
