//! The tables of a recording.

use std::path::Path;

use carom_base::{ReuseCell, ReuseEvent, Sample, SharingEvent};

use crate::check::check_rows;
use crate::chunk::Kind;
use crate::error::StoreError;
use crate::fuzzing::{Decoded, decode_rows};
use crate::read::Recording;
use crate::rows::{
    CounterRow, FootprintRow, HeapObject, InstructionCounts, Name, PlaceCounts, Row, Stack, StreamFrame,
};
use crate::rules::{Findings, RowContext};
use crate::write::{AnyTable, begin_table};

/// Every table that a writer fills, one line each. Rows are written and checked in this order: what others refer to comes
/// first.
pub const TABLES: [Table; 9] = [
    Table::of::<Stack>(),
    Table::of::<HeapObject>(),
    Table::of::<Sample>(),
    Table::of::<SharingEvent>(),
    Table::of::<ReuseEvent>(),
    Table::of::<ReuseCell>(),
    Table::of::<StreamFrame>(),
    Table::of::<FootprintRow>(),
    Table::of::<CounterRow>(),
];

/// Those that are stored after the writer has finished, and that the manifest does not list.
pub const LATER: [Table; 3] =
    [Table::of::<Name>(), Table::of::<PlaceCounts>(), Table::of::<InstructionCounts>()];

/// All tables of a recording.
pub fn all() -> impl Iterator<Item = Table> {
    TABLES.into_iter().chain(LATER)
}

/// Where the table of a type stands in [`TABLES`]. A type that is not listed does not compile.
pub const fn index_of<R: Row>() -> usize {
    let mut index = 0;
    while TABLES[index].kind.code() != R::KIND.code() {
        index += 1;
    }
    index
}

/// The operations on a table, for any type of row.
#[derive(Clone, Copy)]
pub struct Table {
    /// The code in chunks, and the file.
    pub kind: Kind,
    /// Begins it in a recording's directory.
    pub begin: fn(&Path) -> Result<Box<dyn AnyTable>, StoreError>,
    /// Checks every row of a recording.
    pub check: fn(&Recording, &mut RowContext<'_>, &mut Findings),
    /// Decodes bytes from anywhere.
    pub decode: fn(&[u8], &mut Decoded),
}

impl Table {
    const fn of<R: Row>() -> Self {
        Self { kind: R::KIND, begin: begin_table::<R>, check: check_rows::<R>, decode: decode_rows::<R> }
    }
}

impl Kind {
    /// The kinds of all tables.
    pub fn all() -> impl Iterator<Item = Self> {
        all().map(|table| table.kind)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_two_tables_share_a_code_or_a_file() {
        let codes: HashSet<u8> = Kind::all().map(Kind::code).collect();
        let files: HashSet<&str> = Kind::all().map(Kind::file_name).collect();
        assert_eq!((codes.len(), files.len()), (all().count(), all().count()));
    }
}
