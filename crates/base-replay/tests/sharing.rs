//! Sharing in streams that are short enough to be followed by hand.
//!
//! Expected events are written as `WRITER->TOUCHER CLASS KIND`, in the order of time, where KIND is what the toucher does.

use carom_base::{Access, AccessKind, Addr, Ip, Nanos, ProcessId, SharingClass, SharingEvent, ThreadId, Via};
use carom_base_detect::{Config, Scheme, Watch};
use carom_base_replay::{Sampling, Sharing, replay};
use carom_base_stream::{Event, Record, Streamed, text};

/// Look-ups alone, by the rules of the paper.
const LOOK_UPS: Config = Config { watch: Watch::Nothing, scheme: Scheme::Paper };
/// As translated code does it.
const LINES: Config = Config { watch: Watch::Line, scheme: Scheme::Balanced };

fn events(stream: &[Record], config: Config, sampling: Sampling) -> Vec<SharingEvent> {
    let mut sharing = Sharing::new(config, sampling);
    replay(stream, &mut sharing);
    sharing.events().to_vec()
}

fn check(config: Config, stream: &str, expected: &[&str]) {
    let stream = text::parse(stream).expect("a stream");
    let found: Vec<String> = events(&stream, config, Sampling::Every)
        .iter()
        .map(|event| {
            let class = if event.class == SharingClass::True { "true" } else { "false" };
            let kind = if event.later.kind.writes() { "write" } else { "read" };
            format!("{}->{} {class} {kind}", event.earlier.thread.0, event.thread.0)
        })
        .collect();
    assert_eq!(found, expected);
}

/// Sharing is true where two accesses have bytes in common: 4 to 7 here, 0 to 7 and 4 to 11 being touched. It is false where
/// they have only the line in common: 0 to 7, and 8 to 15.
#[test]
fn bytes_tell_true_from_false() {
    let stream = "
        0 store 8 @0x1000
        1 load  8 @0x1004     # true
        2 load  8 @0x1008     # false
        3 load  8 @0x1040     # the next line: nothing
        1 load  8 @0x1000     # the same write, which this thread has met before: nothing
    ";
    check(LOOK_UPS, stream, &["0->1 true read", "0->2 false read"]);
    check(LINES, stream, &["0->1 true read", "0->2 false read"]);
}

/// A write takes the line from all others. It is told when they come back: at line 3 of thread 1, whose copy the write of
/// line 2 invalidated; at line 5 of thread 0, whose copy that of line 4 did; and so on. Line 2 itself invalidates what was only
/// read before, and is told as the read of line 3.
#[test]
fn an_invalidated_line_is_told_where_it_is_missed() {
    let stream = "
        1 load   8 @0x1000
        0 store  8 @0x1000
        1 load   8 @0x1000    # missed since line 2
        1 store  8 @0x1000
        0 store  8 @0x1000    # missed since line 4
        1 rmw    8 @0x1000    # missed since line 5
        0 load   8 @0x1000    # missed since line 6
        0 load   8 @0x1000    # not missed
    ";
    check(LINES, stream, &["0->1 true read", "1->0 true write", "0->1 true write", "1->0 true read"]);
}

/// By the paper's rules an entry lives for two stores of its publisher, and nobody else's are published in its place
/// meanwhile. Thread 0's first store stays until its third: thread 1's are not on the board, and thread 0 finds nothing.
/// Its third store is published, and met by thread 1.
#[test]
fn a_busy_line_is_published_by_few() {
    let stream = "
        0 store 8 @0x1000     # on the board
        1 store 8 @0x1000     # meets it
        0 store 8 @0x1000
        1 load  8 @0x1000     # the first store again
        0 store 8 @0x1000     # on the board: two stores since the first
        1 load  8 @0x1000     # meets it
    ";
    check(LOOK_UPS, stream, &["0->1 true write", "0->1 true read"]);
    // Where all are published, each but the first follows one of the other thread.
    let all = ["0->1 true write", "1->0 true write", "0->1 true read", "0->1 true read"];
    check(LINES, stream, &all);
}

/// Of three threads, each meets the latest write of another: thread 1's has taken the place of thread 0's when thread 2 reads,
/// though the bytes that it reads are thread 0's. Thread 0 then reads what thread 1 wrote.
#[test]
fn three_threads_meet_the_latest_write() {
    let stream = "
        0 store 8 @0x1000
        1 store 8 @0x1008     # behind thread 0's
        2 load  8 @0x1000     # behind thread 1's
        0 load  8 @0x1008     # behind thread 1's
        2 load  8 @0x1008     # the same again: nothing
    ";
    check(LINES, stream, &["0->1 false write", "1->2 false read", "1->0 true read"]);
}

/// Thread 1 touches another line first. Its sample there examines the write, and watches the line until the second sample from
/// then on. Thread 1 comes to the line before that in the first stream, and behind it in the second.
#[test]
fn a_line_is_watched_for_a_while() {
    let begin = "
        0 store 8 @0x1000
        1 load  8 @0x2000     # watches the line from now on
        1 load  8 @0x2000
    ";
    check(LINES, &format!("{begin}\n1 load 8 @0x1000"), &["0->1 true read"]);
    check(LINES, &format!("{begin}\n1 load 8 @0x2000\n1 load 8 @0x1000"), &[]);
}

/// A debug register watches 8 bytes: with four of the eight chunks of a line watched, half of the touches of one word are
/// found, and each counts for two.
#[test]
fn chunks_are_found_in_part_and_weigh_more() {
    let (mut found, mut weight) = (0, 0.0);
    const RUNS: u64 = 400;
    for seed in 0..RUNS {
        let stream = text::parse("0 store 8 @0x1000\n1 load 8 @0x2000\n1 load 8 @0x1008").expect("a stream");
        let config = Config { watch: Watch::Chunks(4), scheme: Scheme::Balanced };
        for event in events(&stream, config, Sampling::Period { accesses: 1, seed }) {
            assert_eq!((event.via, event.class, event.weight), (Via::Watchpoint, SharingClass::False, 2.0));
            found += 1;
            weight += event.weight;
        }
    }
    // The standard deviation of the number is 10.
    assert!((150..250).contains(&found), "{found}");
    assert_eq!(weight, 2.0 * found as f32);
}

/// Two threads in turn: thread 0 writes a word of the line, thread 1 reads that word in every fourth round, else another one.
/// So a quarter of the sharing is true.
///
/// Of 20 writes one is on the board, of 20 reads one looks there, each anywhere in its twenty. A look finds something where
/// there is a write between it and the look before. There is none where, in the twenty before, the write came before the look,
/// and in this twenty it comes behind: one look in four. So 3/4 of the looks find something.
#[test]
fn samples_find_the_fractions() {
    const ROUNDS: u64 = 40_000;
    let access = |thread: u32, time: u64, kind, word: u64| Record {
        process: ProcessId(0),
        thread: ThreadId(thread),
        time: Nanos(time),
        event: Event::Access(Streamed {
            access: Access { ip: Ip(1), addr: Addr(0x1000 + 8 * word), width: 8, kind },
            atomic: false,
        }),
    };
    let round = |n: u64| {
        let word = if n.is_multiple_of(4) { 0 } else { 1 };
        [access(0, 100 * n, AccessKind::Store, 0), access(1, 100 * n + 50, AccessKind::Load, word)]
    };
    let stream: Vec<Record> = (0..ROUNDS).flat_map(round).collect();
    let found = events(&stream, LINES, Sampling::Period { accesses: 20, seed: 7 });
    let is_true = found.iter().filter(|event| event.class == SharingClass::True).count() as f64;
    assert!(found.iter().all(|event| (event.earlier.thread, event.thread) == (ThreadId(0), ThreadId(1))));
    // Of 1500 events; the standard deviations are 0.011 and 0.01.
    assert!((is_true / found.len() as f64 - 0.25).abs() < 0.05, "{is_true} of {}", found.len());
    let looks = (ROUNDS / 20) as f64;
    assert!((found.len() as f64 / looks - 0.75).abs() < 0.05, "{} of {looks}", found.len());
}
