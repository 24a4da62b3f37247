use serde::{Deserialize, Serialize};

/// Which accesses a reduced trace keeps (Marathe, Mueller and de Supinski, section 3).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TraceInfo {
    /// How it was reduced.
    pub mode: TraceMode,
    /// Loads that took no longer are left out: ticks of the time-stamp counter, without the cost of timing.
    pub latency: u32,
    /// Of long loads and stores together, one in this number was kept (lossy); 1 in other modes.
    pub sample: u32,
    /// The probability with which a store was kept (targeted).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stores: Option<f64>,
    /// The instructions whose loads were timed (targeted).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<u64>,
}

named! {
    /// How a trace was reduced.
    TraceMode {
        /// Of long loads and of stores, one in a number.
        #[default]
        Lossy = "lossy",
        /// The same, of those that the paper's hardware would have tracked.
        Itanium = "lossy-itanium",
        /// All long loads of chosen instructions, and stores by chance.
        Targeted = "targeted",
        /// Long loads alone.
        Loads = "loads",
    }
}
