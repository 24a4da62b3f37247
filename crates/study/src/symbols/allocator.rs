//! Which frames of an allocation's call path are not where the program decided to allocate.

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

/// The allocators of C that take an alignment: what they are asked for is often rounded up to it.
const ALIGNED: [&str; 5] = ["aligned_alloc", "memalign", "posix_memalign", "valloc", "pvalloc"];
const PLAIN: [&str; 4] = ["malloc", "calloc", "realloc", "reallocarray"];
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
    if ALIGNED.contains(&name) || PLAIN.contains(&name) || begins(&ALLOCATORS) || agent() {
        Layer::Allocator
    } else if begins(&LIBRARIES) {
        Layer::Library
    } else {
        Layer::Program
    }
}

/// True for an allocator that takes an alignment.
pub(super) fn takes_alignment(allocator: &str) -> bool {
    ALIGNED.contains(&allocator) || allocator.starts_with("operator new") && allocator.contains("align_val_t")
}

/// True for the allocator behind `new T`, which makes a single object. `new T[n]` calls another.
pub(super) fn makes_one_object(allocator: &str) -> bool {
    allocator.starts_with("operator new(")
}
