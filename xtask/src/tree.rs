//! The repository as the checks see it: paths and texts, without a file system behind them.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::{fs, io};

/// Folders that hold nothing of the repository's own, where git is not there to say so.
const NOT_OURS: [&str; 2] = ["target", ".git"];

/// Every file by its path from the root, with `/` between folders. Bytes that are not UTF-8 are replaced.
#[derive(Debug, Default)]
pub struct Tree {
    files: BTreeMap<String, String>,
}

impl Tree {
    /// Reads all files that git tracks or would track, or, outside a git checkout (a release's archive),
    /// all files there are.
    ///
    /// # Errors
    /// Where a folder cannot be listed or a listed file cannot be read.
    pub fn read(root: &Path) -> io::Result<Self> {
        let paths = match git_paths(root) {
            Some(paths) => paths,
            None => {
                let mut paths = Vec::new();
                walk(root, "", &mut paths)?;
                paths
            }
        };
        let mut files = BTreeMap::new();
        for path in paths {
            match fs::read(root.join(&path)) {
                Ok(bytes) => {
                    files.insert(path, String::from_utf8_lossy(&bytes).into_owned());
                }
                // Git also lists what was removed since the last commit.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(io::Error::new(error.kind(), format!("{path}: {error}"))),
            }
        }
        Ok(Self { files })
    }

    /// How many files there are.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// All files: path and text, in the order of their paths.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// The files whose names end in `.{extension}`.
    pub fn with_extension(&self, extension: &str) -> impl Iterator<Item = (&str, &str)> {
        self.files().filter(move |(path, _)| extension_of(path) == Some(extension))
    }

    /// The text of one file.
    pub fn get(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// Whether there is a file or a folder of this path; the root is the empty path.
    pub fn has(&self, path: &str) -> bool {
        let folder = format!("{path}/");
        path.is_empty()
            || self.files.contains_key(path)
            || self.files.range(folder.clone()..).next().is_some_and(|(file, _)| file.starts_with(&folder))
    }
}

#[cfg(test)]
impl Tree {
    /// One more file.
    pub fn insert(&mut self, path: String, text: String) {
        self.files.insert(path, text);
    }
}

/// A tree of made-up files, for tests.
#[cfg(test)]
impl<P: Into<String>, T: Into<String>, const N: usize> From<[(P, T); N]> for Tree {
    fn from(files: [(P, T); N]) -> Self {
        Self { files: files.into_iter().map(|(path, text)| (path.into(), text.into())).collect() }
    }
}

/// What follows the last dot of a file's name.
pub fn extension_of(path: &str) -> Option<&str> {
    Path::new(path).extension()?.to_str()
}

/// What git tracks or would track under `root`, or `None` where git cannot tell.
fn git_paths(root: &Path) -> Option<Vec<String>> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .ok()?;
    // A root inside another repository lists none of its files.
    if !output.status.success() || output.stdout.is_empty() {
        return None;
    }
    let list = String::from_utf8_lossy(&output.stdout);
    Some(list.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect())
}

fn walk(root: &Path, folder: &str, paths: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        let kind = entry.file_type()?;
        if kind.is_file() {
            paths.push(path);
        } else if kind.is_dir() && !NOT_OURS.contains(&name.as_str()) && !name.ends_with(".carom") {
            walk(root, &path, paths)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_exists_through_its_files() {
        let tree = Tree::from([("docs/formats/store.md", ""), ("docs-old.md", "")]);
        assert!(tree.has("docs/formats/store.md"));
        assert!(tree.has("docs/formats"));
        assert!(tree.has("docs"));
        assert!(tree.has(""));
        // `docs-old.md` sorts between `docs` and `docs/`, and is neither.
        assert!(!tree.has("docs-old"));
        assert!(!tree.has("docs/format"));
    }

    #[test]
    fn without_git_the_folders_are_walked_except_build_outputs() {
        let root = std::env::temp_dir().join(format!("carom-xtask-walk-{}", std::process::id()));
        for folder in ["src/deep", "target/debug", "app.0.carom"] {
            fs::create_dir_all(root.join(folder)).expect("a folder in the temporary directory");
        }
        for file in ["src/deep/a.rs", "target/debug/b.rs", "app.0.carom/manifest.json", "README.md"] {
            fs::write(root.join(file), file).expect("a file in the temporary directory");
        }
        let mut paths = Vec::new();
        walk(&root, "", &mut paths).expect("a readable folder");
        paths.sort();
        fs::remove_dir_all(&root).expect("our own folder");
        assert_eq!(paths, ["README.md", "src/deep/a.rs"]);
    }
}
