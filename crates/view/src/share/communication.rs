//! How much is communicated, in numbers.

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::Interval;

/// How much is communicated in all. Nothing here was counted: intervals have the error of sampling, not that of what
/// is assumed.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct Communication {
    /// How these numbers came about: `estimated`.
    pub basis: EstimateBasis,
    /// Accesses to the contended lines by any thread; null where none was sampled.
    pub contended_accesses: Option<Interval>,
    /// Accesses to lines that another thread had just written, by ComDetective's scaling: all of `matrix`.
    pub accesses: Interval,
    /// What would have moved if each of these accesses had moved its line.
    pub bytes_at_most: Interval,
    /// Transfers of lines between cores; null where no sample shows one.
    pub transfers: Option<Transfers>,
}

/// How often lines went from core to core, by a model.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct Transfers {
    /// How these numbers came about: `modelled`.
    pub basis: EstimateBasis,
    /// How often.
    pub transfers: Interval,
    /// The same in bytes.
    pub bytes: Interval,
}

/// Whence a number is that was not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EstimateBasis {
    /// From a sample.
    Estimated,
    /// From a sample and assumptions on what the hardware does.
    Modelled,
}
