use schemars::JsonSchema;
use serde::Serialize;

use crate::model::Real;

/// One thing that limits how the program uses memory, as one question found it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Finding {
    /// The question that found it: `share` or `reuse`, which is also the key of its section.
    pub question: String,
    /// What kind of problem it is, in a word or two.
    pub kind: String,
    /// The share of the program's accesses that it concerns; absent where that could not be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share_of_accesses: Option<Real>,
    /// Whether it matters: fewer accesses are no problem, and without enough data nothing is said.
    pub matters: bool,
    /// What was found, and where.
    pub text: String,
    /// What to do about it, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// What limits how the program uses memory, the worst first.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Findings(pub Vec<Finding>);
