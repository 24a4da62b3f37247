//! Files that are replaced as a whole.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Recordings hold addresses and arguments of somebody's program.
pub(crate) const FILE_MODE: u32 = 0o600;

/// Replaces the file `name` in `dir` by what `fill` writes: a reader sees the old one or the new one, whole.
///
/// This outlives the death of any process at any instant, not that of the machine: nothing is synced, because
/// waiting for a disk would disturb what is measured.
pub(crate) fn replace(
    dir: &Path,
    name: &str,
    fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<()> {
    let next = dir.join(next_name(name));
    let written = write_new(&next, fill).and_then(|()| fs::rename(&next, dir.join(name)));
    if written.is_err() {
        // Half a file is of no use to anyone and takes space that the disk may lack.
        let _ = fs::remove_file(&next);
    }
    written
}

/// Where the next file is made before it takes the place of the last one.
pub(crate) fn next_name(name: &str) -> String {
    format!("{name}.new")
}

fn write_new(path: &Path, fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let file = OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(path)?;
    let mut out = BufWriter::new(file);
    fill(&mut out)?;
    out.flush()
}
