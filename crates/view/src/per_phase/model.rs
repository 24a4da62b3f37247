//! The answer to a question in each phase of the run.

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::{Phase, Reuse, Share};

/// The answer in one phase of the run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PhaseAnswer {
    /// When it was, and how memory grew in it.
    #[serde(flatten)]
    pub phase: Phase,
    /// The answer in one or two sentences.
    pub verdict: String,
    /// Samples taken in it; of reuse 0, where `events` are all that is known.
    pub samples: u64,
    /// What the answer rests on: events of sharing, or sampled uses that began in it. Those of all phases together are those of
    /// the whole run.
    pub events: u64,
    /// Which threads bounced which cache lines in it. Present for the command `share`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<Share>,
    /// How far apart the uses of data that began in it are. Present for the command `reuse`. Its `quality` counts what ended how in
    /// it; what was offered, watched and lost is known of the whole run only, and 0 here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reuse: Option<Reuse>,
}

/// The answer in each phase of the run, in their order.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct PhaseAnswers(pub Vec<PhaseAnswer>);
