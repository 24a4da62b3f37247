//! Variables that every thread has for itself: those in the frames on its stack, and its thread-local ones.

use std::ops::Range;

use carom_base::Addr;

use super::dwarf::DieRef;
use super::fields::{Shape, TypeTable, fields_in, name_at};
use super::process::Place;
use super::{ArrayObject, DataObject, Frame, ObjectKind, Symbols};

/// One such variable, in one thread.
pub(super) struct OwnVariable<'a> {
    /// The module that declares it.
    pub(super) place: Place<'a>,
    pub(super) die: Option<DieRef>,
    /// Its bytes in memory.
    pub(super) bytes: Range<u64>,
    /// What the program calls it.
    pub(super) name: String,
    /// Whose it is: `of main, on the stack of app`.
    pub(super) owner: String,
    /// The function that declares it.
    pub(super) function: Option<String>,
    pub(super) kind: ObjectKind,
}

impl Symbols {
    /// The innermost variable of a thread's own that holds a byte.
    pub(super) fn own_variable(&self, addr: Addr) -> Option<OwnVariable<'_>> {
        let touching = self.own_variables(addr.0..addr.0.saturating_add(1));
        touching.into_iter().min_by_key(|variable| variable.bytes.end - variable.bytes.start)
    }

    /// Those with a byte in `window`.
    pub(super) fn own_variables(&self, window: Range<u64>) -> Vec<OwnVariable<'_>> {
        let mut found = self.thread_locals(window.clone());
        found.extend(self.locals(window));
        found
    }
}

impl OwnVariable<'_> {
    /// The variable as an object, for the line of `addr`.
    pub(super) fn object(&self, addr: Addr) -> DataObject {
        let debug = self.place.image.debug.as_ref().zip(self.die);
        let (file, line) = debug.map(|(debug, die)| debug.declaration(die)).unwrap_or_default();
        let declared = Frame {
            function: self.function.clone(),
            file,
            line,
            module: Some(self.place.module.path.clone()),
            address: self.place.stated,
            ..Frame::default()
        };
        DataObject {
            kind: self.kind,
            name: format!("{} {}", self.name, self.owner),
            offset: addr.line().start().0.wrapping_sub(self.bytes.start) as i64,
            size: Some(self.bytes.end - self.bytes.start),
            declared: Some(declared),
            allocation: Vec::new(),
        }
    }

    /// The field that an access of `width` bytes touches.
    pub(super) fn field(&self, addr: Addr, width: u32) -> Option<String> {
        let debug = self.place.image.debug.as_ref()?;
        let of = debug.type_of(self.die?)?;
        let start = addr.0.checked_sub(self.bytes.start)?;
        Some(name_at(debug, of, &self.name, start..start.saturating_add(u64::from(width).max(1))))
    }

    /// The variable as an array, where it is one of a known type.
    pub(super) fn array(&self) -> Option<ArrayObject> {
        let debug = self.place.image.debug.as_ref()?;
        let of = debug.type_of(self.die?)?;
        let Shape::Array { element, .. } = &*debug.shape(of) else { return None };
        Some(ArrayObject {
            base: Addr(self.bytes.start),
            name: Some(self.name.clone()),
            element: debug.type_name(*element)?,
            element_bytes: debug.size(*element),
        })
    }

    /// Its fields with bytes in `window`, by offset in that.
    pub(super) fn layout(&self, window: &Range<u64>) -> Vec<(Range<u64>, String)> {
        let (start, size) = (self.bytes.start, self.bytes.end - self.bytes.start);
        let visible = window.start.saturating_sub(start)..window.end.saturating_sub(start);
        let typed = self.place.image.debug.as_ref().zip(self.die);
        let fields = match typed.and_then(|(debug, die)| Some((debug, debug.type_of(die)?))) {
            Some((debug, of)) => fields_in(debug, of, &self.name, size, visible),
            None => vec![(0..size, self.name.clone())],
        };
        let placed = fields.into_iter().filter_map(|(bytes, name)| {
            let low = start.saturating_add(bytes.start).max(window.start);
            let high = start.saturating_add(bytes.end).min(window.end);
            (low < high).then(|| (low - window.start..high - window.start, name))
        });
        placed.collect()
    }
}
