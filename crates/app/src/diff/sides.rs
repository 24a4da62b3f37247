//! The recordings of either side.

use std::path::{Path, PathBuf};

use carom_store::{Manifest, Recording};
use carom_view::diff::model::DiffSide;

use super::DiffArgs;
use crate::{failure::Failure, load};

/// The recordings of one side.
pub struct Side {
    recordings: Vec<Recording>,
    profiles: Vec<String>,
}

/// Before and after.
///
/// # Errors
/// A profile cannot be read.
pub fn sides(args: &DiffArgs) -> Result<[Side; 2], Failure> {
    let [before, after] = match args.profiles.as_slice() {
        [before, after] => [runs_of(before), runs_of(after)],
        _ => [args.before.clone(), args.after.clone()],
    };
    Ok([Side::open(&before)?, Side::open(&after)?])
}

/// The profile itself or, where there is none of this name, those that `--runs` has numbered.
fn runs_of(profile: &Path) -> Vec<PathBuf> {
    let numbered = |number: u32| {
        let mut name = profile.as_os_str().to_owned();
        name.push(format!("-{number}"));
        PathBuf::from(name)
    };
    if !profile.exists() && numbered(1).exists() {
        return (1..).map(numbered).take_while(|each| each.exists()).collect();
    }
    vec![profile.to_owned()]
}

impl Side {
    fn open(profiles: &[PathBuf]) -> Result<Self, Failure> {
        let dirs = profiles.iter().flat_map(|dir| load::expanded(dir)).collect::<Vec<_>>();
        let recordings: Result<Vec<Recording>, _> = dirs.iter().map(|dir| Recording::open(dir)).collect();
        let profiles = profiles.iter().map(|dir| dir.display().to_string()).collect();
        Ok(Self { recordings: recordings.map_err(Failure::new)?, profiles })
    }

    /// Whether all recordings answer this question.
    pub fn asks(&self, question: &str) -> bool {
        self.recordings.iter().all(|recording| recording.manifest().asks(question))
    }

    /// The commands that recorded it.
    pub fn commands(&self) -> Vec<&str> {
        let mut all: Vec<&str> =
            self.recordings.iter().map(|each| each.manifest().command.as_str()).collect();
        all.dedup();
        all
    }

    /// The recordings of each run: one, or those of all ranks.
    pub fn runs(&self) -> impl Iterator<Item = &[Recording]> {
        self.recordings.chunks(if self.is_of_ranks() { self.recordings.len() } else { 1 })
    }

    /// Whether its recordings are the ranks of one run.
    pub fn is_of_ranks(&self) -> bool {
        self.recordings.iter().any(|recording| recording.manifest().rank.is_some())
    }

    /// The manifests of all recordings.
    pub fn manifests(&self) -> Vec<&Manifest> {
        self.recordings.iter().map(Recording::manifest).collect()
    }

    /// As the comparison names it.
    pub fn named(&self) -> DiffSide {
        let argv = self.recordings.first().map(|first| first.manifest().argv.clone()).unwrap_or_default();
        DiffSide { profiles: self.profiles.clone(), argv, runs: self.runs().count() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_for_its_runs() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        for name in ["a-1", "a-2", "a-4", "b", "b-1"] {
            std::fs::create_dir(at(name)).unwrap();
        }
        assert_eq!(runs_of(&at("a")), [at("a-1"), at("a-2")]);
        assert_eq!(runs_of(&at("b")), [at("b")]);
        assert_eq!(runs_of(&at("c")), [at("c")]);
    }
}
