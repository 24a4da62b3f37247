use serde::{Deserialize, Serialize};

/// The machine whose caches were simulated on a run's accesses. All values of it are a model's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SimulatedInfo {
    /// The machine's name.
    pub machine: String,
    /// Its caches in the order in which they are asked, and the first and second level of its TLB.
    pub caches: Vec<SimulatedCache>,
    /// Cores that were simulated; thread `n` runs on core `n` modulo their number.
    pub cores: u32,
    /// Why some accesses are not in the counts, where that is so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub damage: Option<String>,
}

/// A simulated cache.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SimulatedCache {
    /// `l1`, `l2`, `l3`, `dtlb`, `stlb`.
    pub name: String,
    /// Bytes that it holds; of a TLB, those of its pages.
    pub bytes: u64,
    /// Lines of a set.
    pub ways: u32,
    /// Bytes of a line, or of a page.
    pub line_bytes: u32,
}

/// What the simulated caches did with the accesses of one thread. An access that spans several lines may miss each.
/// Read-modify-writes are among the stores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SimulatedCounts {
    /// Loads that L1 missed.
    pub l1_load_misses: u64,
    /// Stores that L1 missed.
    pub l1_store_misses: u64,
    /// Loads that L1 and L2 missed.
    pub l2_load_misses: u64,
    /// Stores that L1 and L2 missed.
    pub l2_store_misses: u64,
    /// Loads of lines that nothing in the socket had.
    pub llc_load_misses: u64,
    /// Stores to lines that nothing in the socket had.
    pub llc_store_misses: u64,
    /// Loads of pages that the first level of the TLB lacked.
    pub dtlb_load_misses: u64,
    /// Stores to pages that the first level of the TLB lacked.
    pub dtlb_store_misses: u64,
    /// Accesses to pages that both levels of the TLB lacked.
    pub page_walks: u64,
    /// Lines that were missed because another core's store had taken them away.
    pub coherence_misses: u64,
    /// Lines that a core asked for beyond its private caches, and rights to write.
    pub bus_transactions: u64,
    /// Lines for loads that came from another core of the socket.
    pub load_transfers: u64,
    /// Lines for stores that came from another core of the socket.
    pub store_transfers: u64,
    /// Lines that came from another socket's core or cache.
    pub remote_transfers: u64,
    /// Stores to lines that the core held without the right to write.
    pub upgrades: u64,
    /// Copies in other cores that stores invalidated.
    pub invalidations: u64,
    /// Those of them that are false sharing: the store wrote no byte that the other core had accessed since it got the line.
    pub false_invalidations: u64,
    /// Dirty lines that left a core's private caches.
    pub writebacks: u64,
}
