//! From the names in a change to objects in memory.

use std::{cmp::Reverse, collections::BTreeMap};

use carom_base::{Addr, LINE_BYTES, ProcessId};
use carom_base_sim::Results;

use super::{Change, How, Target};
use crate::{
    recording::Names,
    simulate::{
        instructions::Instruction,
        lines::Grain,
        moved::{Object, Parts, tagged},
    },
    symbols::{DataObject, ObjectKind},
};

/// Lines of an object in which a field is looked for.
const MOST_LINES: u64 = 4096;

/// Objects that are proposed where a name is not known.
const PROPOSED: usize = 5;

/// What is known of the program's data: objects that cores took from each other, and those that instructions were seen to use.
pub(super) struct Objects<'a> {
    names: &'a mut dyn Names,
    /// By process and first byte.
    known: BTreeMap<(ProcessId, u64), Known>,
}

#[derive(Clone, Debug)]
struct Known {
    size: u64,
    name: String,
    /// How often cores took its lines from each other, as far as seen.
    taken: u64,
}

impl<'a> Objects<'a> {
    /// Looks up what the simulation met.
    pub fn new(
        results: &Results,
        instructions: &[Instruction],
        grain: Grain,
        names: &'a mut dyn Names,
    ) -> Self {
        let mut objects = Self { names, known: BTreeMap::new() };
        for pair in &results.invalidated {
            let Some(by) = instructions.get(pair.by.0 as usize) else { continue };
            let line = tagged(by.process, Addr(pair.line.wrapping_mul(grain.line_bytes)));
            let mut mask = pair.stored | pair.accessed;
            while mask != 0 {
                let offset = u64::from(mask.trailing_zeros() * grain.mask_bytes);
                if !objects.meet(by.process, Addr(line.0 + offset), pair.sharing.total()) {
                    // Nor will anything be known of the rest.
                    break;
                }
                mask &= mask - 1;
            }
        }
        for instruction in instructions {
            for at in &instruction.data {
                objects.meet(instruction.process, *at, 0);
            }
        }
        objects
    }

    /// Whether an object is known there.
    fn meet(&mut self, process: ProcessId, at: Addr, taken: u64) -> bool {
        if let Some((_, known)) = self.around(process, at) {
            known.taken += taken;
            return true;
        }
        let found = self.object(process, at);
        let is_known = found.is_some();
        self.known.extend(found.map(|(start, size, name)| ((process, start), Known { size, name, taken })));
        is_known
    }

    fn around(&mut self, process: ProcessId, at: Addr) -> Option<(u64, &mut Known)> {
        let ((of, start), known) = self.known.range_mut(..=(process, at.0)).next_back()?;
        (*of == process && at.0 - start < known.size).then_some((*start, known))
    }

    /// Its first byte, its size and its name.
    fn object(&mut self, process: ProcessId, at: Addr) -> Option<(u64, u64, String)> {
        let DataObject { kind, name, offset, size, .. } = self.names.object(process, at);
        // A whole stack is no object that a layout could be changed of; a variable on it is.
        let is_object = kind != ObjectKind::Stack || self.names.field(process, at, 1).is_some();
        Some((at.line().start().0.wrapping_sub(offset as u64), size.filter(|_| is_object)?, name))
    }

    /// The objects that the changes are about, each with the number of the change; several changes of one object are one.
    ///
    /// # Errors
    /// No such object, or it cannot be changed so; the reason.
    pub fn resolve(&mut self, changes: &[Change]) -> Result<Vec<(usize, Object)>, String> {
        let mut found: BTreeMap<(ProcessId, u64), (usize, Object)> = BTreeMap::new();
        for (number, change) in changes.iter().enumerate() {
            for object in self.objects_of(change)? {
                let at = (object.process, object.start);
                let Some((_, known)) = found.get_mut(&at) else {
                    found.insert(at, (number, object));
                    continue;
                };
                match (&mut known.parts, object.parts) {
                    (Parts::At(offsets), Parts::At(more)) => {
                        offsets.extend(more);
                        offsets.sort_unstable();
                        offsets.dedup();
                    }
                    _ => return Err(format!("{change} is about an object that another change aligns")),
                }
                known.alignment = known.alignment.max(object.alignment);
            }
        }
        Ok(found.into_values().collect())
    }

    fn objects_of(&mut self, change: &Change) -> Result<Vec<Object>, String> {
        let found = match &change.object {
            Target::At(at) => vec![self.at(*at)],
            Target::Named(name) => self.named(name),
        };
        if found.is_empty() {
            return Err(self.not_found(&change.object));
        }
        found.into_iter().map(|(place, field)| self.changed(change, place, field)).collect()
    }

    /// The object around an address of the first process, and where in it that is; where none is known, the rest of the line.
    fn at(&mut self, at: Addr) -> ((ProcessId, u64, u64), u64) {
        let process = ProcessId(0);
        match self.object(process, at) {
            Some((start, size, _)) => ((process, start, size), at.0 - start),
            None => ((process, at.0, LINE_BYTES - at.offset_in_line()), 0),
        }
    }

    /// Objects of this name, or those that have a field of this name, with its offset.
    fn named(&mut self, name: &str) -> Vec<((ProcessId, u64, u64), u64)> {
        let of_name: Vec<_> = self
            .known
            .iter()
            .filter(|(_, known)| known.name == name)
            .map(|((process, start), known)| ((*process, *start, known.size), 0))
            .collect();
        if !of_name.is_empty() {
            return of_name;
        }
        let holders: Vec<_> = self
            .known
            .iter()
            .filter(|(_, known)| name.starts_with(&known.name))
            .map(|((process, start), known)| (*process, *start, known.size))
            .collect();
        let mut found = Vec::new();
        for place in holders {
            found.extend(self.field(place, name).map(|offset| (place, offset)));
        }
        found
    }

    fn field(&mut self, (process, start, size): (ProcessId, u64, u64), name: &str) -> Option<u64> {
        let (first, last) = (start / LINE_BYTES, (start + size.max(1) - 1) / LINE_BYTES);
        (first..=last.min(first + MOST_LINES)).find_map(|number| {
            let line = Addr(number * LINE_BYTES).line();
            let layout = self.names.layout(process, line);
            let named = layout.iter().find(|part| part.name == name)?;
            (line.start().0 + u64::from(named.offset)).checked_sub(start)
        })
    }

    fn changed(
        &mut self,
        change: &Change,
        (process, start, size): (ProcessId, u64, u64),
        field: u64,
    ) -> Result<Object, String> {
        let name = &change.object;
        let parts = match change.how {
            How::Pad(offset) if offset + field >= size => {
                return Err(format!("`{name}` has {size} bytes, and none at {}", offset + field));
            }
            How::Pad(offset) => Parts::At(vec![offset + field]),
            How::Align(Some(bytes)) => Parts::Elements(bytes),
            How::Align(None) => match self.names.array(process, Addr(start)) {
                Some(array) if array.element_bytes > 0 => Parts::Elements(array.element_bytes),
                _ => {
                    return Err(format!(
                        "the size of the elements of `{name}` is not known: align:{name}/BYTES:{} tells it",
                        change.alignment
                    ));
                }
            },
        };
        Ok(Object { process, start, size, alignment: change.alignment, parts })
    }

    fn not_found(&self, target: &Target) -> String {
        let mut names: BTreeMap<&str, u64> = BTreeMap::new();
        for known in self.known.values() {
            *names.entry(&known.name).or_default() += known.taken;
        }
        let mut names: Vec<(&str, u64)> = names.into_iter().collect();
        names.sort_by_key(|(_, taken)| Reverse(*taken));
        let names: Vec<String> = names.iter().take(PROPOSED).map(|(name, _)| format!("`{name}`")).collect();
        let known = if names.is_empty() { "none has a name here".into() } else { names.join(", ") };
        format!(
            "no object or field that the program was seen to use is called `{target}` ({known}); an address such as 0x1000 does too"
        )
    }
}
