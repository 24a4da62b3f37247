use serde::{Deserialize, Serialize};

/// What a simulation said of the remedies of a report, with the accesses of another run. All numbers of it are a model's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RemedyChecks {
    /// The name of the simulated machine.
    pub machine: String,
    /// Accesses that were simulated.
    pub accesses: u64,
    /// The same, with a read-modify-write as a load and a store.
    pub loads_and_stores: u64,
    /// Each layout that a remedy asks for.
    pub checks: Vec<RemedyCheck>,
}

/// What became of one layout.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RemedyCheck {
    /// The changes of the layout, as `carom simulate --what-if` has them: by these it is known.
    pub changes: Vec<String>,
    /// How often cores took the lines of the changed objects from each other.
    pub before: u64,
    /// The same with the changes.
    pub after: u64,
    /// Why it could not be simulated, where that is so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}
