use carom_store::SimulatedCounts;

/// What simulated caches count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheEvent {
    /// Loads that L1 missed.
    L1LoadMisses,
    /// Stores that L1 missed.
    L1StoreMisses,
    /// Loads that L2 missed.
    L2LoadMisses,
    /// Stores that L2 missed.
    L2StoreMisses,
    /// Loads that the socket's caches missed.
    LlcLoadMisses,
    /// Stores that the socket's caches missed.
    LlcStoreMisses,
    /// Loads that the first level of the TLB missed.
    DtlbLoadMisses,
    /// Stores that the first level of the TLB missed.
    DtlbStoreMisses,
    /// Accesses that both levels of the TLB missed.
    PageWalks,
    /// Misses of lines that other cores' stores had taken.
    CoherenceMisses,
    /// Lines and rights that cores asked for.
    BusTransactions,
    /// Lines for loads from other cores of the socket.
    LoadTransfers,
    /// Lines for stores from other cores of the socket.
    StoreTransfers,
    /// Lines from other sockets.
    RemoteTransfers,
    /// Stores that needed the right to write.
    Upgrades,
    /// Copies that stores invalidated.
    Invalidations,
    /// Those that are false sharing.
    FalseInvalidations,
    /// Dirty lines that left private caches.
    Writebacks,
}

impl CacheEvent {
    /// All, in the order in which reports have them.
    pub const ALL: [Self; 18] = [
        Self::L1LoadMisses,
        Self::L1StoreMisses,
        Self::L2LoadMisses,
        Self::L2StoreMisses,
        Self::LlcLoadMisses,
        Self::LlcStoreMisses,
        Self::DtlbLoadMisses,
        Self::DtlbStoreMisses,
        Self::PageWalks,
        Self::CoherenceMisses,
        Self::BusTransactions,
        Self::LoadTransfers,
        Self::StoreTransfers,
        Self::RemoteTransfers,
        Self::Upgrades,
        Self::Invalidations,
        Self::FalseInvalidations,
        Self::Writebacks,
    ];

    /// Those that tell of coherence.
    pub const COHERENCE: [Self; 8] = [
        Self::CoherenceMisses,
        Self::BusTransactions,
        Self::LoadTransfers,
        Self::StoreTransfers,
        Self::RemoteTransfers,
        Self::Upgrades,
        Self::Invalidations,
        Self::FalseInvalidations,
    ];

    /// The stable name in kebab case, what one of it is, and what it is in a few words.
    const fn facts(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::L1LoadMisses => ("l1-load-misses", "misses", "loads that the simulated L1 lacked"),
            Self::L1StoreMisses => ("l1-store-misses", "misses", "stores that the simulated L1 lacked"),
            Self::L2LoadMisses => ("l2-load-misses", "misses", "loads that the simulated L1 and L2 lacked"),
            Self::L2StoreMisses => {
                ("l2-store-misses", "misses", "stores that the simulated L1 and L2 lacked")
            }
            Self::LlcLoadMisses => {
                ("llc-load-misses", "misses", "loads of lines that no simulated cache of the socket had")
            }
            Self::LlcStoreMisses => {
                ("llc-store-misses", "misses", "stores to lines that no simulated cache of the socket had")
            }
            Self::DtlbLoadMisses => (
                "dtlb-load-misses",
                "misses",
                "loads of pages that the simulated first level of the TLB lacked",
            ),
            Self::DtlbStoreMisses => (
                "dtlb-store-misses",
                "misses",
                "stores to pages that the simulated first level of the TLB lacked",
            ),
            Self::PageWalks => {
                ("page-walks", "walks", "accesses to pages that both levels of the simulated TLB lacked")
            }
            Self::CoherenceMisses => (
                "coherence-misses",
                "misses",
                "simulated misses of lines that another core's store had taken",
            ),
            Self::BusTransactions => (
                "bus-transactions",
                "transactions",
                "lines and rights to write that simulated cores asked for",
            ),
            Self::LoadTransfers => (
                "load-transfers",
                "lines",
                "lines for loads from another simulated core (as HITM of reads counts)",
            ),
            Self::StoreTransfers => (
                "store-transfers",
                "lines",
                "lines for stores from another simulated core (as HITM of RFOs counts)",
            ),
            Self::RemoteTransfers => {
                ("remote-transfers", "lines", "lines from another simulated socket's core or cache")
            }
            Self::Upgrades => (
                "upgrades",
                "stores",
                "stores to simulated lines that the core had no right to write (as RFO counts)",
            ),
            Self::Invalidations => {
                ("invalidations", "copies", "copies in other simulated cores that stores invalidated")
            }
            Self::FalseInvalidations => {
                ("false-invalidations", "copies", "those of them that are false sharing")
            }
            Self::Writebacks => ("writebacks", "lines", "dirty lines that left a simulated core's caches"),
        }
    }

    /// The stable name, in kebab case.
    pub const fn name(self) -> &'static str {
        self.facts().0
    }

    /// What one of it is.
    pub const fn unit(self) -> &'static str {
        self.facts().1
    }

    /// What it is, in a few words.
    pub const fn describe(self) -> &'static str {
        self.facts().2
    }

    /// How often it happened to a thread's accesses.
    pub const fn of(self, counts: &SimulatedCounts) -> u64 {
        match self {
            Self::L1LoadMisses => counts.l1_load_misses,
            Self::L1StoreMisses => counts.l1_store_misses,
            Self::L2LoadMisses => counts.l2_load_misses,
            Self::L2StoreMisses => counts.l2_store_misses,
            Self::LlcLoadMisses => counts.llc_load_misses,
            Self::LlcStoreMisses => counts.llc_store_misses,
            Self::DtlbLoadMisses => counts.dtlb_load_misses,
            Self::DtlbStoreMisses => counts.dtlb_store_misses,
            Self::PageWalks => counts.page_walks,
            Self::CoherenceMisses => counts.coherence_misses,
            Self::BusTransactions => counts.bus_transactions,
            Self::LoadTransfers => counts.load_transfers,
            Self::StoreTransfers => counts.store_transfers,
            Self::RemoteTransfers => counts.remote_transfers,
            Self::Upgrades => counts.upgrades,
            Self::Invalidations => counts.invalidations,
            Self::FalseInvalidations => counts.false_invalidations,
            Self::Writebacks => counts.writebacks,
        }
    }
}
