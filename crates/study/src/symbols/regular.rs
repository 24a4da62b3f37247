//! Files whose names are not trusted.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// From `asm-generic/fcntl.h`: opening a pipe without a writer does not wait.
const O_NONBLOCK: i32 = 0o4000;

/// Opens a file whose name comes from the profile and is not trusted: pipes and devices are never opened.
pub(super) fn open_regular(path: &Path) -> io::Result<(File, Metadata)> {
    if !fs::metadata(path)?.is_file() {
        return refused("not a regular file");
    }
    let file = OpenOptions::new().read(true).custom_flags(O_NONBLOCK).open(path)?;
    // What was there a moment ago may have been exchanged.
    let status = file.metadata()?;
    if !status.is_file() {
        return refused("not a regular file");
    }
    Ok((file, status))
}

/// The error of a file that is not to be read.
pub(super) fn refused<T>(why: &str) -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::InvalidInput, why))
}
