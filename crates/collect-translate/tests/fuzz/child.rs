//! One batch of sequences in a process of its own: an engine serves one process once, and a wrong translation may end
//! it.

use std::{
    collections::HashSet,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use carom_base::{Access, LINE_BYTES};
use carom_base_insn::Registers;
use carom_collect_translate::{
    Batch, Coverage, DrawnAs, Mode, Observer, Totals, assume_superblocks, attach, begin_episode, detach,
    end_episode, reserve_signals, set_mode, start, watches,
};
use iced_x86::Code;

use crate::{
    candidates,
    fault::Fault,
    generate::Generator,
    isa,
    machine::{self, End, RUNNING},
    oracle::{self, Seen},
    place::CODE,
    random::Random,
    sequence::{Sequence, prologue_bytes},
    state::State,
};

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// The state afterwards, under exact counts.
    Count,
    /// The same, while accesses are sampled.
    Sample,
    /// The counts themselves, with those of single steps.
    Totals,
    /// The state afterwards, while every access is streamed.
    Stream,
    /// The same, while some lines are watched.
    Watch,
    /// The streamed accesses, with those of single steps.
    Accesses,
    /// The sampled accesses, with the streamed ones, and the counts of both.
    Sampled,
    /// The state afterwards, while every load is timed.
    Time,
    /// The same, while blocks are timed in copies, once in a while.
    TimeSampled,
    /// The state afterwards, or what a handler finds of a fault, under exact counts.
    Faults,
    /// The same, while accesses are sampled.
    FaultsSampled,
    /// The state afterwards, while some lines are watched in episodes, in every other run.
    Episodes,
    /// The counts themselves, with those of single steps, in and between episodes.
    EpisodeTotals,
    /// The translator's context of a thread at each instruction in the cache, with single steps of a native run.
    Steps,
}

impl Pass {
    /// Whether single steps are the reference.
    pub const fn is_stepped(self) -> bool {
        matches!(self, Self::Totals | Self::Accesses | Self::EpisodeTotals | Self::Steps)
    }

    /// Whether sequences are to fault.
    pub const fn faults(self) -> bool {
        matches!(self, Self::Faults | Self::FaultsSampled)
    }
}

/// The order of a child.
#[derive(Clone, Debug)]
pub struct Order {
    pub pass: Pass,
    pub seed: u64,
    /// Number of the first sequence.
    pub first: u64,
    pub count: u64,
    /// Which half of [`Sequence::without`] to take, then which half of that, and so on.
    pub path: Vec<usize>,
}

impl Order {
    /// Its form in the environment of a child.
    pub fn text(&self) -> String {
        let Self { pass, seed, first, count, path } = self;
        let path: String = path.iter().map(|choice| format!(" {choice}")).collect();
        format!("{} {seed} {first} {count}{path}", *pass as u8)
    }

    pub fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ').map(|word| word.parse().ok());
        let mut word = || words.next().flatten();
        let pass = match word()? {
            0 => Pass::Count,
            1 => Pass::Sample,
            2 => Pass::Totals,
            3 => Pass::Stream,
            4 => Pass::Watch,
            5 => Pass::Accesses,
            6 => Pass::Sampled,
            7 => Pass::Time,
            8 => Pass::TimeSampled,
            9 => Pass::Faults,
            10 => Pass::FaultsSampled,
            11 => Pass::Episodes,
            12 => Pass::EpisodeTotals,
            _ => Pass::Steps,
        };
        let (seed, first, count) = (word()?, word()?, word()?);
        let path = words.flatten().map(|choice| choice as usize).collect();
        Some(Self { pass, seed, first, count, path })
    }
}

/// A child's lines of output begin with one of these.
pub const FAILED: &str = "carom-fuzz-failed";
pub const DONE: &str = "carom-fuzz-done";
pub const LISTING: &str = "carom-fuzz-listing";
/// Its exit status where it found a difference.
pub const FAILURE: i32 = 3;
/// Its exit status where a path leads to no sequence.
pub const NO_SUCH: i32 = 4;

/// Sampling periods of the pass in sample mode: the shortest there are.
const PERIOD: u64 = 100;
const SAMPLING: Mode = Mode::Sample { loads: PERIOD, stores: PERIOD };
/// That of timed loads: each sequence runs a few times.
const TIMED_PERIOD: u64 = 2;
/// How often a sequence runs with the same state: cold, linked, and once more.
const RUNS: usize = 3;
const STATES: u64 = 2;
/// Where sequences begin.
const ALIGNMENT: usize = 16;

/// The thread's name for the engine.
const NAME: u64 = 1;

static SAMPLES: AtomicU64 = AtomicU64::new(0);

struct Counts;

impl Observer for Counts {
    fn sampled(&self, _: &Registers<'_>, access: &Access, _: DrawnAs, _: f32) {
        SAMPLES.fetch_add(1, Relaxed);
        SAMPLED.lock().expect("one thread").push(Seen::of(access));
    }

    fn takes_samples_early(&self) -> bool {
        SAMPLES.load(Relaxed).is_multiple_of(2)
    }

    fn touched(&self, _: &Registers<'_>, _: &Access) {
        SAMPLES.fetch_add(1, Relaxed);
    }

    fn streamed(&self, _: u64, batch: &Batch<'_>) {
        let mut streamed = STREAMED.lock().expect("one thread");
        batch.for_each(|access| streamed.push(Seen::of(access)));
    }

    fn timed(&self, _: u64, loads: &Batch<'_>, _: Option<&Registers<'_>>) {
        loads.for_each_timed(|_| {
            SAMPLES.fetch_add(1, Relaxed);
        });
    }

    fn ending(&self, _: &mut dyn Iterator<Item = (u64, Totals)>) {}
}

/// What was streamed. Sequences do not allocate, so the observer may.
static STREAMED: Mutex<Vec<Seen>> = Mutex::new(Vec::new());
static SAMPLED: Mutex<Vec<Seen>> = Mutex::new(Vec::new());

/// Sequences laid out one behind the other.
pub struct Laid {
    pub bytes: Vec<u8>,
    pub starts: Vec<u64>,
}

pub fn lay_out(sequences: &[Sequence]) -> Laid {
    let mut laid = Laid { bytes: Vec::new(), starts: Vec::new() };
    for sequence in sequences {
        laid.bytes.resize(laid.bytes.len().next_multiple_of(ALIGNMENT), 0xcc);
        let start = CODE + laid.bytes.len() as u64;
        laid.starts.push(start);
        laid.bytes.extend(sequence.encode(start).expect("the generator makes what can be encoded"));
    }
    laid
}

/// The instructions that this processor has: those that run without a signal.
fn probe() -> Vec<Code> {
    const ATTEMPTS: u64 = 3;
    const SEED: u64 = 1;
    let mut left = candidates::all();
    let mut found = Vec::new();
    for attempt in 0..ATTEMPTS {
        let mut random = Random::of(SEED, attempt);
        let (mut codes, mut sequences) = (Vec::new(), Vec::new());
        for &code in &left {
            const CHOICES: usize = 8;
            if let Some(step) = (0..CHOICES).find_map(|_| isa::instruction(code, &mut random)) {
                codes.push(code);
                sequences.push(Sequence { main: vec![step], functions: Vec::new() });
            }
        }
        let laid = lay_out(&sequences);
        machine::load(&laid.bytes);
        let state = State::random(&mut random);
        let (works, fails): (Vec<_>, Vec<_>) = codes
            .into_iter()
            .zip(laid.starts)
            .partition(|(_, entry)| matches!(machine::native(*entry, &state), End::Left(_)));
        found.extend(works.into_iter().map(|(code, _)| code));
        left = fails.into_iter().map(|(code, _)| code).collect();
    }
    found.sort_unstable();
    found
}

/// Executes the order, prints the result, and ends the process.
pub fn obey(order: &Order) -> ! {
    machine::prepare();
    machine::watch(true);
    let codes = probe();
    let known = codes.len();
    let generator = Generator {
        faults: order.pass.faults(),
        ..Generator::new(codes, order.seed, order.pass.is_stepped())
    };
    let mut sequences: Vec<Sequence> =
        (order.first..order.first + order.count).map(|index| generator.sequence(index)).collect();
    for &choice in &order.path {
        let smaller = sequences.first().and_then(|sequence| sequence.without().into_iter().nth(choice));
        sequences = match smaller {
            Some(smaller) => vec![smaller],
            None => std::process::exit(NO_SUCH),
        };
    }
    let laid = lay_out(&sequences);
    machine::load(&laid.bytes);
    if let (1, [start]) = (order.count, laid.starts.as_slice()) {
        for line in crate::sequence::listing(&laid.bytes, *start).lines() {
            println!("{LISTING}{line}");
        }
    }
    let (expected, discarded) = run_natively(order, &laid.starts);
    machine::watch(false);
    let mode = match order.pass {
        Pass::Sample | Pass::FaultsSampled => SAMPLING,
        Pass::Count | Pass::Totals | Pass::Faults | Pass::Steps => Mode::Count,
        Pass::Stream | Pass::Accesses | Pass::Sampled => Mode::Stream,
        Pass::Watch => Mode::Watch { loads: PERIOD, stores: PERIOD },
        Pass::Episodes | Pass::EpisodeTotals => Mode::Episodes { loads: PERIOD, stores: PERIOD },
        Pass::Time => Mode::Time { period: 1 },
        Pass::TimeSampled => Mode::Time { period: TIMED_PERIOD },
    };
    if order.pass == Pass::Steps {
        reserve_signals(1 << (libc::SIGTRAP - 1));
    }
    start(mode, vec![machine::native_code()], &Counts).expect("an engine");
    if crate::campaign::assumes_superblocks(order) {
        assume_superblocks();
    }
    assert!(attach(NAME));
    if matches!(order.pass, Pass::Watch | Pass::Episodes) {
        watch_half();
    }
    let mut instructions = 0;
    for case in &expected {
        RUNNING.store(case.index, Relaxed);
        match &case.expected {
            Expected::State(_) if order.pass == Pass::Sampled => instructions += compare_samples(case),
            Expected::State(state) if order.pass.faults() => compare_ends(order, case, Ok(state)),
            Expected::Fault(fault) => compare_ends(order, case, Err(fault)),
            Expected::Steps(steps) => compare_steps(case, steps),
            Expected::State(state) => compare_states(order, case, state),
            Expected::Totals(totals, accesses) => {
                instructions += compare_totals(case, totals, order.pass == Pass::Accesses, accesses);
            }
        }
    }
    instructions += detach().expect("attached").instructions;
    let samples = SAMPLES.load(Relaxed);
    println!("{DONE} {} {discarded} {known} {instructions} {samples}", laid.starts.len());
    std::process::exit(0)
}

/// A sequence with the state in which it begins, and its native result.
struct Case {
    index: u64,
    entry: u64,
    /// Makes the state.
    random: Random,
    expected: Expected,
}

enum Expected {
    State(State),
    Totals(Totals, Vec<Seen>),
    Fault(Box<Fault>),
    /// Instructions with the registers in front of them.
    Steps(HashSet<(u64, [u64; 16])>),
}

/// All native runs come first: once there is an engine, signals are the engine's. Also returns how many faulted.
fn run_natively(order: &Order, starts: &[u64]) -> (Vec<Case>, u64) {
    let (mut cases, mut discarded) = (Vec::new(), 0);
    for (number, &entry) in starts.iter().enumerate() {
        let index = order.first + number as u64;
        RUNNING.store(index, Relaxed);
        for state in 0..STATES {
            let random = Random::of(!order.seed, STATES * index + state);
            let before = first_state(order, &random);
            let expected = match (order.pass, machine::native(entry, &before)) {
                (pass, End::Faulted) if pass.faults() => {
                    machine::fault().map(|fault| Expected::Fault(Box::new(fault)))
                }
                (_, End::Faulted) => None,
                (Pass::Steps, End::Left(_)) => steps(entry, &before).map(Expected::Steps),
                (Pass::Totals | Pass::Accesses | Pass::EpisodeTotals, End::Left(_)) => {
                    oracle::count(entry, &before).map(|(totals, accesses)| Expected::Totals(totals, accesses))
                }
                (_, End::Left(state)) => Some(Expected::State(state)),
            };
            match expected {
                Some(expected) => cases.push(Case { index, entry, random, expected }),
                None => discarded += 1,
            }
        }
    }
    (cases, discarded)
}

/// The state in which a case begins.
fn first_state(order: &Order, random: &Random) -> State {
    let mut random = random.clone();
    let state = State::random(&mut random);
    if order.pass.faults() { state.unmask(&mut random) } else { state }
}

static STEPS: Mutex<Vec<(u64, [u64; 16])>> = Mutex::new(Vec::new());

/// The result of a native run. `None` where it faults.
fn steps(entry: u64, before: &State) -> Option<HashSet<(u64, [u64; 16])>> {
    let end = machine::stepped(entry, before, note_step);
    let steps = std::mem::take(&mut *STEPS.lock().expect("one thread"));
    matches!(end, End::Left(_)).then(|| steps.into_iter().collect())
}

/// Runs in a handler, but a synchronous one.
fn note_step(rip: u64, registers: &[u64; 16]) {
    STEPS.lock().expect("one thread").push((rip, *registers));
}

fn compare_steps(case: &Case, expected: &HashSet<(u64, [u64; 16])>) {
    let before = State::random(&mut case.random.clone());
    for run in 0..RUNS {
        // At first it leaves for the dispatcher, where stepping ends.
        machine::traced(case.entry, &before, note_step);
        let found = std::mem::take(&mut *STEPS.lock().expect("one thread"));
        SAMPLES.fetch_add(found.len() as u64, Relaxed);
        // Before, registers hold what they happen to.
        let mut loaded = found.iter().filter(|(rip, _)| *rip >= case.entry + prologue_bytes());
        if let Some((rip, registers)) = loaded.find(|step| !expected.contains(*step)) {
            fail(case.index, &format!("run {run}: no native step: {rip:#x} {registers:x?}"));
        }
    }
}

/// A state or a fault, whichever was the native result.
fn compare_ends(order: &Order, case: &Case, expected: Result<&State, &Fault>) {
    let before = first_state(order, &case.random);
    for run in 0..RUNS {
        let found = machine::translated_to_its_end(case.entry, &before);
        let differences = match (expected, found, machine::fault()) {
            (Ok(expected), End::Left(found), _) => expected.differences(&found).join("; "),
            (Err(expected), End::Faulted, Some(found)) => {
                SAMPLES.fetch_add(1, Relaxed);
                if *expected == found { String::new() } else { expected.differences(&found) }
            }
            (Ok(_), _, found) => format!("no fault natively, {found:?} translated"),
            (Err(expected), ..) => format!("{expected:?} natively, no fault translated"),
        };
        if !differences.is_empty() {
            fail(case.index, &format!("run {run}: {differences}"));
        }
    }
}

/// Code with two versions continues in the one that looks accesses up, or in the other one.
fn change_versions(watching: bool) {
    if watching { begin_episode() } else { end_episode() }
}

fn compare_states(order: &Order, case: &Case, expected: &State) {
    // A sequence by itself is repeated until every access was probably sampled.
    const MANY_RUNS: usize = 300;
    let runs = if order.count == 1 && order.pass == Pass::Sample { MANY_RUNS } else { RUNS };
    let before = State::random(&mut case.random.clone());
    for run in 0..runs {
        change_versions(run % 2 == 0);
        let differences = expected.differences(&machine::translated(case.entry, &before));
        if !differences.is_empty() {
            fail(case.index, &format!("run {run}: {}", differences.join("; ")));
        }
    }
}

/// Checks that a translated run counts what single steps count and, if `streamed`, reports what they see. Returns the
/// number of instructions.
fn compare_totals(case: &Case, expected: &Totals, streamed: bool, accesses: &[Seen]) -> i64 {
    change_versions(case.index.is_multiple_of(2));
    let before = State::random(&mut case.random.clone());
    let counted = count(case, &before, NAME);
    if counted != *expected {
        fail(case.index, &format!("stepped: {expected:?}; counted: {counted:?}"));
    }
    let found = std::mem::take(&mut *STREAMED.lock().expect("one thread"));
    if streamed && found != accesses {
        let at = found.iter().zip(accesses).take_while(|(found, seen)| found == seen).count();
        let (found, seen) = (found.get(at), accesses.get(at));
        fail(case.index, &format!("access {at}: stepped: {seen:x?}; streamed: {found:x?}"));
    }
    counted.instructions
}

/// The counts of one run, in a thread with this name.
fn count(case: &Case, before: &State, name: u64) -> Totals {
    detach();
    STREAMED.lock().expect("one thread").clear();
    SAMPLED.lock().expect("one thread").clear();
    assert!(attach(name));
    machine::translated(case.entry, before);
    let counted = detach().expect("attached");
    assert!(attach(NAME));
    Totals { coverage: Coverage::default(), ..counted }
}

/// Checks that sampled runs count what a streamed one counts, and that their samples are among its accesses. Returns
/// the number of instructions.
fn compare_samples(case: &Case) -> i64 {
    const SAMPLED_RUNS: u64 = 3;
    let before = State::random(&mut case.random.clone());
    set_mode(Mode::Stream);
    let streamed = count(case, &before, NAME);
    let accesses = std::mem::take(&mut *STREAMED.lock().expect("one thread"));
    set_mode(SAMPLING);
    for run in 0..SAMPLED_RUNS {
        // The thread's name seeds its draws.
        let sampled = count(case, &before, SAMPLED_RUNS * case.index + run);
        if sampled != streamed {
            fail(case.index, &format!("run {run}: streamed: {streamed:?}; sampled: {sampled:?}"));
        }
        let strange =
            SAMPLED.lock().expect("one thread").iter().find(|seen| !accesses.contains(seen)).copied();
        if let Some(strange) = strange {
            fail(case.index, &format!("run {run}: sampled and not streamed: {strange:x?}"));
        }
    }
    streamed.instructions
}

/// Watches half of all lines, for loads, stores, or both.
fn watch_half() {
    const LINES: u64 = 1 << 16;
    let watches = watches().expect("attached");
    for line in (0..LINES).filter(|line| line.count_ones().is_multiple_of(2)) {
        watches.watch(line * LINE_BYTES, line & 2 != 0, line & 4 != 0);
    }
}

fn fail(index: u64, how: &str) -> ! {
    println!("{FAILED} {index} {how}");
    std::process::exit(FAILURE)
}
