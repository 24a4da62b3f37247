//! An order in which threads take turns, and wait for each other as they did.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod program;

use carom_base::{Access, AccessKind, Addr, Domain, Ip, Nanos, ProcessId, ThreadId};
use carom_base_stream::{Act, Event, Sink, Streamed, Synchronisation, Turns, text};
use program::{Item, Model, Op, run};
use proptest::prelude::*;

/// All that was given on, one item after the other.
#[derive(Default)]
struct Seen {
    items: Vec<(u32, Item)>,
    ended: Vec<u32>,
}

impl Sink<Streamed> for Seen {
    fn accesses(&mut self, thread: ThreadId, _: Domain, accesses: &[Streamed], _: Nanos) {
        self.items.extend(accesses.iter().map(|it| (thread.0, Item::Access(it.access.addr.0))));
    }

    fn synchronises(&mut self, thread: ThreadId, it: Synchronisation, _: Nanos) {
        self.items.push((thread.0, Item::Mark(it.what, it.object.0)));
    }

    fn ended(&mut self, thread: ThreadId) {
        self.ended.push(thread.0);
    }
}

fn streamed(addr: u64) -> Streamed {
    let access = Access { ip: Ip(1), addr: Addr(addr), width: 8, kind: AccessKind::Store };
    Streamed { access, atomic: false }
}

/// The items in turns, and how many marks were unmatched.
fn in_turns(recorded: &[(u32, Item)], most_waiting: usize) -> (Vec<(u32, Item)>, u64) {
    let mut seen = Seen::default();
    let mut turns = Turns::new(&mut seen, |_| ProcessId(0)).with_most_waiting(most_waiting);
    for (thread, item) in recorded {
        let thread = ThreadId(*thread);
        match *item {
            Item::Access(addr) => turns.accesses(thread, Domain(0), &[streamed(addr)], Nanos(0)),
            Item::Mark(what, object) => {
                turns.synchronises(thread, Synchronisation { what, object: Addr(object) }, Nanos(0));
            }
        }
    }
    let unmatched = turns.finish().unmatched;
    (seen.items, unmatched)
}

/// The order of a text, one line each: `N accesses` in a row, or the word of a mark.
fn of_text(written: &str) -> (String, u64) {
    let mut seen = Seen::default();
    let records = text::parse(written).unwrap();
    let process = |thread: ThreadId| ProcessId(thread.0 / 10);
    let mut turns = Turns::new(&mut seen, process);
    for record in records {
        match record.event {
            Event::Access(streamed) => turns.accesses(record.thread, Domain(0), &[streamed], record.time),
            Event::Synchronisation(it) => turns.synchronises(record.thread, it, record.time),
            Event::Begin => {}
            Event::End => turns.ended(record.thread),
        }
    }
    let unmatched = turns.finish().unmatched;
    let words = seen.items.iter().map(|(thread, item)| match item {
        Item::Access(_) => format!("{thread} access"),
        Item::Mark(what, _) => format!("{thread} {}", what.word()),
    });
    let mut lines: Vec<(String, usize)> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some((last, count)) if *last == word => *count += 1,
            _ => lines.push((word, 1)),
        }
    }
    let lines: Vec<String> = lines
        .into_iter()
        .map(|(word, count)| if count == 1 { word } else { format!("{word} x{count}") })
        .collect();
    (lines.join(", "), unmatched)
}

fn accesses(thread: u32, count: usize) -> String {
    format!("{thread} load 8 @0\n").repeat(count)
}

/// Two threads on one processor. The first one that the recording has begins; the other one is not known to wait for it.
#[test]
fn threads_take_short_turns() {
    let text = ["0 create @1\n1 start @1\n", &accesses(0, 40), &accesses(1, 20), "0 end\n"].concat();
    let (order, unmatched) = of_text(&text);
    let expected = "0 create, 0 access x16, 1 start, 1 access x16, 0 access x16, 1 access x4, 0 access x8";
    assert_eq!((&*order, unmatched), (expected, 0));
}

/// As the picture at the head of the module: what thread 1 does under the lock does not come before the unlock, and then they
/// take turns.
#[test]
fn a_lock_is_waited_for() {
    let text = [
        "0 create @1\n1 start @1\n0 lock @64\n",
        &accesses(0, 20),
        "0 unlock @64\n",
        &accesses(0, 40),
        "1 lock @64\n",
        &accesses(1, 20),
        "1 unlock @64\n",
    ];
    let expected = "0 create, 0 lock, 0 access x16, 1 start, 0 access x4, 0 unlock, 0 access x12, \
                    1 lock, 1 access x16, 0 access x16, 1 access x4, 1 unlock, 0 access x12";
    assert_eq!(of_text(&text.concat()), (expected.into(), 0));
}

/// Thread 1 came late to the first barrier, and thread 0 was recorded up to the second one before thread 1 left the first.
#[test]
fn nobody_leaves_a_barrier_before_all_have_come() {
    let text = [
        "0 create @1\n1 start @1\n",
        &accesses(0, 2),
        "0 arrive @64\n",
        &accesses(1, 20),
        "1 arrive @64\n0 depart @64\n",
        &accesses(0, 20),
        "0 arrive @64\n1 depart @64\n",
        &accesses(1, 3),
        "1 arrive @64\n1 depart @64\n0 depart @64\n",
    ];
    let expected = "0 create, 0 access x2, 0 arrive, 1 start, 1 access x20, 1 arrive, 1 depart, 1 access x3, 1 arrive, \
                    0 depart, 0 access x20, 0 arrive, 0 depart, 1 depart";
    // Thread 1 makes 16 accesses, then the other 4 and what follows the barrier; thread 0 has its part to do behind it.
    assert_eq!(of_text(&text.concat()), (expected.into(), 0));
}

/// Where a function that is a barrier calls one that is, too, each has its marks.
#[test]
fn a_barrier_within_a_barrier_is_the_same() {
    let text = [
        "0 create @1\n1 start @1\n",
        "0 arrive @64\n0 arrive @64\n1 arrive @64\n1 arrive @64\n",
        "1 depart @64\n0 depart @64\n0 depart @64\n",
        // The next round begins before the last one is over.
        "0 arrive @64\n0 arrive @64\n1 depart @64\n1 arrive @64\n1 arrive @64\n",
        "1 depart @64\n1 depart @64\n0 depart @64\n0 depart @64\n",
        &accesses(0, 1),
    ];
    let (_, unmatched) = of_text(&text.concat());
    assert_eq!(unmatched, 0);
}

/// A region of two, whose maker does its own part; then the next one, which is of the same name.
#[test]
fn a_region_ends_when_all_parts_have() {
    let region = [
        "0 fork @9\n0 enter @9\n0 leave @9\n1 enter @9\n",
        &accesses(1, 20),
        "1 leave @9\n0 merge @9\n",
        &accesses(0, 1),
    ]
    .concat();
    let (order, unmatched) = of_text(&["0 create @1\n1 start @1\n", &*region, &*region].concat());
    let expected = "0 create, 0 fork, 0 enter, 0 leave, 1 start, 1 enter, 1 access x20, 1 leave, 0 merge, 0 access, \
                    0 fork, 0 enter, 0 leave, 1 enter, 1 access x20, 1 leave, 0 merge, 0 access";
    assert_eq!((&*order, unmatched), (expected, 0));
}

/// An owner that was killed, a thread that ended unseen, one that was made unseen, and a barrier that was entered before the
/// recording began: each comes after all that was recorded before it.
#[test]
fn what_contradicts_keeps_the_recorded_order() {
    for (text, expected, unmatched) in [
        (
            ["0 create @1\n1 start @1\n0 lock @64\n", &accesses(0, 40), "1 lock @64\n", &accesses(1, 1)],
            "0 create, 0 lock, 0 access x16, 1 start, 0 access x24, 1 lock, 1 access",
            1,
        ),
        (
            ["0 create @1\n1 start @1\n", &accesses(1, 40), "0 join @2\n", &accesses(0, 1)],
            "0 create, 1 start, 1 access x40, 0 join, 0 access",
            1,
        ),
        ([&accesses(0, 40), "1 start @1\n", &accesses(1, 1), ""], "0 access x40, 1 start, 1 access", 1),
        ([&accesses(0, 40), "1 depart @1\n", &accesses(1, 1), ""], "0 access x40, 1 depart, 1 access", 1),
        // A thread that nothing is known of begins where it was recorded; that is no contradiction.
        ([&accesses(0, 40), &accesses(1, 1), "", ""], "0 access x40, 1 access", 0),
        // Objects of different processes are different.
        (
            ["0 create @1\n10 start @1\n10 lock @64\n0 lock @64\n", "", "", ""],
            "0 create, 0 lock, 10 start, 10 lock",
            1,
        ),
    ] {
        assert_eq!(of_text(&text.concat()), (expected.into(), unmatched));
    }
}

#[test]
fn a_thread_ends_behind_its_last_access() {
    let mut seen = Seen::default();
    let mut turns = Turns::new(&mut seen, |_| ProcessId(0));
    turns.accesses(ThreadId(0), Domain(0), &[streamed(1)], Nanos(0));
    turns.ended(ThreadId(0));
    turns.ended(ThreadId(5));
    turns.finish();
    assert_eq!((seen.items.len(), seen.ended), (1, vec![5, 0]));
}

/// What threads of a program do, but for its first one, which makes and joins the others.
fn script() -> impl Strategy<Value = Vec<Op>> {
    let work = || 0..20usize;
    let op = prop_oneof![
        4 => work().prop_map(Op::Work),
        4 => (0..2u64, work()).prop_map(|(lock, work)| Op::Critical(lock, work)),
        2 => work().prop_map(Op::Read),
        1 => work().prop_map(Op::Write),
        2 => Just(Op::Barrier),
        1 => Just(Op::Wait),
        2 => Just(Op::Signal),
        1 => Just(Op::Broadcast),
        2 => Just(Op::Post),
        1 => Just(Op::Take),
    ];
    prop::collection::vec(op, 0..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Whatever threads do and however they were scheduled, in turns each does the same in the same order, and the other order
    /// is possible, too: run step by step, no thread goes on where it would have had to wait, and locks are had in the recorded
    /// order.
    #[test]
    fn the_order_is_one_that_could_have_been(
        scripts in prop::collection::vec(script(), 1..5),
        choices in prop::collection::vec(any::<prop::sample::Index>(), 1..600),
        bursts in 1..40usize,
        most_waiting in prop_oneof![Just(usize::MAX), 0..200usize],
    ) {
        let threads = scripts.len() as u32 + 1;
        let recorded = run(&scripts, &choices, bursts);
        let (order, unmatched) = in_turns(&recorded, most_waiting);
        prop_assert_eq!(unmatched, 0);
        for thread in 0..threads {
            let of = |items: &[(u32, Item)]| -> Vec<Item> {
                items.iter().filter(|(by, _)| *by == thread).map(|(_, item)| *item).collect()
            };
            prop_assert_eq!(of(&order), of(&recorded));
        }
        let mut model = Model::new(threads);
        for (step, (thread, item)) in order.iter().enumerate() {
            prop_assert!(model.may(*thread, *item), "step {}: {} {:?}", step, thread, item);
            model.does(*thread, *item);
        }
        for lock in [program::LOCKS, program::LOCKS + 1] {
            let owners = |items: &[(u32, Item)]| -> Vec<u32> {
                let locks = items.iter().filter(|(_, item)| *item == Item::Mark(Act::Lock, lock));
                locks.map(|(thread, _)| *thread).collect()
            };
            prop_assert_eq!(owners(&order), owners(&recorded));
        }
    }

    /// Whatever the marks say, everything comes out once, in the order of its thread.
    #[test]
    fn nonsense_is_put_in_some_order(
        items in prop::collection::vec((0..4u32, prop::option::of((prop::sample::select(Act::ALL), 0..3u64))), 0..300),
        most_waiting in 0..100usize,
    ) {
        let item = |number: u64, mark: Option<(Act, u64)>| {
            mark.map_or(Item::Access(number), |(what, object)| Item::Mark(what, object))
        };
        let recorded: Vec<_> =
            (0..).zip(&items).map(|(number, (thread, mark))| (*thread, item(number, *mark))).collect();
        let (order, _) = in_turns(&recorded, most_waiting);
        for thread in 0..4 {
            let of = |items: &[(u32, Item)]| -> Vec<Item> {
                items.iter().filter(|(by, _)| *by == thread).map(|(_, item)| *item).collect()
            };
            prop_assert_eq!(of(&order), of(&recorded));
        }
    }
}
