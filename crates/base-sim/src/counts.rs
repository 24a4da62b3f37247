use std::ops::{Add, AddAssign};

/// Defines a record of counts that can be added up.
macro_rules! counts {
    ($(#[$meta:meta])* $name:ident { $($(#[$field_meta:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name { $($(#[$field_meta])* pub $field: $type,)* }

        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                $(self.$field += other.$field;)*
            }
        }

        impl Add for $name {
            type Output = Self;
            fn add(mut self, other: Self) -> Self {
                self += other;
                self
            }
        }
    };
}

counts! {
    /// What happened at the accesses of one reference. The unit is events.
    Counts {
        /// Accesses that only read.
        loads: u64,
        /// Accesses that only write.
        stores: u64,
        /// Accesses that read and write. Each is one load and one store of the program.
        read_modify_writes: u64,
        /// Touches that L1 missed. An access that spans several lines touches each.
        l1: Misses,
        /// Touches that L1 and L2 missed. None without an L2.
        l2: Misses,
        /// Touches that nothing in the socket could serve, neither L3 nor another core.
        socket: Misses,
        /// Coherence misses of the core (in its last private level) by accesses that read.
        coherence_load_misses: u64,
        /// Stores to lines that the core held without the right to write.
        upgrades: u64,
        /// Copies in other cores that stores invalidated.
        caused: Sharing,
        /// Copies that other cores' stores invalidated, where this reference had brought the line in.
        received: Sharing,
        /// Where the lines came from that a core missed.
        sources: Sources,
        /// Copies that cores lost because an inclusive L3 needed the place for this reference's line.
        back_invalidations: u64,
        /// Dirty lines that left a core's private caches, or were written back to be shared, because of this access.
        writebacks: u64,
        /// Dirty lines that were written to memory because of this access.
        memory_writebacks: u64,
    }
}

counts! {
    /// Misses by class.
    Misses {
        /// The cache never had the line.
        cold: u64,
        /// It had to make room, and so would a fully associative one. Where these two are not told apart
        /// ([`Settings::conflicts`](crate::Settings::conflicts)), both are here.
        capacity: u64,
        /// It had to make room, but a fully associative LRU cache of the same size would not (Hill and Smith, IEEE
        /// Transactions on Computers 38(12), 1989).
        conflict: u64,
        /// Another core's (for a socket: another socket's) store took the line away.
        coherence: u64,
    }
}

counts! {
    /// Invalidations by class (Marathe, Mueller and de Supinski, section 8).
    Sharing {
        /// The store wrote a byte that the other core had accessed since it got the line.
        true_sharing: u64,
        /// The store wrote none of them.
        false_sharing: u64,
    }
}

counts! {
    /// Where lines came from.
    Sources {
        /// A core of the same socket.
        core: u64,
        /// L3 of the same socket.
        l3: u64,
        /// A core or L3 of another socket.
        remote: u64,
        /// Memory.
        memory: u64,
    }
}

/// Why a cache has not got a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissClass {
    /// Never had it.
    Cold,
    /// Had to make room.
    Replaced,
    /// Another cache's store.
    Coherence,
}

impl Misses {
    /// All classes.
    pub const fn total(&self) -> u64 {
        self.cold + self.capacity + self.conflict + self.coherence
    }

    /// Adds one. `conflict`: a fully associative cache would have had the line.
    pub(crate) fn add(&mut self, class: MissClass, conflict: bool) {
        *match class {
            MissClass::Cold => &mut self.cold,
            MissClass::Coherence => &mut self.coherence,
            MissClass::Replaced if conflict => &mut self.conflict,
            MissClass::Replaced => &mut self.capacity,
        } += 1;
    }
}

impl Sharing {
    /// Both classes.
    pub const fn total(&self) -> u64 {
        self.true_sharing + self.false_sharing
    }

    pub(crate) fn add(&mut self, truly: bool) {
        *(if truly { &mut self.true_sharing } else { &mut self.false_sharing }) += 1;
    }
}

impl Counts {
    /// All accesses; a read-modify-write is one.
    pub const fn accesses(&self) -> u64 {
        self.loads + self.stores + self.read_modify_writes
    }
}
