//! What rows that hold accesses have in common.

use carom_base::{Access, AccessKind, Addr, Ip};

use crate::chunk::{Bytes, ColumnReader, ColumnWriter, Integers};
use crate::error::Damage;
use crate::rules::{Report, Rule};

/// Columns `ip`, `addr`, `width`, `kind` of an access that every row has.
pub(super) fn encode_accesses<'a>(
    columns: &mut ColumnWriter,
    accesses: impl Iterator<Item = &'a Access> + Clone,
) {
    columns.integers(accesses.clone().map(|access| access.ip.0));
    columns.integers(accesses.clone().map(|access| access.addr.0));
    columns.integers(accesses.clone().map(|access| u64::from(access.width)));
    columns.bytes(accesses.map(|access| access.kind as u8));
}

/// Cursors over the columns of [`encode_accesses`].
pub(super) struct Accesses<'a> {
    ip: Integers<'a>,
    addr: Integers<'a>,
    width: Integers<'a>,
    kind: Bytes<'a>,
}

impl<'a> Accesses<'a> {
    pub(super) fn new(columns: &mut ColumnReader<'a>) -> Result<Self, Damage> {
        Ok(Self {
            ip: columns.integers()?,
            addr: columns.integers()?,
            width: columns.integers()?,
            kind: columns.bytes()?,
        })
    }

    pub(super) fn read(&mut self) -> Result<Access, Damage> {
        Ok(Access {
            ip: Ip(self.ip.read()?),
            addr: Addr(self.addr.read()?),
            width: self.width.read_u32()?,
            kind: self.kind.read_as(AccessKind::from_u8)?,
        })
    }
}

/// An access has bytes, all of them below the end of the address space.
pub(super) fn check_access(access: Access, report: Report<'_>) {
    if access.width == 0 {
        report(Rule::ZeroWidth);
    }
    if access.addr.0.checked_add(u64::from(access.width)).is_none() {
        report(Rule::AddressWraps);
    }
}

/// Whether two accesses have a cache line in common.
pub(super) fn share_line(one: Access, other: Access) -> bool {
    let [a, b] = [one, other].map(|access| {
        let last = access.addr.0.saturating_add(u64::from(access.width).saturating_sub(1));
        (access.addr.line(), Addr(last).line())
    });
    a.0 <= b.1 && b.0 <= a.1
}
