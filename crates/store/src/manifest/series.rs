use serde::{Deserialize, Serialize};

/// What tells a run from the others of its series.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SeriesInfo {
    /// Which of the commands that are compared: 0 for the one before, 1 for the one after. `None` where nothing is compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub side: Option<u32>,
    /// The parameters that vary, with their values in this run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<ParameterInfo>,
    /// The events that were asked for; all where it is empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<String>,
}

/// A parameter of a command line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParameterInfo {
    /// Its name.
    pub name: String,
    /// Its value, as the command line has it.
    pub value: String,
}
