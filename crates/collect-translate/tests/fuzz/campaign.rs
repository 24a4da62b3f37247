//! The campaign: batches in child processes, and the smallest sequence that shows a difference.

use std::{
    env,
    io::Read,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::child::{DONE, FAILED, FAILURE, LISTING, NO_SUCH, Order, Pass};

/// Sequences of one process: as many as fit into one arena's counters.
const BATCH: u64 = 2000;
/// Steps are slow, so there are fewer.
const BATCH_OF_TOTALS: u64 = 100;
/// All code is translated anew for every mode and state.
const BATCH_OF_MODES: u64 = 200;
/// No child takes this much CPU time, unless it hangs: for itself, and for each sequence.
const PATIENCE: Duration = Duration::from_secs(8);
const PATIENCE_PER_SEQUENCE: Duration = Duration::from_millis(60);
/// A child that waits forever takes none. Others may keep a child from running for this many times as long.
const STARVED: u32 = 30;

/// Names a child's order.
pub const ORDER: &str = "CAROM_FUZZ_ORDER";

/// The extent, from the environment: `CAROM_FUZZ_SEQUENCES` or `CAROM_FUZZ_SECONDS`, and `CAROM_FUZZ_SEED`.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    pub sequences: u64,
    pub time: Duration,
    pub seed: u64,
}

impl Extent {
    /// From the environment; `seconds` is the default.
    pub fn from_environment(seconds: u64) -> Self {
        let number = |name| {
            env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name}: a number")))
        };
        let (sequences, time) = (number("CAROM_FUZZ_SEQUENCES"), number("CAROM_FUZZ_SECONDS"));
        let unbounded = if sequences.is_some() { u64::MAX } else { seconds };
        Self {
            sequences: sequences.unwrap_or(u64::MAX),
            time: Duration::from_secs(time.unwrap_or(unbounded)),
            seed: number("CAROM_FUZZ_SEED").unwrap_or(1),
        }
    }
}

/// How a child ended.
#[derive(Debug)]
enum Outcome {
    Done(Done),
    /// Which sequence, if the child reported it; how it differs, and its listing where it was the only one.
    Failed {
        index: Option<u64>,
        how: String,
        listing: String,
    },
    NoSuch,
}

/// The result of a campaign or of one of its batches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Done {
    pub sequences: u64,
    /// Of those, states that faulted natively and were left out.
    pub discarded: u64,
    /// Kinds of instructions that were tried.
    pub codes: u64,
    /// Instructions that were executed in the cache.
    pub instructions: u64,
    pub samples: u64,
}

/// How many sequences a process runs.
const fn batch(pass: Pass) -> u64 {
    match pass {
        _ if pass.is_stepped() => BATCH_OF_TOTALS,
        Pass::Sampled => BATCH_OF_MODES,
        _ => BATCH,
    }
}

/// Whether all branches are taken for such that go one way mostly: in every other process, and in those that look for the cause.
pub fn assumes_superblocks(order: &Order) -> bool {
    (order.first / batch(order.pass)).is_multiple_of(2)
}

/// Runs sequences until the extent is reached. Panics with the smallest sequence that shows a difference.
pub fn run(pass: Pass, extent: Extent) -> Done {
    let begin = Instant::now();
    let mut all = Done::default();
    let batch = batch(pass);
    while all.sequences < extent.sequences && (all.sequences == 0 || begin.elapsed() < extent.time) {
        let count = batch.min(extent.sequences - all.sequences);
        let order = Order { pass, seed: extent.seed, first: all.sequences, count, path: Vec::new() };
        match child(&order) {
            Outcome::Done(done) => {
                all.sequences += done.sequences;
                all.discarded += done.discarded;
                all.codes = done.codes;
                all.instructions += done.instructions;
                all.samples += done.samples;
            }
            Outcome::Failed { index, how, .. } => {
                let index = index.unwrap_or_else(|| locate(&order));
                let smallest = shrink(&order, index);
                panic!("seed {}, sequence {index} ({pass:?}): {how}\n{smallest}", extent.seed);
            }
            Outcome::NoSuch => unreachable!("no path"),
        }
    }
    all
}

/// Finds by halves which sequence of a batch ends its process.
fn locate(order: &Order) -> u64 {
    let (mut first, mut count) = (order.first, order.count);
    while count > 1 {
        let half = count / 2;
        if !matches!(child(&Order { first, count: half, ..order.clone() }), Outcome::Failed { .. }) {
            first += half;
            count -= half;
        } else {
            count = half;
        }
    }
    first
}

/// Removes everything from a failing sequence that is not needed for the failure.
fn shrink(order: &Order, index: u64) -> String {
    let mut path = Vec::new();
    let alone = |path: Vec<usize>| Order { first: index, count: 1, path, ..order.clone() };
    let attempt = |path: Vec<usize>| child(&alone(path));
    let Outcome::Failed { mut how, mut listing, .. } = attempt(Vec::new()) else {
        return "It does not fail alone.".to_owned();
    };
    let mut choice = 0;
    loop {
        let mut longer = path.clone();
        longer.push(choice);
        match attempt(longer.clone()) {
            Outcome::Failed { how: again, listing: shorter, .. } => {
                (path, how, listing, choice) = (longer, again, shorter, 0);
            }
            Outcome::Done(_) => choice += 1,
            Outcome::NoSuch => {
                let order = alone(path).text();
                return format!("Smallest: {how}\n{listing}Again: {ORDER}='{order}' and the test `child`");
            }
        }
    }
}

/// One child, this test's executable again.
fn child(order: &Order) -> Outcome {
    let mut command = Command::new(env::current_exe().expect("this executable"));
    command.args(["--exact", "child", "--nocapture"]).env(ORDER, order.text());
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("this executable again");
    let mut output = child.stdout.take().expect("piped");
    let mut errors = child.stderr.take().expect("piped");
    let reader = thread::spawn(move || read(&mut output));
    let error_reader = thread::spawn(move || read(&mut errors));
    let patience = PATIENCE + PATIENCE_PER_SEQUENCE * order.count as u32;
    let begin = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child") {
            break Some(status);
        }
        let waited = begin.elapsed();
        if waited > patience && (cpu_time(child.id()) > patience || waited > patience * STARVED) {
            child.kill().expect("a child");
            child.wait().expect("a child");
            break None;
        }
        thread::sleep(Duration::from_millis(2));
    };
    let (output, errors) = (reader.join().expect("a reader"), error_reader.join().expect("a reader"));
    let listing = output
        .lines()
        .filter_map(|line| line.strip_prefix(LISTING))
        .fold(String::new(), |text, line| text + line + "\n");
    let code = status.and_then(|status| status.code());
    if let Some(done) = output.lines().find_map(|line| line.strip_prefix(DONE)) {
        let mut numbers = done.split_whitespace().map(|word| word.parse().expect("a number"));
        let mut next = || numbers.next().expect("five numbers");
        return Outcome::Done(Done {
            sequences: next(),
            discarded: next(),
            codes: next(),
            instructions: next(),
            samples: next(),
        });
    }
    if code == Some(NO_SUCH) {
        return Outcome::NoSuch;
    }
    if let (Some(FAILURE), Some(line)) = (code, output.lines().find_map(|line| line.strip_prefix(FAILED))) {
        let (index, how) = line.trim_start().split_once(' ').unwrap_or((line, ""));
        return Outcome::Failed { index: index.parse().ok(), how: how.to_owned(), listing };
    }
    let output: Vec<_> = output.lines().filter(|line| !line.starts_with(LISTING)).collect();
    let how = format!("the child ended with {status:?}\n{}\n{errors}", output.join("\n"));
    Outcome::Failed { index: None, how, listing }
}

/// The CPU time of a process (proc(5), `/proc/PID/stat`: utime and stime, the 14th and the 15th field).
fn cpu_time(process: u32) -> Duration {
    /// The clock ticks in which Linux reports times to programs (`USER_HZ`).
    const TICK: Duration = Duration::from_millis(10);
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The second field, the name, may have spaces, and ends with the last parenthesis.
    let behind_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks = behind_name.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u32>().ok());
    TICK * ticks.sum::<u32>()
}

fn read(from: &mut impl Read) -> String {
    let mut text = Vec::new();
    from.read_to_end(&mut text).expect("a pipe");
    String::from_utf8_lossy(&text).into_owned()
}
