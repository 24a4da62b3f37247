//! Build-ids, which the host reads from the program's files.

use std::{collections::HashMap, fs::File, path::Path};

use object::{
    Endianness, ReadCache,
    elf::{self, FileHeader64},
    read::elf::{FileHeader, ProgramHeader},
};

/// Build-ids by path, each file read once.
#[derive(Default)]
pub struct BuildIds(HashMap<String, Option<String>>);

impl BuildIds {
    /// The build-id of the file at `path` in hexadecimal, if it has one.
    pub fn of(&mut self, path: &str) -> Option<String> {
        self.0.entry(path.to_owned()).or_insert_with(|| read(Path::new(path))).clone()
    }
}

/// Its note lies in a segment of its own: some hundred bytes are read, of files of many megabytes.
fn read(path: &Path) -> Option<String> {
    // Deleted files, the vDSO and the like have none.
    let file = path.is_absolute().then(|| File::open(path).ok()).flatten()?;
    let file = &ReadCache::new(file);
    let header = FileHeader64::<Endianness>::parse(file).ok()?;
    let endian = header.endian().ok()?;
    header.program_headers(endian, file).ok()?.iter().find_map(|segment| {
        let mut notes = segment.notes(endian, file).ok().flatten()?;
        let id = std::iter::from_fn(|| notes.next().ok().flatten())
            .find(|note| note.name() == elf::ELF_NOTE_GNU && note.n_type(endian) == elf::NT_GNU_BUILD_ID)?;
        Some(id.desc().iter().map(|byte| format!("{byte:02x}")).collect())
    })
}

#[cfg(test)]
mod tests {
    use object::Object;

    use super::*;

    /// `object` looks for the note by sections: another way to the same bytes.
    #[test]
    fn the_segments_have_the_build_id_that_the_sections_have() {
        let bytes = std::fs::read("/bin/ls").unwrap();
        let expected =
            object::File::parse(bytes.as_slice()).unwrap().build_id().unwrap().expect("Debian's ls has one");
        let found = read(Path::new("/bin/ls")).expect("a build-id");
        assert_eq!(found.len(), 2 * expected.len());
        assert!(
            expected.iter().enumerate().all(|(n, byte)| found[2 * n..2 * n + 2] == format!("{byte:02x}"))
        );
    }

    #[test]
    fn what_is_no_program_has_none() {
        for path in ["/etc/passwd", "/nonexistent", "[vdso]", "/dev/null", "/"] {
            assert_eq!(read(Path::new(path)), None, "{path}");
        }
    }
}
