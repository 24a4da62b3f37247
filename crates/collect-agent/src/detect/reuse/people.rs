//! The threads of the process as the reuse detector knows them: who there is, in which domain, how far along.
//!
//! Read without a lock, in handlers; changed where threads come and go.

use std::{
    cell::Cell,
    sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::*},
};

use carom_base::{Nanos, ThreadId};
use carom_base_reuse::{
    Domain,
    sampled::{Clocks, Positions},
};
use carom_collect_translate as engine;
use carom_collect_translate::Watches;

/// Threads that can be watched at a time: as many as there are lanes of translated code.
pub const MOST: usize = 1024;

/// Domains that are told apart; agents name them by a byte.
const DOMAINS: usize = 256;

/// One thread, while it is watched.
#[derive(Default)]
struct Person {
    /// One more than its serial number; 0: nobody.
    serial: AtomicU32,
    domain: AtomicU32,
    /// Its kernel thread id.
    tid: AtomicU32,
    /// One more than the number of its table of watched lines; 0 where it has none.
    watches: AtomicU32,
    /// What the engine calls it.
    name: AtomicU64,
    pace: Pace,
}

/// Accesses of a thread per time that it runs, of late. Noted by the thread itself.
#[derive(Default)]
struct Pace {
    /// Bits of an `f64`.
    latest: AtomicU64,
    /// What it was reckoned from last.
    accesses: AtomicU64,
    ran: AtomicU64,
}

impl Pace {
    fn note(&self, accesses: u64, ran: u64) {
        let time = ran.saturating_sub(self.ran.load(Relaxed));
        if time < GRAIN {
            return;
        }
        let made = accesses.saturating_sub(self.accesses.load(Relaxed));
        self.latest.store((made as f64 / time as f64).to_bits(), Relaxed);
        self.begin(accesses, ran);
    }

    fn begin(&self, accesses: u64, ran: u64) {
        self.accesses.store(accesses, Relaxed);
        self.ran.store(ran, Relaxed);
    }
}

/// Ticks of the time-stamp counter that are many times what it takes to stop a thread: some 40 us.
const GRAIN: u64 = 100_000;

/// Where a thread is in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place(pub usize);

/// A thread to be watched.
#[derive(Clone, Copy)]
pub struct Newcomer {
    /// Its serial number.
    pub thread: ThreadId,
    /// Its domain.
    pub domain: Domain,
    /// Its kernel thread id.
    pub tid: i32,
    /// Its table of watched lines, where its code is translated.
    pub watches: Option<Watches>,
    /// What the engine calls it.
    pub name: u64,
}

/// The serial of a person in the making.
const TAKEN: u32 = u32::MAX;

/// All of them.
pub struct People {
    persons: Box<[Person]>,
    /// One past the last place that was ever taken.
    top: AtomicUsize,
    /// Accesses of threads that have ended, by domain.
    ended: Box<[AtomicU64]>,
}

impl People {
    /// Nobody.
    pub fn new() -> Self {
        Self {
            persons: (0..MOST).map(|_| Person::default()).collect(),
            top: AtomicUsize::new(0),
            ended: (0..DOMAINS).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// Enters a thread. `None` where there are too many.
    pub fn join(&self, newcomer: Newcomer) -> Option<Place> {
        let free = |person: &Person| person.serial.compare_exchange(0, TAKEN, Acquire, Relaxed).is_ok();
        let place = self.persons.iter().position(free)?;
        let person = self.persons.get(place)?;
        person.domain.store(newcomer.domain.0, Relaxed);
        person.tid.store(newcomer.tid as u32, Relaxed);
        person.watches.store(newcomer.watches.map_or(0, |watches| u32::from(watches.index()) + 1), Relaxed);
        person.name.store(newcomer.name, Relaxed);
        person.pace.latest.store(0, Relaxed);
        person.pace.begin(0, newcomer.watches.map_or(0, |watches| watches.held().ran(engine::ticks())));
        self.top.fetch_max(place + 1, Relaxed);
        // ATOMICS: whoever finds the serial finds the rest. Sequentially consistent, because whoever arms a watch looks
        // for threads after it has published the watch, and the thread looks for watches after this.
        person.serial.store(newcomer.thread.0.wrapping_add(1), SeqCst);
        Some(Place(place))
    }

    /// The thread is gone, having made so many accesses.
    pub fn leave(&self, place: Place, accesses: u64) {
        let Some(person) = self.persons.get(place.0) else { return };
        if let Some(ended) = self.ended.get(person.domain.load(Relaxed) as usize) {
            ended.fetch_add(accesses, Relaxed);
        }
        person.serial.store(0, Release);
    }

    /// The thread has no tables to watch with any more.
    pub fn lay_down(&self, place: Place) {
        if let Some(person) = self.persons.get(place.0) {
            person.watches.store(0, Relaxed);
        }
    }

    /// The thread has moved to another domain.
    pub fn set_domain(&self, place: Place, domain: Domain) {
        if let Some(person) = self.persons.get(place.0) {
            person.domain.store(domain.0, Relaxed);
        }
    }

    /// The calling thread has made so many accesses.
    pub fn note_pace(&self, place: Place, accesses: u64) {
        if let (Some(person), Some(watches)) = (self.persons.get(place.0), engine::watches()) {
            person.pace.note(accesses, watches.held().ran(engine::ticks()));
        }
    }

    fn pace(&self, place: Place) -> f64 {
        self.persons.get(place.0).map_or(0.0, |person| f64::from_bits(person.pace.latest.load(Relaxed)))
    }

    /// Everybody.
    pub fn all(&self) -> impl Iterator<Item = (Place, Newcomer)> {
        self.persons.iter().take(self.top.load(Relaxed)).enumerate().filter_map(|(place, person)| {
            let serial = person.serial.load(SeqCst);
            let thread = ThreadId(serial.checked_sub(1).filter(|_| serial != TAKEN)?);
            Some((
                Place(place),
                Newcomer {
                    thread,
                    domain: Domain(person.domain.load(Relaxed)),
                    tid: person.tid.load(Relaxed) as i32,
                    watches: (person.watches.load(Relaxed) as u16)
                        .checked_sub(1)
                        .and_then(Watches::from_index),
                    name: person.name.load(Relaxed),
                },
            ))
        })
    }

    fn find(&self, thread: ThreadId) -> Option<Newcomer> {
        self.all().find(|(_, person)| person.thread == thread).map(|(_, person)| person)
    }
}

/// What tells how far threads are.
#[derive(Clone, Copy)]
pub enum Progress<'a> {
    /// The engine counts their accesses.
    Engine,
    /// Nothing counts: time goes by for all alike.
    Clock(Nanos),
    /// The engine has said what each thread, by its name, has made in all.
    Totals(&'a [(u64, u64)]),
}

/// The positions of all threads, as the calling thread asks for them.
pub struct Here<'a> {
    people: &'a People,
    progress: Progress<'a>,
    /// The calling thread and its domain.
    own: (ThreadId, Domain),
    /// Its position, asked for once.
    position: Cell<Option<u64>>,
    /// That of a domain, which takes asking after each of its threads.
    of_domain: Cell<Option<(Domain, u64)>>,
}

impl<'a> Here<'a> {
    /// In the thread `own`, which is in `domain`.
    pub fn new(people: &'a People, progress: Progress<'a>, own: ThreadId, domain: Domain) -> Self {
        Self { people, progress, own: (own, domain), position: Cell::new(None), of_domain: Cell::new(None) }
    }

    /// The same where the calling thread's position is known.
    pub fn at(self, position: Option<u64>) -> Self {
        Self { position: Cell::new(position), ..self }
    }

    fn of_person(&self, person: &Newcomer) -> u64 {
        match self.progress {
            Progress::Clock(now) => now.0,
            Progress::Totals(totals) => {
                totals.iter().find(|(name, _)| *name == person.name).map_or(0, |(_, accesses)| *accesses)
            }
            Progress::Engine if person.thread == self.own.0 => self.own_position(),
            Progress::Engine => engine::accesses_of(person.name).unwrap_or(0),
        }
    }

    fn own_position(&self) -> u64 {
        let known = self.position.get();
        let position = known.unwrap_or_else(|| engine::accesses().unwrap_or(0));
        self.position.set(Some(position));
        position
    }
}

impl Positions for Here<'_> {
    fn domain(&self, thread: ThreadId) -> Domain {
        if thread == self.own.0 {
            return self.own.1;
        }
        self.people.find(thread).map_or(Domain(0), |person| person.domain)
    }

    fn of_thread(&self, thread: ThreadId) -> u64 {
        match self.progress {
            Progress::Clock(now) => now.0,
            Progress::Engine if thread == self.own.0 => self.own_position(),
            _ => self.people.find(thread).map_or(0, |person| self.of_person(&person)),
        }
    }

    fn of_domain(&self, domain: Domain) -> u64 {
        if let Progress::Clock(now) = self.progress {
            return now.0;
        }
        if let Some((known, position)) = self.of_domain.get()
            && known == domain
        {
            return position;
        }
        let ended = self.people.ended.get(domain.0 as usize).map_or(0, |ended| ended.load(Relaxed));
        let there = self.people.all().filter(|(_, person)| person.domain == domain);
        let position = there.fold(ended, |sum, (_, person)| sum.saturating_add(self.of_person(&person)));
        self.of_domain.set(Some((domain, position)));
        position
    }

    fn ran_since(&self, at: u64) -> Option<u64> {
        engine::watches()?.ran_since(at)
    }

    fn clocks(&self, thread: ThreadId, domain: Domain) -> Option<Clocks> {
        if !matches!(self.progress, Progress::Engine) {
            return None;
        }
        let asking = engine::watches()?.held();
        let asked = engine::ticks();
        let stopped = asking.since.unwrap_or(asked);
        let mut clocks = Clocks { stopped, asked, grain: GRAIN, ..Clocks::default() };
        for (place, person) in self.people.all() {
            let Some(held) = person.watches.map(Watches::held) else { continue };
            if person.thread == thread {
                clocks.ran = held.ran(stopped);
                clocks.ran_when_asked = held.ran(asked);
                clocks.pace = self.people.pace(place);
            } else if person.domain == domain {
                clocks.others += 1;
                clocks.held = clocks.held.saturating_add(held.held(asked));
            }
        }
        Some(clocks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn person(serial: u32, domain: u32) -> Newcomer {
        Newcomer {
            thread: ThreadId(serial),
            domain: Domain(domain),
            tid: 7,
            watches: None,
            name: 100 + u64::from(serial),
        }
    }

    #[test]
    fn a_domain_is_as_far_as_all_its_threads_together() {
        let people = People::new();
        let first = people.join(person(0, 0)).unwrap();
        people.join(person(1, 0)).unwrap();
        people.join(person(2, 1)).unwrap();
        let totals = [(100, 10), (101, 5), (102, 1000)];
        let here = || Here::new(&people, Progress::Totals(&totals), ThreadId(9), Domain(0));
        assert_eq!((here().of_domain(Domain(0)), here().of_domain(Domain(1))), (15, 1000));
        assert_eq!((here().of_thread(ThreadId(1)), here().domain(ThreadId(2))), (5, Domain(1)));
        // It leaves at 12, and who comes into its place begins at 0.
        people.leave(first, 12);
        assert_eq!(people.join(person(3, 0)), Some(first));
        assert_eq!(here().of_domain(Domain(0)), 12 + 5);
    }

    #[test]
    fn where_nothing_counts_time_goes_by_for_all() {
        let people = People::new();
        let here = Here::new(&people, Progress::Clock(Nanos(77)), ThreadId(0), Domain(0));
        assert_eq!((here.of_thread(ThreadId(5)), here.of_domain(Domain(3))), (77, 77));
    }

    #[test]
    fn who_is_being_entered_is_not_there_yet() {
        let people = People::new();
        let place = people.join(person(5, 0)).unwrap();
        assert_eq!(people.all().map(|(_, person)| person.thread).collect::<Vec<_>>(), [ThreadId(5)]);
        people.persons[place.0].serial.store(TAKEN, SeqCst);
        assert_eq!(people.all().count(), 0);
    }

    #[test]
    fn there_is_room_for_so_many_and_no_more() {
        let people = People::new();
        assert!((0..MOST as u32).all(|serial| people.join(person(serial, 0)).is_some()));
        assert_eq!(people.join(person(5000, 0)), None);
        assert_eq!(people.all().count(), MOST);
    }
}
