//! Which frames of an allocation's call path are not where the program decided to allocate.

use carom_base::LINE_BYTES;

use super::Frame;

/// What a function has to do with an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layer {
    /// It hands out memory of which it knows no more than size and alignment.
    Allocator,
    /// Part of a language's library, which allocates on behalf of its callers: `std::vector`, `Box`.
    Library,
    /// The program, or a library that a program is made of.
    Program,
}

/// Those of C, by their whole names.
const C: [&str; 9] = [
    "malloc",
    "calloc",
    "realloc",
    "reallocarray",
    "aligned_alloc",
    "memalign",
    "posix_memalign",
    "valloc",
    "pvalloc",
];
const ALLOCATORS: [&str; 6] = ["operator new", "__rust_", "__rustc::", "__rdl_", "__rg_", "__libc_"];
const LIBRARIES: [&str; 8] =
    ["__gnu_cxx::", "std::", "void std::", "<std::", "alloc::", "<alloc::", "core::", "<core::"];

/// The layer of one frame.
pub(crate) fn layer(frame: &Frame) -> Layer {
    let agent = || {
        let module = frame.module.as_ref().and_then(|module| module.file_name());
        module.is_some_and(|name| name.to_string_lossy().starts_with("libcarom_"))
    };
    let name = frame.function.as_deref().unwrap_or_default();
    let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    if C.contains(&name) || begins(&ALLOCATORS) || agent() {
        Layer::Allocator
    } else if begins(&LIBRARIES) {
        Layer::Library
    } else {
        Layer::Program
    }
}

/// True for the allocator behind `new T`, which makes a single object. `new T[n]` calls another.
pub(super) fn makes_one_object(allocator: &str) -> bool {
    allocator.starts_with("operator new(")
}

/// The most bytes that the number of elements may take at the beginning of the block: `new T[n]` stores it where
/// elements have destructors (Itanium C++ ABI, 2.7), in 8 bytes or, where `T` is aligned to more, in as many.
pub(super) fn count_bytes(allocator: &str) -> u64 {
    match allocator.strip_prefix("operator new[](") {
        Some(parameters) if parameters.contains("align_val_t") => LINE_BYTES,
        Some(_) => 8,
        None => 0,
    }
}
