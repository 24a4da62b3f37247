//! What loaded libraries define, without the C library's search: where that finds nothing it allocates the words of an error, and
//! from then on the program's blocks lie elsewhere.
//!
//! It takes the lock of the loader.

use std::{
    ffi::{CStr, c_char, c_int, c_void},
    slice,
};

/// A name, and what is known of it.
struct Question<'a> {
    name: &'a CStr,
    hash: u32,
    defined: bool,
}

/// Whether a library that is loaded, or the program, defines the symbol `name`. Also where it may: where it is old, and has no
/// table of hashes of GNU's kind.
pub fn is_defined(name: &CStr) -> bool {
    let mut question = Question { name, hash: hash(name), defined: false };
    // SAFETY: the function takes what is passed on to it.
    unsafe { libc::dl_iterate_phdr(Some(ask), (&raw mut question).cast()) };
    question.defined
}

/// The headers of the vdso lie at its beginning.
const MOST_OF_VDSO: u64 = 4096;

/// The hash function of GNU's tables (binutils, bfd/elf.c, `bfd_elf_gnu_hash`).
fn hash(name: &CStr) -> u32 {
    name.to_bytes().iter().fold(5381, |hash: u32, byte| hash.wrapping_mul(33).wrapping_add(u32::from(*byte)))
}

/// Asks one library. Not 0, which ends the search, where it defines the symbol.
unsafe extern "C" fn ask(info: *mut libc::dl_phdr_info, _bytes: usize, question: *mut c_void) -> c_int {
    // SAFETY: the `Question` of `is_defined`, which waits for us.
    let question = unsafe { &mut *question.cast::<Question<'_>>() };
    // SAFETY: what the loader tells of a library.
    let info = unsafe { &*info };
    // SAFETY: as above.
    let headers = unsafe { slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    // The vdso, which is not searched for names.
    // SAFETY: reads the auxiliary vector.
    let vdso = unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) };
    let is_vdso = (info.dlpi_phdr.addr() as u64).wrapping_sub(vdso) < MOST_OF_VDSO;
    let dynamic = headers.iter().find(|header| header.p_type == libc::PT_DYNAMIC && !is_vdso);
    question.defined = dynamic.is_some_and(|dynamic| {
        // SAFETY: a dynamic section of a library that stays loaded during this call.
        let tables = unsafe { Tables::of(info.dlpi_addr.wrapping_add(dynamic.p_vaddr)) };
        // SAFETY: as above.
        unsafe { tables.define(question) }
    });
    c_int::from(question.defined)
}

/// The addresses of a library's tables; 0 for those that it lacks.
#[derive(Default)]
struct Tables {
    names: u64,
    symbols: u64,
    hashes: u64,
}

impl Tables {
    /// # Safety
    /// `dynamic` is the address of the dynamic section of a library that is loaded, and not of the vdso.
    unsafe fn of(dynamic: u64) -> Self {
        let (mut tables, mut entry) = (Self::default(), at::<[u64; 2]>(dynamic));
        loop {
            // SAFETY: it ends with an entry without a tag.
            let [tag, address] = unsafe { entry.read() };
            // The loader has put the address where the file has an offset.
            match tag {
                DT_NULL => return tables,
                DT_STRTAB => tables.names = address,
                DT_SYMTAB => tables.symbols = address,
                DT_GNU_HASH => tables.hashes = address,
                _ => {}
            }
            entry = entry.wrapping_add(1);
        }
    }

    /// # Safety
    /// They are those of a library that is loaded.
    unsafe fn define(&self, question: &Question<'_>) -> bool {
        if self.hashes == 0 || self.names == 0 || self.symbols == 0 {
            return self.symbols != 0;
        }
        let words = at::<u32>(self.hashes);
        // SAFETY: the table begins so.
        let [buckets, first, bloom, _shift] = unsafe { words.cast::<[u32; 4]>().read() };
        if buckets == 0 {
            return false;
        }
        let of_buckets = words.wrapping_add(4 + 2 * bloom as usize);
        let of_symbols = of_buckets.wrapping_add(buckets as usize);
        // SAFETY: one of the buckets.
        let mut index = unsafe { of_buckets.wrapping_add((question.hash % buckets) as usize).read() };
        while index >= first {
            // SAFETY: a chain ends with an odd hash.
            let hash = unsafe { of_symbols.wrapping_add((index - first) as usize).read() };
            // SAFETY: a symbol that has a hash.
            if hash | 1 == question.hash | 1 && unsafe { self.is_called(index, question.name) } {
                return true;
            }
            if hash & 1 != 0 {
                break;
            }
            index += 1;
        }
        false
    }

    /// Whether the symbol with this number is defined, and has this name.
    ///
    /// # Safety
    /// As [`define`](Self::define), and there is such a symbol.
    unsafe fn is_called(&self, index: u32, name: &CStr) -> bool {
        // SAFETY: as above.
        let symbol = unsafe { at::<libc::Elf64_Sym>(self.symbols).wrapping_add(index as usize).read() };
        // SAFETY: its name is a string of the table.
        let own = unsafe { CStr::from_ptr(at::<c_char>(self.names).wrapping_add(symbol.st_name as usize)) };
        symbol.st_shndx != 0 && own == name
    }
}

// Tags of the dynamic section (elf.h).
const DT_NULL: u64 = 0;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_GNU_HASH: u64 = 0x6fff_fef5;

fn at<T>(address: u64) -> *const T {
    std::ptr::with_exposed_provenance(address as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_finds_what_the_library_finds() {
        let names = [
            c"malloc",
            c"pthread_mutex_lock",
            c"qsort",
            c"environ",
            c"getpid",
            c"_dl_find_object",
            c"log",
            c"__vdso_gettimeofday",
            c"_Znwm",
            c"GOMP_parallel",
            c"carom_has_no_such_function",
            c"",
            c"a",
        ];
        for name in names {
            // SAFETY: a valid name.
            let found = !unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }.is_null();
            assert_eq!(is_defined(name), found, "{name:?}");
        }
        assert!(is_defined(c"malloc") && !is_defined(c"carom_has_no_such_function"));
    }
}
