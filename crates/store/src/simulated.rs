//! What simulated caches counted, in place of the accesses that they were given.

use std::{fs, io, path::Path};

use crate::{
    PlaceCounts, SimulatedCounts, SimulatedInfo, StoreError, manifest,
    manifest::MANIFEST_NAME,
    rows::{Row, StreamFrame},
    store_places,
};

/// Writes into the recording in `dir`, which is finished, what simulated caches counted, by thread in the order of their
/// numbers and by place, and removes the accesses that it kept: they are a thousand times as large.
///
/// # Errors
/// The recording cannot be read, or a file of it cannot be written or removed.
pub fn replace_accesses(
    dir: &Path,
    info: SimulatedInfo,
    counts: &[SimulatedCounts],
    places: &[PlaceCounts],
) -> Result<(), StoreError> {
    store_places(dir, places)?;
    let mut manifest = manifest::read(dir)?;
    manifest.simulated = Some(info);
    for (thread, counts) in manifest.threads.iter_mut().zip(counts) {
        thread.simulated = Some(*counts);
    }
    // No accesses are kept any more.
    manifest.reuse = None;
    let accesses = StreamFrame::KIND.file_name();
    manifest.files.retain(|file| file.name != accesses);
    // The manifest first: what it does not list may be missing, and what it lists may not.
    manifest::write(dir, &manifest).map_err(|error| StoreError::io(&dir.join(MANIFEST_NAME), error))?;
    let path = dir.join(accesses);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(StoreError::io(&path, error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use carom_base::{Nanos, ProcessId, ThreadId};

    use super::*;
    use crate::{Manifest, ProcessInfo, Recording, ThreadInfo, Writer, check};

    #[test]
    fn the_counts_stay_and_the_accesses_go() {
        let dir = tempfile::tempdir().unwrap();
        let thread = ThreadInfo { id: ThreadId(0), process: ProcessId(0), ..ThreadInfo::default() };
        let manifest = Manifest {
            threads: vec![thread],
            processes: vec![ProcessInfo { id: ProcessId(0), ..ProcessInfo::default() }],
            reuse: Some(crate::ReuseInfo::default()),
            complete: true,
            wall_s: 1.0,
            started: Nanos(0),
            ..Manifest::default()
        };
        let mut writer = Writer::create(dir.path(), manifest.clone()).unwrap();
        writer.push(&[StreamFrame::new(vec![0, 0, 0])]);
        writer.finish(manifest).unwrap();
        assert!(dir.path().join(StreamFrame::KIND.file_name()).exists());
        let counts = SimulatedCounts { l1_load_misses: 7, ..SimulatedCounts::default() };
        let info = SimulatedInfo { machine: "tiny".into(), ..SimulatedInfo::default() };
        let place =
            PlaceCounts { ip: carom_base::Ip(0x10), loads: 7, llc_misses: 3, ..PlaceCounts::default() };
        replace_accesses(dir.path(), info.clone(), &[counts], &[place]).unwrap();
        assert!(!dir.path().join(StreamFrame::KIND.file_name()).exists());
        let recording = Recording::open(dir.path()).unwrap();
        assert_eq!(recording.manifest().simulated, Some(info));
        assert_eq!(recording.manifest().threads[0].simulated, Some(counts));
        assert_eq!(recording.rows::<StreamFrame>().count(), 0);
        assert_eq!(recording.rows::<PlaceCounts>().collect::<Result<Vec<_>, _>>().unwrap(), [place]);
        assert_eq!(check(dir.path()).unwrap(), []);
    }
}
