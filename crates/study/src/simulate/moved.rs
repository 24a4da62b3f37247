//! Where bytes of memory lie: those of different processes apart, and elsewhere after a change of the layout.

use std::iter;

use carom_base::{Addr, ProcessId};

/// Processes have addresses of their own: the lowest bits of the process's number become the highest ones of an address, which
/// no address of a program uses.
const PROCESS_SHIFT: u32 = 48;

/// An address as the simulator has it.
pub(crate) fn tagged(process: ProcessId, addr: Addr) -> Addr {
    Addr(addr.0 ^ u64::from(process.0) << PROCESS_SHIFT)
}

/// Objects with a changed layout lie above all addresses that a program has (47 bits), and below those of other processes
/// ([`tagged`]).
const FIRST: u64 = 1 << 47;

/// A moved object keeps its place in this, so that it stays in the same sets of most caches.
const WITHIN: u64 = 1 << 20;

/// Bytes that move together, or elements that move apart. Addresses are those that the simulator has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    low: u64,
    /// One past the last byte.
    high: u64,
    /// Where the first byte lies.
    to: u64,
    /// Bytes that stay together, and from one such to the next afterwards.
    element: u64,
    stride: u64,
}

/// An object whose layout changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Object {
    pub process: ProcessId,
    pub start: u64,
    pub size: u64,
    /// What it is aligned to.
    pub alignment: u64,
    pub parts: Parts,
}

impl Object {
    /// The addresses that it has before the change, as the simulator has them: from the first to one past the last.
    pub fn tagged(&self) -> (u64, u64) {
        let first = tagged(self.process, Addr(self.start)).0;
        (first, first + self.size)
    }
}

/// What begins at a multiple of the alignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Parts {
    /// What is at these offsets, in their order.
    At(Vec<u64>),
    /// Every element of so many bytes.
    Elements(u64),
}

/// Where bytes lie, by address.
#[derive(Clone, Debug, Default)]
pub(super) struct Moved {
    /// In the order of addresses, without overlap.
    runs: Vec<Run>,
    /// By object: its addresses afterwards, from the first to one past the last.
    places: Vec<(u64, u64)>,
}

impl Moved {
    /// Objects that do not overlap.
    pub fn new(objects: &[Object]) -> Self {
        let mut moved = Self::default();
        let mut next = FIRST;
        for object in objects {
            let Object { process, start, size, alignment, ref parts } = *object;
            let wanted = (start & !(alignment - 1)) % WITHIN;
            let to = next - next % WITHIN + wanted + if wanted < next % WITHIN { WITHIN } else { 0 };
            let runs = match parts {
                Parts::At(offsets) => cut(start, size, alignment, to, offsets),
                Parts::Elements(bytes) => {
                    let stride = bytes.next_multiple_of(alignment);
                    vec![Run { low: start, high: start + size, to, element: *bytes, stride }]
                }
            };
            let end = runs.last().map_or(to, |run| run.after(run.high - 1) + 1).next_multiple_of(alignment);
            // Of the address of a process only the highest bits change, so distances stay.
            let tag = |at| tagged(process, Addr(at)).0;
            moved.runs.extend(runs.into_iter().map(|run| Run {
                low: tag(run.low),
                high: tag(run.high - 1) + 1,
                to: tag(run.to),
                ..run
            }));
            moved.places.push((tag(to), tag(end - 1) + 1));
            next = end.next_multiple_of(WITHIN);
        }
        moved.runs.sort_unstable_by_key(|run| run.low);
        moved
    }

    /// By object: the addresses that it has afterwards, from the first to one past the last.
    pub fn places(&self) -> &[(u64, u64)] {
        &self.places
    }

    /// Where bytes from `addr` on lie, and how many of `width` lie together there.
    pub fn first(&self, addr: Addr, width: u32) -> (Addr, u32) {
        let behind = self.runs.partition_point(|run| run.low <= addr.0);
        let inside = behind.checked_sub(1).and_then(|at| self.runs.get(at)).filter(|run| addr.0 < run.high);
        let (to, end) = match inside {
            Some(run) => {
                let whole = (addr.0 - run.low) / run.element * run.element;
                (run.after(addr.0), (run.low + whole + run.element).min(run.high))
            }
            None => (addr.0, self.runs.get(behind).map_or(u64::MAX, |run| run.low)),
        };
        (Addr(to), u64::from(width).min(end - addr.0) as u32)
    }

    /// Where all `width` bytes from `addr` on lie: the first of each piece, and how many lie together there. One piece at least.
    pub fn pieces(&self, addr: Addr, width: u32) -> impl Iterator<Item = (Addr, u32)> {
        let mut left = Some((addr, width));
        iter::from_fn(move || {
            let (addr, width) = left?;
            let (to, together) = self.first(addr, width);
            left = (together < width).then(|| (Addr(addr.0 + u64::from(together)), width - together));
            Some((to, together))
        })
    }
}

impl Run {
    /// Where a byte of it lies afterwards.
    fn after(&self, at: u64) -> u64 {
        let from = at - self.low;
        self.to + from / self.element * self.stride + from % self.element
    }
}

/// The parts of an object between these offsets, each at the next multiple of the alignment.
fn cut(start: u64, size: u64, alignment: u64, mut to: u64, offsets: &[u64]) -> Vec<Run> {
    let begins = iter::once(0).chain(offsets.iter().copied().filter(|at| (1..size).contains(at)));
    let begins: Vec<u64> = begins.collect();
    let ends = begins.iter().copied().skip(1).chain([size]);
    let each = begins.iter().zip(ends).map(|(begin, end)| {
        let bytes = end - begin;
        let run = Run { low: start + begin, high: start + end, to, element: bytes, stride: bytes };
        to = (to + bytes).next_multiple_of(alignment);
        run
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(start: u64, size: u64, parts: Parts) -> Object {
        Object { process: ProcessId(0), start, size, alignment: 64, parts }
    }

    /// Two counters of 8 bytes from 0x1008 on, of which the second one gets its own line.
    #[test]
    fn what_is_padded_begins_a_line() {
        let moved = Moved::new(&[object(0x1008, 16, Parts::At(vec![8]))]);
        let at = |addr, width| moved.first(Addr(addr), width);
        let line = FIRST + 0x1000;
        assert_eq!(at(0x1008, 8), (Addr(line), 8));
        assert_eq!(at(0x1010, 8), (Addr(line + 64), 8));
        assert_eq!(at(0x1014, 4), (Addr(line + 68), 4));
        // What lies beside it stays.
        assert_eq!(at(0x1000, 8), (Addr(0x1000), 8));
        assert_eq!(at(0x1018, 8), (Addr(0x1018), 8));
        // An access to both is one to two places, and so is one that begins before.
        assert_eq!(at(0x1008, 16), (Addr(line), 8));
        assert_eq!(at(0x1004, 8), (Addr(0x1004), 4));
        assert_eq!(moved.places(), [(line, line + 128)]);
    }

    #[test]
    fn elements_are_aligned_one_by_one() {
        let moved = Moved::new(&[object(0x1010, 48, Parts::Elements(24))]);
        let line = FIRST + 0x1000;
        assert_eq!(moved.first(Addr(0x1010), 8), (Addr(line), 8));
        assert_eq!(moved.first(Addr(0x1028), 8), (Addr(line + 64), 8));
        assert_eq!(moved.first(Addr(0x1020), 16), (Addr(line + 16), 8));
        assert_eq!(moved.first(Addr(0x103f), 8), (Addr(line + 64 + 23), 1));
        assert_eq!(moved.places(), [(line, line + 128)]);
    }

    /// Objects of two processes at the same address.
    #[test]
    fn each_object_has_a_place_of_its_own() {
        let one = object(0x1000, 64, Parts::At(vec![]));
        let other = Object { process: ProcessId(1), ..one.clone() };
        let near = object(0x2000, 64, Parts::At(vec![]));
        let moved = Moved::new(&[one, other, near]);
        let places: Vec<u64> = [(0, 0x1000), (1, 0x1000), (0, 0x2000)]
            .map(|(process, at)| moved.first(tagged(ProcessId(process), Addr(at)), 8).0.0)
            .to_vec();
        assert_eq!(places, moved.places().iter().map(|(first, _)| *first).collect::<Vec<_>>());
        assert_eq!(places[0], FIRST + 0x1000);
        assert_eq!(places[1], (1 << 48 ^ FIRST) + 0x1000 + WITHIN);
        assert_eq!(places[2], FIRST + 0x2000 + 2 * WITHIN);
    }
}
