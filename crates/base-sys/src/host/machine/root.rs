use std::{path::PathBuf, str::FromStr};

/// Where `/proc` and `/sys` are looked for: the system's root, or a tree that a test made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root(PathBuf);

impl Root {
    /// The running system.
    pub fn system() -> Self {
        Self::at("/")
    }

    /// A tree of files elsewhere.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Where `path` is, relative to the root, without a leading slash.
    pub fn path(&self, path: &str) -> PathBuf {
        self.0.join(path)
    }

    /// A whole file, or `None` where it cannot be read. `path` is relative to the root, without a leading slash.
    pub fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        std::fs::read(self.0.join(path)).ok()
    }

    /// A whole text file.
    pub fn text(&self, path: &str) -> Option<String> {
        self.bytes(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// A file of one line, without control characters (firmware writes what it likes); `None` where empty.
    pub fn line(&self, path: &str) -> Option<String> {
        let text: String = self.text(path)?.lines().next()?.chars().filter(|c| !c.is_control()).collect();
        Some(text.trim().to_owned()).filter(|line| !line.is_empty())
    }

    /// A file that holds one number.
    pub fn number<T: FromStr>(&self, path: &str) -> Option<T> {
        self.line(path)?.parse().ok()
    }

    /// True where something of this name is there.
    pub fn exists(&self, path: &str) -> bool {
        self.0.join(path).exists()
    }

    /// Names in a directory, sorted; empty where it cannot be read.
    pub fn names(&self, path: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.join(path)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

/// The value behind `key:` in a file of such lines (`/proc/self/status`, `/proc/cpuinfo`).
pub fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim())
    })
}
