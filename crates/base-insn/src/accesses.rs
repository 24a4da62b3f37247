//! The accesses of an instruction: with addresses, or as its code alone tells.

use carom_base::{Access, AccessKind, Addr, Ip, Skip};

/// The most accesses that one instruction can have here: a masked move of 64 bytes.
pub const MAX_ACCESSES: usize = 64;

/// The memory accesses of one instruction.
#[derive(Clone, Copy, Debug)]
pub struct Operands {
    accesses: [Access; MAX_ACCESSES],
    count: u8,
    skip: Option<Skip>,
}

impl Operands {
    /// The accesses whose addresses are known, in the order of [`Decoder::each_access`](crate::Decoder::each_access); where lanes are accessed one
    /// by one, lowest lane first.
    pub fn accesses(&self) -> &[Access] {
        self.accesses.get(..usize::from(self.count)).unwrap_or_default()
    }

    /// The accesses that read, among them those that write as well. While [`Self::skip`] is `None` their number and
    /// their order are what [`crate::Statics`] counts as loads.
    pub fn loads(&self) -> impl Iterator<Item = &Access> {
        self.accesses().iter().filter(|access| access.kind.reads())
    }

    /// The accesses that write, likewise.
    pub fn stores(&self) -> impl Iterator<Item = &Access> {
        self.accesses().iter().filter(|access| access.kind.writes())
    }

    /// Why an access is missing. Always there when [`Self::accesses`] is empty; beside accesses when only
    /// some of the addresses are known.
    pub const fn skip(&self) -> Option<Skip> {
        self.skip
    }

    pub(crate) fn skipped(skip: Skip) -> Self {
        Self { skip: Some(skip), ..Self::none() }
    }

    pub(crate) fn none() -> Self {
        let nothing = Access { ip: Ip(0), addr: Addr(0), width: 1, kind: AccessKind::Load };
        Self { accesses: [nothing; MAX_ACCESSES], count: 0, skip: None }
    }

    pub(crate) fn push(&mut self, ip: u64, addr: u64, width: u32, kind: AccessKind) {
        if let Some(slot) = self.accesses.get_mut(usize::from(self.count)) {
            *slot = Access { ip: Ip(ip), addr: Addr(addr), width, kind };
            self.count += 1;
        }
    }

    /// Notes that an access is missing; the first reason stays.
    pub(crate) fn miss(&mut self, skip: Skip) {
        self.skip.get_or_insert(skip);
    }
}

/// One access that an instruction makes each time it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StaticAccess {
    /// Bytes. A width that depends on the processor's state is the largest: for the XSAVE family an area with all
    /// components that the kernel has enabled. 0 where the code does not determine it, as for tiles.
    pub width: u32,
    /// Load, store or both.
    pub kind: AccessKind,
}
