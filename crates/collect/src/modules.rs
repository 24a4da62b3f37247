//! What the host reads from the files of the program: build-ids.

use std::{collections::HashMap, path::Path};

use object::Object;

/// Build-ids by path, each file read once.
#[derive(Default)]
pub struct BuildIds(HashMap<String, Option<String>>);

impl BuildIds {
    /// The build-id of the file at `path` in hexadecimal, if it has one.
    pub fn of(&mut self, path: &str) -> Option<String> {
        self.0.entry(path.to_owned()).or_insert_with(|| read(Path::new(path))).clone()
    }
}

fn read(path: &Path) -> Option<String> {
    // Deleted files, the vDSO and the like have none.
    let bytes = path.is_absolute().then(|| std::fs::read(path).ok()).flatten()?;
    let file = object::File::parse(bytes.as_slice()).ok()?;
    let id = file.build_id().ok().flatten()?;
    Some(id.iter().map(|byte| format!("{byte:02x}")).collect())
}
