use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::path::Path;

use super::{Manifest, SCHEMA};
use crate::error::StoreError;
use crate::replace::replace;

/// The manifest's name in the recording's directory.
pub const MANIFEST_NAME: &str = "manifest.json";
/// A thread takes about 1 KiB: this is room for a quarter of a million of them.
const MAX_MANIFEST_BYTES: u64 = 256 << 20;

/// Replaces the manifest in `dir`.
pub(crate) fn write(dir: &Path, manifest: &Manifest) -> io::Result<()> {
    replace(dir, MANIFEST_NAME, |out| {
        serde_json::to_writer_pretty(&mut *out, manifest)?;
        out.write_all(b"\n")
    })
}

/// The manifest of the recording in `dir`.
pub(crate) fn read(dir: &Path) -> Result<Manifest, StoreError> {
    let path = dir.join(MANIFEST_NAME);
    let io = |source| StoreError::io(&path, source);
    let file = open_regular(&path).map_err(|error| no_recording(dir).unwrap_or_else(|| io(error)))?;
    let bytes = file.metadata().map_err(io)?.len();
    if bytes > MAX_MANIFEST_BYTES {
        return Err(StoreError::ManifestTooLarge { path, bytes });
    }
    let reader = BufReader::new(file.take(MAX_MANIFEST_BYTES));
    let value: serde_json::Value = parse(&path, serde_json::from_reader(reader))?;
    // A later schema may lack fields that this one has: its number must be readable all the same.
    let found = value.get("schema").and_then(serde_json::Value::as_u64);
    if let Some(found) =
        found.and_then(|found| u32::try_from(found).ok()).filter(|found| !(1..=SCHEMA).contains(found))
    {
        return Err(StoreError::Schema { path, found });
    }
    parse(&path, serde_json::from_value(value))
}

/// Why there is no recording in `dir`, where that is the reason.
fn no_recording(dir: &Path) -> Option<StoreError> {
    let problem = match fs::metadata(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => "no such profile",
        Ok(metadata) if !metadata.is_dir() => "not a profile of carom, which is a directory",
        Ok(_) if !dir.join(MANIFEST_NAME).exists() => "not a profile of carom: it has no manifest.json",
        _ => return None,
    };
    Some(StoreError::NoRecording { path: dir.to_owned(), problem })
}

fn parse<T>(path: &Path, parsed: serde_json::Result<T>) -> Result<T, StoreError> {
    parsed.map_err(|source| StoreError::Manifest { path: path.to_owned(), source })
}

/// Opens a file for reading and refuses pipes and devices, on which reading could block for ever.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    File::open(path)
}
