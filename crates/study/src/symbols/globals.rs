//! Variables with static storage by address: symbol tables and DWARF brought together.

use std::collections::BTreeMap;

use super::dwarf::{DebugInfo, DieRef};
use super::elf::{self, Section, Symbol};
use super::fields::TypeTable;
use super::intervals::Intervals;

/// A variable; at least one of the two is there.
#[derive(Debug, Default)]
pub(super) struct Global {
    /// Its name in the symbol table.
    pub(super) symbol: Option<String>,
    /// Its definition in the debug information.
    pub(super) die: Option<DieRef>,
}

/// All variables of a module by stated address.
///
/// The symbol table knows how much memory a variable takes (a flexible array member counts there, and not in the
/// type), so its size comes first.
pub(super) fn index(
    symbols: Vec<Symbol>,
    sections: &[Section],
    debug: Option<&DebugInfo>,
) -> Intervals<Global> {
    let mut globals: BTreeMap<u64, (u64, Global)> = BTreeMap::new();
    for symbol in symbols {
        let (size, global) = globals.entry(symbol.address).or_default();
        // A symbol without a size, such as `__TMC_END__`, marks the end of something else. It names a variable only where no
        // other symbol does.
        let better = global
            .symbol
            .as_deref()
            .is_none_or(|known| (symbol.size == 0, elf::rank(&symbol.name)) < (*size == 0, elf::rank(known)));
        if better {
            global.symbol = Some(symbol.name);
        }
        *size = symbol.size.max(*size);
    }
    if let Some(debug) = debug {
        for (address, die) in debug.variables() {
            // Variables that the linker dropped are left at 0 or another address outside every section.
            if elf::section_at(sections, address).is_none() {
                continue;
            }
            let (size, global) = globals.entry(address).or_default();
            if global.die.is_none() {
                if *size == 0 {
                    *size = debug.type_of(die).map_or(0, |of| debug.size(of));
                }
                global.die = Some(die);
            }
        }
    }
    let ranges = globals.into_iter().map(|(low, (size, global))| (low..low.saturating_add(size), global));
    Intervals::new(ranges.collect())
}

/// Thread-local variables by their offset among those of their module.
pub(super) fn thread_local_index(symbols: Vec<Symbol>, debug: Option<&DebugInfo>) -> Intervals<Global> {
    let mut variables: BTreeMap<u64, (u64, Global)> = BTreeMap::new();
    for symbol in symbols {
        let (size, variable) = variables.entry(symbol.address).or_default();
        *size = symbol.size.max(*size);
        variable.symbol.get_or_insert(symbol.name);
    }
    for (offset, die) in debug.map(DebugInfo::thread_locals).unwrap_or_default() {
        let (size, variable) = variables.entry(offset).or_default();
        if *size == 0 {
            *size = debug.and_then(|debug| Some(debug.size(debug.type_of(die)?))).unwrap_or(0);
        }
        variable.die.get_or_insert(die);
    }
    let ranges =
        variables.into_iter().map(|(low, (size, variable))| (low..low.saturating_add(size), variable));
    Intervals::new(ranges.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As at the end of the C library's `.data`, where its `.bss` begins.
    #[test]
    fn a_mark_without_a_size_does_not_name_what_begins_there() {
        let symbol = |size, name: &str| Symbol { address: 0x40, size, name: name.to_owned() };
        let mark = || symbol(0, "__TMC_END__");
        let variable = || symbol(1, "__libc_single_threaded");
        for symbols in [vec![mark(), variable()], vec![variable(), mark()]] {
            let index = index(symbols, &[], None);
            let (range, found) = index.smallest(0x40).expect("a variable");
            assert_eq!((range, found.symbol.as_deref()), (0x40..0x41, Some("__libc_single_threaded")));
        }
    }
}
