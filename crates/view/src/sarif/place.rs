//! Places in the source, by URI.

use std::path::{Component, Path, PathBuf};

use super::model::{Artifact, Location, Logical, Message, Physical, Region};
use crate::model::Frame;

/// What relative URIs are relative to: the usual name.
pub const ROOT: &str = "%SRCROOT%";

/// A frame's line; none without one. `note`: what is there.
pub fn location(frame: &Frame, root: &Path, note: &str) -> Option<Location> {
    let (file, start_line) = (frame.file.as_deref()?, frame.line.filter(|line| *line > 0)?);
    let context = frame.source.as_ref().filter(|found| found.lines.len() > 1).map(|found| Region {
        start_line: found.first_line,
        end_line: Some(found.first_line + found.lines.len() as u32 - 1),
        snippet: Some(Message { text: found.lines.join("\n") }),
    });
    let function = frame.function.iter();
    Some(Location {
        physical_location: Physical {
            artifact_location: artifact(Path::new(file), root),
            region: Region { start_line, end_line: None, snippet: None },
            context_region: context,
        },
        logical_locations: function
            .map(|name| Logical { fully_qualified_name: name.clone(), kind: "function" })
            .collect(),
        message: (!note.is_empty()).then(|| Message { text: note.to_owned() }),
    })
}

/// The folder that relative URIs begin at.
pub fn base(root: &Path) -> Artifact {
    let folder = uri(root, "file://");
    Artifact { uri: if folder.ends_with('/') { folder } else { folder + "/" }, uri_base_id: None }
}

/// A file below `root`, or one whose place the compiler did not record in full, is relative to it.
fn artifact(file: &Path, root: &Path) -> Artifact {
    let file = normal(file);
    let below = file.strip_prefix(root).ok().or_else(|| file.is_relative().then_some(&file));
    match below {
        Some(below) => Artifact { uri: uri(below, ""), uri_base_id: Some(ROOT) },
        None => Artifact { uri: uri(&file, "file://"), uri_base_id: None },
    }
}

/// Without `.` and `..`, as the names say.
fn normal(path: &Path) -> PathBuf {
    let mut found = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if found.file_name().is_some() => {
                found.pop();
            }
            part => found.push(part),
        }
    }
    found
}

/// With every byte percent-encoded that RFC 3986 does not reserve for paths, or that has a meaning in one.
fn uri(path: &Path, scheme: &str) -> String {
    let mut text = scheme.to_owned();
    for &byte in path.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_below_the_root_are_relative() {
        let at = |file: &str| {
            let Artifact { uri, uri_base_id } = artifact(Path::new(file), Path::new("/home/me/app"));
            (uri, uri_base_id)
        };
        assert_eq!(at("/home/me/app/src/a.c"), ("src/a.c".to_owned(), Some(ROOT)));
        assert_eq!(at("/home/me/app/build/../src/./a.c"), ("src/a.c".to_owned(), Some(ROOT)));
        assert_eq!(at("src/a.c"), ("src/a.c".to_owned(), Some(ROOT)));
        assert_eq!(at("/home/me/application/a.c"), ("file:///home/me/application/a.c".to_owned(), None));
        assert_eq!(at("/usr/include/c++/12/a b#ü.h").0, "file:///usr/include/c%2B%2B/12/a%20b%23%C3%BC.h");
        assert_eq!(base(Path::new("/")).uri, "file:///");
        assert_eq!(base(Path::new("/home/me")).uri, "file:///home/me/");
    }
}
