mod objects;

use AccessKind::{Load, ReadModifyWrite, Store};
use carom_base::{AccessKind, Addr};

use super::*;
use crate::recording::{Combine, Merged, MergedNames};
use crate::share::testing::{Event, Synthetic, Table, TestSample};
use crate::share::{Padding, Parts, Remedy, ThreadPair};

fn findings_of(input: &Synthetic) -> ShareFindings {
    analyse(input, &mut Table::default())
}

/// Two threads that store to two counters in line 1 (bytes 64 to 79) of one structure, seen for one second.
fn two_counters() -> Synthetic {
    let events = (0..40).map(|i| {
        let (writer, looker) = if i % 2 == 0 { (1, 2) } else { (2, 1) };
        let counter = |thread| 64 + 8 * (u64::from(thread) - 1);
        Event::new(writer, looker)
            .earlier_at(counter(writer), 8)
            .later(ReadModifyWrite, counter(looker), 8)
            .class_false(true)
            .at_ms(i * 25)
    });
    // Of 400 last-instruction samples 100 are at the counters, 50 of each thread; 60 have no address.
    let samples = (0..400).map(|i| {
        let thread = 1 + (i % 2) as u32;
        let sample = match i {
            0..100 => TestSample::new(thread, ReadModifyWrite, 64 + 8 * (u64::from(thread) - 1), 8),
            100..160 => TestSample::skipped(thread, Skip::AddressLost),
            _ => TestSample::new(thread, Load, 4096 + 64 * i, 8),
        };
        sample.at_ms(i * 7 % 1000)
    });
    Synthetic::new(3).events(events).samples(samples)
}

#[test]
fn two_counters_in_a_line_are_named_and_cut_apart() {
    let names = [(64, (8, "stats.hits")), (72, (8, "stats.misses")), (80, (4, "stats.mode"))];
    let found = analyse(&two_counters(), &mut Table(BTreeMap::from(names)));
    assert_eq!(found.false_fraction.map(|e| (e.value, e.high)), Some((1.0, 1.0)));
    assert_eq!(found.not_enough, None);
    assert_eq!((found.lines.len(), found.other_lines), (1, 0));
    let line = &found.lines[0];
    assert_eq!((line.address, line.process), (Addr(64), ProcessId(0)));
    // 100 of 400 samples, those without an address included.
    assert_eq!((line.share.value, found.contended_share), (0.25, line.share));
    assert!((0.20..0.22).contains(&line.share.low) && (0.28..0.30).contains(&line.share.high), "{line:?}");
    assert_eq!((line.true_sharing, line.false_sharing, line.events), (0.0, 40.0, 40));
    assert_eq!(line.basis, Population::Step);
    assert_eq!(line.pair, Some(ThreadPair { first: ThreadId(1), second: ThreadId(2), fraction: 1.0 }));
    assert_eq!(
        line.remedy,
        Remedy::Pad(Padding {
            at_line_offsets: vec![8],
            fields: vec!["stats.hits".to_owned(), "stats.misses".to_owned()],
            of: Parts::Fields,
        })
    );
    let layout: Vec<_> =
        line.layout.iter().map(|r| (r.offset, r.field.as_deref().unwrap_or("?"), r.writers.len())).collect();
    assert_eq!(layout, [(0, "stats.hits", 1), (8, "stats.misses", 1), (16, "stats.mode", 0)]);
}

#[test]
fn sites_say_who_does_what_from_where() {
    let found = findings_of(&two_counters());
    let sites: Vec<_> = found.lines[0]
        .sites
        .iter()
        .map(|s| (s.thread.0, s.kind, s.offset, s.frames[0].function.clone().unwrap(), s.share, s.seen))
        .collect();
    // Samples are at 0x30 (50 each, an eighth of all), later accesses at 0x20 and earlier ones at 0x10 (20 each).
    let site = |thread, offset, kind, f: &str, share, seen| (thread, kind, offset, f.to_owned(), share, seen);
    assert_eq!(
        sites,
        [
            site(1, 0, ReadModifyWrite, "f30", 0.125, 50),
            site(2, 8, ReadModifyWrite, "f30", 0.125, 50),
            site(1, 0, Store, "f10", 0.0, 20),
            site(1, 0, ReadModifyWrite, "f20", 0.0, 20),
            site(2, 8, Store, "f10", 0.0, 20),
            site(2, 8, ReadModifyWrite, "f20", 0.0, 20),
        ]
    );
}

#[test]
fn matrices_follow_the_direction_of_events() {
    let found = findings_of(&two_counters());
    assert_eq!(found.threads.labels, [ThreadId(0), ThreadId(1), ThreadId(2)]);
    assert_eq!(found.threads.false_sharing, [[0., 0., 0.], [0., 0., 20.], [0., 20., 0.]]);
    assert_eq!(found.cpus.labels, [carom_base::Cpu(1), carom_base::Cpu(2)]);
    // Processors 1 and 2 are of different cores.
    assert_eq!(found.distance.cross_core, 40.0);
    assert_eq!(found.kinds.write_after_write, 40.0);
    assert_eq!(found.pattern, None);
}

#[test]
fn quality_counts_every_sample_once() {
    let mut input = two_counters();
    input = input.samples([
        TestSample::new(1, Load, 64, 8).step(),
        TestSample::new(1, Store, 128, 8).step().part(1),
        TestSample::skipped(1, Skip::Masked).step(),
    ]);
    input.losses.counters.dropped_records = 7;
    let quality = findings_of(&input).quality;
    assert_eq!((quality.last_instruction, quality.step, quality.events), (400, 2, 40));
    assert_eq!(quality.skipped, [(Skip::AddressLost, 60), (Skip::Masked, 1)]);
    assert_eq!(quality.losses.counters.dropped_records, 7);
}

#[test]
fn lines_are_ranked_by_time_then_by_events() {
    // Line 10 has most events but no time, line 20 some of each, line 30 most time; line 40 too few events.
    let events = [(10, 50), (20, 5), (30, 3), (40, 2)].into_iter().flat_map(|(line, n)| {
        (0..n).map(move |i| Event::new(0, 1).earlier_at(64 * line, 8).later(Load, 64 * line, 8).at_ms(i))
    });
    let samples = [(20, 10), (30, 20), (40, 70)]
        .into_iter()
        .flat_map(|(line, n)| (0..n).map(move |i| TestSample::new(0, Load, 64 * line, 8).at_ms(i)));
    let found = findings_of(&Synthetic::new(2).events(events).samples(samples));
    let order: Vec<_> = found.lines.iter().map(|l| (l.address.0 / 64, l.share.value)).collect();
    assert_eq!(order, [(30, 0.2), (20, 0.1), (10, 0.0)]);
    assert_eq!(found.other_lines, 1);
    // Line 40 takes time but is not known to be shared.
    assert!((found.contended_share.value - 0.3).abs() < 1e-12);
}

#[test]
fn time_weighted_events_show_a_line_but_no_fraction() {
    let events = (0..60).map(|i| Event::new(0, 1).last_instruction().at_ms(i));
    let found = findings_of(&Synthetic::new(2).events(events));
    assert_eq!((found.false_fraction, found.threads.volume()), (None, 0.0));
    assert_eq!(found.lines[0].basis, Population::LastInstruction);
    assert_eq!((found.lines[0].true_sharing, found.lines[0].events), (60.0, 60));
    assert_eq!(
        found.lines[0].remedy,
        Remedy::ShareLess { offset: 0, width: 8, handed: None, elements: false }
    );
    assert_eq!(found.not_enough.map(|n| (n.events, n.run_seconds)), Some((0, None)));
}

#[test]
fn a_sample_over_two_contended_lines_counts_in_each_but_once_in_all() {
    let events = [0, 64]
        .into_iter()
        .flat_map(|at| (0..3).map(move |i| Event::new(0, 1).earlier_at(at, 8).later(Load, at, 8).at_ms(i)));
    let samples = [TestSample::new(0, Store, 60, 8), TestSample::new(0, Store, 4096, 8).at_ms(1)];
    let found = findings_of(&Synthetic::new(2).events(events).samples(samples));
    assert_eq!(found.lines.iter().map(|l| l.share.value).collect::<Vec<_>>(), [0.5, 0.5]);
    assert_eq!(found.contended_share.value, 0.5);
    let split: Vec<_> =
        found.lines.iter().flat_map(|l| &l.sites).filter(|s| s.width == 4).map(|s| s.offset).collect();
    assert_eq!(split, [60, 0]);
}

#[test]
fn an_empty_recording_claims_nothing() {
    let found = findings_of(&Synthetic::default());
    assert_eq!((found.contended_share.value, found.contended_share.high), (0.0, 1.0));
    assert!(found.lines.is_empty() && found.false_fraction.is_none() && found.pattern.is_none());
    assert!(found.threads.labels.is_empty());
}

#[test]
fn processes_keep_apart() {
    // The same address in two processes is two lines, and two recordings are two processes.
    let (a, b) = (two_counters(), two_counters());
    let merged = Merged::new([&a, &b], Combine::Ranks);
    let (mut x, mut y) = (Table::default(), Table::default());
    let parts: [&mut dyn Names; 2] = [&mut x, &mut y];
    let mut names = MergedNames::new(&merged, parts);
    let found = analyse(&merged, &mut names);
    let lines: Vec<_> = found.lines.iter().map(|l| (l.process.0, l.address.0, l.share.value)).collect();
    assert_eq!(lines, [(0, 64, 0.125), (1, 64, 0.125)]);
    assert_eq!(found.threads.labels.len(), 6);
    assert_eq!(
        (found.threads.all[1][2], found.threads.all[4][5], found.threads.all[1][5]),
        (20.0, 20.0, 0.0)
    );
    assert_eq!(found.quality.events, 80);
}

#[test]
fn processes_are_no_groups_but_a_busy_process_has_its_pattern() {
    let pairs = (0..200).map(|i| if i % 2 == 0 { Event::new(0, 1) } else { Event::new(2, 3) }.at_ms(i));
    let mut input = Synthetic::new(4).events(pairs);
    assert!(matches!(findings_of(&input).pattern, Some(Pattern::Groups(_))));
    // The same matrix over two processes.
    input.threads[2].process = ProcessId(1);
    input.threads[3].process = ProcessId(1);
    assert_eq!(findings_of(&input).pattern, None);
    // And over four, which then share memory.
    for thread in &mut input.threads {
        thread.process = ProcessId(thread.id.0);
    }
    assert!(matches!(findings_of(&input).pattern, Some(Pattern::Groups(_))));
}

/// The first half of the accesses to each of two lines and to others is sampled at the period, the second half at eight times
/// the period, except that one line is not accessed in the first half.
#[test]
fn samples_weigh_as_much_as_the_period_with_which_they_were_drawn() {
    let sample = |thread, addr, doublings| {
        TestSample::new(thread, Store, addr, 8).at_ms(u64::from(doublings)).doublings(doublings).step()
    };
    // Of 1,600 periods of accesses in all, 80 and 10 * 8 are to the first line, and 40 * 8 to the second.
    let of_lines = [(80, 64, 0), (10, 64, 3), (40, 128, 3), (720, 4096, 0), (50, 4096, 3)];
    let samples = of_lines
        .into_iter()
        .flat_map(|(number, addr, doublings)| (0..number).map(move |n| sample(n % 2, addr, doublings)));
    let event = |addr| Event::new(0, 1).earlier_at(addr, 8).later(Store, addr, 8);
    let events = (0..40).map(|n| event(if n % 2 == 0 { 64 } else { 128 }).at_ms(n));
    let found = findings_of(&Synthetic::new(2).every(100, 100).samples(samples).events(events));
    let share = |addr| found.lines.iter().find(|line| line.address == Addr(addr)).map(|line| line.share);
    let (first, second) = (share(64).unwrap(), share(128).unwrap());
    assert!((first.value - 0.1).abs() < 1e-12 && (second.value - 0.2).abs() < 1e-12, "{first:?} {second:?}");
    // Σw² = 800 + 100 * 64: 900 samples are worth 1,600² / 7,200 = 356 of equal weight; Wilson: .073 to .136.
    assert!((first.low - 0.073).abs() < 0.001 && (first.high - 0.136).abs() < 0.001, "{first:?}");
    assert!((found.contended_share.value - 0.3).abs() < 1e-12);
    let contended = found.communication.unwrap().contended;
    assert_eq!(contended.map(|c| c.value), Some(100.0 * 480.0));
    assert_eq!(found.quality.doublings, [(0, 800), (3, 100)].into());
}

#[test]
fn shares_of_accesses_weigh_loads_and_stores_by_their_periods() {
    // Every 300th load and every 100th store. At the contended line 10 stores (1,000 accesses) and 10 loads (3,000), of
    // 100 stores (10,000) and 50 loads (15,000) in all: 4,000 of 25,000.
    let samples = (0..150).map(|i| match i {
        0..10 => TestSample::new(0, Store, 64, 8),
        10..20 => TestSample::new(1, Load, 72, 8),
        20..110 => TestSample::new(0, Store, 4096 + 64 * i, 8),
        _ => TestSample::new(1, Load, 4096 + 64 * i, 8),
    });
    let events = (0..40).map(|i| {
        let later = Event::new(0, 1).earlier_at(64, 8).later(Load, 72, 8).class_false(true);
        // A look-up of a store, which is the kind sampled most often, and a trap of half a line.
        later.weight(if i % 2 == 0 { 1.0 } else { 2.0 }).at_ms(i)
    });
    let input = Synthetic::new(2).every(300, 100).samples(samples.map(TestSample::step)).events(events);
    let found = findings_of(&input);
    assert_eq!(found.unit, Unit::Accesses);
    let line = &found.lines[0];
    assert!((line.share.value - 0.16).abs() < 1e-12 && found.contended_share == line.share, "{line:?}");
    // Σw² = 100 · 100² + 50 · 300² = 5.5e6, that of the line 1e6: worth 0.16 · 0.84 · 25,000² / (0.68 · 1e6 + 0.16² · 5.5e6)
    // = 102.3 equal samples; Wilson: 0.1015 to 0.2431.
    assert!((line.share.low - 0.1015).abs() < 1e-4 && (line.share.high - 0.2431).abs() < 1e-4, "{line:?}");
    let shares: Vec<_> = line.sites.iter().filter(|s| s.share > 0.0).map(|s| (s.kind, s.share)).collect();
    assert_eq!(shares, [(Store, 0.04), (Load, 0.12)]);
    // 20 · 1 + 20 · 2 in units of the shorter period.
    assert_eq!((line.false_sharing, found.threads.all[0][1], found.kinds.read_after_write), (6e3, 6e3, 6e3));
    let communication = found.communication.unwrap();
    assert_eq!(communication.contended.map(|c| c.value), Some(4_000.0));
    let accesses = communication.accesses;
    // Σw = 60, Σw² = 100: worth 36 events, whose score interval is 37.92 ± 11.92: 26.0 to 49.8, of 166.7 each.
    assert!(
        (accesses.value, accesses.low.round(), accesses.high.round()) == (6000.0, 4334.0, 8306.0),
        "{accesses:?}"
    );
    assert_eq!((found.quality.last_instruction, found.quality.step), (0, 150));
}

#[test]
fn the_rhythm_of_the_program_does_not_widen_shares_of_accesses() {
    // All 200 of 400 hits in the first half of the run. By time that is one long correlation; of drawn accesses it is
    // 200 of 400: ±1.96 √(0.25 / 400) = ±0.049.
    let events =
        |at: u64| (0..3).map(move |i| Event::new(0, 1).earlier_at(at, 8).later(Load, at, 8).at_ms(i));
    let samples = |i: u64| TestSample::new(0, Load, if i < 200 { 64 } else { 4096 + 64 * i }, 8).at_ms(i * 5);
    let by_time = Synthetic::new(2).events(events(64)).samples((0..400).map(samples));
    let by_accesses =
        Synthetic::new(2).every(9, 9).events(events(64)).samples((0..400).map(samples).map(TestSample::step));
    let half = |input: &Synthetic| {
        let share = findings_of(input).contended_share;
        assert_eq!(share.value, 0.5);
        (share.high - share.low) / 2.0
    };
    assert!((half(&by_accesses) - 0.049).abs() < 0.001);
    assert!(half(&by_time) > 0.1);
}

#[test]
fn every_sampled_access_counts_for_itself() {
    // Two accesses of one thread in one nanosecond: by time one instruction, by accesses two.
    let events = (0..3).map(|i| Event::new(0, 1).at_ms(i));
    let samples = [0, 1].map(|part| TestSample::new(0, Load, 8 * u64::from(part), 8).step().part(part));
    let away = [TestSample::new(0, Load, 4096, 8).step(), TestSample::new(0, Load, 8192, 8).step()];
    let input = Synthetic::new(2).every(5, 5).events(events).samples(samples.into_iter().chain(away));
    let found = findings_of(&input);
    assert_eq!((found.contended_share.value, found.quality.step), (0.5, 4));
}

#[test]
fn samples_by_time_are_no_accesses() {
    // A process whose code could not be translated has samples by time beside those of another by accesses.
    let events = || (0..3).map(|i| Event::new(0, 1).at_ms(i));
    let translated = Synthetic::new(2)
        .every(10, 10)
        .events(events())
        .samples([TestSample::new(0, Store, 0, 8).step(), TestSample::new(1, Store, 4096, 8).step()]);
    let not = Synthetic::new(2).events(events()).samples([TestSample::new(0, Store, 0, 8)]);
    let found = analyse(&Merged::new([&translated, &not], Combine::Ranks), &mut Table::default());
    assert_eq!(found.unit, Unit::Accesses);
    let lines: Vec<_> = found.lines.iter().map(|l| (l.process.0, l.share.value, l.true_sharing)).collect();
    assert_eq!(lines, [(0, 0.5, 30.0), (1, 0.0, 0.0)]);
    assert_eq!(found.communication.map(|c| c.accesses.value), Some(30.0));
}

#[test]
fn a_line_that_processes_share_is_one_line() {
    let shared = |offset| Addr::shared(carom_base::SegmentId(1), offset).unwrap().0;
    // Process 1 has threads 1 and 2, process 0 thread 0. The private lines of the two have equal addresses.
    let between =
        |earlier, later, at: u64| Event::new(earlier, later).earlier_at(at, 8).later(Load, at + 8, 8);
    let events = (0..3)
        .flat_map(|i| [between(0, 1, shared(64)), between(1, 2, 640)].map(|e| e.class_false(true).at_ms(i)));
    let samples = [0, 1].map(|thread| TestSample::new(thread, Load, shared(72), 8));
    let mut input = Synthetic::new(3).events(events).samples(samples);
    for thread in [1, 2] {
        input.threads[thread].process = ProcessId(1);
    }
    // Of two recordings that are merged, each has memory of its own.
    let merged = Merged::new([&input, &input], Combine::Ranks);
    let found = analyse(&merged, &mut Table::default());
    let lines: Vec<_> =
        found.lines.iter().map(|l| (l.process.0, l.shared.is_some(), l.share.value)).collect();
    assert_eq!(lines, [(0, true, 0.5), (2, true, 0.5), (1, false, 0.0), (3, false, 0.0)]);
    let line = found.lines[0].shared.as_ref().unwrap();
    assert_eq!((line.segment.0, line.offset), (1, 64));
    assert_eq!(line.places, [(ProcessId(0), None), (ProcessId(1), None)]);
    assert_eq!(found.lines[0].pair.map(|pair| (pair.first.0, pair.second.0)), Some((0, 1)));
}
