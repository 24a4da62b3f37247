//! Sharing in streams that are short enough to follow by hand.
//!
//! Expected events are written as `WRITER->TOUCHER CLASS KIND`, in the order of time, where KIND is the toucher's
//! access.

use carom_base::{Access, AccessKind, Addr, Ip, Nanos, ProcessId, SharingClass, SharingEvent, ThreadId, Via};
use carom_base_detect::{Config, Scheme, Watch};
use carom_base_replay::{Sampling, Sharing, replay};
use carom_base_stream::{Event, Record, Streamed, text};

/// Only look-ups, by the rules of the paper.
const LOOK_UPS: Config = Config { watch: Watch::Nothing, scheme: Scheme::Paper };
/// As in translated code.
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

/// Sharing is true where two accesses have bytes in common: here bytes 4 to 7, of 0 to 7 and 4 to 11. It is false
/// where they have only the line in common: 0 to 7, and 8 to 15.
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

/// A write invalidates the line for all other threads. The event comes when they access it again: at line 3 for
/// thread 1, whose copy the write of line 2 invalidated; at line 5 for thread 0, whose copy the write of line 4
/// invalidated; and so on. Line 2 itself invalidates a copy that was only read, which shows as the read of line 3.
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

/// By the paper's rules an entry lives for two stores of its publisher, and no other entry is published in its place
/// meanwhile. Thread 0's first store stays until its third: thread 1's stores are not on the board, and thread 0
/// finds nothing. Its third store is published, and thread 1 finds it.
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
    // Where all are published, each store but the first follows one of the other thread.
    let all = ["0->1 true write", "1->0 true write", "0->1 true read", "0->1 true read"];
    check(LINES, stream, &all);
}

/// Each of three threads finds the latest write of another. When thread 2 reads, thread 1's write has replaced thread
/// 0's, although the bytes that it reads are thread 0's. Thread 0 then reads what thread 1 wrote.
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

/// Thread 1 touches another line first. Its sample there examines the write, and watches the line until the second
/// sample after that. Thread 1 comes to the line before that in the first stream, and after it in the second.
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

/// A debug register watches 8 bytes. With four of the eight chunks of a line watched, half of the touches of one word
/// are found, and each counts for two.
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
    // The number's standard deviation is 10.
    assert!((150..250).contains(&found), "{found}");
    assert_eq!(weight, 2.0 * found as f32);
}

/// Two threads alternate: thread 0 writes a word of the line; thread 1 reads that word in every fourth round,
/// otherwise another one. So a quarter of the sharing is true.
///
/// One of 20 writes is published, and one of 20 reads is looked up, each at a random place in its twenty. A look-up
/// finds something if there is a write between it and the look-up before. There is none if in the twenty before the
/// write came before the look-up, and in this twenty comes after it: one look-up in four. So 3/4 of the look-ups find
/// something.
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
