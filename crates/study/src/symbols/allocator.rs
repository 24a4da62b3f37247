//! Which frames of a call path are the program's own, and which are where it allocates.

use carom_base::LINE_BYTES;

use super::Frame;

/// What a function has to do with an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layer {
    /// It hands out memory of which it knows no more than size and alignment.
    Allocator,
    /// Part of a language's library, which works on behalf of its callers: `std::vector`, `Box`, `memcpy`.
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

/// Parts of the paths where the sources of these libraries lie, for functions that DWARF names without their scope, as it
/// does those that were inlined: Rust's (`/rustc/HASH/library/…`, or below the toolchain), what Rust's are made of, and the
/// headers of libstdc++ and libc++.
const SOURCES: [&str; 6] = [
    "/library/alloc/src/",
    "/library/std/src/",
    "/library/core/src/",
    "/rust/deps/",
    "/include/c++/",
    "-linux-gnu/c++/",
];

/// How the files of the C library, and of the libraries that compilers bring along, begin.
const MODULES: [&str; 14] = [
    "ld-2.",
    "ld-linux",
    "ld-musl",
    "libc++.so",
    "libc-",
    "libc.so",
    "libgcc_s.so",
    "libgfortran.so",
    "libgomp.so",
    "libm-",
    "libm.so",
    "libomp.so",
    "libpthread",
    "libstdc++.so",
];

/// True for a function that the program did not write itself, but that a language brings along.
pub fn is_of_library(frame: &Frame) -> bool {
    layer(frame) != Layer::Program
}

/// The layer of one frame.
pub(crate) fn layer(frame: &Frame) -> Layer {
    let module = frame.module.as_ref().and_then(|module| module.file_name());
    let module = module.map(|name| name.to_string_lossy()).unwrap_or_default();
    let name = frame.function.as_deref().unwrap_or_default();
    let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    let file = frame.file.as_deref().unwrap_or_default();
    if C.contains(&name) || begins(&ALLOCATORS) || module.starts_with("libcarom_") {
        Layer::Allocator
    } else if begins(&LIBRARIES)
        || SOURCES.iter().any(|part| file.contains(part))
        || MODULES.iter().any(|begin| module.starts_with(begin))
    {
        Layer::Library
    } else {
        Layer::Program
    }
}

/// How the names of functions end that allocate for their callers: `xmalloc`, `g_malloc`, `zcalloc`, `PyObject_Malloc`.
const WRAPPERS: [&str; 6] = ["malloc", "calloc", "realloc", "memalign", "zalloc", "strdup"];

/// Whether a function of the program is, by its name, one that allocates for its callers.
pub(crate) fn wraps_allocator(frame: &Frame) -> bool {
    let name = frame.function.as_deref().unwrap_or_default().to_ascii_lowercase();
    WRAPPERS.iter().any(|end| name.ends_with(end))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn check(function: &str, file: &str, expect: Layer) {
        let file = Some(file.to_owned()).filter(|file| !file.is_empty());
        let frame = Frame { function: Some(function.to_owned()), file, ..Frame::default() };
        assert_eq!(layer(&frame), expect, "{function} {:?}", frame.file);
    }

    #[test]
    fn scopes_tell_libraries_from_programs() {
        check("calloc", "", Layer::Allocator);
        check("operator new(unsigned long)", "", Layer::Allocator);
        check("alloc::raw_vec::RawVec<T>::reserve", "", Layer::Library);
        check("std::vector<int>::push_back(int const&)", "", Layer::Library);
        check("allocate_nodes", "src/list.rs", Layer::Program);
    }

    #[test]
    fn libraries_that_compilers_bring_along_are_not_the_program() {
        let layer_in = |module: &str| {
            let function = Some("copy".to_owned());
            layer(&Frame { function, module: Some(module.into()), ..Frame::default() })
        };
        let libraries =
            ["/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/libgomp.so.1", "/lib64/ld-linux-x86-64.so.2"];
        assert!(libraries.map(layer_in).iter().all(|layer| *layer == Layer::Library));
        for program in ["/usr/bin/ld", "/usr/lib/libcrypto.so.3", "/usr/lib/libmath.so"] {
            assert_eq!(layer_in(program), Layer::Program, "{program}");
        }
    }

    /// Inlined into the program, a function has its own name alone.
    #[test]
    fn sources_tell_where_scopes_are_missing() {
        let rust = "/rustc/59807616e1fa2540724bfbac14d7976d7e4a3860/library/alloc/src/alloc.rs";
        check("alloc_zeroed", rust, Layer::Library);
        check("alloc_zeroed", "src/arena.rs", Layer::Program);
        check("new_uninitialized<Global>", "/rust/deps/hashbrown-0.15.5/src/raw/mod.rs", Layer::Library);
        check("allocate", "/usr/include/c++/12/bits/new_allocator.h", Layer::Library);
        check(
            "__gthread_mutex_lock",
            "/usr/include/x86_64-linux-gnu/c++/12/bits/gthr-default.h",
            Layer::Library,
        );
    }
}
