//! What the C library locks for itself: its streams and its allocator.

use super::Primitive;

/// Functions of streams by their whole names, leading underscores left out.
const STREAMS: [&str; 22] = [
    "fclose",
    "fflush",
    "fgetc",
    "fgets",
    "flockfile",
    "fprintf",
    "fputc",
    "fputs",
    "fread",
    "funlockfile",
    "fwrite",
    "getc",
    "getdelim",
    "getline",
    "overflow",
    "printf",
    "putc",
    "putchar",
    "puts",
    "uflow",
    "underflow",
    "vfprintf",
];

/// And by how they begin, within glibc.
const STREAMS_WITHIN: [&str; 3] = ["IO_", "vfprintf_", "printf_"];

/// Functions of the allocator that are not called by programs, and `free`.
const ALLOCATION: [&str; 9] = [
    "free",
    "cfree",
    "alloc_perturb",
    "malloc_consolidate",
    "systrim",
    "sysmalloc",
    "unlink_chunk",
    "arena_get2",
    "int_realloc",
];
const ALLOCATION_WITHIN: [&str; 4] = ["int_malloc", "int_free", "int_memalign", "tcache_"];

/// What a function of the C library, by its name without leading underscores, uses on behalf of its callers.
pub(super) fn primitive(function: &str) -> Option<Primitive> {
    let is = |whole: &[&str], within: &[&str]| {
        whole.contains(&function) || within.iter().any(|beginning| function.starts_with(beginning))
    };
    if is(&STREAMS, &STREAMS_WITHIN) {
        Some(Primitive::Stream)
    } else if is(&ALLOCATION, &ALLOCATION_WITHIN) {
        Some(Primitive::Allocator)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inner_functions_of_glibc_are_known_too() {
        let found =
            ["IO_file_xsputn", "vfprintf_internal", "int_free_merge_chunk", "free", "memcpy", "qsort"]
                .map(primitive);
        use Primitive::{Allocator, Stream};
        assert_eq!(found, [Some(Stream), Some(Stream), Some(Allocator), Some(Allocator), None, None]);
    }
}
