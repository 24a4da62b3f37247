//! Which runtime that makes code while it runs a program is, by what its file is linked with and what it exports.
//!
//! Code that is made at run time is not translated: most of such a program would not be observed.

use std::{fs::File, path::Path};

use object::{
    Endianness, FileKind, ReadCache, ReadRef, elf,
    read::{
        StringTable,
        elf::{Dyn, ElfFile64, SectionHeader, Sym},
    },
};

/// A library that a program is linked with, by how its name begins, and whose code it makes.
const LIBRARIES: [(&str, &str); 9] = [
    ("libjli.so", "Java"),
    ("libjvm.so", "Java"),
    ("libnode.so", "V8"),
    ("libv8", "V8"),
    ("libluajit-", "LuaJIT"),
    ("libmono", "Mono"),
    ("libpypy", "PyPy"),
    ("libcoreclr.so", ".NET"),
    ("libjulia.so", "Julia"),
];

/// A function that a program exports where the runtime is part of it.
const EXPORTS: [(&str, &str); 4] = [
    ("_ZN2v87Isolate10GetCurrentEv", "V8"),
    ("luaJIT_setmode", "LuaJIT"),
    ("mono_jit_init", "Mono"),
    ("pypy_execute_source", "PyPy"),
];

/// The runtime in a program's file.
pub fn of(path: &Path) -> Option<&'static str> {
    let file = File::open(path).ok()?;
    of_elf(&ReadCache::new(file))
}

fn of_elf<'data, R: ReadRef<'data>>(bytes: R) -> Option<&'static str> {
    if FileKind::parse(bytes).ok()? != FileKind::Elf64 {
        return None;
    }
    let file = ElfFile64::<Endianness, R>::parse(bytes).ok()?;
    let (endian, sections) = (file.endian(), file.elf_section_table());
    let (entries, strings) = sections.dynamic(endian, bytes).ok()??;
    let strings = sections.strings(endian, bytes, strings).ok()?;
    let needed = entries.iter().filter(|entry| entry.d_tag(endian) == elf::DT_NEEDED);
    let needed = needed.filter_map(|entry| strings.get(entry.d_val(endian).try_into().ok()?).ok());
    let by_library = |name: &[u8]| {
        LIBRARIES.iter().find(|(begins, _)| name.starts_with(begins.as_bytes())).map(|(_, runtime)| *runtime)
    };
    let exported = || {
        let symbols = file.elf_dynamic_symbol_table();
        // All names at once: each by itself takes two system calls, and there may be many thousands.
        let names = sections.section(symbols.string_section()).ok()?.data(endian, bytes).ok()?;
        let names = StringTable::new(names, 0, names.len() as u64);
        let mut defined = symbols.iter().filter(|symbol| !symbol.is_undefined(endian));
        defined.find_map(|symbol| {
            let name = symbol.name(endian, names).ok()?;
            EXPORTS.iter().find(|(export, _)| name == export.as_bytes()).map(|(_, runtime)| *runtime)
        })
    };
    needed.into_iter().find_map(by_library).or_else(exported)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_are_compiled_beforehand_have_no_runtime() {
        assert_eq!(of(Path::new("/bin/sh")), None);
        assert_eq!(of(Path::new("/etc/passwd")), None);
        let elf = std::fs::read("/bin/ls").unwrap();
        for length in (0..elf.len()).step_by(997) {
            let _ = of_elf(&elf[..length]);
        }
    }

    #[test]
    fn runtimes_are_known_by_what_they_are_linked_with() {
        // The name of another library, in the same place.
        let mut elf = std::fs::read("/bin/ls").unwrap();
        let name = elf.windows(9).position(|window| window == b"libc.so.6").expect("the C library");
        elf[name..name + 9].copy_from_slice(b"libjli.so");
        assert_eq!(of_elf(elf.as_slice()), Some("Java"));
    }
}
