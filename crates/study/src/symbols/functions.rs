//! Functions in DWARF by address, and the variables that they declare.

use super::dwarf::{DebugInfo, DieRef, Entry};

/// Blocks, namespaces and inlined functions nest less deeply; more is not looked into.
const MAX_NESTING: usize = 64;

/// What a function declares.
#[derive(Debug, Default)]
pub(super) struct Declared {
    /// Variables of its blocks.
    pub(super) variables: Vec<DieRef>,
    /// Parameters.
    pub(super) parameters: Vec<DieRef>,
    /// The types that it is instantiated for.
    pub(super) type_arguments: Vec<DieRef>,
}

impl DebugInfo {
    /// The functions at an address, as the module states it: innermost inlined one first, as many as there are
    /// frames.
    pub(super) fn functions_at(&self, address: u64) -> Vec<DieRef> {
        let mut functions = Vec::new();
        if let Some(root) = self.unit_at(address) {
            self.descend(root, address, MAX_NESTING, &mut functions);
        }
        functions.reverse();
        functions
    }

    /// Adds the functions around `address` below `scope`, outermost first.
    fn descend(&self, scope: DieRef, address: u64, depth: usize, functions: &mut Vec<DieRef>) -> bool {
        let Some(depth) = depth.checked_sub(1) else { return false };
        for (die, entry) in self.children(scope) {
            let (opens, is_function) = match entry.tag() {
                gimli::DW_TAG_namespace | gimli::DW_TAG_module => (true, false),
                gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type => (true, false),
                gimli::DW_TAG_subprogram | gimli::DW_TAG_inlined_subroutine => {
                    (self.covers(die, &entry, address), true)
                }
                // A block may have lost its ranges where its parts were moved.
                gimli::DW_TAG_lexical_block => (true, false),
                _ => (false, false),
            };
            if opens && is_function {
                functions.push(die);
                self.descend(die, address, depth, functions);
                return true;
            }
            if opens && self.descend(die, address, depth, functions) {
                return true;
            }
        }
        false
    }

    /// Everything that the function declares, in whichever block. Where optimisation made several copies of a
    /// function, what a copy lost is still in the original.
    pub(super) fn declared_in(&self, function: DieRef) -> Declared {
        let mut declared = Declared::default();
        for (die, entry) in self.completed(function) {
            if matches!(entry.tag(), gimli::DW_TAG_subprogram | gimli::DW_TAG_inlined_subroutine) {
                self.collect_declared(die, MAX_NESTING, &mut declared);
            }
        }
        declared
    }

    fn collect_declared(&self, block: DieRef, depth: usize, declared: &mut Declared) {
        let Some(depth) = depth.checked_sub(1) else { return };
        for (die, entry) in self.children(block) {
            match entry.tag() {
                gimli::DW_TAG_variable => declared.variables.push(die),
                gimli::DW_TAG_formal_parameter => declared.parameters.push(die),
                gimli::DW_TAG_template_type_parameter => declared.type_arguments.extend(self.type_of(die)),
                gimli::DW_TAG_lexical_block => self.collect_declared(die, depth, declared),
                _ => {}
            }
        }
    }

    pub(super) fn covers(&self, die: DieRef, entry: &Entry, address: u64) -> bool {
        let Some(mut ranges) = self.ranges(die, entry) else { return false };
        while let Ok(Some(range)) = ranges.next() {
            if (range.begin..range.end).contains(&address) {
                return true;
            }
        }
        false
    }
}
