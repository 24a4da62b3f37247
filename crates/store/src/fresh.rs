use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Only the owner may look: a recording holds addresses and arguments of somebody's program.
pub(crate) const DIR_MODE: u32 = 0o700;
/// Leaves room for the number and the suffix in the 255 bytes that file systems allow.
const MAX_NAME_BYTES: usize = 200;

/// Makes a directory `PROGRAM.N.carom` under `parent`, where N is the first number from 1 that is free, with
/// mode 0700.
///
/// `program` may be a path; its last part counts. Control characters become `_`, as does a leading dot (which
/// would hide the recording) or dash (which commands would take for an option).
///
/// # Errors
/// Whatever the operating system says when a directory cannot be made, except that one exists.
pub fn fresh_dir(parent: &Path, program: &str) -> io::Result<PathBuf> {
    let name = plain_name(program);
    for number in 1..=u32::MAX {
        let dir = parent.join(format!("{name}.{number}.carom"));
        match DirBuilder::new().mode(DIR_MODE).create(&dir) {
            Ok(()) => return Ok(dir),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

fn plain_name(program: &str) -> String {
    let last = program.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let mut name = String::new();
    for (index, c) in last.chars().enumerate() {
        let c = if c.is_control() || (index == 0 && (c == '.' || c == '-')) { '_' } else { c };
        if name.len() + c.len_utf8() > MAX_NAME_BYTES {
            break;
        }
        name.push(c);
    }
    if name.is_empty() { "program".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn numbers_count_up_and_fill_gaps() {
        let parent = tempfile::tempdir().unwrap();
        let name = || fresh_dir(parent.path(), "/usr/bin/app").unwrap().file_name().unwrap().to_owned();
        assert_eq!(name(), "app.1.carom");
        assert_eq!(name(), "app.2.carom");
        // A file in the way is not overwritten either.
        std::fs::write(parent.path().join("app.3.carom"), "mine").unwrap();
        assert_eq!(name(), "app.4.carom");
        assert_eq!(std::fs::read(parent.path().join("app.3.carom")).unwrap(), b"mine");
    }

    #[test]
    fn only_the_owner_may_enter() {
        let parent = tempfile::tempdir().unwrap();
        let dir = fresh_dir(parent.path(), "app").unwrap();
        assert_eq!(dir.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn names_from_strangers_stay_in_the_parent() {
        assert_eq!(plain_name("../.."), "_.");
        assert_eq!(plain_name("a\nb\u{1b}[c"), "a_b_[c");
        assert_eq!(plain_name("-rf"), "_rf");
        assert_eq!(plain_name("/"), "program");
        assert_eq!(plain_name(""), "program");
        assert_eq!(plain_name("./build/app/"), "app");
        assert_eq!(plain_name(&"ä".repeat(200)).len(), MAX_NAME_BYTES);
    }

    #[test]
    fn a_missing_parent_is_an_error() {
        let parent = tempfile::tempdir().unwrap();
        let missing = parent.path().join("nowhere");
        assert_eq!(fresh_dir(&missing, "app").unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
