//! Finding debug information that is kept apart from the executable.
//!
//! The places and their order are GDB's ("Debugging Information in Separate Files").

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use object::Object;

use super::elf;

/// Where distributions put debug files.
pub(super) const DEBUG_DIRECTORY: &str = "/usr/lib/debug";

/// Build-ids name their file by the first byte, then the others.
const DIRECTORY_DIGITS: usize = 2;

/// The debug file of a module: by build-id, then by the name in `.gnu_debuglink`.
///
/// A file that is found counts only when its build-id is the same or, without build-ids, when its checksum is
/// the one that the link states.
pub(super) fn find(
    module: &Path,
    build_id: Option<&str>,
    link: Option<(&[u8], u32)>,
    directories: &[PathBuf],
) -> Option<(PathBuf, Vec<u8>)> {
    let by_id = build_id.into_iter().flat_map(|id| by_build_id(id, directories));
    let by_link = link.into_iter().flat_map(|(name, _)| by_name(module, name, directories));
    let crc = link.map(|(_, crc)| crc);
    by_id.chain(by_link).find_map(|path| {
        let bytes = elf::read_file(&path).ok()?;
        let found = elf::build_id(&elf::parse(&bytes).ok()?);
        let fits = match (build_id, found) {
            (Some(wanted), Some(found)) => wanted == found,
            _ => crc == Some(crc32fast::hash(&bytes)),
        };
        fits.then_some((path, bytes))
    })
}

/// The file with the parts that dwz found common to several debug files (`.gnu_debugaltlink`).
pub(super) fn find_supplementary(
    debug_file: &Path,
    file: &object::File<'_>,
    directories: &[PathBuf],
) -> Option<Vec<u8>> {
    let (name, id) = file.gnu_debugaltlink().ok().flatten()?;
    let id: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    let beside = debug_file.parent().map(|directory| directory.join(OsStr::from_bytes(name)));
    beside.into_iter().chain(by_build_id(&id, directories)).find_map(|path| {
        let bytes = elf::read_file(&path).ok()?;
        let fits = elf::build_id(&elf::parse(&bytes).ok()?).is_some_and(|found| found == id);
        fits.then_some(bytes)
    })
}

fn by_build_id(id: &str, directories: &[PathBuf]) -> Vec<PathBuf> {
    let Some((directory, file)) = id.split_at_checked(DIRECTORY_DIGITS) else { return Vec::new() };
    let tail = format!(".build-id/{directory}/{file}.debug");
    directories.iter().map(|root| root.join(&tail)).collect()
}

fn by_name(module: &Path, name: &[u8], directories: &[PathBuf]) -> Vec<PathBuf> {
    let Some(home) = module.parent() else { return Vec::new() };
    let name = OsStr::from_bytes(name);
    let below_root = home.strip_prefix("/").unwrap_or(home);
    let mut candidates = vec![home.join(name), home.join(".debug").join(name)];
    candidates.extend(directories.iter().map(|root| root.join(below_root).join(name)));
    // A link may name the module itself, which was found to have nothing.
    candidates.retain(|path| path != module);
    candidates
}
