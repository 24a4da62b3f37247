//! Variables, stacks and files for data addresses.

use std::ops::Range;
use std::path::Path;

use carom_base::Addr;

use super::demangle::{demangle, is_mangled};
use super::elf;
use super::fields::{Shape, TypeTable, fields_in, name_at};
use super::globals::Global;
use super::process::{Mapping, Place};
use super::{ArrayObject, DataObject, Frame, ObjectKind, Symbols};

/// The name of memory that belongs to no module and of which no allocation is known.
pub(crate) const UNKNOWN_HEAP: &str = "heap (allocation site unknown)";

impl Symbols {
    /// What lies at a byte: a variable, a section of a module without one, a stack, a mapped file, or memory of
    /// which nothing is known. `offset` is that of the byte's cache line.
    pub fn object(&self, addr: Addr) -> DataObject {
        if let Some(place) = self.place(addr.0) {
            return module_object(&place, addr);
        }
        if let Some(variable) = self.own_variable(addr) {
            return variable.object(addr);
        }
        if let Some(stack) = self.stacks.iter().find(|stack| (stack.low..stack.high).contains(&addr.0)) {
            let name = format!("stack of {}", stack.name);
            return plain(ObjectKind::Stack, name, stack.low..stack.high, addr);
        }
        match self.mapping(addr.0) {
            Some(mapping) => mapped_object(mapping, addr),
            None => DataObject {
                offset: 0,
                size: None,
                ..plain(ObjectKind::Heap, UNKNOWN_HEAP.to_owned(), 0..0, addr)
            },
        }
    }

    /// The variable and field that an access of `width` bytes touches, such as `stats.hits` or
    /// `table[3].count`. `None` where no variable with a known type lies there.
    pub fn field(&self, addr: Addr, width: u32) -> Option<String> {
        let Some(place) = self.place(addr.0) else { return self.own_variable(addr)?.field(addr, width) };
        let (range, global) = place.image.globals().smallest(place.stated)?;
        let debug = place.image.debug.as_ref()?;
        let of = debug.type_of(global.die?)?;
        let start = place.stated - range.start;
        let bytes = start..start.saturating_add(u64::from(width).max(1));
        Some(name_at(debug, of, &variable_name(&place, global), bytes))
    }

    /// The variable that holds this byte, where it is an array of a known type.
    pub fn array(&self, addr: Addr) -> Option<ArrayObject> {
        let Some(place) = self.place(addr.0) else { return self.own_variable(addr)?.array() };
        let (range, global) = place.image.globals().smallest(place.stated)?;
        let debug = place.image.debug.as_ref()?;
        let of = debug.type_of(global.die?)?;
        let Shape::Array { element, .. } = &*debug.shape(of) else { return None };
        Some(ArrayObject {
            base: Addr(range.start.wrapping_add(addr.0.wrapping_sub(place.stated))),
            name: Some(variable_name(&place, global)),
            element: debug.type_name(*element)?,
            element_bytes: debug.size(*element),
        })
    }

    /// Every field of every variable that has a byte in `low..high`, touched by the program or not, in order:
    /// byte offsets from `low`, cut to the range, and the name. Gaps are padding or memory without a name.
    pub fn layout(&self, low: Addr, high: Addr) -> Vec<(Range<u64>, String)> {
        let Some(place) = self.place(low.0) else {
            let window = low.0..high.0;
            let variables = self.own_variables(window.clone());
            let mut fields: Vec<_> = variables.iter().flat_map(|variable| variable.layout(&window)).collect();
            fields.sort_by_key(|(bytes, _)| (bytes.start, bytes.end));
            return fields;
        };
        let window = place.stated..place.stated.saturating_add(high.0.saturating_sub(low.0));
        let mut fields = Vec::new();
        for (range, global) in place.image.globals().touching(window.clone()) {
            for (bytes, name) in variable_fields(&place, &range, global, &window) {
                let start = range.start.saturating_add(bytes.start).max(window.start);
                let end = range.start.saturating_add(bytes.end).min(window.end);
                if start < end {
                    fields.push((start - window.start..end - window.start, name));
                }
            }
        }
        fields.sort_by_key(|(bytes, _)| (bytes.start, bytes.end));
        fields
    }
}

/// The fields of one variable at `range` that lie in `window`, by offset in the variable.
fn variable_fields(
    place: &Place<'_>,
    range: &Range<u64>,
    global: &Global,
    window: &Range<u64>,
) -> Vec<(Range<u64>, String)> {
    let name = variable_name(place, global);
    let size = range.end - range.start;
    let typed = place.image.debug.as_ref().zip(global.die);
    match typed.and_then(|(debug, die)| Some((debug, debug.type_of(die)?))) {
        Some((debug, of)) => {
            let visible = window.start.saturating_sub(range.start)..window.end - range.start;
            fields_in(debug, of, &name, size, visible)
        }
        None => vec![(0..size, name)],
    }
}

/// Memory of a module: a variable, or at least the section.
fn module_object(place: &Place<'_>, addr: Addr) -> DataObject {
    let (module, image) = (place.module, place.image);
    let declared = Frame { module: Some(module.path.clone()), address: place.stated, ..Frame::default() };
    let shift = addr.0.wrapping_sub(place.stated);
    if let Some((range, global)) = image.globals().smallest(place.stated) {
        let source = image.debug.as_ref().zip(global.die).map(|(debug, die)| debug.declaration(die));
        let (file, line) = source.unwrap_or_default();
        let declared = Frame { file, line, address: range.start, ..declared };
        let start = range.start.wrapping_add(shift);
        let object = plain(
            ObjectKind::Global,
            variable_name(place, global),
            start..start.wrapping_add(range.end - range.start),
            addr,
        );
        return DataObject { declared: Some(declared), ..object };
    }
    let file = file_name(&module.path);
    let (name, start) = match elf::section_at(&image.sections, place.stated) {
        Some(section) => (format!("{} of {file}", section.name), section.range.start.wrapping_add(shift)),
        None => (file, module.low),
    };
    let object = plain(ObjectKind::Global, name, start..start, addr);
    DataObject { size: None, declared: Some(declared), ..object }
}

/// Memory outside of modules, from what the kernel calls it.
fn mapped_object(mapping: &Mapping, addr: Addr) -> DataObject {
    let range = mapping.low..mapping.high;
    match mapping.path.as_str() {
        "[stack]" => plain(ObjectKind::Stack, "stack of the main thread".to_owned(), range, addr),
        // Named anonymous memory: PR_SET_VMA_ANON_NAME, which glibc uses for what malloc maps.
        path if path.is_empty() || path == "[heap]" || path.starts_with("[anon:") => {
            DataObject { size: None, ..plain(ObjectKind::Heap, UNKNOWN_HEAP.to_owned(), range, addr) }
        }
        path => plain(ObjectKind::Mapped, path.to_owned(), range, addr),
    }
}

/// An object of which only place and name are known.
fn plain(kind: ObjectKind, name: String, range: Range<u64>, addr: Addr) -> DataObject {
    DataObject {
        kind,
        name,
        offset: addr.line().start().0.wrapping_sub(range.start) as i64,
        size: Some(range.end.wrapping_sub(range.start)),
        declared: None,
        allocation: Vec::new(),
    }
}

/// The variable as the programmer calls it.
///
/// A mangled symbol says most (`work()::hits`, where DWARF has the two names apart), then come the scopes in
/// DWARF, then the plain symbol: in C, that of a variable in a function has a number (`hits.0`).
fn variable_name(place: &Place<'_>, global: &Global) -> String {
    let symbol = global.symbol.as_deref();
    if let Some(mangled) = symbol.filter(|name| is_mangled(name)) {
        return demangle(mangled);
    }
    let debug = place.image.debug.as_ref().zip(global.die);
    debug
        .and_then(|(debug, die)| debug.qualified_name(die))
        .or_else(|| symbol.map(demangle))
        .unwrap_or_else(|| format!("variable at {:#x}", place.stated))
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
