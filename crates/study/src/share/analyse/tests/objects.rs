//! Lines by what lies on them.

use std::collections::BTreeMap;

use AccessKind::{Load, ReadModifyWrite, Store};
use carom_base::{AccessKind, Addr, Ip, Line, ProcessId, StackId};

use crate::recording::{NamedBytes, Names, NoNames};
use crate::share::testing::{Event, Synthetic, Table, TestSample};
use crate::share::{Primitive, Remedy, analyse};
use crate::symbols::{DataObject, Frame, ObjectKind};

/// Everything is one variable.
struct OneVariable;

impl Names for OneVariable {
    fn call_path(&mut self, process: ProcessId, ip: Ip, stack: StackId) -> Vec<Frame> {
        NoNames.call_path(process, ip, stack)
    }

    fn object(&mut self, _: ProcessId, _: Addr) -> DataObject {
        let declared = Some(Frame { file: Some("orders.c".to_owned()), line: Some(3), ..Frame::default() });
        let object = NoNames.object(ProcessId(0), Addr(0));
        DataObject { kind: ObjectKind::Global, name: "orders".to_owned(), declared, ..object }
    }

    fn field(&mut self, _: ProcessId, _: Addr, _: u32) -> Option<String> {
        None
    }

    fn layout(&mut self, _: ProcessId, _: Line) -> Vec<NamedBytes> {
        Vec::new()
    }
}

/// Twenty lines with one event each, which stands for one access, and this many other accesses to each.
fn spread(accesses: u64) -> Synthetic {
    let lines = || (0..20).map(|line| 64 * line);
    let events = lines().map(|at| Event::new(0, 1).earlier_at(at, 8).later(Load, at, 8));
    let samples =
        lines().flat_map(|at| (0..accesses).map(move |i| TestSample::new(1, Load, at, 8).step().at_ms(i)));
    Synthetic::new(2).every(1, 1).events(events).samples(samples)
}

/// No line has enough events by itself, and all together follow another thread's write in 20 of 100 accesses.
#[test]
fn sharing_that_is_spread_over_an_object_is_one_finding() {
    let found = analyse(&spread(5), &mut OneVariable);
    assert_eq!((found.objects.len(), found.lines.len(), found.other_lines), (1, 20, 0));
    let orders = &found.objects[0];
    assert_eq!((orders.object.name.as_str(), orders.events, orders.spread), ("orders", 20, true));
    assert_eq!((orders.lines.len(), orders.following), (20, Some(20.0 / 100.0)));
    assert_eq!((orders.share.value, found.contended_share.value), (1.0, 1.0));
}

/// One access in twenty is data that is handed over, not contention.
#[test]
fn data_that_is_handed_over_now_and_then_is_no_finding() {
    let found = analyse(&spread(20), &mut OneVariable);
    assert_eq!((found.objects.len(), found.lines.len(), found.other_lines), (0, 0, 20));
    assert_eq!(found.contended_share.value, 0.0);
}

/// An access over two contended lines of different objects counts for one of them.
#[test]
fn shares_of_objects_add_up() {
    let events = [0, 64]
        .into_iter()
        .flat_map(|at| (0..4).map(move |i| Event::new(0, 1).earlier_at(at, 8).later(Load, at, 8).at_ms(i)));
    let samples = [TestSample::new(0, Store, 60, 8), TestSample::new(1, Load, 64, 8)];
    let samples = samples.into_iter().chain([TestSample::new(1, Load, 4096, 8)]);
    let samples = samples.map(TestSample::step);
    let found =
        analyse(&Synthetic::new(2).every(1, 1).events(events).samples(samples), &mut Table::default());
    let shares: Vec<f64> = found.objects.iter().map(|each| each.share.value).collect();
    assert_eq!(shares.len(), 2);
    assert!((shares.iter().sum::<f64>() - found.contended_share.value).abs() < 1e-12, "{shares:?}");
}

/// Both threads store to the lock and to its owner: what looks like false sharing moves with the lock wherever it lies.
#[test]
fn a_lock_is_not_shared_falsely() {
    let events = (0..40).map(|i| {
        let (writer, other) = if i % 2 == 0 { (0, 1) } else { (1, 0) };
        Event::new(writer, other).earlier_at(8, 4).later(Store, 0, 4).class_false(true).at_ms(i)
    });
    let input = Synthetic::new(2).events(events);
    let names = BTreeMap::from([(0, (4, "lock.__data.__lock")), (8, (4, "lock.__data.__owner"))]);
    let found = analyse(&input, &mut Table(names));
    assert_eq!(found.false_fraction.map(|part| part.value), Some(0.0));
    assert_eq!((found.lines[0].true_sharing, found.lines[0].false_sharing), (40.0, 0.0));
    match &found.objects[0].remedy {
        Remedy::Contend(lock) => {
            assert_eq!((lock.primitive, lock.name.as_deref()), (Primitive::Mutex, Some("lock")));
        }
        other => panic!("{other:?}"),
    }
    // The same bytes without such names.
    let found = analyse(&input, &mut Table::default());
    assert_eq!(found.false_fraction.map(|part| part.value), Some(1.0));
}

/// Two threads exchange a word and clear it again; in the other recording they only store to it.
#[test]
fn a_word_is_a_lock_by_its_name_and_by_what_threads_do_to_it() {
    let remedy = |take: AccessKind, name: &'static str| {
        let events = (0..40).map(|i| {
            let (writer, other) = if i % 2 == 0 { (0, 1) } else { (1, 0) };
            Event::new(writer, other).earlier_at(0, 4).later(take, 0, 4).class_false(false).at_ms(i)
        });
        let names = BTreeMap::from([(0, (4, name))]);
        let found = analyse(&Synthetic::new(2).events(events), &mut Table(names));
        found.objects[0].remedy.clone()
    };
    match remedy(ReadModifyWrite, "queue.locked") {
        Remedy::Contend(lock) => {
            assert_eq!((lock.primitive, lock.name.as_deref()), (Primitive::OwnLock, Some("queue.locked")));
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(remedy(Store, "queue.locked"), Remedy::ShareLess { .. }));
    assert!(matches!(remedy(ReadModifyWrite, "queue.length"), Remedy::ShareLess { .. }));
}

/// One thread fills a table in the first 10 ms, of which others read a line each.
fn written_once() -> Synthetic {
    let events =
        (0..4).map(|i| Event::new(0, 1 + i).at_ms(20 + u64::from(i)).written_at_ms(1 + u64::from(i)));
    Synthetic::new(5).events(events)
}

#[test]
fn what_is_written_once_for_others_is_not_contended() {
    let few = |input: &Synthetic| {
        let found = analyse(input, &mut Table::default());
        (found.lines.len(), found.not_enough.map(|few| few.events))
    };
    assert_eq!(few(&written_once()), (0, Some(0)));
    let again = Event::new(0, 2).at_ms(500);
    assert_eq!(few(&written_once().events([again])), (1, Some(5)), "an event tells of a second write");
    let store = TestSample::new(0, Store, 0, 8).step().at_ms(500);
    assert_eq!(few(&written_once().samples([store])), (1, Some(4)), "a sample does");
    let answer = Event::new(0, 1).later(Store, 0, 8).at_ms(500).written_at_ms(1);
    assert_eq!(few(&written_once().events([answer])), (1, Some(5)), "the other thread writes");
}

/// A variable of the C library that `rand` uses, which the program calls in `throw`.
struct OfLibrary;

impl Names for OfLibrary {
    fn call_path(&mut self, _: ProcessId, _: Ip, _: StackId) -> Vec<Frame> {
        let frame = |function: &str, module: &str| Frame {
            function: Some(function.to_owned()),
            module: Some(module.into()),
            ..Frame::default()
        };
        vec![frame("__random", "/lib/libc.so.6"), frame("rand", "/lib/libc.so.6"), frame("throw", "dice")]
    }

    fn object(&mut self, process: ProcessId, at: Addr) -> DataObject {
        let declared = Some(Frame { module: Some("/lib/libc.so.6".into()), ..Frame::default() });
        DataObject { declared, ..OneVariable.object(process, at) }
    }

    fn field(&mut self, _: ProcessId, at: Addr, _: u32) -> Option<String> {
        Some(if at.0 < 4 { "lock" } else { "unsafe_state.fptr" }.to_owned())
    }

    fn layout(&mut self, _: ProcessId, _: Line) -> Vec<NamedBytes> {
        Vec::new()
    }
}

/// One thread changes the lock of the library, the other one the state beside it. Nobody who calls `rand` can part them.
#[test]
fn what_a_library_keeps_for_all_threads_is_its_own() {
    let events = (0..40).map(|i| {
        let (writer, other) = if i % 2 == 0 { (0, 1) } else { (1, 0) };
        Event::new(writer, other).earlier_at(0, 4).later(ReadModifyWrite, 8, 8).class_false(true).at_ms(i)
    });
    let found = analyse(&Synthetic::new(2).events(events), &mut OfLibrary);
    match &found.objects[0].remedy {
        Remedy::Contend(of) => {
            assert_eq!((of.primitive, of.name.as_deref()), (Primitive::LibraryState, Some("rand")));
            assert_eq!(of.users[0].function.as_deref(), Some("throw"));
        }
        other => panic!("{other:?}"),
    }
}

/// A block without a type.
struct OneBlock;

impl Names for OneBlock {
    fn call_path(&mut self, process: ProcessId, ip: Ip, stack: StackId) -> Vec<Frame> {
        NoNames.call_path(process, ip, stack)
    }

    fn object(&mut self, _: ProcessId, at: Addr) -> DataObject {
        DataObject {
            kind: ObjectKind::Heap,
            name: "2048-byte block allocated in main".to_owned(),
            offset: at.line().start().0 as i64,
            size: Some(2048),
            declared: None,
            allocation: vec![Frame { function: Some("main".to_owned()), ..Frame::default() }],
        }
    }

    fn field(&mut self, _: ProcessId, _: Addr, _: u32) -> Option<String> {
        None
    }

    fn layout(&mut self, _: ProcessId, _: Line) -> Vec<NamedBytes> {
        Vec::new()
    }
}

/// Both threads meet each other's writes at random among four words of each of 32 lines: a set of bits that both fill, or
/// buffers that one fills for the other.
#[test]
fn what_threads_change_in_place_is_not_handed_over() {
    let remedy = |use_of: AccessKind| {
        let words = || (0..4u64).map(|word| 8 * word);
        let events = (0..32u64).flat_map(|line| {
            words().flat_map(move |written| {
                words().flat_map(move |used| {
                    [(0, 1), (1, 0)].map(|(writer, other)| {
                        let event = Event::new(writer, other).earlier_at(64 * line + written, 8);
                        event.later(use_of, 64 * line + used, 8).class_false(written != used)
                    })
                })
            })
        });
        analyse(&Synthetic::new(2).events(events), &mut OneBlock).objects[0].remedy.clone()
    };
    match remedy(ReadModifyWrite) {
        Remedy::ShareLess { handed: None, elements, .. } => assert!(elements),
        other => panic!("{other:?}"),
    }
    assert!(matches!(remedy(Load), Remedy::ShareLess { handed: Some(_), .. }));
}
