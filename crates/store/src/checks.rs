//! What simulations said of remedies, stored once the recording has ended.

use std::path::Path;

use crate::{RemedyChecks, StoreError, manifest, manifest::MANIFEST_NAME};

/// Writes into the recording in `dir`, which is finished, what a simulation said of the remedies in its report.
///
/// # Errors
/// The recording cannot be read, or its manifest cannot be written.
pub fn store_checks(dir: &Path, checks: RemedyChecks) -> Result<(), StoreError> {
    let mut manifest = manifest::read(dir)?;
    manifest.checks = Some(checks);
    manifest::write(dir, &manifest).map_err(|error| StoreError::io(&dir.join(MANIFEST_NAME), error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Manifest, Recording, RemedyCheck, Writer, check};

    #[test]
    fn checks_are_read_as_they_were_stored() {
        let dir = tempfile::tempdir().unwrap();
        let manifest = Manifest { complete: true, ..Manifest::default() };
        Writer::create(dir.path(), manifest.clone()).unwrap().finish(manifest).unwrap();
        assert_eq!(Recording::open(dir.path()).unwrap().manifest().checks, None);
        let simulated =
            RemedyCheck { changes: vec!["pad:stats+8:64".into()], before: 9, ..RemedyCheck::default() };
        let refused = RemedyCheck { problem: Some("no such object".into()), ..RemedyCheck::default() };
        let checks = RemedyChecks {
            machine: "tiny".into(),
            accesses: 40,
            loads_and_stores: 42,
            checks: vec![simulated, refused],
        };
        store_checks(dir.path(), checks.clone()).unwrap();
        assert_eq!(Recording::open(dir.path()).unwrap().manifest().checks, Some(checks));
        assert_eq!(check(dir.path()).unwrap(), []);
    }
}
