//! What the bytes of a line are part of.

use std::collections::BTreeMap;

use carom_base::{Addr, Ip, ProcessId, StackId};

use super::analyse::Roster;
use super::layout::{Cell, Part, cells};
use super::tally::{LineKey, LineTally, SiteKey, SiteTally};
use super::{Primitive, own_lock, primitive};
use crate::recording::Names;
use crate::symbols::{DataObject, ObjectKind, array_of, is_of_library};

/// The primitives that accesses belong to, by where they are made.
#[derive(Default)]
pub(super) struct Primitives(BTreeMap<(ProcessId, Ip, StackId), Option<Primitive>>);

impl Primitives {
    /// The cells of a line, with the locks and their like that they are part of.
    pub fn cells(
        &mut self,
        (process, line): LineKey,
        tally: &LineTally,
        roster: Roster<'_>,
        names: &mut dyn Names,
    ) -> Vec<Cell> {
        let sites = tally.sites();
        let mut cells = cells(sites.iter().copied());
        let mut fields = Vec::new();
        for cell in &mut cells {
            let at = Addr(line.start().0.saturating_add(u64::from(cell.extent.offset)));
            let field = names.field(process, at, cell.extent.width);
            let part = |(of, whole): (Primitive, &str)| Part { of, whole: Some(whole.to_owned()) };
            let by_type = field.as_deref().and_then(primitive::of_field).map(part);
            let by_code = self.by_code(cell, &sites, roster, names).map(|of| Part { of, whole: None });
            cell.part = if of_library(&names.object(process, at)) {
                let known = |part: &Part| part.of.is_of_library() || part.of == Primitive::Critical;
                by_code.filter(known).or(Some(Part { of: Primitive::LibraryState, whole: None }))
            } else {
                let own = || Some(part((Primitive::OwnLock, own_lock::of_field(field.as_deref()?)?)));
                by_type.or(by_code).or_else(own)
            };
            cell.array = field.as_deref().and_then(|name| Some(array_of(name)?.to_owned()));
            cell.named = field.is_some();
            fields.push(field);
        }
        name_own_locks(&mut cells, &fields);
        cells
    }

    /// The primitive whose code makes at least half of the accesses; of those that a library has for its own, at least half of the
    /// writes, since a stream or an allocator also reads and copies what is the program's.
    fn by_code(
        &mut self,
        cell: &Cell,
        sites: &[(SiteKey, &SiteTally)],
        roster: Roster<'_>,
        names: &mut dyn Names,
    ) -> Option<Primitive> {
        let (mut all, mut writes) = (0, 0);
        let mut seen: BTreeMap<Primitive, (u64, u64)> = BTreeMap::new();
        for (key, site) in sites.iter().filter(|(key, _)| key.extent.common(cell.extent).is_some()) {
            let written = if key.kind.writes() { site.seen } else { 0 };
            (all, writes) = (all + site.seen, writes + written);
            if let Some(of) = self.of_site((roster.process(key.thread), key.ip, site.stack()), names) {
                let sum = seen.entry(of).or_default();
                *sum = (sum.0 + site.seen, sum.1 + written);
            }
        }
        let (of, most) = seen.into_iter().max_by_key(|(_, seen)| seen.0)?;
        let half = match of.is_of_library() {
            true => writes > 0 && 2 * most.1 >= writes,
            false => 2 * most.0 >= all,
        };
        half.then_some(of)
    }

    /// The primitive whose code accesses from here.
    pub fn of_site(
        &mut self,
        (process, ip, stack): (ProcessId, Ip, StackId),
        names: &mut dyn Names,
    ) -> Option<Primitive> {
        let known = self.0.entry((process, ip, stack));
        *known.or_insert_with(|| primitive::of_path(&names.call_path(process, ip, stack)))
    }
}

/// Whether this is a variable of a language's library, whose fields are no business of the program's author.
fn of_library(object: &DataObject) -> bool {
    object.kind == ObjectKind::Global && object.declared.as_ref().is_some_and(is_of_library)
}

/// A lock of several fields, of which only the functions tell that they are one, has the name of the struct.
fn name_own_locks(cells: &mut [Cell], fields: &[Option<String>]) {
    let of_functions = |cell: &Cell| {
        cell.part.as_ref().is_some_and(|part| part.of == Primitive::OwnLock && part.whole.is_none())
    };
    let structs = cells.iter().zip(fields).filter(|(cell, _)| of_functions(cell));
    let mut structs = structs.map(|(_, field)| Some(field.as_deref()?.rsplit_once('.')?.0));
    let Some(Some(first)) = structs.next() else { return };
    if structs.next() == Some(Some(first)) && structs.all(|other| other == Some(first)) {
        let whole = Some(first.to_owned());
        for cell in cells.iter_mut().filter(|cell| of_functions(cell)) {
            cell.part = Some(Part { of: Primitive::OwnLock, whole: whole.clone() });
        }
    }
}
