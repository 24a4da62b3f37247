//! Where functions start in a traced process, from the symbol tables of what it has mapped.

use std::collections::BTreeMap;

use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};

use super::tracee::Tracee;

/// Function starts and ends by absolute address.
#[derive(Default)]
pub struct Functions(BTreeMap<u64, u64>);

impl Functions {
    pub fn of(tracee: &Tracee) -> Self {
        let mut functions = Self::default();
        for (start, _, offset, name) in tracee.mappings(|permissions, _| permissions.contains('x')) {
            let Ok(data) = std::fs::read(&name) else { continue };
            let Ok(file) = object::File::parse(&*data) else { continue };
            let segment = file.segments().find(|segment| {
                let (at, size) = segment.file_range();
                (at & !0xfff..at + size).contains(&offset)
            });
            let Some(segment) = segment else { continue };
            let bias = start
                .wrapping_sub(offset)
                .wrapping_add(segment.file_range().0)
                .wrapping_sub(segment.address());
            for symbol in file.symbols().chain(file.dynamic_symbols()) {
                if symbol.kind() == SymbolKind::Text && symbol.size() > 0 {
                    let address = symbol.address().wrapping_add(bias);
                    functions.0.insert(address, address + symbol.size());
                }
            }
        }
        functions
    }

    pub fn start_of(&self, ip: u64) -> Option<u64> {
        let (start, end) = self.0.range(..=ip).next_back()?;
        (ip < *end).then_some(*start)
    }
}
