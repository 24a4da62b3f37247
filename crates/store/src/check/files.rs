use std::collections::HashMap;
use std::io::{self, Read};
use std::path::Path;

use crate::manifest::{MANIFEST_NAME, open_regular};
use crate::read::Recording;
use crate::rules::{Findings, Rule, Run};
use crate::tables::TABLES;

/// How much of a file is in memory at a time.
const BLOCK_BYTES: usize = 64 << 10;

/// Holds the files against what the manifest says of them.
pub(super) fn check(recording: &Recording, run: &Run<'_>, found: &mut Findings) {
    let mut listed = HashMap::new();
    for info in &recording.manifest().files {
        let expected = TABLES.iter().any(|table| table.kind.file_name() == info.name);
        if !expected || listed.insert(info.name.as_str(), info).is_some() {
            found.add(MANIFEST_NAME, None, Rule::UnexpectedFile(info.name.clone()));
        }
    }
    for kind in TABLES.iter().map(|table| table.kind) {
        let name = kind.file_name();
        let Some(info) = listed.get(name) else {
            if run.finished && recording.dir().join(name).exists() {
                found.add(name, None, Rule::NotListed);
            }
            continue;
        };
        match measure(&recording.dir().join(name)) {
            Err(error) => found.add(name, None, Rule::Unreadable(error.to_string())),
            Ok((bytes, _)) if bytes != info.bytes => {
                found.add(name, None, Rule::Length { stated: info.bytes, found: bytes });
            }
            Ok((_, crc32)) if crc32 != info.crc32 => {
                found.add(name, None, Rule::Checksum { stated: info.crc32, found: crc32 });
            }
            Ok(_) => {}
        }
    }
}

/// Length and CRC-32 of a file.
fn measure(path: &Path) -> io::Result<(u64, u32)> {
    let mut file = open_regular(path)?;
    let mut block = vec![0; BLOCK_BYTES];
    let mut hasher = crc32fast::Hasher::new();
    let mut bytes = 0;
    loop {
        match file.read(&mut block) {
            Ok(0) => return Ok((bytes, hasher.finalize())),
            Ok(read) => {
                hasher.update(block.get(..read).unwrap_or_default());
                bytes += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
