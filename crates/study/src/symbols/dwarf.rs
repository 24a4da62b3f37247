//! The DWARF of one module: its units, references between entries, and the attributes of one entry.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use gimli::{AttributeValue, DwAt, Operation, UnitOffset};

use super::elf::{self, Bytes};
use super::fields::Shape;
use super::scopes::ScopeIndex;
use super::units::{Unit, Units};

/// One debugging information entry.
pub(super) type Entry = gimli::DebuggingInformationEntry<Bytes>;
/// The value of an attribute.
pub(super) type Value = AttributeValue<Bytes>;

/// `DW_AT_specification` and `DW_AT_abstract_origin` chains are two long in practice; broken ones may be cyclic.
const MAX_INDIRECTIONS: usize = 8;

/// Where an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct DieRef {
    /// Index into [`Units::all`].
    pub(super) unit: usize,
    /// Position in that unit.
    pub(super) offset: UnitOffset,
}

/// The debug information of one module. What costs time is done when it is first asked for.
pub(super) struct DebugInfo {
    dwarf: Arc<gimli::Dwarf<Bytes>>,
    context: OnceCell<Option<addr2line::Context<Bytes>>>,
    units: OnceCell<Units>,
    scopes: RefCell<HashMap<usize, Arc<ScopeIndex>>>,
    pub(super) shapes: RefCell<HashMap<DieRef, Arc<Shape<DieRef>>>>,
}

impl DebugInfo {
    /// The DWARF sections of `file`, with those of the supplementary file that dwz made.
    /// `None` without `.debug_info`.
    pub(super) fn load(file: &object::File<'_>, supplementary: Option<&object::File<'_>>) -> Option<Self> {
        let load = |file: &object::File<'_>| {
            gimli::Dwarf::load(|id| Ok::<_, gimli::Error>(elf::section_bytes(file, id.name())))
        };
        let mut dwarf = load(file).ok()?;
        dwarf.units().next().ok().flatten()?;
        if let Some(supplementary) = supplementary {
            dwarf.set_sup(load(supplementary).ok()?);
        }
        Some(Self {
            dwarf: Arc::new(dwarf),
            context: OnceCell::new(),
            units: OnceCell::new(),
            scopes: RefCell::default(),
            shapes: RefCell::default(),
        })
    }

    /// Lines and inlined functions by address; `None` where the unit headers are broken.
    pub(super) fn context(&self) -> Option<&addr2line::Context<Bytes>> {
        self.context.get_or_init(|| addr2line::Context::from_arc_dwarf(self.dwarf.clone()).ok()).as_ref()
    }

    /// Variables at a fixed address, as the module states it, in the order of the debug information.
    pub(super) fn variables(&self) -> Vec<(u64, DieRef)> {
        self.variables_by(|unit, location| self.fixed_address(unit, location))
    }

    /// Thread-local variables by their offsets among those of the module.
    pub(super) fn thread_locals(&self) -> Vec<(u64, DieRef)> {
        self.variables_by(thread_local_offset)
    }

    /// The variables for whose location `place` has a number.
    fn variables_by(&self, place: impl Fn(&Unit, &Value) -> Option<u64>) -> Vec<(u64, DieRef)> {
        let units = self.units();
        let mut found = Vec::new();
        for index in 0..units.types {
            // A broken unit ends where it breaks; the others are still good.
            let _: Result<(), gimli::Error> = self.variables_of(index, &place, &mut found);
        }
        found
    }

    fn variables_of(
        &self,
        index: usize,
        place: impl Fn(&Unit, &Value) -> Option<u64>,
        found: &mut Vec<(u64, DieRef)>,
    ) -> Result<(), gimli::Error> {
        let Some(unit) = self.units().all.get(index) else { return Ok(()) };
        let mut entries = unit.entries_raw(None)?;
        while !entries.is_empty() {
            let offset = entries.next_offset();
            let Some(abbreviation) = entries.read_abbreviation()? else { continue };
            if abbreviation.tag() != gimli::DW_TAG_variable {
                entries.skip_attributes(abbreviation.attributes())?;
                continue;
            }
            let mut location = None;
            for specification in abbreviation.attributes() {
                let attribute = entries.read_attribute(*specification)?;
                if attribute.name() == gimli::DW_AT_location {
                    location = Some(attribute.value());
                }
            }
            if let Some(address) = location.and_then(|location| place(unit, &location)) {
                found.push((address, DieRef { unit: index, offset }));
            }
        }
        Ok(())
    }

    /// The address where the expression is nothing but one, perhaps with a displacement. Thread-local
    /// variables and values in pieces have further operations.
    fn fixed_address(&self, unit: &Unit, location: &Value) -> Option<u64> {
        let mut operations = location.exprloc_value()?.operations(unit.encoding());
        let mut address = match operations.next().ok()?? {
            Operation::Address { address } => address,
            Operation::AddressIndex { index } => self.dwarf.address(unit, index).ok()?,
            _ => return None,
        };
        while let Some(operation) = operations.next().ok()? {
            let Operation::PlusConstant { value } = operation else { return None };
            address = address.wrapping_add(value);
        }
        Some(address)
    }

    /// The entry itself.
    pub(super) fn entry(&self, die: DieRef) -> Option<Entry> {
        self.units().all.get(die.unit)?.entry(die.offset).ok()
    }

    /// The entries directly below, as far as they can be read.
    pub(super) fn children(&self, die: DieRef) -> Vec<(DieRef, Entry)> {
        let mut children = Vec::new();
        let Some(unit) = self.units().all.get(die.unit) else { return children };
        let Ok(mut tree) = unit.entries_tree(Some(die.offset)) else { return children };
        let Ok(root) = tree.root() else { return children };
        let mut iter = root.children();
        while let Ok(Some(child)) = iter.next() {
            let entry = child.entry().clone();
            children.push((DieRef { unit: die.unit, offset: entry.offset() }, entry));
        }
        children
    }

    /// An attribute of the entry or of what it completes (`DW_AT_specification`, `DW_AT_abstract_origin`), with
    /// the entry that has it.
    pub(super) fn attribute(&self, die: DieRef, name: DwAt) -> Option<(DieRef, Value)> {
        self.completed(die).find_map(|(at, entry)| Some((at, entry.attr_value(name)?)))
    }

    /// The entry and those that it completes, one after the other.
    pub(super) fn completed(&self, die: DieRef) -> impl Iterator<Item = (DieRef, Entry)> {
        let first = self.entry(die).map(|entry| (die, entry));
        std::iter::successors(first, |(at, entry)| {
            let value = entry
                .attr_value(gimli::DW_AT_specification)
                .or_else(|| entry.attr_value(gimli::DW_AT_abstract_origin))?;
            let next = self.follow(at.unit, &value)?;
            Some((next, self.entry(next)?))
        })
        .take(MAX_INDIRECTIONS)
    }

    /// The entry that a reference in unit `from` leads to.
    pub(super) fn follow(&self, from: usize, reference: &Value) -> Option<DieRef> {
        let units = self.units();
        match *reference {
            AttributeValue::UnitRef(offset) => Some(DieRef { unit: from, offset }),
            AttributeValue::DebugInfoRef(offset) if from < units.supplementary => {
                units.find(0..units.types, offset)
            }
            AttributeValue::DebugInfoRef(offset) | AttributeValue::DebugInfoRefSup(offset) => {
                units.find(units.supplementary..units.all.len(), offset)
            }
            AttributeValue::DebugTypesRef(signature) => units.signatures.get(&signature.0).copied(),
            _ => None,
        }
    }

    /// A string attribute's text.
    pub(super) fn text(&self, unit: usize, value: Value) -> Option<String> {
        let text = self.dwarf_of(unit).attr_string(self.units().all.get(unit)?, value).ok()?;
        Some(String::from_utf8_lossy(text.bytes()).into_owned())
    }

    /// `DW_AT_name` or another string of this very entry.
    pub(super) fn text_of(&self, die: DieRef, entry: &Entry, name: DwAt) -> Option<String> {
        self.text(die.unit, entry.attr_value(name)?)
    }

    /// Source file and line of the declaration.
    pub(super) fn declaration(&self, die: DieRef) -> (Option<String>, Option<u32>) {
        let file = self.attribute(die, gimli::DW_AT_decl_file).and_then(|(at, value)| {
            let number = match value {
                AttributeValue::FileIndex(number) => number,
                other => other.udata_value()?,
            };
            self.file_name(at.unit, number)
        });
        let line = self.attribute(die, gimli::DW_AT_decl_line).and_then(|(_, value)| value.udata_value());
        (file, line.and_then(|line| u32::try_from(line).ok()))
    }

    /// The path of a file in the unit's line table, from the directory of the compilation.
    fn file_name(&self, index: usize, number: u64) -> Option<String> {
        let unit = self.units().all.get(index)?;
        let header = unit.line_program.as_ref()?.header();
        let file = header.file(number)?;
        let mut path = PathBuf::new();
        if let Some(directory) = &unit.comp_dir {
            path.push(&*String::from_utf8_lossy(directory.bytes()));
        }
        // Directory 0 is that of the compilation.
        if file.directory_index() != 0
            && let Some(directory) = file.directory(header)
        {
            path.push(self.text(index, directory)?);
        }
        path.push(self.text(index, file.path_name())?);
        Some(path.to_string_lossy().into_owned())
    }

    /// Address size, format and version of a unit.
    pub(super) fn encoding(&self, unit: usize) -> Option<gimli::Encoding> {
        self.units().all.get(unit).map(|unit| unit.encoding())
    }

    /// Bytes of an address in this unit.
    pub(super) fn address_size(&self, unit: usize) -> u64 {
        self.encoding(unit).map_or(0, |encoding| encoding.address_size.into())
    }

    /// The root entry of a unit.
    pub(super) fn root(&self, unit: usize) -> Option<DieRef> {
        Some(DieRef { unit, offset: self.units().all.get(unit)?.header.root_offset() })
    }

    /// Namespaces, types and functions of a unit and how they nest.
    pub(super) fn scopes(&self, unit: usize) -> Arc<ScopeIndex> {
        let mut cache = self.scopes.borrow_mut();
        let index = cache.entry(unit).or_insert_with(|| {
            let entries = self.units().all.get(unit).and_then(|unit| unit.entries_raw(None).ok());
            Arc::new(entries.map(ScopeIndex::of).unwrap_or_default())
        });
        index.clone()
    }

    /// The root entry of the unit whose code is at an address, as the module states it.
    pub(super) fn unit_at(&self, address: u64) -> Option<DieRef> {
        let found = self.context()?.find_dwarf_and_unit(address).skip_all_loads()?;
        let start = found.header.debug_info_offset()?;
        let units = self.units();
        let own = units.all.get(..units.types)?;
        let same = |unit: &Unit| unit.header.debug_info_offset() == Some(start);
        self.root(own.iter().position(same)?)
    }

    /// The addresses of a function or block, as the module states them.
    pub(super) fn ranges(&self, die: DieRef, entry: &Entry) -> Option<gimli::RangeIter<Bytes>> {
        self.dwarf_of(die.unit).die_ranges(self.units().all.get(die.unit)?, entry).ok()
    }

    /// The expression of a list of locations that is valid at an instruction.
    pub(super) fn location_at(
        &self,
        unit: usize,
        list: Value,
        probe: u64,
    ) -> Option<gimli::Expression<Bytes>> {
        let mut locations = self.dwarf_of(unit).attr_locations(self.units().all.get(unit)?, list).ok()??;
        while let Ok(Some(location)) = locations.next() {
            if (location.range.begin..location.range.end).contains(&probe) {
                return Some(location.data);
            }
        }
        None
    }

    fn dwarf_of(&self, unit: usize) -> &gimli::Dwarf<Bytes> {
        match self.dwarf.sup() {
            Some(supplementary) if unit >= self.units().supplementary => supplementary,
            _ => &self.dwarf,
        }
    }

    fn units(&self) -> &Units {
        self.units.get_or_init(|| Units::read(&self.dwarf))
    }
}

/// The offset where the expression is one of a thread-local variable: a constant and the operation that adds the thread's
/// address to it.
fn thread_local_offset(unit: &Unit, location: &Value) -> Option<u64> {
    let mut operations = location.exprloc_value()?.operations(unit.encoding());
    let offset = match operations.next().ok()?? {
        Operation::UnsignedConstant { value } => value,
        Operation::SignedConstant { value } => u64::try_from(value).ok()?,
        _ => return None,
    };
    let is_tls = matches!(operations.next().ok()??, Operation::TLS);
    (is_tls && operations.next().ok()?.is_none()).then_some(offset)
}
