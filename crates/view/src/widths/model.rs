//! The answer of `carom widths`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::Real;

/// How wide the program's accesses are.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AccessWidths {
    /// Accesses that were sampled.
    pub samples: u64,
    /// Every width that was sampled, the narrowest first.
    pub by_width: Vec<AccessWidth>,
}

/// The accesses of one width.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AccessWidth {
    /// The width in bytes.
    pub bytes: u32,
    /// Sampled accesses that have it.
    pub samples: u64,
    /// The part of all sampled accesses that these are.
    pub share: Real,
}
