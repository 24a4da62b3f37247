//! What an ELF file says without its DWARF: sections, symbols, unwind ranges, links to debug information.

use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use gimli::UnwindSection;
use object::{Object, ObjectSection, ObjectSymbol, SectionFlags, SymbolKind, SymbolSection, elf};

use super::Problem;
use super::intervals::Intervals;
use super::regular::{open_regular, refused};

/// The bytes of a section, shared by everything that reads in it.
pub(super) type Bytes = gimli::EndianArcSlice<gimli::RunTimeEndian>;

/// More than zlib can do (1032 to 1); a header that claims more is broken, and is not allocated for.
const MAX_COMPRESSION: u64 = 1100;

/// An allocated section. Those of thread-local storage are left out: their addresses are not places in memory.
#[derive(Debug)]
pub(super) struct Section {
    /// Stated addresses.
    pub(super) range: Range<u64>,
    /// Such as `.bss`.
    pub(super) name: String,
    /// Where its bytes begin in the file, if it has some there.
    pub(super) offset: Option<u64>,
    /// It holds instructions.
    code: bool,
}

/// One entry of a symbol table.
#[derive(Debug)]
pub(super) struct Symbol {
    /// Stated address.
    pub(super) address: u64,
    /// Bytes, 0 where the table does not say.
    pub(super) size: u64,
    /// As the table has it: mangled, perhaps with a version.
    pub(super) name: String,
}

/// Of a file that is read at all. Debug information of the largest programs comes to some 5 GiB.
const MOST_BYTES: u64 = 16 << 30;

/// The bytes of an ELF file. Files without a size (those of procfs, some of which block) are not read.
pub(super) fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let (mut file, status) = open_regular(path)?;
    match status.len() {
        0 => return refused("an empty file, or none that is kept on a disk"),
        bytes if bytes > MOST_BYTES => return refused("larger than any program"),
        _ => {}
    }
    let mut head = [0; elf::ELFMAG.len()];
    if file.read_exact(&mut head).is_err() || head != elf::ELFMAG {
        return refused("not an ELF file");
    }
    let mut bytes = Vec::with_capacity(status.len() as usize);
    bytes.extend_from_slice(&head);
    let rest = status.len() - head.len() as u64;
    file.take(rest).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Some bytes of a file.
pub(super) fn read_part(path: &Path, offset: u64, bytes: usize) -> io::Result<Vec<u8>> {
    let (file, _) = open_regular(path)?;
    let mut part = vec![0; bytes];
    file.read_exact_at(&mut part, offset)?;
    Ok(part)
}

/// The file's headers, checked.
pub(super) fn parse(bytes: &[u8]) -> Result<object::File<'_>, Problem> {
    let file = object::File::parse(bytes).map_err(|error| Problem::NotElf(error.to_string()))?;
    match file.format() {
        object::BinaryFormat::Elf => Ok(file),
        other => Err(Problem::NotElf(format!("{other:?}"))),
    }
}

/// `NT_GNU_BUILD_ID` in hexadecimal.
pub(super) fn build_id(file: &object::File<'_>) -> Option<String> {
    let id = file.build_id().ok().flatten()?;
    Some(id.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A section's bytes, decompressed; empty where the file has no such section or it is broken.
pub(super) fn section_bytes(file: &object::File<'_>, name: &str) -> Bytes {
    let data = file.section_by_name(name).and_then(|section| {
        let data = section.compressed_data().ok()?;
        let plausible = data.uncompressed_size / MAX_COMPRESSION <= data.data.len() as u64;
        plausible.then(|| data.decompress().ok()).flatten()
    });
    let endian =
        if file.is_little_endian() { gimli::RunTimeEndian::Little } else { gimli::RunTimeEndian::Big };
    Bytes::new(Arc::from(data.as_deref().unwrap_or_default()), endian)
}

/// The sections that occupy memory, in order of address.
pub(super) fn sections(file: &object::File<'_>) -> Vec<Section> {
    let mut sections: Vec<Section> = file.sections().filter_map(|section| as_allocated(&section)).collect();
    sections.sort_by_key(|section| section.range.start);
    sections
}

fn as_allocated(section: &object::Section<'_, '_>) -> Option<Section> {
    let SectionFlags::Elf { sh_flags, .. } = section.flags() else { return None };
    if !sh_flags.contains(elf::SHF_ALLOC) || sh_flags.contains(elf::SHF_TLS) || section.size() == 0 {
        return None;
    }
    let range = section.address()..section.address().checked_add(section.size())?;
    let name = String::from_utf8_lossy(section.name_bytes().ok()?).into_owned();
    let offset = section.file_range().map(|(offset, _)| offset);
    Some(Section { range, name, offset, code: sh_flags.contains(elf::SHF_EXECINSTR) })
}

/// The section that holds a stated address.
pub(super) fn section_at(sections: &[Section], address: u64) -> Option<&Section> {
    let next = sections.partition_point(|section| section.range.start <= address);
    sections.get(next.checked_sub(1)?).filter(|section| section.range.contains(&address))
}

/// Functions and variables of `.symtab` and `.dynsym`.
#[derive(Debug, Default)]
pub(super) struct SymbolTables {
    /// Functions, and labels without a type in sections of code.
    pub(super) functions: Vec<Symbol>,
    /// `STT_OBJECT`, without thread-local variables.
    pub(super) variables: Vec<Symbol>,
    /// `STT_TLS`, by their offsets among the thread-local variables.
    pub(super) thread_locals: Vec<Symbol>,
}

impl SymbolTables {
    /// Adds the symbols of `file` that lie in one of `sections`.
    pub(super) fn add(&mut self, file: &object::File<'_>, sections: &[Section]) {
        for symbol in file.symbols().chain(file.dynamic_symbols()) {
            if !matches!(symbol.section(), SymbolSection::Section(_)) {
                continue;
            }
            let section = || section_at(sections, symbol.address());
            let table = match symbol.kind() {
                SymbolKind::Tls => &mut self.thread_locals,
                SymbolKind::Text if section().is_some() => &mut self.functions,
                SymbolKind::Unknown if section().is_some_and(|section| section.code) => &mut self.functions,
                SymbolKind::Data if section().is_some() => &mut self.variables,
                _ => continue,
            };
            let Ok(name) = symbol.name_bytes() else { continue };
            if name.is_empty() || name.starts_with(b".L") {
                continue;
            }
            let name = String::from_utf8_lossy(name).into_owned();
            table.push(Symbol { address: symbol.address(), size: symbol.size(), name });
        }
    }
}

/// Of several names for one place, the one for people: `environ`, not `__environ`.
pub(super) fn rank(name: &str) -> (usize, usize, &str) {
    let underscores = name.bytes().take_while(|byte| *byte == b'_').count();
    (underscores, name.len(), name)
}

/// Functions by stated address. A symbol without a size extends to the next one, at most to the end of its
/// section.
pub(super) fn function_index(mut functions: Vec<Symbol>, sections: &[Section]) -> Intervals<String> {
    // Sized symbols first, so that `dedup` keeps them.
    functions.sort_by(|a, b| {
        let key = |symbol: &Symbol| (symbol.address, symbol.size == 0);
        key(a).cmp(&key(b)).then_with(|| rank(&a.name).cmp(&rank(&b.name)))
    });
    functions.dedup_by_key(|symbol| symbol.address);
    let next: Vec<u64> = functions.iter().skip(1).map(|symbol| symbol.address).chain([u64::MAX]).collect();
    let items = functions.into_iter().zip(next).map(|(symbol, next)| {
        let end = if symbol.size > 0 {
            symbol.address.saturating_add(symbol.size)
        } else {
            let section_end = section_at(sections, symbol.address).map_or(next, |section| section.range.end);
            next.min(section_end)
        };
        (symbol.address..end, symbol.name)
    });
    Intervals::new(items.collect())
}

/// The code ranges that have unwind information: functions, even in a stripped file. Broken entries end the list.
pub(super) fn unwind_index(file: &object::File<'_>) -> Intervals<()> {
    let address_of = |name: &str| file.section_by_name(name).map_or(0, |section| section.address());
    let bases = gimli::BaseAddresses::default()
        .set_eh_frame(address_of(".eh_frame"))
        .set_text(address_of(".text"))
        .set_got(address_of(".got"));
    let frames = gimli::EhFrame::from(section_bytes(file, ".eh_frame"));
    let mut entries = frames.entries(&bases);
    let mut ranges = Vec::new();
    while let Ok(Some(entry)) = entries.next() {
        let gimli::CieOrFde::Fde(partial) = entry else { continue };
        if let Ok(fde) = partial.parse(gimli::EhFrame::cie_from_offset) {
            ranges.push((fde.initial_address()..fde.initial_address().saturating_add(fde.len()), ()));
        }
    }
    Intervals::new(ranges)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, OpenOptions};

    use super::*;

    #[test]
    fn only_whole_elf_files_are_read() {
        let this = std::env::current_exe().expect("this program");
        assert_eq!(read_file(&this).expect("readable"), fs::read(&this).expect("readable"));
        let folder = tempfile::tempdir().expect("a directory");
        let put = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            fs::write(&path, bytes).expect("written");
            path
        };
        let huge = put("huge", elf::ELFMAG.as_slice());
        OpenOptions::new()
            .write(true)
            .open(&huge)
            .and_then(|file| file.set_len(MOST_BYTES + 1))
            .expect("sparse");
        let refused = [
            (put("empty", b""), "an empty file, or none that is kept on a disk"),
            (put("text", b"text"), "not an ELF file"),
            (put("short", b"\x7fE"), "not an ELF file"),
            (huge, "larger than any program"),
            // The last one waits for messages of the kernel where it is read by root.
            ("/proc/self/maps".into(), "an empty file, or none that is kept on a disk"),
            ("/proc/kmsg".into(), "an empty file, or none that is kept on a disk"),
            ("/dev/zero".into(), "not a regular file"),
            ("/".into(), "not a regular file"),
        ];
        for (path, why) in refused {
            match read_file(&path) {
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
                Err(error) => assert_eq!(error.to_string(), why, "{}", path.display()),
                Ok(_) => panic!("{} was read", path.display()),
            }
        }
    }
}
