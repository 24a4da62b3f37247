//! What a synchronisation waits for: what it depended on in the recording.

use carom_base::{Addr, ProcessId};
use rustc_hash::FxHashMap;

use super::Place;
use crate::synchronisation::{Act, Synchronisation};

/// What a synchronisation waits for.
pub enum Waits {
    /// These must have come.
    For(Vec<Place>),
    /// What it waits for is missing, or contradicts it.
    Unmatched,
}

/// All that threads synchronise by, as of the last synchronisation.
#[derive(Debug, Default)]
pub struct Objects(FxHashMap<(ProcessId, Addr), Object>);

/// One of them. It is one thing only; what it is not stays as it was made.
#[derive(Debug, Default)]
struct Object {
    lock: Lock,
    begun: Option<Place>,
    /// Parts that have ended since.
    ended: Vec<Place>,
    /// Rounds of a barrier that someone is in, in their order.
    rounds: Vec<Round>,
    /// When each lane began or ended to wait for a condition last, and its last signal, or addition to a semaphore.
    waiting: Vec<Place>,
    signals: Vec<Place>,
}

impl Objects {
    /// What a synchronisation waits for. They come in the recorded order; `here` is the place behind this one.
    pub fn synchronise(&mut self, process: ProcessId, here: Place, it: Synchronisation) -> Waits {
        let object = self.0.entry((process, it.object)).or_default();
        match it.what {
            Act::Create | Act::Fork => {
                object.begun = Some(here);
                object.ended.clear();
                Waits::nothing()
            }
            Act::Start | Act::Enter => object.begun.map_or(Waits::Unmatched, Waits::one),
            Act::Finish | Act::Leave => {
                object.ended.push(here);
                Waits::nothing()
            }
            Act::Join | Act::Merge => {
                let ended = std::mem::take(&mut object.ended);
                if ended.is_empty() { Waits::Unmatched } else { Waits::For(ended) }
            }
            Act::Lock => object.lock.lock(here),
            Act::ReadLock => object.lock.read(here),
            Act::Unlock => object.lock.unlock(here),
            Act::Arrive => object.arrive(here),
            Act::Depart => object.depart(here),
            Act::Wait => {
                put(&mut object.waiting, here);
                Waits::nothing()
            }
            // A signal that comes before those wait whom it woke, or one that another one woke before, would be lost.
            Act::Signal | Act::Broadcast => {
                put(&mut object.signals, here);
                Waits::For(object.waiting.clone())
            }
            // Which signal it was is not known: any before it. Without one it woke by itself.
            Act::Wake => {
                put(&mut object.waiting, here);
                Waits::For(object.signals.clone())
            }
            Act::Post => {
                put(&mut object.signals, here);
                Waits::nothing()
            }
            // A semaphore may begin with some.
            Act::Take => Waits::For(object.signals.clone()),
        }
    }
}

impl Waits {
    const fn nothing() -> Self {
        Self::For(Vec::new())
    }

    fn one(place: Place) -> Self {
        Self::For(vec![place])
    }
}

/// Keeps the last place of each lane.
fn put(places: &mut Vec<Place>, here: Place) {
    match places.iter_mut().find(|place| place.lane == here.lane) {
        Some(place) => *place = here,
        None => places.push(here),
    }
}

/// A lock. Lanes stand for their threads.
#[derive(Debug, Default)]
struct Lock {
    /// Who has it alone, and how often: some locks can be locked again by who has them.
    owner: Option<(usize, u32)>,
    readers: Vec<usize>,
    /// When an owner gave it back last, and the readers since.
    given_back: Option<Place>,
    read: Vec<Place>,
}

impl Lock {
    fn lock(&mut self, here: Place) -> Waits {
        match &mut self.owner {
            Some((owner, times)) if *owner == here.lane => {
                *times += 1;
                return Waits::nothing();
            }
            owner => {
                let is_free = owner.is_none() && self.readers.is_empty();
                *owner = Some((here.lane, 1));
                self.readers.clear();
                if !is_free {
                    return Waits::Unmatched;
                }
            }
        }
        Waits::For(self.given_back.into_iter().chain(self.read.iter().copied()).collect())
    }

    fn read(&mut self, here: Place) -> Waits {
        self.readers.push(here.lane);
        match self.owner.take() {
            None => Waits::For(self.given_back.into_iter().collect()),
            Some(_) => Waits::Unmatched,
        }
    }

    /// One that was locked before the recording began may be unlocked only.
    fn unlock(&mut self, here: Place) -> Waits {
        if let Some(index) = self.readers.iter().position(|reader| *reader == here.lane) {
            self.readers.swap_remove(index);
            self.read.push(here);
            return Waits::nothing();
        }
        match &mut self.owner {
            Some((owner, times)) if *owner == here.lane && *times > 1 => *times -= 1,
            owner => {
                *owner = None;
                self.given_back = Some(here);
                self.read.clear();
            }
        }
        Waits::nothing()
    }
}

/// One round of a barrier.
#[derive(Debug, Default)]
struct Round {
    arrived: Vec<Place>,
    /// Lanes that have not departed.
    inside: Vec<usize>,
    /// Somebody has departed, so all have arrived.
    is_full: bool,
}

impl Object {
    fn arrive(&mut self, here: Place) -> Waits {
        if self.rounds.last().is_none_or(|round| round.is_full) {
            self.rounds.push(Round::default());
        }
        if let Some(round) = self.rounds.last_mut() {
            round.arrived.push(here);
            round.inside.push(here.lane);
        }
        Waits::nothing()
    }

    fn depart(&mut self, here: Place) -> Waits {
        let of_lane = |round: &Round| round.inside.contains(&here.lane);
        let Some(index) = self.rounds.iter().rposition(of_lane) else { return Waits::Unmatched };
        let Some(round) = self.rounds.get_mut(index) else { return Waits::Unmatched };
        round.is_full = true;
        // Once: a runtime's barrier may be made of another one of the same object, and each is arrived at.
        if let Some(place) = round.inside.iter().position(|lane| *lane == here.lane) {
            round.inside.swap_remove(place);
        }
        let arrived = round.arrived.clone();
        if round.inside.is_empty() {
            self.rounds.remove(index);
        }
        Waits::For(arrived)
    }
}
