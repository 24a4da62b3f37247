//! The answer of `carom count`.

use schemars::JsonSchema;
use serde::Serialize;

use super::prediction::model::CountPrediction;
use crate::diff::model::{EventBasis, EventCondition};
use crate::model::Real;

/// What was counted exactly. Whole numbers of up to 64 bits: read them as such where a double will not do.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Counts {
    /// Every event, always in the same order.
    pub events: Vec<CountedEvent>,
    /// How much of the run the counts cover.
    pub coverage: CountCoverage,
    /// Every quantity in every run, where there were several (`carom count -r`). `events` has the counts of the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series: Option<CountSeries>,
    /// How every quantity follows the parameters of the command, where there are some (`carom count --param`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub regression: Option<CountRegression>,
    /// What cores asked of each other, where caches were simulated (`--simulate-caches`): modelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coherence: Option<CountCoherence>,
    /// Counts by line of source or by function (`--by`), of the first run that has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub places: Option<CountPlaces>,
    /// What a size that did not run will take (`carom count predict`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prediction: Option<CountPrediction>,
}

/// Counts by place in the source.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CountPlaces {
    /// What one place is.
    pub by: PlaceGrain,
    /// At most 100 places, the one with the most of the first event that was asked for first: of instructions, where none was.
    pub places: Vec<CountedPlace>,
    /// How many places are not among them.
    pub unnamed: u64,
    /// The sums over those.
    pub others: PlaceSums,
    /// What the totals of the run have beyond all places: of processes that were killed, and of threads that ran on while their
    /// process ended.
    pub unmapped: PlaceSums,
}

/// What one place is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PlaceGrain {
    /// A line of source in a function.
    Line,
    /// A function.
    Function,
}

/// A place in the source with its counts.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CountedPlace {
    /// The function (of a line the innermost one, which may be inlined); null where no symbol covers it.
    pub function: Option<String>,
    /// Its source file.
    pub file: Option<String>,
    /// Its line; null for a function, and where it is not known.
    pub line: Option<u32>,
    /// One of its instructions, in the process.
    pub address: String,
    /// The program or library that its code is in. Without a function the place is all code of that without one.
    pub module: Option<String>,
    /// Its counts.
    #[serde(flatten)]
    pub counts: PlaceSums,
}

/// Counts of a place, null where the run does not tell, or was not asked. Misses and invalidations are modelled, by simulated caches;
/// everything else is counted exactly.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
pub struct PlaceSums {
    /// Instructions executed.
    pub instructions: Option<u64>,
    /// Loads.
    pub loads: Option<u64>,
    /// Stores.
    pub stores: Option<u64>,
    /// Bytes loaded.
    pub loaded_bytes: Option<u64>,
    /// Bytes stored.
    pub stored_bytes: Option<u64>,
    /// Jumps, taken or not, calls and returns.
    pub branches: Option<u64>,
    /// Those of them that were taken.
    pub branches_taken: Option<u64>,
    /// Calls that it made.
    pub calls: Option<u64>,
    /// Returns.
    pub returns: Option<u64>,
    /// Atomic instructions.
    pub atomics: Option<u64>,
    /// Entries into the kernel.
    pub system_calls: Option<u64>,
    /// Lines that L1 missed.
    pub l1_misses: Option<u64>,
    /// Lines that L1 and L2 missed.
    pub l2_misses: Option<u64>,
    /// Lines that nothing in the socket had.
    pub llc_misses: Option<u64>,
    /// Lines that were missed because another core's store had taken them away.
    pub coherence_misses: Option<u64>,
    /// Copies in other cores that its stores invalidated.
    pub invalidations: Option<u64>,
}

/// What cores asked of each other: whether there is a coherence bottleneck at all (Marathe, Mueller and de Supinski, section 5).
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CountCoherence {
    /// The simulated cores that accessed something, in the mean of the runs.
    pub cores: Vec<CoherenceCore>,
}

/// What one simulated core asked for, in the mean of the runs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CoherenceCore {
    /// Its number.
    pub core: u32,
    /// Loads and stores of its threads.
    pub accesses: Real,
    /// Lines that its own caches lacked, and rights to write.
    pub bus_transactions: Real,
    /// Lines for loads that another core had.
    pub load_transfers: Real,
    /// Lines for stores that another core had.
    pub store_transfers: Real,
    /// Rights to write lines that it had.
    pub upgrades: Real,
    /// Copies in other cores that its stores invalidated.
    pub invalidations: Real,
    /// Those of them that are false sharing.
    pub false_invalidations: Real,
    /// Transfers by `bus_transactions`: an upper bound of the part of misses that is due to coherence.
    pub transfer_share: Real,
    /// The part of the accesses that waited for another core: transfers and upgrades.
    pub waiting_rate: Real,
    /// Whether `transfer_share` is at least 0.1 and `waiting_rate` at least 0.001.
    pub bottleneck: bool,
}

/// How quantities follow parameters.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CountRegression {
    /// The parameters.
    pub parameters: Vec<CountParameter>,
    /// Every quantity by every parameter: what changes most first, then what does not follow.
    pub laws: Vec<CountLaw>,
}

/// A parameter of the command line.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CountParameter {
    /// Its name.
    pub name: String,
    /// Its values, ascending.
    pub values: Vec<Real>,
}

/// How a quantity follows a parameter, while all others have their first value.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CountLaw {
    /// The quantity, as `carom count --list` has it.
    pub name: String,
    /// What one of it is.
    pub unit: String,
    /// How it is known.
    pub basis: EventBasis,
    /// The parameter.
    pub parameter: String,
    /// Whether it follows the parameter by more than chance.
    pub depends: bool,
    /// The law that fits best by Akaike's corrected criterion; null with fewer than three values of the parameter.
    pub model: Option<LawKind>,
    /// Its coefficients, in the order of the formula.
    pub coefficients: Vec<Real>,
    /// The formula for people.
    pub formula: Option<String>,
    /// The part of the variance that it explains.
    pub r_squared: Option<Real>,
    /// How likely data without any dependence fit as well (F test), corrected for the number of laws that were tried (Bonferroni)
    /// and of quantities (Holm).
    pub p_adjusted: Real,
    /// The mean at the least value of the parameter.
    pub first: Real,
    /// The mean at the largest value.
    pub last: Real,
    /// Each run: the parameter and the value.
    pub points: Vec<[Real; 2]>,
    /// The law at evenly spaced values of the parameter.
    pub curve: Vec<CurvePoint>,
}

/// A law that a quantity may follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LawKind {
    /// a
    Constant,
    /// a + b x
    Linear,
    /// a + b ln x
    Logarithmic,
    /// a x^b
    Power,
    /// a exp(b x)
    Exponential,
    /// a + b x + c x²
    Quadratic,
}

impl LawKind {
    /// The word for people.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Constant => "constant",
            Self::Linear => "linear",
            Self::Logarithmic => "logarithmic",
            Self::Power => "power law",
            Self::Exponential => "exponential",
            Self::Quadratic => "quadratic",
        }
    }
}

/// A law at one value of the parameter, with the 95% interval of a further run.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct CurvePoint {
    /// The parameter.
    pub at: Real,
    /// The law's value.
    pub estimate: Real,
    /// Lower end.
    pub low: Real,
    /// Upper end.
    pub high: Real,
}

/// Several runs of one command.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CountSeries {
    /// Every quantity that any run knows.
    pub events: Vec<SeriesEvent>,
    /// What counts may be (`--fail-if`, `--budget`), and what became of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<EventCondition>,
}

/// A quantity in every run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SeriesEvent {
    /// Which, as `carom count --list` has it.
    pub name: String,
    /// What one of it is.
    pub unit: String,
    /// How it is known.
    pub basis: EventBasis,
    /// The value of each run, in the order of the runs.
    pub values: Vec<Real>,
    /// Their mean.
    pub mean: Real,
    /// Their standard deviation; 0 for one run.
    pub deviation: Real,
    /// Of an event of a PMU, the part of the time for which it had a counter, in all runs together: below 1, where
    /// events took turns, `values` are estimates for all of the time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_share: Option<Real>,
}

/// One event in every thread and process.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CountedEvent {
    /// Which: `instructions`, `loads`, `stores`, `loaded-bytes`, `stored-bytes`, `branches`, `branches-taken`,
    /// `calls`, `returns`, `atomics`, `system-calls`.
    pub name: String,
    /// What one of it is: `instructions`, `accesses`, `bytes`, `calls`.
    pub unit: String,
    /// All threads together; null where no thread counted it.
    pub total: Option<u64>,
    /// By thread, in the order of `threads`; null where it was not counted in the thread.
    pub values: Vec<Option<u64>>,
    /// By process, in the order of `processes`; null where no thread of the process counted it.
    pub by_process: Vec<Option<u64>>,
}

/// How much of the run the counts cover.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CountCoverage {
    /// Part of the threads' CPU time that is counted, 0 to 1: the lesser of `books` and `witness`; null where no time was
    /// measured.
    pub fraction: Option<Real>,
    /// That part by the engine's own books: `translated_ns / (translated_ns + native_ns)`.
    pub books: Option<Real>,
    /// That part by a timer that looks where threads are: `(translated_ns - unbooked_ns) / (translated_ns + native_ns)`;
    /// null where it never looked.
    pub witness: Option<Real>,
    /// CPU time during which everything was counted, in nanoseconds.
    pub translated_ns: u64,
    /// CPU time during which nothing was counted, in nanoseconds.
    pub native_ns: u64,
    /// Of `translated_ns`, the time for which the timer found threads in native code all the same.
    pub unbooked_ns: u64,
    /// How often the timer has looked.
    pub ticks: u64,
    /// Counted threads that had no timer, or not to their end.
    pub unwitnessed_threads: u64,
    /// Threads in which nothing was counted.
    pub uncounted_threads: u64,
    /// How often threads left the counted code for native code, by reason.
    pub leaves: Vec<Leave>,
}

/// Leaves for one reason.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Leave {
    /// The reason, stable, in kebab case.
    pub reason: String,
    /// The reason in a few words.
    pub text: String,
    /// How often.
    pub times: u64,
}
