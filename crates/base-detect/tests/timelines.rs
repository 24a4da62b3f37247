//! Short timelines: which thread samples what, when, and the expected result.
//!
//! One row per sample: time, thread, what it did, and after `=` the expected result. Addresses are a line's letter
//! and an offset in bytes. Expected words: `published`, `collision`, `disarm`, `watch X` (line X), `true N` and
//! `false N` (sharing with an earlier write of thread N). `touch` is an access between samples, which traps where its
//! chunk is watched: `+w` is the last watched chunk (never the first of the line), and `+u` is a chunk that is not
//! watched.

use std::sync::atomic::AtomicU32;

use carom_base::{
    Access, AccessKind, Addr, Cpu, Ip, LINE_BYTES, Line, Nanos, Population, SharingClass, SharingEvent,
    StackId, ThreadId, Via,
};
use carom_base_detect::{
    Board, Config, Decision, Input, Publisher, Scheme, Slot, ThreadDetector, Touch, Trap, Watch,
};

/// Line A is 65, and so on: with the default board of 7, A and H share a slot.
fn line_of(letter: char) -> Line {
    Line(u64::from(letter as u32))
}

fn describe(event: &SharingEvent) -> String {
    let class = if event.class == SharingClass::True { "true" } else { "false" };
    format!("{class} {}", event.earlier.thread.0)
}

fn describe_decision(decision: &Decision) -> String {
    let mut words: Vec<String> = vec![];
    words.extend(decision.event.as_ref().map(describe));
    words.extend(decision.arm.map(|plan| format!("watch {}", plan.line.0 as u8 as char)));
    words.extend(decision.disarm.then(|| "disarm".to_owned()));
    words.extend(decision.published.then(|| "published".to_owned()));
    words.extend(decision.collision.then(|| "collision".to_owned()));
    words.join(", ")
}

fn access(operation: &str, place: &str, detector: &ThreadDetector) -> Access {
    let (letter, offset) = place.split_once('+').unwrap_or((place, "0"));
    let start = line_of(letter.chars().next().expect("a letter")).start().0;
    let watched = |chunk: &u64| detector.armed().is_some_and(|plan| plan.watched().contains(&Addr(*chunk)));
    let mut chunks = (start..start + LINE_BYTES).step_by(8);
    let addr = match offset {
        "w" => chunks.filter(watched).last().expect("a watched chunk"),
        "u" => chunks.find(|chunk| !watched(chunk)).expect("an unwatched chunk"),
        offset => start + offset.parse::<u64>().expect("an offset"),
    };
    let kind = match operation {
        "load" | "touch" => AccessKind::Load,
        "store" => AccessKind::Store,
        "atomic" => AccessKind::ReadModifyWrite,
        other => panic!("{other}?"),
    };
    Access { ip: Ip(1), addr: Addr(addr), width: 8, kind }
}

fn check(scheme: Scheme, watchpoints: u8, timeline: &str) {
    let slots: Vec<Slot> = (0..7).map(|_| Slot::default()).collect();
    let (publishers, threads): ([Publisher; 4], _) = Default::default();
    let board = Board::new(&slots, &publishers, &threads);
    let config = Config { watch: Watch::Chunks(watchpoints), scheme };
    let mut detectors: Vec<_> =
        (0..4).map(|i| ThreadDetector::new(ThreadId(i), config, u64::from(i))).collect();
    for row in timeline.lines().map(str::trim).filter(|row| !row.is_empty()) {
        let (what, expected) = row.split_once('=').expect("=");
        let words: Vec<&str> = what.split_whitespace().collect();
        let [time, thread, operation, place] = words[..] else { panic!("{row}") };
        let detector = &mut detectors[thread[1..].parse::<usize>().expect("a thread")];
        let access = access(operation, place, detector);
        let (time, cpu, stack) = (Nanos(time.parse().expect("a time")), Cpu(0), StackId::NONE);
        let outcome = if operation == "touch" {
            let hit = detector.armed().is_some_and(|plan| plan.watched().contains(&access.addr));
            let trap =
                Trap { chunk: access.addr, time, cpu, stack, access: Some(access), kind: None, ip: Ip(2) };
            hit.then(|| detector.on_trap(trap)).flatten().as_ref().map(describe).unwrap_or_default()
        } else {
            let population = Population::Step;
            let input = Input { access, time, cpu, stack, population, weight: 1.0, watch: Some(1.0) };
            describe_decision(&detector.on_sample(&board, input))
        };
        assert_eq!(outcome, expected.trim(), "in row: {row}");
    }
}

/// The same timeline under both schemes.
fn check_both(watchpoints: u8, timeline: &str) {
    check(Scheme::Paper, watchpoints, timeline);
    check(Scheme::Balanced, watchpoints, timeline);
}

#[test]
fn a_look_up_tells_true_from_false_sharing_by_bytes() {
    check_both(
        4,
        "10 T0 store  A+0  = published
         20 T1 load   A+0  = true 0
         20 T2 load   A+8  = false 0
         20 T3 load   A+7  = true 0",
    );
}

#[test]
fn loads_are_not_published_and_atomics_are() {
    check_both(
        4,
        "10 T0 load   A = 
         20 T1 load   A = 
         30 T0 atomic A = published
         40 T1 load   A = true 0",
    );
}

#[test]
fn an_entry_counts_once_per_thread_that_looks() {
    // The second look finds the entry that has been counted, and nothing else to watch.
    check_both(
        4,
        "10 T0 store A = published
         20 T1 load  A = true 0
         30 T1 load  A = 
         40 T2 load  A = true 0",
    );
}

#[test]
fn a_miss_watches_the_recent_entry_and_a_trap_counts_it() {
    check_both(
        4,
        "10 T0 store A   = published
         20 T1 load  B   = watch A
         21 T1 touch A+u = 
         22 T1 touch A+w = false 0
         23 T1 touch A+u = 
         30 T1 load  A   = ",
    );
    // The last look-up finds the trapped entry, which has been counted.
}

#[test]
fn without_watchpoints_nothing_is_watched() {
    check_both(
        0,
        "10 T0 store A = published
         20 T1 load  B = 
         30 T1 load  A = true 0",
    );
    // With no watchpoints both schemes are the paper's: for a look-up an entry need not be recent, only new.
}

#[test]
fn what_lies_before_the_previous_sample_is_not_watched() {
    // At 30 the watchpoints are still young. At 40 they are old. C, although no thread has counted it and its
    // publisher has stored nothing since, was published before the sample of 30.
    check(
        Scheme::Paper,
        4,
        "10 T0 store A = published
         20 T1 load  B = watch A
         25 T0 store C = published
         30 T1 load  B = 
         40 T1 load  B = disarm",
    );
}

#[test]
fn watchpoints_are_old_at_the_second_sample_after_theirs() {
    // There is nothing new to watch, so old watchpoints are only removed.
    check_both(
        4,
        "10 T0 store A = published
         20 T1 load  B = watch A
         30 T1 load  B = 
         40 T1 load  B = disarm",
    );
}

#[test]
fn only_the_balanced_scheme_replaces_young_watchpoints() {
    let timeline = |third: &str| {
        format!(
            "10 T0 store A = published
             20 T1 load  B = watch A
             25 T0 store C = published
             30 T1 load  B = {third}"
        )
    };
    check(Scheme::Paper, 4, &timeline(""));
    check(Scheme::Balanced, 4, &timeline("watch C"));
}

#[test]
fn a_paper_entry_expires_at_the_second_store_sample_of_its_publisher() {
    check(
        Scheme::Paper,
        0,
        "10 T0 store A = published
         20 T0 store A = 
         25 T0 load  A = 
         30 T0 store A = published",
    );
    // Load samples do not age it.
}

#[test]
fn a_paper_entry_of_a_silent_thread_expires_by_the_store_samples_of_who_wants_the_slot() {
    // T0 publishes and ends. At 50 the last two store samples of T1 are those of 40 and 30, both after 10.
    check(
        Scheme::Paper,
        0,
        "10 T0 store A = published
         30 T1 store A = true 0
         40 T1 store A = 
         50 T1 store A = published",
    );
}

#[test]
fn lines_that_share_a_slot_are_never_confused() {
    // 72 - 65 = 7: H has A's slot.
    check(
        Scheme::Paper,
        0,
        "10 T0 store A = published
         20 T1 load  H = 
         30 T1 store H = collision
         40 T0 store H = collision
         50 T0 store H = published
         60 T1 load  A = 
         70 T1 load  H = true 0",
    );
    check(
        Scheme::Balanced,
        4,
        "10 T0 store A = published
         20 T1 load  H = watch A
         30 T1 store H = published, collision
         40 T0 load  A = watch H",
    );
}

#[test]
fn the_balanced_scheme_examines_only_the_latest_write() {
    // T2's look-up would find A, but the latest write of another thread is that of T1 to B.
    check(
        Scheme::Balanced,
        4,
        "10 T0 store A   = published
         20 T1 store B   = watch A, published
         30 T2 load  A   = watch B
         31 T2 touch B+w = false 1",
    );
}

#[test]
fn entries_from_the_future_wait() {
    // T0 read its clock after T1 had, but got to the board first.
    check_both(
        4,
        "12 T0 store A = published
         11 T1 load  A = 
         20 T1 load  A = true 0",
    );
}

/// T1, watching line A, of which T0 has written bytes 0 to 63 (so every chunk is true sharing).
fn watching(watchpoints: u8) -> ThreadDetector {
    watching_by(Watch::Chunks(watchpoints))
}

fn watching_by(watch: Watch) -> ThreadDetector {
    let (slots, publishers, threads): ([Slot; 1], [Publisher; 1], _) = Default::default();
    let board = Board::new(&slots, &publishers, &threads);
    let config = Config { watch, ..Config::default() };
    let input = |letter, width, kind| Input {
        access: Access { ip: Ip(1), addr: line_of(letter).start(), width, kind },
        time: Nanos(10),
        cpu: Cpu(3),
        stack: StackId(4),
        population: Population::LastInstruction,
        weight: 1.0,
        watch: Some(1.0),
    };
    ThreadDetector::new(ThreadId(0), config, 1).on_sample(&board, input('A', 64, AccessKind::Store));
    let mut detector = ThreadDetector::new(ThreadId(1), config, 1);
    detector.on_sample(&board, input('B', 1, AccessKind::Load));
    detector
}

fn trap(chunk: Addr) -> Trap {
    Trap { chunk, time: Nanos(30), cpu: Cpu(5), stack: StackId(6), access: None, kind: None, ip: Ip(7) }
}

#[test]
fn a_trap_stands_for_the_line_over_what_is_watched() {
    // 64 bytes over 8 per watchpoint.
    for (watchpoints, weight) in [(1, 8.0), (2, 4.0), (3, 8.0 / 3.0), (4, 2.0), (9, 2.0)] {
        let mut detector = watching(watchpoints);
        let chunk = detector.armed().unwrap().watched()[0];
        let event = detector.on_trap(trap(chunk)).unwrap();
        assert_eq!((event.weight, event.population), (weight, Population::LastInstruction));
        assert_eq!(detector.armed(), None);
    }
}

#[test]
fn a_trap_without_its_access_is_the_chunk_and_says_so() {
    let chunk = watching(4).armed().unwrap().watched()[0];
    let later = |access, kind| {
        let event = watching(4).on_trap(Trap { access, kind, ..trap(chunk) }).unwrap();
        (event.later, event.exact)
    };
    let unknown = Access { ip: Ip(7), addr: chunk, width: 8, kind: AccessKind::Load };
    assert_eq!(later(None, None), (unknown, false));
    let kind = AccessKind::ReadModifyWrite;
    assert_eq!(later(None, Some(kind)), (Access { kind, ..unknown }, false));
    // The last byte of the chunk is enough to be accepted; one byte further on is not the access that trapped.
    let touching = Access { ip: Ip(9), addr: Addr(chunk.0 + 7), width: 1, kind: AccessKind::Store };
    assert_eq!(later(Some(touching), None), (touching, true));
    let beside = Access { addr: Addr(chunk.0 + 8), ..touching };
    assert_eq!(later(Some(beside), None), (unknown, false));
}

#[test]
fn a_trap_of_replaced_or_removed_watchpoints_means_nothing() {
    let mut detector = watching(4);
    let plan = *detector.armed().unwrap();
    assert_eq!(detector.on_trap(trap(line_of('Z').start())), None);
    assert_eq!(detector.armed(), Some(&plan), "a stale trap changes nothing");
    detector.disarm();
    assert_eq!(detector.on_trap(trap(plan.watched()[0])), None);
}

/// T0 has written all 64 bytes, so any touch of the line is true sharing and counts 1.
#[test]
fn a_line_that_is_watched_as_a_whole_counts_its_first_touch_once() {
    for (offset, kind) in [(0, AccessKind::Load), (63, AccessKind::Store)] {
        let mut detector = watching_by(Watch::Line);
        let plan = *detector.armed().unwrap();
        assert!(plan.is_whole_line() && plan.watched().is_empty());
        let access = Access { ip: Ip(9), addr: Addr(plan.line.start().0 + offset), width: 1, kind };
        let touch = |access| Touch { access, time: Nanos(30), cpu: Cpu(5), stack: StackId(6) };
        // Another line, which translated code may confuse with this one.
        let elsewhere = Access { addr: Addr(access.addr.0 + (64 << 16)), ..access };
        assert_eq!(detector.on_touch(touch(elsewhere)), None);
        assert_eq!(detector.armed(), Some(&plan), "another line's touch changes nothing");
        let event = detector.on_touch(touch(access)).unwrap();
        assert_eq!((event.weight, event.exact, event.later), (1.0, true, access));
        assert_eq!((event.via, event.class), (Via::Watchpoint, SharingClass::True));
        assert_eq!(detector.on_touch(touch(access)), None, "it was settled");
    }
}

/// T0 has written bytes 0 to 7 only.
#[test]
fn the_bytes_of_the_touch_tell_true_sharing_from_false() {
    for (offset, class) in [(0, SharingClass::True), (7, SharingClass::True), (8, SharingClass::False)] {
        let (slots, publishers, threads): ([Slot; 1], [Publisher; 1], _) = Default::default();
        let board = Board::new(&slots, &publishers, &threads);
        let config = Config { watch: Watch::Line, ..Config::default() };
        let (time, cpu, stack) = (Nanos(10), Cpu(0), StackId::NONE);
        let access = |letter, offset, kind| Access {
            ip: Ip(1),
            addr: Addr(line_of(letter).start().0 + offset),
            width: 8,
            kind,
        };
        let population = Population::Step;
        let sample = |access, watch| Input { access, time, cpu, stack, population, weight: 3.0, watch };
        let mut writer = ThreadDetector::new(ThreadId(0), config, 1);
        writer.on_sample(&board, sample(access('A', 0, AccessKind::Store), None));
        let mut other = ThreadDetector::new(ThreadId(1), config, 1);
        other.on_sample(&board, sample(access('B', 0, AccessKind::Load), Some(5.0)));
        let access = Access { width: 1, ..access('A', offset, AccessKind::Load) };
        let event = other.on_touch(Touch { access, time, cpu, stack }).unwrap();
        // The weight of the published write, times the number of samples that the watching sample stands for.
        assert_eq!((event.class, event.weight), (class, 15.0), "byte {offset}");
    }
}

/// The first sample of B finds A's write and watches. The second finds a newer one, may not watch, and ends the watch
/// as if it did. Look-ups need no permission.
#[test]
fn a_sample_that_may_not_watch_ends_what_is_watched() {
    let (slots, publishers, threads): ([Slot; 2], [Publisher; 1], _) = Default::default();
    let board = Board::new(&slots, &publishers, &threads);
    let sample = |time, letter, kind, watch| Input {
        access: Access { ip: Ip(1), addr: line_of(letter).start(), width: 8, kind },
        time: Nanos(time),
        cpu: Cpu(0),
        stack: StackId::NONE,
        population: Population::Step,
        weight: 1.0,
        watch,
    };
    let mut writer = ThreadDetector::new(ThreadId(0), Config::default(), 1);
    let mut other = ThreadDetector::new(ThreadId(1), Config::default(), 1);
    writer.on_sample(&board, sample(10, 'A', AccessKind::Store, None));
    let watches = other.on_sample(&board, sample(20, 'B', AccessKind::Load, Some(1.0)));
    assert!(watches.arm.is_some() && !watches.declined);
    writer.on_sample(&board, sample(30, 'A', AccessKind::Store, None));
    let declines = other.on_sample(&board, sample(40, 'B', AccessKind::Load, None));
    assert!(declines.arm.is_none() && declines.disarm && declines.declined);
    assert!(other.armed().is_none());
    writer.on_sample(&board, sample(50, 'A', AccessKind::Store, None));
    let meets = other.on_sample(&board, sample(60, 'A', AccessKind::Load, None));
    assert!(meets.event.is_some_and(|event| event.weight == 1.0) && !meets.declined);
}

#[test]
fn a_board_without_storage_is_an_empty_board() {
    let threads = AtomicU32::new(0);
    let board = Board::new(&[], &[], &threads);
    let access = Access { ip: Ip(1), addr: Addr(64), width: 8, kind: AccessKind::Store };
    let input = Input {
        access,
        time: Nanos(1),
        cpu: Cpu(0),
        stack: StackId::NONE,
        population: Population::Step,
        weight: 1.0,
        watch: Some(1.0),
    };
    for scheme in [Scheme::Paper, Scheme::Balanced] {
        let config = Config { scheme, ..Config::default() };
        let decision = ThreadDetector::new(ThreadId(0), config, 0).on_sample(&board, input);
        assert_eq!(decision, Decision::default());
    }
}
