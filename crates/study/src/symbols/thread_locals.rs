//! Thread-local variables: those of the program and of libraries that were loaded with it lie at the same distance below the
//! thread pointer in every thread.

use std::ops::Range;

use super::demangle::{demangle, is_mangled};
use super::globals::Global;
use super::image::Image;
use super::own_variable::OwnVariable;
use super::process::{Place, ThreadStack};
use super::{ObjectKind, Symbols};

impl Symbols {
    /// Those with a byte in `window`.
    pub(super) fn thread_locals(&self, window: Range<u64>) -> Vec<OwnVariable<'_>> {
        let mut found = Vec::new();
        for stack in self.stacks.iter().filter(|stack| window.start < stack.thread_pointer) {
            for (start, place) in self.thread_local_blocks(stack, &window) {
                let low = window.start.saturating_sub(start);
                for (offsets, variable) in place.image.thread_locals().touching(low..window.end - start) {
                    let name = name(place.image, variable, offsets.start);
                    found.push(OwnVariable {
                        place: Place { stated: offsets.start, ..place },
                        die: variable.die,
                        bytes: start.saturating_add(offsets.start)..start.saturating_add(offsets.end),
                        name,
                        owner: format!("(thread-local) of {}", stack.name),
                        function: None,
                        kind: ObjectKind::Global,
                    });
                }
            }
        }
        found
    }

    /// The modules whose thread-local variables, of a thread, may have a byte in `window`, with the address of the first one.
    fn thread_local_blocks(&self, stack: &ThreadStack, window: &Range<u64>) -> Vec<(u64, Place<'_>)> {
        let start = |distance: u64| stack.thread_pointer.saturating_sub(distance);
        let mut blocks: Vec<(u64, u64)> =
            self.modules().filter_map(|module| Some((start(module.tls?), module.low))).collect();
        blocks.sort_unstable();
        // Each block ends where the next one begins, at the latest.
        let ends = blocks.iter().skip(1).map(|(next, _)| *next).chain([stack.thread_pointer]);
        let touched =
            blocks.iter().zip(ends).filter(|((start, _), end)| *start < window.end && window.start < *end);
        touched.filter_map(|((start, module), _)| Some((*start, self.place(*module)?))).collect()
    }
}

fn name(image: &Image, variable: &Global, offset: u64) -> String {
    let symbol = variable.symbol.as_deref();
    if let Some(mangled) = symbol.filter(|name| is_mangled(name)) {
        return demangle(mangled);
    }
    let debug = image.debug.as_ref().zip(variable.die);
    let qualified = debug.and_then(|(debug, die)| debug.qualified_name(die));
    qualified.or_else(|| symbol.map(str::to_owned)).unwrap_or_else(|| format!("variable at {offset:#x}"))
}
