use carom_base::AccessKind;

use super::*;
use crate::diff::Trend;
use crate::share::analyse;
use crate::share::testing::{Event, Synthetic, Table, TestSample};
use crate::symbols::ObjectKind;

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
struct Random(u64);

impl Random {
    /// Uniform from 0 to 1.
    fn part(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Near normal: the sum of twelve uniform numbers has the variance 1.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.part()).sum::<f64>() - 6.0
    }
}

/// A contended line: its share of the accesses, the part of these that are events of sharing, and the part of the events
/// that are false sharing.
#[derive(Clone, Copy)]
struct Contended {
    share: f64,
    sharing: f64,
    is_false: f64,
}

const SAMPLES: u32 = 1_200;

/// What a run of a program with these lines yields. `spread`: by how much a line's share differs from run to run.
fn run(lines: &[Contended], spread: f64, random: &mut Random) -> ShareFindings {
    let mut recording = Synthetic::new(2).every(1_000, 1_000);
    let shares: Vec<f64> =
        lines.iter().map(|l| l.share * (1.0 + spread * random.normal()).max(0.0)).collect();
    for number in 0..SAMPLES {
        let (mut drawn, mut line) = (random.part(), 0);
        while line < lines.len() && drawn >= shares[line] {
            drawn -= shares[line];
            line += 1;
        }
        let address = if line < lines.len() { 64 * line as u64 } else { 1 << 20 };
        let sample =
            TestSample::new(number % 2, AccessKind::Store, address, 8).step().at_ns(u64::from(number));
        recording = recording.samples([sample]);
        if lines.get(line).is_some_and(|l| random.part() < l.sharing) {
            let event = Event::new(0, 1).later(AccessKind::Store, address, 8).earlier_at(address, 8);
            recording = recording.events([event.class_false(random.part() < lines[line].is_false)]);
        }
    }
    analyse(&recording, &mut Table::default())
}

fn line(share: f64) -> Contended {
    Contended { share, sharing: 0.3, is_false: 1.0 }
}

fn fates(before: &[ShareFindings], after: &[ShareFindings]) -> Vec<(String, Fate)> {
    let diff = share(before, after).unwrap();
    diff.objects.into_iter().map(|object| (object.object.name, object.fate)).collect()
}

#[test]
fn lines_come_and_go() {
    let random = &mut Random(1);
    let before = run(&[line(0.3), line(0.2), line(0.0)], 0.0, random);
    let after = run(&[line(0.0), line(0.2), line(0.1)], 0.0, random);
    let mut found = fates(&[before], &[after]);
    found.sort_by(|a, b| a.0.cmp(&b.0));
    let object = |address| format!("object at {address}");
    assert_eq!(found, [(object("0"), Fate::Gone), (object("40"), Fate::Left), (object("80"), Fate::New)]);
}

/// The reader looks for the name that the finding had.
#[test]
fn a_name_by_use_is_that_of_before() {
    let random = &mut Random(6);
    let mut used_by = |function: &str| {
        let mut run = run(&[line(0.3)], 0.0, random);
        run.objects[0].object.kind = ObjectKind::Heap;
        run.objects[0].object.name = format!("heap memory used by {function}");
        run
    };
    let (push, pop) = (used_by("push"), used_by("pop"));
    assert_eq!(fates(&[push], &[pop]), [("heap memory used by push".into(), Fate::Left)]);
}

#[test]
fn false_sharing_goes_while_true_sharing_stays() {
    let random = &mut Random(2);
    let both = Contended { is_false: 0.6, ..line(0.3) };
    let before = run(&[both], 0.0, random);
    let after = run(&[Contended { is_false: 0.0, sharing: 0.12, ..both }], 0.0, random);
    let diff = share(&[before], &[after]).unwrap();
    assert_eq!((diff.objects[0].fate, diff.objects[0].false_fate), (Fate::Left, Some(Fate::Gone)));
    assert_eq!(diff.false_fraction.unwrap().trend(), Trend::Down);
    assert_eq!(diff.objects[0].after.false_sharing, 0.0);
}

/// Runs differ in how often threads meet, and less in what they meet at.
#[test]
fn less_of_the_sharing_is_false() {
    let random = &mut Random(5);
    let mostly = Contended { is_false: 0.8, ..line(0.3) };
    let hardly = Contended { is_false: 0.2, sharing: 0.25, ..mostly };
    let diff = share(&[run(&[mostly], 0.0, random)], &[run(&[hardly], 0.0, random)]).unwrap();
    assert_eq!((diff.objects[0].fate, diff.objects[0].false_fate), (Fate::Left, Some(Fate::Smaller)));
}

#[test]
fn a_few_events_decide_nothing() {
    let random = &mut Random(3);
    // A hot line that is written now and then: with two events it is not called contended, with four it is.
    let mut seldom = |number: u64| {
        let mut recording = Synthetic::new(2).every(1_000, 1_000);
        for at in 0..u64::from(SAMPLES) {
            let address = if random.part() < 0.2 { 0 } else { 1 << 20 };
            let sample = TestSample::new(0, AccessKind::Load, address, 8).step().at_ns(at);
            recording = recording.samples([sample]);
        }
        analyse(&recording.events((0..number).map(|_| Event::new(0, 1))), &mut Table::default())
    };
    let (four, two) = (seldom(4), seldom(2));
    assert_eq!(fates(&[four], &[two])[0].1, Fate::Undecided);
}

/// Pairs of recordings of unchanged programs, of one run and of several, that differ from run to run or do not.
#[test]
fn an_unchanged_program_seldom_seems_to_change() {
    const PAIRS: u32 = 80;
    let random = &mut Random(20_261_123);
    for (runs, spread) in [(1, 0.0), (1, 0.1), (3, 0.0), (3, 0.3), (5, 0.2)] {
        let changed = (0..PAIRS).filter(|_| {
            let lines: Vec<Contended> = (0..6)
                .map(|_| {
                    let (share, sharing) = (0.12 * random.part(), 0.3 * random.part());
                    Contended { share, sharing, is_false: random.part() }
                })
                .collect();
            let mut side = || -> Vec<_> { (0..runs).map(|_| run(&lines, spread, random)).collect() };
            let diff = share(&side(), &side()).unwrap();
            let real = |change: &Change| change.trend() != Trend::Steady;
            let moved = |fate: Fate| !matches!(fate, Fate::Left | Fate::Undecided);
            real(&diff.contended)
                || diff.false_fraction.as_ref().is_some_and(real)
                || diff.objects.iter().any(|o| moved(o.fate) || o.false_fate.is_some_and(moved))
        });
        let changed = changed.count();
        assert!(changed <= 4, "{runs} runs, spread {spread}: {changed} of {PAIRS}");
    }
}

/// The same numbers of samples find a line that halves.
#[test]
fn a_line_that_halves_is_found() {
    let random = &mut Random(4);
    let mut found = 0;
    for _ in 0..20 {
        let mut side = |part: f64| -> Vec<_> { (0..4).map(|_| run(&[line(part)], 0.1, random)).collect() };
        let diff = share(&side(0.2), &side(0.1)).unwrap();
        found += usize::from(diff.objects[0].fate == Fate::Smaller);
    }
    assert!(found >= 18, "{found} of 20");
}

#[test]
fn shares_of_different_things_are_not_compared() {
    let random = &mut Random(5);
    let by_accesses = run(&[line(0.3)], 0.0, random);
    let by_time = ShareFindings { unit: Unit::Samples, ..by_accesses.clone() };
    assert_eq!(share(&[by_accesses], &[by_time]).unwrap_err(), Incomparable::Units);
    assert_eq!(share(&[], &[]).unwrap_err(), Incomparable::NoRun);
}
