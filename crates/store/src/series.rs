//! A series: a directory with one recording per run, `run-1`, `run-2` and so on, in the order in which they ran.

use std::path::{Path, PathBuf};

use crate::manifest::MANIFEST_NAME;

/// Where a run of the series in `dir` lies. Numbers begin at 1.
pub fn run_dir(dir: &Path, number: usize) -> PathBuf {
    dir.join(format!("run-{number}"))
}

/// The runs of the series in `dir`; none where it holds no series.
pub fn runs_of(dir: &Path) -> Vec<PathBuf> {
    (1..).map(|number| run_dir(dir, number)).take_while(|run| run.join(MANIFEST_NAME).is_file()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Manifest, Writer};

    #[test]
    fn runs_are_counted_from_one() {
        let dir = tempfile::tempdir().unwrap();
        assert!(runs_of(dir.path()).is_empty());
        for number in [1, 2, 4] {
            Writer::create(&run_dir(dir.path(), number), Manifest::default()).unwrap();
        }
        assert_eq!(runs_of(dir.path()), [dir.path().join("run-1"), dir.path().join("run-2")]);
    }
}
