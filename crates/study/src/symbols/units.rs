//! The units of a module's debug information and of its supplementary file.

use std::collections::HashMap;
use std::ops::Range;

use gimli::DebugInfoOffset;

use super::dwarf::DieRef;
use super::elf::Bytes;

/// A compilation unit, partial unit or type unit.
pub(super) type Unit = gimli::Unit<Bytes>;

/// All units: those of `.debug_info`, of `.debug_types`, and of the supplementary file's `.debug_info`.
#[derive(Default)]
pub(super) struct Units {
    /// In that order.
    pub(super) all: Vec<Unit>,
    /// Where the units of `.debug_types` begin.
    pub(super) types: usize,
    /// Where those of the supplementary file begin.
    pub(super) supplementary: usize,
    /// Type units by their signature.
    pub(super) signatures: HashMap<u64, DieRef>,
}

impl Units {
    /// Reads the headers of all units. A broken header ends its section.
    pub(super) fn read(dwarf: &gimli::Dwarf<Bytes>) -> Self {
        let mut units = Self::default();
        let mut headers = dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            units.add(dwarf, header);
        }
        units.types = units.all.len();
        let mut headers = dwarf.type_units();
        while let Ok(Some(header)) = headers.next() {
            units.add(dwarf, header);
        }
        units.supplementary = units.all.len();
        if let Some(dwarf) = dwarf.sup() {
            let mut headers = dwarf.units();
            while let Ok(Some(header)) = headers.next() {
                units.add(dwarf, header);
            }
        }
        units
    }

    fn add(&mut self, dwarf: &gimli::Dwarf<Bytes>, header: gimli::UnitHeader<Bytes>) {
        let kind = header.type_();
        let Ok(unit) = dwarf.unit(header) else { return };
        if let gimli::UnitType::Type { type_signature, type_offset } = kind {
            let die = DieRef { unit: self.all.len(), offset: type_offset };
            self.signatures.insert(type_signature.0, die);
        }
        self.all.push(unit);
    }

    /// The entry at an offset of the `.debug_info` whose units, in order, are those numbered `among`.
    pub(super) fn find(&self, among: Range<usize>, offset: DebugInfoOffset) -> Option<DieRef> {
        let units = self.all.get(among.clone())?;
        let begins_before =
            |unit: &Unit| unit.header.debug_info_offset().is_some_and(|start| start.0 <= offset.0);
        let index = units.partition_point(begins_before).checked_sub(1)?;
        let offset = offset.to_unit_offset(&units.get(index)?.header)?;
        Some(DieRef { unit: among.start + index, offset })
    }
}
