//! Batches of several threads, put in order.

use std::collections::BTreeMap;

use carom_base::{Access, AccessKind, Addr, Domain, Ip, Nanos, ThreadId};
use carom_base_stream::{Act, Batch, Interleaver, Limits, Mark, Sink, Stamp, Synchronisation};
use proptest::prelude::*;

/// The output, with the length of each piece.
#[derive(Default)]
struct Recorder {
    accesses: Vec<(u32, u64)>,
    ended: Vec<(u32, usize)>,
    places: Vec<*const Access>,
    until: Nanos,
}

impl Sink for Recorder {
    fn accesses(&mut self, thread: ThreadId, _: Domain, accesses: &[Access], until: Nanos) {
        assert!(until >= self.until, "the order of time");
        self.until = until;
        self.places.push(accesses.as_ptr());
        self.accesses.extend(accesses.iter().map(|access| (thread.0, access.addr.0)));
    }

    fn ended(&mut self, thread: ThreadId) {
        self.ended.push((thread.0, self.accesses.len()));
    }
}

fn store(addr: u64) -> Access {
    Access { ip: Ip(1), addr: Addr(addr), width: 8, kind: AccessKind::Store }
}

fn take(
    interleaver: &mut Interleaver,
    sink: &mut impl Sink,
    thread: u32,
    at: u64,
    pauses: bool,
    accesses: impl IntoIterator<Item = u64>,
) {
    let mut accesses: Vec<Access> = accesses.into_iter().map(store).collect();
    let (thread, domain, at) = (ThreadId(thread), Domain(0), Nanos(at));
    interleaver
        .take(Batch { thread, domain, at, pauses, stamps: &[], marks: &[], accesses: &mut accesses }, sink);
}

/// Single accesses in the order of time.
const FINE: Limits = Limits { of_thread: 1 << 20, of_all: 3 << 20, turn: 1 };

fn begun(threads: u32, limits: Limits) -> Interleaver {
    let mut interleaver = Interleaver::new(Nanos(0), limits);
    (0..threads).for_each(|thread| interleaver.begin(ThreadId(thread), Nanos(0)));
    interleaver
}

/// ```text
///   thread 0   |   0   1   2   3 |                    every 100 from 0
///   thread 1   |     10    11    |   12    13  |      every 150 from 0
///              0  100 200 300 400   ...
/// ```
#[test]
fn accesses_are_in_the_order_of_time() {
    let (mut interleaver, mut out) = (begun(2, FINE), Recorder::default());
    take(&mut interleaver, &mut out, 0, 400, false, 0..4);
    // Nothing is known about thread 1.
    assert_eq!((out.accesses.as_slice(), interleaver.held()), (&[][..], 4));
    take(&mut interleaver, &mut out, 1, 300, false, 10..12);
    // Both are known up to 300; thread 0's third access is made just then, and before thread 1's.
    assert_eq!(out.accesses, [(0, 0), (1, 10), (0, 1), (0, 2), (1, 11)]);
    take(&mut interleaver, &mut out, 1, 600, false, 12..14);
    assert_eq!(out.accesses[5..], [(0, 3)]);
    interleaver.end(ThreadId(0), &mut out);
    assert_eq!(out.accesses[6..], [(1, 12), (1, 13)]);
    assert_eq!((out.ended, interleaver.held()), (vec![(0, 8)], 0));
}

/// A thread's accesses with their times, handed over in batches of a given size, with a stamp after every few of a
/// batch's.
#[derive(Clone, Debug)]
struct Stamped {
    times: Vec<u64>,
    batch: usize,
    every: usize,
}

impl Stamped {
    /// For each batch: when it is handed over, its stamps, and the numbers of its accesses.
    fn batches(&self) -> Vec<(u64, Vec<Stamp>, std::ops::Range<usize>)> {
        let begins = (0..self.times.len()).step_by(self.batch);
        let batch = |begin: usize| {
            let end = (begin + self.batch).min(self.times.len());
            let stamped = (begin..end).filter(|nth| (nth + 1 - begin).is_multiple_of(self.every));
            let stamp = |nth: usize| Stamp { accesses: nth + 1 - begin, at: Nanos(self.times[nth]) };
            (self.times[end - 1], stamped.map(stamp).collect(), begin..end)
        };
        begins.map(batch).collect()
    }
}

/// The output for the batches of several threads, which are handed over in the order of time.
fn merged(threads: &[Stamped], limits: Limits) -> (Vec<(u32, u64)>, u64) {
    let (mut interleaver, mut out) = (begun(threads.len() as u32, limits), Recorder::default());
    let of = |(thread, stamped): (u32, &Stamped)| {
        stamped
            .batches()
            .into_iter()
            .map(move |(at, stamps, numbers)| (at, thread, stamps, numbers))
            .collect::<Vec<_>>()
    };
    let mut batches: Vec<_> = (0..).zip(threads).flat_map(of).collect();
    batches.sort_by_key(|(at, thread, ..)| (*at, *thread));
    for (at, thread, stamps, numbers) in batches {
        let mut accesses: Vec<Access> = numbers.map(|number| store(number as u64)).collect();
        let (thread, domain, at) = (ThreadId(thread), Domain(0), Nanos(at));
        let batch =
            Batch { thread, domain, at, pauses: false, stamps: &stamps, marks: &[], accesses: &mut accesses };
        interleaver.take(batch, &mut out);
    }
    interleaver.flush(&mut out);
    (out.accesses, interleaver.late())
}

/// ```text
///   thread 0   0  1  2                          3         at 10 20 30 400, a stamp at each
///   thread 1                  0 1 2 3                     at 200 210 220 230, one stamp
/// ```
/// At an even pace since 0, thread 0's would be at 100, 200, 300 and 400, and thread 1's at 57, 115, 172 and 230.
#[test]
fn stamps_tell_the_order() {
    let one = Stamped { times: vec![10, 20, 30, 400], batch: 4, every: 1 };
    let other = Stamped { times: vec![200, 210, 220, 230], batch: 4, every: 1 };
    let expected = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (1, 3), (0, 3)];
    assert_eq!(merged(&[one, other], FINE), (expected.to_vec(), 0));
}

/// Accesses that are handed over after later ones were given on come after them, and are counted if the difference is
/// more than clocks may differ.
#[test]
fn what_comes_late_is_counted() {
    let (mut interleaver, mut out) = (begun(2, FINE), Recorder::default());
    take(&mut interleaver, &mut out, 0, 0, true, []);
    take(&mut interleaver, &mut out, 1, 10_000, false, 0..4);
    let stamps = [(1, 8000), (2, 8500), (3, 9500), (4, 10_500)]
        .map(|(accesses, at)| Stamp { accesses, at: Nanos(at) });
    let mut accesses: Vec<Access> = (10..14).map(store).collect();
    let (thread, domain, at) = (ThreadId(0), Domain(0), Nanos(10_500));
    let batch =
        Batch { thread, domain, at, pauses: true, stamps: &stamps, marks: &[], accesses: &mut accesses };
    interleaver.take(batch, &mut out);
    interleaver.flush(&mut out);
    assert_eq!(out.accesses, [(1, 0), (1, 1), (1, 2), (1, 3), (0, 10), (0, 11), (0, 12), (0, 13)]);
    assert_eq!(interleaver.late(), 2);
}

/// The batches of a thread that runs alone are analysed in place.
#[test]
fn what_one_thread_hands_over_is_given_on_at_once() {
    let (mut interleaver, mut out) = (begun(2, FINE), Recorder::default());
    take(&mut interleaver, &mut out, 0, 10, true, [1]);
    take(&mut interleaver, &mut out, 1, 20, false, [2]);
    assert_eq!(out.accesses, [(0, 1), (1, 2)]);
    out.places.clear();
    let mut accesses: Vec<Access> = (0..8000).map(store).collect();
    let (thread, domain, place) = (ThreadId(1), Domain(0), accesses.as_ptr());
    for at in 0..10 {
        let at = Nanos(20 + at);
        interleaver.take(
            Batch { thread, domain, at, pauses: false, stamps: &[], marks: &[], accesses: &mut accesses },
            &mut out,
        );
        assert_eq!((accesses.len(), interleaver.held()), (8000, 0));
    }
    assert_eq!(out.places, [place; 10]);
}

/// Two threads take turns, and each waits for the other. The time at which a thread continues is unknown.
#[test]
fn who_waits_goes_on_behind_the_others() {
    let (mut interleaver, mut out) = (begun(2, FINE), Recorder::default());
    let mut expected = Vec::new();
    take(&mut interleaver, &mut out, 1, 0, true, []);
    for turn in 0..10 {
        let (thread, first) = (turn % 2, u64::from(turn) * 3);
        take(&mut interleaver, &mut out, thread, u64::from(turn + 1) * 50, true, first..first + 3);
        expected.extend((first..first + 3).map(|addr| (thread, addr)));
        assert_eq!(out.accesses, expected);
    }
}

/// Thread 0 hands over nothing. At 31 accesses held back nothing is given on yet; at 40 it is left behind, and what
/// thread 1 hands over then waits for no thread. When thread 0 hands something over again, it is waited for again.
#[test]
fn who_is_not_heard_of_is_left_behind() {
    let limits = Limits { of_thread: 31, of_all: 1000, ..FINE };
    let (mut interleaver, mut out) = (begun(2, limits), Recorder::default());
    for batch in 1..=3 {
        take(&mut interleaver, &mut out, 1, batch * 100, false, 0..10);
        assert_eq!((out.accesses.len(), interleaver.held()), (0, 10 * batch as usize));
    }
    take(&mut interleaver, &mut out, 1, 400, false, 0..10);
    assert_eq!((out.accesses.len(), interleaver.held()), (40, 0));
    take(&mut interleaver, &mut out, 1, 500, false, 0..10);
    assert_eq!(out.accesses.len(), 50);
    // Thread 1 is known up to 500; two of four accesses between there and 540 are not beyond it: none.
    take(&mut interleaver, &mut out, 0, 540, false, 0..4);
    assert_eq!(interleaver.held(), 4);
    // Thread 1's are at 510, 520 and so on, thread 0's too.
    take(&mut interleaver, &mut out, 1, 560, false, 10..16);
    assert_eq!(out.accesses[50..], [(0, 0), (1, 10), (0, 1), (1, 11), (0, 2), (1, 12), (0, 3), (1, 13)]);
}

/// The sum of all that is held back is limited, too: with three threads of which one hands over nothing, 8 and 8.
#[test]
fn what_all_hold_back_is_limited() {
    let limits = Limits { of_thread: 1000, of_all: 15, ..FINE };
    let (mut interleaver, mut out) = (begun(3, limits), Recorder::default());
    take(&mut interleaver, &mut out, 1, 80, false, 0..8);
    assert_eq!(interleaver.held(), 8);
    // Thread 0 is left behind. Thread 1 is known up to 80, so is thread 2.
    take(&mut interleaver, &mut out, 2, 80, false, 0..8);
    assert_eq!(out.accesses.len(), 16);
}

/// Times between accesses; the size of a batch; the number of accesses between two stamps.
fn stamped(every: impl Strategy<Value = usize>) -> impl Strategy<Value = Stamped> {
    (prop::collection::vec(1..300u64, 1..200), 1..50usize, every).prop_map(|(pauses, batch, every)| {
        let mut now = 0;
        let times = pauses.into_iter().map(|pause| {
            now += pause;
            now
        });
        Stamped { times: times.collect(), batch, every }
    })
}

#[derive(Clone, Debug)]
enum Event {
    Begin(u32),
    Take { thread: u32, accesses: usize, pauses: bool },
    End(u32),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        1 => (0..4u32).prop_map(Event::Begin),
        8 => (0..4u32, 0..40usize, 0..4u32)
            .prop_map(|(thread, accesses, pauses)| Event::Take { thread, accesses, pauses: pauses == 0 }),
        1 => (0..4u32).prop_map(Event::End),
    ]
}

proptest! {
    /// With a stamp at each access, the output is sorted by time. With fewer stamps, accesses are sorted that are
    /// further apart than the time between two stamps, and so are all that are before a stamp.
    #[test]
    fn what_is_merged_is_sorted_by_time(
        exact in prop::collection::vec(stamped(Just(1)), 1..4),
        rough in prop::collection::vec(stamped(1..8usize), 1..4),
        turn in 1..20usize,
    ) {
        let mut expected: Vec<_> = (0..).zip(&exact)
            .flat_map(|(thread, of): (u32, _)| (0..).zip(&of.times).map(move |(number, at)| (*at, thread, number)))
            .collect();
        expected.sort_unstable();
        let expected: Vec<_> = expected.into_iter().map(|(_, thread, number)| (thread, number)).collect();
        let limits = Limits { turn, ..FINE };
        prop_assert_eq!(merged(&exact, limits), (expected, 0));

        let (order, late) = merged(&rough, limits);
        prop_assert_eq!(late, 0);
        // Between two stamps lie 7 accesses at most, 300 ns apart at most, which may be in one turn.
        let (mut latest, mut latest_stamped) = (0, 0);
        for (thread, number) in order {
            let Stamped { times, batch, every } = &rough[thread as usize];
            let at = times[number as usize];
            prop_assert!(at + 3 * 8 * 300 > latest);
            latest = latest.max(at);
            if (number as usize % batch + 1).is_multiple_of(*every) {
                prop_assert!(at >= latest_stamped, "{} of thread {} after {}", at, thread, latest_stamped);
                latest_stamped = at;
            }
        }
    }
}

proptest! {
    /// In all cases each thread's accesses come out once and in order, all before its end, and no more is held back
    /// than allowed.
    #[test]
    fn nothing_is_lost(events in prop::collection::vec((event(), 0..100u64), 1..100), of_thread in 1..200usize) {
        let limits = Limits { of_thread, of_all: 2 * of_thread, turn: 16 };
        let mut interleaver = Interleaver::new(Nanos(1000), limits);
        let mut out = Recorder::default();
        let mut told: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
        let (mut now, mut number) = (1000, 0);
        for (event, pause) in events {
            now += pause;
            match event {
                Event::Begin(thread) => interleaver.begin(ThreadId(thread), Nanos(now)),
                Event::Take { thread, accesses, pauses } => {
                    // Read before other threads had their turn.
                    let at = now.saturating_sub(30);
                    let numbers = number..number + accesses as u64;
                    number = numbers.end;
                    told.entry(thread).or_default().extend(numbers.clone());
                    take(&mut interleaver, &mut out, thread, at, pauses, numbers);
                }
                Event::End(thread) => interleaver.end(ThreadId(thread), &mut out),
            }
            prop_assert!(interleaver.held() <= limits.of_all);
            prop_assert_eq!(interleaver.held(), number as usize - out.accesses.len());
        }
        for thread in 0..4 {
            interleaver.end(ThreadId(thread), &mut out);
        }
        prop_assert_eq!(interleaver.held(), 0);
        for thread in 0..4 {
            let found: Vec<u64> =
                out.accesses.iter().filter(|(of, _)| *of == thread).map(|(_, number)| *number).collect();
            prop_assert_eq!(&found, told.entry(thread).or_default());
            let last = out.accesses.iter().rposition(|(of, _)| *of == thread).map_or(0, |place| place + 1);
            prop_assert!(out.ended.iter().any(|(of, at)| *of == thread && *at >= last));
        }
    }
}

/// What comes out: accesses by their address, and marks by their object.
#[derive(Debug, Default)]
struct Marked(Vec<(u32, &'static str, u64)>);

impl Sink for Marked {
    fn accesses(&mut self, thread: ThreadId, _: Domain, accesses: &[Access], _: Nanos) {
        self.0.extend(accesses.iter().map(|access| (thread.0, "access", access.addr.0)));
    }

    fn synchronises(&mut self, thread: ThreadId, it: Synchronisation, _: Nanos) {
        self.0.push((thread.0, it.what.word(), it.object.0));
    }

    fn ended(&mut self, _: ThreadId) {}
}

/// Marks have no stamps beside them: those of thread 0 say that its accesses were made by 100 and by 150.
///
/// ```text
///   thread 0   | 0 1 lock |100  2 unlock |150        3 |400
///   thread 1            | 10 |120         lock |160 11 |300
/// ```
#[test]
fn marks_are_stamps_and_keep_their_place() {
    let mut interleaver = begun(2, Limits::default());
    let mut out = Marked::default();
    let mark = |accesses, at, what| Mark {
        accesses,
        at: Nanos(at),
        synchronisation: Synchronisation { what, object: Addr(7) },
    };
    let mut hand_over = |thread, at, stamps: &[Stamp], marks: &[Mark], accesses: &[u64]| {
        let mut accesses: Vec<Access> = accesses.iter().copied().map(store).collect();
        let (thread, domain, at) = (ThreadId(thread), Domain(0), Nanos(at));
        let batch = Batch { thread, domain, at, pauses: false, stamps, marks, accesses: &mut accesses };
        interleaver.take(batch, &mut out);
    };
    hand_over(0, 400, &[], &[mark(2, 100, Act::Lock), mark(3, 150, Act::Unlock)], &[0, 1, 2, 3]);
    let stamps = [Stamp { accesses: 1, at: Nanos(120) }, Stamp { accesses: 2, at: Nanos(300) }];
    hand_over(1, 300, &stamps, &[mark(1, 160, Act::Lock)], &[10, 11]);
    // Nothing but a mark is something, too.
    hand_over(1, 350, &[], &[mark(0, 340, Act::Unlock)], &[]);
    hand_over(1, 500, &[], &[], &[]);
    let expected = [
        (0, "access", 0),
        (0, "access", 1),
        (0, "lock", 7),
        (1, "access", 10),
        (0, "access", 2),
        (0, "unlock", 7),
        (1, "lock", 7),
        (0, "access", 3),
        (1, "access", 11),
        (1, "unlock", 7),
    ];
    assert_eq!(out.0, expected);
    assert_eq!(interleaver.held(), 0);
}
