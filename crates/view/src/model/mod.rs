//! The only serialised types of carom: the JSON contract.
//!
//! Keys are fixed; more may be added. The doc comments here are the descriptions in the JSON Schema, so they
//! speak to readers of the JSON.

mod number;
pub(crate) mod object;
mod recording;

use schemars::{JsonSchema, Schema, generate::SchemaSettings};
use serde::Serialize;

pub use crate::count::model::*;
pub use crate::per_phase::model::*;
pub use crate::phases::model::*;
pub use crate::profile::model::*;
pub use crate::reuse::model::*;
pub use crate::share::model::*;
pub use crate::simulate::model::*;
pub use crate::widths::model::*;
pub use number::{Interval, Real};
pub use object::*;
pub use recording::*;

use crate::{RunInfo, recording::engine, section::Section};

/// Version of the contract: raised when a key changes its meaning or goes away.
pub const SCHEMA_VERSION: u32 = 1;

/// What carom has to say about one recording.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Report {
    /// Who wrote this.
    pub carom: Carom,
    /// Which question was asked.
    pub command: Command,
    /// The answer in one or two sentences.
    pub verdict: String,
    /// The program and how it ended.
    pub program: Program,
    /// Every process of the run.
    pub processes: Vec<Process>,
    /// Every thread of the run.
    pub threads: Vec<Thread>,
    /// What observed the accesses.
    pub engine: Engine,
    /// Where the program ran.
    pub machine: Machine,
    /// How far the numbers can be trusted.
    pub quality: Quality,
    /// What limits the use of memory, the worst first. Present for the command `profile`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub findings: Option<Findings>,
    /// Which threads bounce which cache lines. Present for the commands `share` and `profile`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<Share>,
    /// What was counted exactly. Present for the command `count`, and for others where the engine counts too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<Counts>,
    /// How far apart the uses of data are, and what caches would miss. Present for the commands `reuse` and `profile`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reuse: Option<Reuse>,
    /// The phases of the run, by how its memory grows. Present for the command `phases`, and where `per_phase` is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phases: Option<Phases>,
    /// The answer in each phase of the run. Present for the commands `share` and `reuse` where memory was recorded with it
    /// (`--per-phase`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_phase: Option<PhaseAnswers>,
    /// What a simulated machine's caches do with the program's accesses. Present for the commands `simulate` and `trace`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simulate: Option<Simulation>,
    /// How wide the program's accesses are. Present for the command `widths`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub widths: Option<AccessWidths>,
}

impl Report {
    /// A report without a verdict and without an answer.
    pub(crate) fn new(command: Command, run: &RunInfo, quality: Quality) -> Self {
        Self {
            carom: Carom { version: env!("CARGO_PKG_VERSION").into(), schema: SCHEMA_VERSION },
            command,
            verdict: String::new(),
            program: run.program.clone(),
            processes: run.processes.clone(),
            threads: run.threads.clone(),
            engine: engine(&run.engine),
            machine: run.machine.clone(),
            quality,
            findings: None,
            share: None,
            count: None,
            reuse: None,
            phases: None,
            per_phase: None,
            simulate: None,
            widths: None,
        }
    }

    /// Takes the answer of another report on the same run: that to its question, not what it has besides.
    pub(crate) fn adopt(&mut self, other: Self) {
        match other.command {
            Command::Share => self.share = other.share,
            Command::Count => self.count = other.count,
            Command::Reuse => self.reuse = other.reuse,
            Command::Profile => self.findings = other.findings,
            Command::Phases => self.phases = other.phases,
            Command::Simulate => self.simulate = other.simulate,
            Command::Widths => self.widths = other.widths,
        }
    }

    /// What there is an answer to, in the order in which it is told.
    pub(crate) fn sections(&self) -> Vec<&dyn Section> {
        let all = [
            section(&self.findings),
            section(&self.count),
            section(&self.reuse),
            section(&self.share),
            section(&self.phases),
            section(&self.per_phase),
            section(&self.simulate),
            section(&self.widths),
        ];
        all.into_iter().flatten().collect()
    }
}

fn section(answer: &Option<impl Section>) -> Option<&dyn Section> {
    answer.as_ref().map(|answer| answer as &dyn Section)
}

/// Who wrote the report.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Carom {
    /// Version of carom.
    pub version: String,
    /// Version of this contract.
    pub schema: u32,
}

/// The question that was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Command {
    /// Which threads bounce which cache lines.
    Share,
    /// How many instructions, loads, stores and so on each thread executed.
    Count,
    /// How far apart the uses of data are, and what caches would miss.
    Reuse,
    /// What share, reuse and count answer.
    Profile,
    /// The phases of the run, by how its memory grows.
    Phases,
    /// What a simulated machine's caches do with the program's accesses.
    Simulate,
    /// How wide the program's accesses are: the example of docs/adding-a-study.md.
    Widths,
}

/// The JSON Schema (draft 2020-12) of [`Report`] as it is written.
pub fn schema() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<Report>()
}
