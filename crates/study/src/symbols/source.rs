//! The lines of source around a line of code.

use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::regular::open_regular;
use super::{Frame, Layer, layer};

/// Lines before and after that are shown.
const AROUND: u32 = 2;
/// No source that a person wrote is larger.
const MOST_BYTES: u64 = 4 << 20;
/// Files behind these bytes in all are left out.
const MOST_BYTES_IN_ALL: u64 = 64 << 20;
/// Lines are cut to this number of characters.
const MOST_COLUMNS: usize = 160;

/// Some lines of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Excerpt {
    /// The number of the first one, from 1.
    pub first: u32,
    /// Their text.
    pub lines: Vec<String>,
}

/// The files that excerpts come from, each read once.
#[derive(Default)]
pub(crate) struct Sources {
    texts: HashMap<PathBuf, Option<String>>,
    /// Bytes of all of them.
    bytes: u64,
}

impl Sources {
    /// Adds excerpts to the frames of the program's own code that have a line.
    pub fn excerpts(&mut self, frames: &mut [Frame]) {
        for frame in frames.iter_mut().filter(|frame| layer(frame) == Layer::Program) {
            frame.source = self.around(frame);
        }
    }

    fn around(&mut self, frame: &Frame) -> Option<Excerpt> {
        let (file, module) = (Path::new(frame.file.as_deref()?), frame.module.as_deref()?);
        if !self.texts.contains_key(file) {
            let text = read(file, module).filter(|_| self.bytes < MOST_BYTES_IN_ALL);
            self.bytes += text.as_ref().map_or(0, |text| text.len() as u64);
            self.texts.insert(file.to_owned(), text);
        }
        excerpt(self.texts.get(file)?.as_deref()?, frame.line?)
    }
}

/// The text of a source file, unless it was changed after the module was made of it.
fn read(file: &Path, module: &Path) -> Option<String> {
    // A path that is not absolute is one where the compiler ran, not here.
    if !file.is_absolute() {
        return None;
    }
    let (opened, status) = open_regular(file).ok()?;
    let built = fs::metadata(module).ok()?.modified().ok()?;
    if status.len() > MOST_BYTES || status.modified().ok()? > built {
        return None;
    }
    let mut bytes = Vec::new();
    opened.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn excerpt(text: &str, line: u32) -> Option<Excerpt> {
    let first = line.saturating_sub(AROUND).max(1);
    let count = line.saturating_add(AROUND) - first + 1;
    let cut = |line: &str| line.chars().take(MOST_COLUMNS).collect();
    let lines: Vec<String> = text.lines().skip(first as usize - 1).take(count as usize).map(cut).collect();
    // The file is shorter than the compiler's.
    ((line - first) < lines.len() as u32).then_some(Excerpt { first, lines })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(line: u32) -> Option<(u32, String)> {
        excerpt("one\ntwo\nthree\nfour\nfive\n", line).map(|found| (found.first, found.lines.join(" ")))
    }

    #[test]
    fn two_lines_on_either_side() {
        assert_eq!(lines(3), Some((1, "one two three four five".to_owned())));
        assert_eq!(lines(1), Some((1, "one two three".to_owned())));
        assert_eq!(lines(5), Some((3, "three four five".to_owned())));
        assert_eq!((lines(6), lines(u32::MAX)), (None, None));
    }

    #[test]
    fn a_source_that_is_newer_than_the_module_is_not_its_source() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        let write = |name: &str, seconds: u64| {
            fs::write(path(name), "int main;\n").unwrap();
            let at = fs::metadata(path(name)).unwrap().modified().unwrap();
            let file = fs::File::options().write(true).open(path(name)).unwrap();
            file.set_modified(at + core::time::Duration::from_secs(seconds)).unwrap();
        };
        write("old.c", 0);
        write("program", 10);
        write("new.c", 20);
        let found = |name: &str| {
            let frame = Frame {
                file: Some(path(name).to_string_lossy().into_owned()),
                line: Some(1),
                module: Some(path("program")),
                ..Frame::default()
            };
            let mut frames = [frame];
            Sources::default().excerpts(&mut frames);
            frames[0].source.clone()
        };
        assert_eq!(found("old.c"), Some(Excerpt { first: 1, lines: vec!["int main;".to_owned()] }));
        assert_eq!((found("new.c"), found("none.c")), (None, None));
    }
}
