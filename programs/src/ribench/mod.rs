//! Listing 6.1, *RIBench*: reuses at five distances that can be chosen, and invalidations.

mod bins;
pub mod code;
mod expected;
mod outcomes;
mod parameters;
mod presets;
mod turns;

use std::sync::atomic::AtomicU8;

use clap::Args;
use serde_json::{Value, json};

use self::bins::Bins;
use self::parameters::{ARRAYS, Parameters, Repeated};
use self::presets::{PRESETS, Preset};
use self::turns::Turns;
use crate::error::Error;
use crate::fresh;
use crate::options::Team;
use crate::output::Output;
use crate::runner;

/// Passes over five private arrays of each thread, and over one that all share (thesis, listing 6.1).
///
/// Each thread runs, OUTER times: for each of the arrays a to e in turn, A times: INV stores to the shared array, then
/// A1 accesses to its own, which load byte k and store byte k+1 for k = 0, 2, 4, ... So there are reuses at distances
/// A1 + INV, B1 + INV, ..., and invalidations of the shared array where there are several threads.
///
/// expected.histogram has the time distances of all reuses of the run, exactly: it is null where they are left to
/// chance, with the reason. A preset's parameters can be overridden one by one.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  carom-workloads ribench --preset short-bell --threads 2 --pin
  carom-workloads ribench --preset long-bell-2 --threads 4 --barrier --outer 20
  carom-workloads ribench --a 10 --a1 5000 --b 0 --c 0 --d 0 --e 0 --threads 1
  carom-workloads ribench --list")]
pub struct Options {
    #[command(flatten)]
    team: Team,

    /// One of the 20 cases of tables 6.5 to 6.7, for what is not given otherwise.
    #[arg(long, default_value = "short-multimodal", value_parser = presets::find)]
    preset: &'static Preset,

    #[command(flatten)]
    own: Own,

    /// Wait for all threads before each pass over the shared array, then store to it one after the other.
    #[arg(long)]
    barrier: bool,

    /// Print the presets, instead of running.
    #[arg(long)]
    list: bool,
}

/// What replaces a preset's parameters.
#[derive(Args, Clone, Copy, Debug, Default)]
struct Own {
    /// Iterations of the outer loop.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    outer: Option<u64>,
    /// Passes over the first private array in each of them.
    #[arg(long)]
    a: Option<u64>,
    /// Accesses in each pass over the first array, and its bytes: an even number.
    #[arg(long, value_parser = even)]
    a1: Option<u64>,
    /// Passes over the second array.
    #[arg(long)]
    b: Option<u64>,
    /// Accesses of each.
    #[arg(long, value_parser = even)]
    b1: Option<u64>,
    /// Passes over the third array.
    #[arg(long)]
    c: Option<u64>,
    /// Accesses of each.
    #[arg(long, value_parser = even)]
    c1: Option<u64>,
    /// Passes over the fourth array.
    #[arg(long)]
    d: Option<u64>,
    /// Accesses of each.
    #[arg(long, value_parser = even)]
    d1: Option<u64>,
    /// Passes over the fifth array.
    #[arg(long)]
    e: Option<u64>,
    /// Accesses of each.
    #[arg(long, value_parser = even)]
    e1: Option<u64>,
    /// Stores to the shared array before each pass over a private one, and its bytes.
    #[arg(long)]
    inv: Option<u64>,
    /// Where the histogram's first bin ends.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    bin_start: Option<u64>,
    /// Where a bin ends, in multiples of where it begins.
    #[arg(long, value_parser = clap::value_parser!(u64).range(2..))]
    bin_ratio: Option<u64>,
}

impl Own {
    fn parameters(&self, preset: &Parameters) -> Parameters {
        let own =
            [(self.a, self.a1), (self.b, self.b1), (self.c, self.c1), (self.d, self.d1), (self.e, self.e1)];
        let mut loops = preset.loops;
        for (of, (passes, accesses)) in loops.iter_mut().zip(own) {
            *of = Repeated { passes: passes.unwrap_or(of.passes), accesses: accesses.unwrap_or(of.accesses) };
        }
        Parameters { outer: self.outer.unwrap_or(preset.outer), loops, inv: self.inv.unwrap_or(preset.inv) }
    }

    fn bins(&self, preset: Bins) -> Bins {
        Bins { start: self.bin_start.unwrap_or(preset.start), ratio: self.bin_ratio.unwrap_or(preset.ratio) }
    }
}

fn even(text: &str) -> Result<u64, String> {
    let value: u64 = text.parse().map_err(|_| "not a whole number".to_owned())?;
    if value.is_multiple_of(2) { Ok(value) } else { Err("not even: accesses come in pairs".to_owned()) }
}

/// What one thread counted.
#[derive(Clone, Copy, Debug, Default)]
struct Made {
    loads: u64,
    stores: u64,
}

/// Runs the workload, or lists the presets.
///
/// # Errors
/// Where there are more accesses than can be counted, no memory for the arrays, or the threads cannot be started.
pub fn run(options: &Options) -> Result<Output, Error> {
    if options.list {
        return Ok(list());
    }
    let parameters = options.own.parameters(&options.preset.parameters);
    let (team, threads) = (options.team, options.team.threads as u64);
    if !parameters.are_countable(threads) {
        return Err(Error::TooManyAccesses);
    }
    let shared = map(parameters.inv)?;
    let arrays: Vec<[&[AtomicU8]; ARRAYS]> =
        (0..team.threads).map(|_| private(&parameters)).collect::<Result<_, _>>()?;
    let turns = options.barrier.then(|| Turns::new(team.threads));
    let finished =
        runner::run(team, |worker| work(&parameters, shared, &arrays[worker], worker, turns.as_ref()))?;

    let bins = options.own.bins(options.preset.bins);
    let each = |count: fn(&Made) -> u64| finished.results.iter().map(count).collect::<Vec<u64>>();
    let mut given = parameters.json();
    given["preset"] = json!(options.preset.name);
    given["barrier"] = json!(options.barrier);
    given["threads"] = json!(team.threads);
    given["pinning"] = json!(team.pinning);
    given["cpus"] = json!(finished.cpus);
    Ok(Output {
        workload: "ribench",
        parameters: given,
        expected: expected::expected(&parameters, threads, options.barrier, bins),
        measured: json!({
            "accesses": each(|made| made.loads + made.stores),
            "loads": each(|made| made.loads),
            "stores": each(|made| made.stores),
            "wall_s": finished.wall.as_secs_f64(),
        }),
        notes: expected::notes(&parameters, threads, options.barrier),
    })
}

/// One thread's part of the listing.
fn work(
    parameters: &Parameters,
    shared: &[AtomicU8],
    arrays: &[&[AtomicU8]; ARRAYS],
    worker: usize,
    turns: Option<&Turns>,
) -> Made {
    let mut made = Made::default();
    for _ in 0..parameters.outer {
        for (of, array) in parameters.loops.iter().zip(arrays) {
            match turns {
                Some(turns) => passes_in_turns(of.passes, shared, array, worker, turns),
                None => passes(of.passes, shared, array),
            }
            made.loads += of.passes * of.accesses / 2;
            made.stores += of.passes * (parameters.inv + of.accesses / 2);
        }
    }
    made
}

/// A function of its own, so that all its values stay in registers: a pass makes no accesses except those of the two
/// loops, and the calls of them.
#[inline(never)]
fn passes(number: u64, shared: &[AtomicU8], array: &[AtomicU8]) {
    for _ in 0..number {
        code::store(shared);
        code::sweep(array);
    }
}

/// The same, with a few more accesses for the barrier.
#[inline(never)]
fn passes_in_turns(number: u64, shared: &[AtomicU8], array: &[AtomicU8], worker: usize, turns: &Turns) {
    for _ in 0..number {
        turns.take(worker, || code::store(shared));
        code::sweep(array);
    }
}

/// The private arrays of one thread.
fn private(parameters: &Parameters) -> Result<[&'static [AtomicU8]; ARRAYS], Error> {
    let mut arrays = [&[] as &[AtomicU8]; ARRAYS];
    for (array, of) in arrays.iter_mut().zip(parameters.loops) {
        *array = map(if of.passes > 0 { of.accesses } else { 0 })?;
    }
    Ok(arrays)
}

fn map(bytes: u64) -> Result<&'static [AtomicU8], Error> {
    // More than the address space is as impossible as all of it.
    fresh::bytes(usize::try_from(bytes).unwrap_or(usize::MAX))
}

/// The presets, as what could be expected of a run.
fn list() -> Output {
    let presets: Vec<Value> = PRESETS.iter().map(Preset::json).collect();
    Output {
        workload: "ribench",
        parameters: json!({ "list": true }),
        expected: json!({ "presets": presets }),
        measured: json!({}),
        notes: Vec::new(),
    }
}
