use serde::{Deserialize, Serialize};

use super::plain;

/// How reuse was looked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReuseInfo {
    /// `sampled`: single uses were watched. `exact`: all accesses were looked at. `kept`: all were kept, and none looked at.
    pub mode: String,
    /// What watched the uses: `episodes`, `software`, `registers`; empty in other modes.
    pub watch: String,
    /// The unit of time distances: `accesses` or `ns`.
    pub distances: String,
    /// Uses of one process that are watched at a time; 0 in the exact mode.
    pub slots: u32,
    /// Bytes of one place, ascending.
    pub granularities: Vec<u32>,
    /// The share of places that were looked at (SHARDS); 1 where all were.
    #[serde(deserialize_with = "plain::null_is_nan")]
    pub sample_rate: f64,
    /// What `domains` lists: `cpus` or `threads`, these by their numbers in their process.
    pub domains_of: String,
    /// The groups that share a cache. Members of none of them form one further group, the last.
    pub domains: Vec<Vec<u32>>,
    /// Whether pairs of instructions were told apart in the exact mode.
    pub pairs: bool,
}

impl ReuseInfo {
    /// Whether accesses were looked up in episodes.
    pub fn in_episodes(&self) -> bool {
        self.watch == "episodes"
    }
}
