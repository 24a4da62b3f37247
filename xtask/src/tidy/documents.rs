//! Links between documents: each leads somewhere, and the index lists every document.

use super::finding::{Finding, numbered};
use crate::tree::Tree;

/// The list of all documents.
const INDEX: &str = "docs/README.md";

/// Every link in a Markdown file to a file that does not exist.
pub fn links(tree: &Tree) -> Vec<Finding> {
    tree.with_extension("md")
        .flat_map(|(path, text)| targets(text).into_iter().map(move |(line, target)| (path, line, target)))
        .filter_map(|(path, line, target)| {
            let problem = match resolve(path, target) {
                Some(file) if tree.has(&file) => return None,
                Some(file) => {
                    format!("the link leads to `{file}`, which does not exist; correct or remove it")
                }
                None => format!("the link `{target}` leaves the repository; use a relative path inside it"),
            };
            Some(Finding::error(path, line, problem))
        })
        .collect()
}

/// Every document that the index does not link.
pub fn index(tree: &Tree) -> Vec<Finding> {
    let listed: Vec<String> = tree
        .get(INDEX)
        .map(targets)
        .unwrap_or_default()
        .into_iter()
        .filter_map(|(_, target)| resolve(INDEX, target))
        .collect();
    tree.with_extension("md")
        .map(|(path, _)| path)
        .filter(|path| path.starts_with("docs/") && *path != INDEX && !listed.iter().any(|file| file == path))
        .map(|path| Finding::error(path, 1, format!("no link leads here; add one to {INDEX}")))
        .collect()
}

/// The files that a Markdown text links to, as written but without `#section`, with their lines. Links to the
/// web and into the same file are left out, and so is everything in code.
fn targets(text: &str) -> Vec<(usize, &str)> {
    let mut in_code = false;
    let mut found = Vec::new();
    for (number, line) in numbered(text) {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            // Every other piece between backticks is code. A link's own text may be code: `](` stays whole.
            let prose = line.split('`').step_by(2);
            found.extend(prose.flat_map(link_targets).map(|target| (number, target)));
        }
    }
    found.retain(|(_, target)| !is_elsewhere(target));
    found
        .into_iter()
        .filter_map(|(number, target)| target.split(['#', '?']).next().map(|file| (number, file)))
        .filter(|(_, file)| !file.is_empty())
        .collect()
}

/// `[text](target)`, `![text](target "title")` and `[name]: target`.
fn link_targets(prose: &str) -> Vec<&str> {
    let inline = prose.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let reference =
        prose.strip_prefix('[').and_then(|rest| rest.split_once("]: ")).map(|(_, target)| target.trim());
    inline.chain(reference).filter_map(|target| target.split_whitespace().next()).collect()
}

fn is_elsewhere(target: &str) -> bool {
    ["http://", "https://", "mailto:"].iter().any(|scheme| target.starts_with(scheme))
}

/// The path from the root that `target` means in the document `from`, or `None` outside of the repository.
fn resolve(from: &str, target: &str) -> Option<String> {
    if target.starts_with('/') {
        return None;
    }
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::finding::places;

    #[test]
    fn a_link_must_lead_to_a_file_or_folder() {
        let readme = "[good](docs/a.md#part) and [`code`](crates/) and [web](https://example.org/x.md)\n\
                      [bad](docs/b.md)\n\
                      ![picture](docs/shot.png \"light\") [here](#section)\n\
                      `[not](a-link.md)`\n\
                      ```\n[nor](this.md)\n```\n\
                      [out](../other/c.md) [absolute](/etc/hosts)\n\
                      [name]: docs/c.md\n";
        let findings = links(&Tree::from([
            ("README.md", readme),
            ("docs/a.md", "[back](../README.md)\n"),
            ("crates/base/Cargo.toml", ""),
        ]));
        // Line 3's picture is missing as well; line 8 holds two links that leave the repository.
        assert_eq!(
            places(&findings),
            ["README.md:2", "README.md:3", "README.md:8", "README.md:8", "README.md:9"]
        );
        assert!(findings[0].text.contains("`docs/b.md`"));
    }

    #[test]
    fn every_document_is_in_the_index() {
        let findings = index(&Tree::from([
            ("docs/README.md", "[a](a.md)\n[d](formats/d.md)\n[top](../README.md)\n"),
            ("docs/a.md", ""),
            ("docs/b.md", ""),
            ("docs/formats/d.md", ""),
            ("README.md", "[b](docs/b.md)\n"),
        ]));
        assert_eq!(places(&findings), ["docs/b.md:1"]);
        // Without an index, no document is listed.
        assert_eq!(places(&index(&Tree::from([("docs/a.md", "")]))), ["docs/a.md:1"]);
    }
}
