//! Typed pointers that can have received what a function allocated.

use super::Frame;
use super::dwarf::{DebugInfo, DieRef};
use super::fields::{Shape, TypeTable};
use super::globals::Global;
use super::intervals::Intervals;

/// A type that something has a pointer to.
pub(super) struct Candidate {
    pub of: DieRef,
    /// `None` for numbers, characters, pointers.
    pub record: Option<String>,
    pub size: u64,
    /// The pointer is declared where the allocation is written: `struct stats *s = malloc(sizeof *s);`.
    pub initialised: bool,
}

/// The types that the function has pointers to, where these can have received what it allocated. A parameter
/// cannot, but what it points to can: `*out = malloc(…)`, `list->head = malloc(…)`.
pub(super) fn in_scope(debug: &DebugInfo, function: DieRef, frame: &Frame) -> Vec<Candidate> {
    let mut declared = debug.declared_in(function);
    if frame.function.as_deref() == Some("main") {
        // Its `char **` is no place for what it allocates.
        declared.parameters.clear();
    }
    let mut found = Vec::new();
    found.extend(
        debug.type_of(function).and_then(|of| debug.pointee(of)).map(|of| candidate(debug, of, false)),
    );
    for variable in &declared.variables {
        if let Some(of) = debug.type_of(*variable).and_then(|of| debug.pointee(of)) {
            let initialised = frame.line.is_some() && debug.declaration(*variable).1 == frame.line;
            found.push(candidate(debug, of, initialised));
        }
    }
    for holder in declared.variables.iter().chain(&declared.parameters) {
        let Some(of) = debug.type_of(*holder) else { continue };
        let held = debug.pointee(of).unwrap_or(of);
        found.extend(debug.pointee(held).map(|of| candidate(debug, of, false)));
        if let Shape::Record { members, .. } = &*debug.shape(held) {
            let targets = members.iter().filter_map(|member| debug.pointee(member.of));
            found.extend(targets.map(|of| candidate(debug, of, false)));
        }
    }
    found
}

/// The types that the variables outside the functions of the same file point to: `static struct stats *stats;`.
pub(super) fn of_file(debug: &DebugInfo, globals: &Intervals<Global>, function: DieRef) -> Vec<Candidate> {
    let of_unit = globals
        .touching(0..u64::MAX)
        .filter_map(|(_, global)| global.die)
        .filter(|die| die.unit == function.unit);
    // A `void *` may hold anything, like a `char *`.
    let anything = |of| Candidate { of, record: None, size: 1, initialised: false };
    let types = of_unit.filter_map(|die| debug.type_of(die)).filter(|of| debug.is_pointer(*of));
    types.map(|of| debug.pointee(of).map_or_else(|| anything(of), |to| candidate(debug, to, false))).collect()
}

pub(super) fn candidate(debug: &DebugInfo, of: DieRef, initialised: bool) -> Candidate {
    Candidate { of, record: debug.record_name(of), size: debug.size(of), initialised }
}
