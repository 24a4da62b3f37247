//! Fields of heap blocks whose type was inferred.

use std::ops::Range;

use super::Symbols;
use super::dwarf::DebugInfo;
use super::fields::{fields_in, name_at};
use super::heap_type::{Fit, HeapType};

impl Symbols {
    /// The field at `bytes` of a block of this type: `struct stats.hits`, in an array `struct stats[3].hits`.
    pub fn heap_field(&self, of: &HeapType, bytes: Range<u64>) -> Option<String> {
        let debug = self.debug_of(of)?;
        let (first, last) =
            (bytes.start.checked_div(of.size)?, bytes.end.checked_sub(1)?.checked_div(of.size)?);
        let name = of.element(first);
        if first < last {
            return Some(format!("{name}..[{last}]"));
        }
        let start = first * of.size;
        Some(name_at(debug, of.die, &name, bytes.start - start..bytes.end.saturating_sub(start)))
    }

    /// Every field of a block of this type and `size` bytes that has a byte in `window`, in order: byte offsets
    /// from the block's beginning, not cut to the window, and the name.
    pub fn heap_layout(&self, of: &HeapType, size: u64, window: Range<u64>) -> Vec<(Range<u64>, String)> {
        let Some(debug) = self.debug_of(of) else { return Vec::new() };
        let end = window.end.min(size);
        let Some(first) = window.start.checked_div(of.size).filter(|_| window.start < end) else {
            return Vec::new();
        };
        let mut fields = Vec::new();
        // What rounding has added has no name until somebody is seen there.
        let behind = if of.fit == Fit::Rounded { 1 } else { end.div_ceil(of.size) };
        for index in first..behind {
            let name = of.element(index);
            let start = index * of.size;
            let visible = window.start.saturating_sub(start)..end - start;
            let shifted =
                fields_in(debug, of.die, &name, of.size, visible).into_iter().map(|(bytes, name)| {
                    (bytes.start.saturating_add(start)..bytes.end.saturating_add(start), name)
                });
            fields.extend(shifted);
        }
        fields
    }

    fn debug_of(&self, of: &HeapType) -> Option<&DebugInfo> {
        self.place(of.code)?.image.debug.as_ref()
    }
}

impl HeapType {
    /// What the object number `index` of the block is called. In a rounded block the first stands for itself.
    fn element(&self, index: u64) -> String {
        if index == 0 && self.fit != Fit::Array {
            self.name.clone()
        } else {
            format!("{}[{index}]", self.name)
        }
    }
}
