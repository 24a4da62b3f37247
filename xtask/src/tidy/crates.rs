//! The workspace's crates, found by their manifests.

use super::finding::numbered;
use crate::tree::Tree;

/// One package of the workspace.
#[derive(Debug)]
pub struct Crate<'a> {
    /// The folder from the root, such as `crates/base-sys`.
    pub folder: &'a str,
    /// The package's name, such as `carom-base-sys`.
    pub name: &'a str,
    /// The text of its `Cargo.toml`.
    pub manifest: &'a str,
}

/// All packages; the root's manifest is virtual and none of them.
pub fn crates(tree: &Tree) -> Vec<Crate<'_>> {
    tree.with_extension("toml")
        .filter_map(|(path, manifest)| {
            let folder = path.strip_suffix("/Cargo.toml")?;
            Some(Crate { folder, name: package_name(manifest)?, manifest })
        })
        .collect()
}

fn package_name(manifest: &str) -> Option<&str> {
    let mut lines = sections(manifest).filter(|line| line.section == "package");
    lines.find_map(|line| {
        let (key, value) = line.text.split_once('=')?;
        (key.trim() == "name").then(|| value.trim().trim_matches('"'))
    })
}

/// One line of a manifest with the table that it stands in.
pub struct ManifestLine<'a> {
    /// The last `[header]` before the line, without brackets. A header's own line belongs to its table.
    pub section: &'a str,
    /// From 1.
    pub number: usize,
    /// The line without comment and indentation.
    pub text: &'a str,
}

/// A manifest's lines, in order. A `#` inside a string ends the line too, which does no harm for the
/// uses here.
pub fn sections(manifest: &str) -> impl Iterator<Item = ManifestLine<'_>> {
    numbered(manifest).scan("", |section, (number, line)| {
        let text = line.split('#').next().unwrap_or_default().trim();
        if let Some(header) = text.strip_prefix('[') {
            *section = header.trim_end_matches(']').trim();
        }
        Some(ManifestLine { section, number, text })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_found_by_name_and_the_virtual_manifest_is_none() {
        let tree = Tree::from([
            ("Cargo.toml", "[workspace]\nmembers = [\"crates/*\"]\n[workspace.package]\nname = \"no\"\n"),
            ("crates/base/Cargo.toml", "[package]\nname = \"carom-base\" # the vocabulary\n"),
            ("programs/Cargo.toml", "[package]\nedition = \"2024\"\nname=\"carom-programs\"\n"),
        ]);
        let found: Vec<_> = crates(&tree).iter().map(|c| (c.folder, c.name)).collect();
        assert_eq!(found, [("crates/base", "carom-base"), ("programs", "carom-programs")]);
    }
}
