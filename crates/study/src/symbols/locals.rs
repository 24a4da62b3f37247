//! Variables in the frames on a thread's stack.
//!
//! The recording tells where frames lay while their thread made other threads. A variable that is shared by its address mostly
//! lies in one of them, because its function waits for the others.

use std::ops::Range;

use super::dwarf::{DebugInfo, DieRef};
use super::fields::TypeTable;
use super::frame_base::FrameAt;
use super::own_variable::OwnVariable;
use super::process::{StackFrame, ThreadStack};
use super::{ObjectKind, Symbols};

/// Blocks and inlined functions nest less deeply; more is not looked into.
const MAX_NESTING: usize = 64;

impl Symbols {
    /// Those with a byte in `window`. Where frames of different times lay in one place, and have different variables there,
    /// it has no name.
    pub(super) fn locals(&self, window: Range<u64>) -> Vec<OwnVariable<'_>> {
        let holds = |stack: &&ThreadStack| (stack.low..stack.high).contains(&window.start);
        let Some(stack) = self.stacks.iter().find(holds) else { return Vec::new() };
        let mut found: Vec<OwnVariable<'_>> = Vec::new();
        for frames in &stack.frames {
            for frame in frames.windows(2).filter_map(|pair| <&[StackFrame; 2]>::try_from(pair).ok()) {
                let [inner, outer] = frame;
                if inner.end < window.end && window.start < outer.end {
                    self.locals_of(stack, inner.end, *outer, &window, &mut found);
                }
            }
        }
        let same = |a: &OwnVariable<'_>, b: &OwnVariable<'_>| (a.die, &a.bytes) == (b.die, &b.bytes);
        let overlap = |a: &OwnVariable<'_>, b: &OwnVariable<'_>| {
            a.bytes.start < b.bytes.end && b.bytes.start < a.bytes.end
        };
        let alone = |index: &usize| {
            let one = &found[*index];
            found.iter().all(|other| same(one, other) || !overlap(one, other))
        };
        let first = |index: &usize| !found[..*index].iter().any(|other| same(&found[*index], other));
        let kept: Vec<bool> = (0..found.len()).map(|index| alone(&index) && first(&index)).collect();
        found.into_iter().zip(kept).filter_map(|(variable, kept)| kept.then_some(variable)).collect()
    }

    /// Adds the variables of one frame, whose first byte is at `sp`.
    fn locals_of<'a>(
        &'a self,
        stack: &ThreadStack,
        sp: u64,
        frame: StackFrame,
        window: &Range<u64>,
        found: &mut Vec<OwnVariable<'a>>,
    ) {
        let Some(place) = self.place(frame.ip.wrapping_sub(1)) else { return };
        let Some(debug) = place.image.debug.as_ref() else { return };
        let functions = debug.functions_at(place.stated);
        // The outermost one has the frame; the others were inlined into it.
        let Some(function) = functions.last() else { return };
        let at = FrameAt { probe: place.stated, cfa: frame.end, sp };
        let Some(base) = debug.frame_base(*function, at) else { return };
        for function in &functions {
            for variable in debug.variables_in_scope(*function, at.probe) {
                let Some(start) = debug.on_stack(variable, at, base) else { continue };
                let size = debug.type_of(variable).map_or(0, |of| debug.size(of));
                let bytes = start..start.saturating_add(size);
                let inside = sp <= bytes.start && bytes.end <= stack.high;
                if !inside || bytes.end <= window.start || window.end <= bytes.start {
                    continue;
                }
                let Some(name) = debug.local_name(variable) else { continue };
                let function = debug.qualified_name(*function);
                let of = function.as_deref().unwrap_or("a function");
                found.push(OwnVariable {
                    place,
                    die: Some(variable),
                    bytes,
                    name,
                    owner: format!("of {of}, on the stack of {}", stack.name),
                    function,
                    kind: ObjectKind::Stack,
                });
            }
        }
    }
}

impl DebugInfo {
    /// The variables and parameters of a function whose blocks hold an instruction.
    fn variables_in_scope(&self, function: DieRef, probe: u64) -> Vec<DieRef> {
        let mut found = Vec::new();
        self.collect_in_scope(function, probe, MAX_NESTING, &mut found);
        found
    }

    fn collect_in_scope(&self, block: DieRef, probe: u64, depth: usize, found: &mut Vec<DieRef>) {
        let Some(depth) = depth.checked_sub(1) else { return };
        for (die, entry) in self.children(block) {
            match entry.tag() {
                gimli::DW_TAG_variable | gimli::DW_TAG_formal_parameter => found.push(die),
                gimli::DW_TAG_lexical_block if self.covers(die, &entry, probe) => {
                    self.collect_in_scope(die, probe, depth, found);
                }
                _ => {}
            }
        }
    }
}
