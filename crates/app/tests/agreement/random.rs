//! Random samples and events through the real study: the forms agree, and shares add up.

use carom_base::{
    Access, AccessKind, Addr, Cpu, EarlierWrite, Ip, Nanos, Population, ProcessId, Sample, SampleOutcome,
    SharingClass, SharingEvent, StackId, ThreadId, Via,
};
use carom_study::{
    recording::{Input, Losses, NoNames, ThreadEntry},
    share::{Periods, ShareFindings, ShareInput, analyse},
};
use proptest::{
    prelude::*,
    strategy::ValueTree,
    test_runner::{Config, TestRunner},
};

use crate::{Forms, none, pages_agree, sample};

/// A recording that never took place.
#[derive(Clone, Debug)]
struct Recorded {
    threads: Vec<ThreadEntry>,
    events: Vec<SharingEvent>,
    samples: Vec<Sample>,
    periods: Option<Periods>,
}

impl Input for Recorded {
    fn threads(&self) -> &[ThreadEntry] {
        &self.threads
    }

    fn processes(&self) -> u32 {
        1
    }

    fn cpus(&self) -> u32 {
        8
    }

    fn machine(&self) -> Option<&str> {
        None
    }

    fn seconds(&self) -> f64 {
        1.0
    }

    fn losses(&self) -> Losses {
        Losses::default()
    }
}

impl ShareInput for Recorded {
    fn core_of(&self, cpu: Cpu) -> Option<u32> {
        Some(cpu.0 / 2)
    }

    fn periods(&self, _: ThreadId) -> Option<Periods> {
        self.periods
    }

    fn transfer_ns(&self) -> Option<f64> {
        None
    }

    fn events(&self) -> Box<dyn Iterator<Item = SharingEvent> + '_> {
        Box::new(self.events.iter().copied())
    }

    fn samples(&self) -> Box<dyn Iterator<Item = Sample> + '_> {
        Box::new(self.samples.iter().copied())
    }
}

const THREADS: u32 = 5;

/// An access to one of a few lines: most do not straddle two.
fn access() -> impl Strategy<Value = Access> {
    let kind =
        prop_oneof![Just(AccessKind::Load), Just(AccessKind::Store), Just(AccessKind::ReadModifyWrite)];
    let width = prop_oneof![Just(1u32), Just(4), Just(8), Just(16)];
    (0u64..12, 0u64..16, width, kind, 0u64..6).prop_map(|(line, word, width, kind, ip)| Access {
        ip: Ip(0x1000 + ip),
        addr: Addr(0x10_0000 + line * line * 64 + word * 4),
        width,
        kind,
    })
}

fn population() -> impl Strategy<Value = Population> {
    prop_oneof![Just(Population::Step), Just(Population::LastInstruction)]
}

fn samples() -> impl Strategy<Value = Vec<Sample>> {
    let one = (0..THREADS, access(), population(), 0u64..1_000_000_000, 0..8u8);
    proptest::collection::vec(one, 0..200).prop_map(|all| {
        let mut all: Vec<Sample> = all
            .into_iter()
            .map(|(thread, access, population, time, doublings)| Sample {
                thread: ThreadId(thread),
                time: Nanos(time),
                cpu: Cpu(thread),
                population,
                part: 0,
                outcome: SampleOutcome::Access(access),
                stack: StackId(access.ip.0),
                doublings,
            })
            .collect();
        all.sort_by_key(|sample| sample.time);
        all
    })
}

/// Events between two accesses that meet on a line.
fn events() -> impl Strategy<Value = Vec<SharingEvent>> {
    let one = (0..THREADS, 1..THREADS, access(), 0u64..16, population(), 0u64..1_000_000_000, 1u8..3);
    proptest::collection::vec(one, 0..150).prop_map(|all| {
        let event = |(first, step, later, word, population, time, weight): (
            u32,
            u32,
            Access,
            u64,
            Population,
            u64,
            u8,
        )| {
            let thread = ThreadId((first + step) % THREADS);
            let start = later.addr.0 - later.addr.0 % 64;
            let written =
                Access { ip: Ip(0x2000), addr: Addr(start + word * 4), width: 4, kind: AccessKind::Store };
            let meets =
                written.addr.0 < later.addr.0 + u64::from(later.width) && later.addr.0 < written.addr.0 + 4;
            SharingEvent {
                thread,
                time: Nanos(time),
                cpu: Cpu(thread.0),
                population,
                via: Via::Lookup,
                class: if meets { SharingClass::True } else { SharingClass::False },
                weight: f32::from(weight),
                later,
                exact: true,
                stack: StackId(later.ip.0),
                earlier: EarlierWrite {
                    thread: ThreadId(first),
                    time: Nanos(time),
                    cpu: Cpu(first),
                    access: written,
                    stack: StackId(0x2000),
                },
            }
        };
        all.into_iter().map(event).collect()
    })
}

fn recording() -> impl Strategy<Value = Recorded> {
    (events(), samples(), any::<bool>()).prop_map(|(mut events, mut samples, by_number)| {
        if by_number {
            // Every N-th access is sampled: there is one kind of sample.
            events.iter_mut().for_each(|event| event.population = Population::Step);
            samples.iter_mut().for_each(|sample| sample.population = Population::Step);
        }
        let threads = (0..THREADS).map(|id| ThreadEntry::new(ThreadId(id), ProcessId(0))).collect();
        Recorded { threads, events, samples, periods: by_number.then(|| Periods::new(1000, 500)).flatten() }
    })
}

fn forms(name: &str, findings: &ShareFindings) -> Forms {
    let names: Vec<String> = (0..THREADS).map(|id| format!("worker-{id}")).collect();
    let run = sample::run(&["./app"], &names);
    Forms::of(name, &carom_view::share::report(&run, findings))
}

/// Shares are of one whole: findings, and what is elsewhere. No line counts twice.
fn adds_up(found: &ShareFindings) -> Result<(), TestCaseError> {
    const ROUNDING: f64 = 1e-9;
    let (contended, whole) = (found.contended_share.value, 1.0 + ROUNDING);
    prop_assert!((0.0..=whole).contains(&contended), "contended: {contended}");
    let of_findings: f64 = found.objects.iter().map(|finding| finding.share.value).sum();
    let of_lines: f64 = found.lines.iter().map(|line| line.share.value).sum();
    prop_assert!((of_findings - contended).abs() < ROUNDING, "findings {of_findings}, contended {contended}");
    // An access to two lines is one access, and one of each line.
    prop_assert!(of_lines > contended - ROUNDING, "lines {of_lines}, contended {contended}");
    let mut listed: Vec<usize> =
        found.objects.iter().flat_map(|finding| finding.lines.iter().copied()).collect();
    listed.sort_unstable();
    prop_assert_eq!(listed, (0..found.lines.len()).collect::<Vec<_>>(), "each line is one finding's");
    for line in &found.lines {
        let sites: f64 = line.sites.iter().map(|site| site.share).sum();
        prop_assert!(sites <= line.share.value + ROUNDING, "sites {sites}, line {}", line.share.value);
    }
    Ok(())
}

fn runner(cases: u32) -> TestRunner {
    TestRunner::new(Config { failure_persistence: None, ..Config::with_cases(cases) })
}

#[test]
fn shares_add_up() {
    let tested = runner(200).run(&recording(), |recorded| adds_up(&analyse(&recorded, &mut NoNames)));
    tested.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn texts_say_what_the_json_says() {
    let tested = runner(60).run(&recording(), |recorded| {
        let wrong = forms("random", &analyse(&recorded, &mut NoNames)).contradictions_of_text();
        prop_assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        Ok(())
    });
    tested.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn pages_say_what_the_json_says() {
    let mut runner = runner(1);
    let some = (0..6).map(|number| {
        let recorded = recording().new_tree(&mut runner).expect("a recording").current();
        forms(&format!("random-{number}"), &analyse(&recorded, &mut NoNames))
    });
    let some: Vec<Forms> = some.collect();
    none(&some.iter().flat_map(Forms::contradictions_of_text).collect::<Vec<_>>());
    pages_agree(&some);
}
