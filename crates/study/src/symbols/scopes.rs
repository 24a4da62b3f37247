//! What a variable or a type is declared in, and the qualified names that follow from it.

use gimli::{DwTag, EntriesRaw, UnitOffset};

use super::demangle::{demangle, is_mangled};
use super::dwarf::{DebugInfo, DieRef};
use super::elf::Bytes;

/// Deeper nesting is not shown.
const MAX_SCOPES: usize = 32;

/// The named scopes of a unit, in order of offset.
#[derive(Debug, Default)]
pub(super) struct ScopeIndex {
    scopes: Vec<Scope>,
}

#[derive(Debug)]
struct Scope {
    start: UnitOffset,
    /// One past the last entry in it.
    end: UnitOffset,
    /// Index of the enclosing scope.
    parent: Option<usize>,
}

impl ScopeIndex {
    /// Reads all entries of a unit once. A broken unit has the scopes before the place where it breaks.
    pub(super) fn of(mut entries: EntriesRaw<'_, Bytes>) -> Self {
        let mut index = Self::default();
        let mut open = Vec::new();
        while !entries.is_empty() {
            if index.read_entry(&mut entries, &mut open).is_err() {
                break;
            }
        }
        index
    }

    /// `open`: the scopes around the next entry, each with the depth of its children.
    fn read_entry(
        &mut self,
        entries: &mut EntriesRaw<'_, Bytes>,
        open: &mut Vec<(usize, isize)>,
    ) -> Result<(), gimli::Error> {
        let start = entries.next_offset();
        while let Some((scope, _)) = open.pop_if(|(_, depth)| *depth > entries.next_depth()) {
            if let Some(scope) = self.scopes.get_mut(scope) {
                scope.end = start;
            }
        }
        let Some(abbreviation) = entries.read_abbreviation()? else { return Ok(()) };
        if abbreviation.has_children() && is_scope(abbreviation.tag()) {
            let parent = open.last().map(|(scope, _)| *scope);
            open.push((self.scopes.len(), entries.next_depth()));
            self.scopes.push(Scope { start, end: UnitOffset(usize::MAX), parent });
        }
        entries.skip_attributes(abbreviation.attributes())
    }

    /// The scopes around an entry, innermost first.
    fn around(&self, offset: UnitOffset) -> impl Iterator<Item = UnitOffset> {
        let before = self.scopes.partition_point(|scope| scope.start < offset).checked_sub(1);
        std::iter::successors(before, |scope| self.scopes.get(*scope)?.parent)
            .filter_map(|scope| self.scopes.get(scope))
            .filter(move |scope| offset < scope.end)
            .map(|scope| scope.start)
    }
}

fn is_scope(tag: DwTag) -> bool {
    matches!(
        tag,
        gimli::DW_TAG_namespace
            | gimli::DW_TAG_module
            | gimli::DW_TAG_structure_type
            | gimli::DW_TAG_class_type
            | gimli::DW_TAG_union_type
            | gimli::DW_TAG_enumeration_type
            | gimli::DW_TAG_subprogram
    )
}

impl DebugInfo {
    /// The name of a variable: demangled where it has a linkage name, else qualified by its scopes.
    pub(super) fn qualified_name(&self, die: DieRef) -> Option<String> {
        self.qualified_name_within(die, MAX_SCOPES)
    }

    fn qualified_name_within(&self, die: DieRef, depth: usize) -> Option<String> {
        for linkage_name in [gimli::DW_AT_linkage_name, gimli::DW_AT_MIPS_linkage_name] {
            let mangled = self.attribute(die, linkage_name).and_then(|(at, value)| self.text(at.unit, value));
            if let Some(mangled) = mangled.filter(|name| is_mangled(name)) {
                return Some(demangle(&mangled));
            }
        }
        let (named, name) = self.plain_name(die)?;
        // The declaration, not the definition, stands in the namespace or class that the name belongs to.
        let outer = self.scopes(named.unit).around(named.offset).next().filter(|_| depth > 0);
        let scope = outer
            .and_then(|offset| self.qualified_name_within(DieRef { unit: named.unit, offset }, depth - 1));
        Some(match scope {
            Some(scope) => format!("{scope}::{name}"),
            None => name,
        })
    }

    /// The name of a variable in a function, without the function.
    pub(super) fn local_name(&self, die: DieRef) -> Option<String> {
        self.plain_name(die).map(|(_, name)| name)
    }

    /// The name without its scopes, and the entry that has it.
    fn plain_name(&self, die: DieRef) -> Option<(DieRef, String)> {
        match self.attribute(die, gimli::DW_AT_name) {
            Some((named, value)) => Some((named, self.text(named.unit, value)?)),
            None if self.entry(die)?.tag() == gimli::DW_TAG_namespace => {
                Some((die, "(anonymous namespace)".to_owned()))
            }
            None => None,
        }
    }

    /// The name of the outermost namespace around a type.
    pub(super) fn outermost_namespace(&self, die: DieRef) -> Option<String> {
        // The definition in a type unit stands alone; its declaration has the namespaces.
        let (die, _) = self.completed(die).last()?;
        let outermost = self.scopes(die.unit).around(die.offset).last()?;
        let scope = DieRef { unit: die.unit, offset: outermost };
        let entry = self.entry(scope)?;
        if entry.tag() != gimli::DW_TAG_namespace {
            return None;
        }
        self.text_of(scope, &entry, gimli::DW_AT_name)
    }
}
