//! The type of a heap block, inferred from who allocated it.
//!
//! Nothing records what a block is for. But the function that called the allocator holds the address in a typed
//! pointer: a variable, its return type, an out-parameter, or a member of something that it was given. What fits none of
//! these has gone to a variable outside the functions. A type is
//! believed only where the block's size bears it out and no other type would do as well: no name is better than a
//! wrong one.

use carom_base::{Addr, Ip, LINE_BYTES};

use super::allocator::{Layer, count_bytes, layer, makes_one_object};
use super::dwarf::{DebugInfo, DieRef};
use super::fields::TypeTable;
use super::globals::Global;
use super::intervals::Intervals;
use super::pointers::{Candidate, candidate, in_scope, of_file};
use super::{Frame, Symbols};

/// Functions of the program asked for the type: the one that called the allocator, and callers that it may have
/// returned the block to.
const MAX_ASKED: usize = 4;

/// The type that a heap block is taken to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeapType {
    /// `struct stats`, `class demo::Pool`: with the keyword, so that it is not taken for a variable.
    pub name: String,
    /// Bytes of one object of the type; the block may be an array.
    pub size: u64,
    /// How the block's size relates to it.
    pub(super) fit: Fit,
    /// An instruction in the module whose debug information has the type.
    pub(super) code: u64,
    pub(super) die: DieRef,
}

/// How a block's size bears a type out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// One object.
    Exact,
    /// The block begins and ends with a cache line and has no line too many: one object whose size was rounded up,
    /// as `aligned_alloc` asks for, or an array that happens to lie there.
    Rounded,
    /// Several objects.
    Array,
}

/// The known facts about the block.
#[derive(Clone, Copy, Debug)]
struct Block {
    size: u64,
    /// It begins with a cache line.
    aligned: bool,
    /// It was made for a single object.
    one_object: bool,
    /// Bytes that may come before the first object.
    count_bytes: u64,
}

/// What one function's declarations say.
enum Verdict {
    Found(HeapType),
    /// Several types, or one without fields.
    Undecided,
    /// Nothing of the right size.
    Nothing,
}

/// A function on the call path.
struct Call<'a> {
    frame: Frame,
    code: u64,
    function: Option<(&'a DebugInfo, DieRef)>,
    /// The variables of its module.
    globals: Option<&'a Intervals<Global>>,
}

impl Symbols {
    /// The type of a heap block of `size` bytes at `base` that was allocated on this call path (innermost first,
    /// as in [`Symbols::call_path`]). `None` where nothing fits, where several types do, and without debug
    /// information. Blocks of one path and size have the same type, apart from whether they begin with a line.
    pub fn heap_type(&self, path: &[Ip], base: Addr, size: u64) -> Option<HeapType> {
        let mut block =
            Block { size, aligned: base.offset_in_line() == 0, one_object: false, count_bytes: 0 };
        let (mut in_library, mut asked) = (false, 0);
        for call in path.iter().enumerate().flat_map(|(index, ip)| self.calls(*ip, index > 0)) {
            let name = call.frame.function.as_deref().unwrap_or_default();
            let verdict = match layer(&call.frame) {
                Layer::Allocator if asked == 0 => {
                    block.one_object |= makes_one_object(name);
                    block.count_bytes = count_bytes(name).max(block.count_bytes);
                    continue;
                }
                Layer::Library if asked == 0 => {
                    in_library = true;
                    call.function.map_or(Verdict::Nothing, |(debug, die)| {
                        in_library_function(debug, die, block, call.code)
                    })
                }
                // The library's caller has no pointer to what the library keeps in the block.
                _ if in_library || asked == MAX_ASKED => return None,
                _ => {
                    asked += 1;
                    let (debug, die) = call.function?;
                    match in_function(debug, die, &call, block) {
                        Verdict::Nothing if !passes_on(debug, die) => {
                            let globals = call.globals.map(|globals| of_file(debug, globals, die));
                            return match choose(&globals.unwrap_or_default(), block, call.code) {
                                Verdict::Found(found) => Some(found),
                                _ => None,
                            };
                        }
                        verdict => verdict,
                    }
                }
            };
            match verdict {
                Verdict::Found(found) => return Some(found),
                Verdict::Undecided => return None,
                Verdict::Nothing => {}
            }
        }
        None
    }

    /// The functions at an instruction with their entries in DWARF, innermost inlined one first.
    fn calls(&self, ip: Ip, is_return_address: bool) -> Vec<Call<'_>> {
        let frames = self.frames(ip, is_return_address);
        let place = self.place(ip.0);
        let debug = place.as_ref().and_then(|place| place.image.debug.as_ref());
        let probe = place.as_ref().map_or(0, |place| place.stated.wrapping_sub(is_return_address.into()));
        let functions = debug.map(|debug| debug.functions_at(probe)).unwrap_or_default();
        // The outermost function is the one that both know for sure.
        let (known, found) = (frames.len(), functions.len());
        let entry = |index: usize| {
            let function = (index + found).checked_sub(known).and_then(|index| functions.get(index));
            debug.zip(function.copied())
        };
        let globals = place.as_ref().map(|place| place.image.globals());
        let call = |(index, frame)| Call { frame, code: ip.0, function: entry(index), globals };
        frames.into_iter().enumerate().map(call).collect()
    }
}

/// A library's function knows the type by the pointer that it returns (`std::allocator<T>::allocate`) or by what
/// it is instantiated for (`std::make_unique<T>`).
fn in_library_function(debug: &DebugInfo, function: DieRef, block: Block, code: u64) -> Verdict {
    let returned = debug.type_of(function).and_then(|of| debug.pointee(of));
    // `*mut u8` is Rust's `void *`.
    if let Some(of) = returned.filter(|of| debug.size(*of) > 1) {
        // Containers allocate any number of objects with the function that is behind `new T`, and round nothing up.
        let block = Block { one_object: false, aligned: false, ..block };
        return match choose(&[candidate(debug, of, false)], block, code) {
            Verdict::Nothing => Verdict::Undecided,
            verdict => verdict,
        };
    }
    let arguments = debug.declared_in(function).type_arguments;
    let records: Vec<Candidate> = arguments
        .into_iter()
        .map(|of| candidate(debug, of, false))
        .filter(|candidate| candidate.record.is_some())
        .collect();
    choose(&records, block, code)
}

fn in_function(debug: &DebugInfo, function: DieRef, call: &Call<'_>, block: Block) -> Verdict {
    let candidates = in_scope(debug, function, &call.frame);
    let initialised: Vec<_> = candidates.iter().filter(|candidate| candidate.initialised).collect();
    if initialised.is_empty() {
        return choose(&candidates, block, call.code);
    }
    match choose(initialised, block, call.code) {
        Verdict::Nothing => Verdict::Undecided,
        verdict => verdict,
    }
}

/// The only type that fits, one object before several. Types of one name and size are one type, which each unit
/// describes anew.
fn choose<'a>(candidates: impl IntoIterator<Item = &'a Candidate>, block: Block, code: u64) -> Verdict {
    let fitting =
        candidates.into_iter().filter_map(|candidate| Some((block.fit(candidate.size)?, candidate)));
    let (exact, loose): (Vec<_>, Vec<_>) = fitting.partition(|(fit, _)| *fit == Fit::Exact);
    let fitting = if exact.is_empty() { loose } else { exact };
    let Some((fit, first)) = fitting.first() else { return Verdict::Nothing };
    let same = |other: &Candidate| (&other.record, other.size) == (&first.record, first.size);
    match &first.record {
        Some(name) if fitting.iter().all(|(_, candidate)| same(candidate)) => {
            Verdict::Found(HeapType { name: name.clone(), size: first.size, fit: *fit, code, die: first.of })
        }
        _ => Verdict::Undecided,
    }
}

/// True where the block may reach the caller: the function returns a pointer, or is given a place for one.
fn passes_on(debug: &DebugInfo, function: DieRef) -> bool {
    let given = |parameter: &DieRef| {
        let place = debug.type_of(*parameter).and_then(|of| debug.pointee(of));
        place.is_some_and(|of| debug.is_pointer(of))
    };
    debug.type_of(function).is_some_and(|of| debug.is_pointer(of))
        || debug.declared_in(function).parameters.iter().any(given)
}

impl Block {
    fn fit(self, one: u64) -> Option<Fit> {
        if one == 0 || self.size == 0 {
            return None;
        }
        if one == self.size {
            return Some(Fit::Exact);
        }
        // Where such small objects begin cannot be told from the size.
        if self.one_object || !self.size.is_multiple_of(one) || one <= self.count_bytes {
            return None;
        }
        let rounded = self.aligned && one.checked_next_multiple_of(LINE_BYTES) == Some(self.size);
        Some(if rounded { Fit::Rounded } else { Fit::Array })
    }
}
