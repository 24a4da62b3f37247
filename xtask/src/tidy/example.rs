//! What a study costs the house: the example that `docs/adding-a-study.md` walks through registers itself in the files that
//! the page lists, and in no other.

use std::collections::BTreeSet;

use super::{finding::Finding, sizes::lines_without_tests, tokens::tokens};
use crate::tree::Tree;

/// The page.
const PAGE: &str = "docs/adding-a-study.md";

/// The head of the page's table of files.
const HEAD: &str = "| file | line |";

/// The folder of the example in each stage.
const FOLDER: &str = "widths";

/// Files in which a study registers itself, at most.
const MOST: usize = 8;

/// Every file that is listed and does not name the example, or names it and is not listed; and too many of them.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let Some(page) = tree.get(PAGE) else { return Vec::new() };
    let listed = listed(page);
    let naming = naming(tree);
    let mut findings: Vec<Finding> = Vec::new();
    for path in naming.difference(&listed) {
        findings.push(Finding::error(path, 1, format!("names the example `{FOLDER}`: list it in {PAGE}")));
    }
    for path in listed.difference(&naming) {
        let text = format!("lists `{path}`, which does not name the example `{FOLDER}`");
        findings.push(Finding::error(PAGE, 1, text));
    }
    if naming.len() > MOST {
        let text = format!("a study registers itself in {} files; the most is {MOST}", naming.len());
        findings.push(Finding::error(PAGE, 1, text));
    }
    findings
}

/// The first cells of the page's table of files.
fn listed(page: &str) -> BTreeSet<&str> {
    let rows = page.lines().skip_while(|line| *line != HEAD).skip(2).take_while(|line| line.starts_with('|'));
    rows.filter_map(|row| row.split('`').nth(1)).collect()
}

/// The files outside the example's folders that name it: in code, in the crates where it has a folder, and in the schema.
fn naming(tree: &Tree) -> BTreeSet<&str> {
    let own = format!("/src/{FOLDER}/");
    let crates: BTreeSet<&str> =
        tree.files().filter_map(|(path, _)| path.split_once(&own).map(|(krate, _)| krate)).collect();
    let in_code = tree.with_extension("rs").filter(|(path, text)| {
        let krate = path.split_once("/src/").map_or("", |(krate, _)| krate);
        crates.contains(krate) && !path.contains(&own) && names_it(text)
    });
    let key = format!("\"{FOLDER}\"");
    let in_schema =
        tree.with_extension("json").filter(|(path, text)| path.contains("schema/") && text.contains(&key));
    in_code.chain(in_schema).map(|(path, _)| path).collect()
}

/// Whether code has the folder's name as a word.
fn names_it(text: &str) -> bool {
    let code: Vec<&str> = text.lines().take(lines_without_tests(text)).collect();
    tokens(&code.join("\n")).contains(&FOLDER)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::finding::places;

    const PAGE_OF_TWO: &str = "# Adding\n\n| file | line |\n| --- | --- |\n| `crates/a/src/lib.rs` | `x` |\n\
                               | `docs/schema/a.json` | by the test |\n\n| `other.rs` | no file of this list |\n";

    fn tree() -> Tree {
        Tree::from([
            (PAGE, PAGE_OF_TWO),
            ("crates/a/src/lib.rs", "mod widths;\n"),
            ("crates/a/src/widths/mod.rs", "fn widths() {}\n"),
            ("crates/a/src/prose.rs", "// Of all widths.\n"),
            ("crates/b/src/lib.rs", "let widths = 1;\n"),
            ("docs/schema/a.json", "{\"widths\": 1}\n"),
        ])
    }

    #[test]
    fn the_page_lists_the_files_that_name_the_example() {
        assert_eq!(check(&tree()), []);
        let mut more = tree();
        more.insert("crates/a/src/more.rs".to_owned(), "let x = widths::y;\n".to_owned());
        assert_eq!(places(&check(&more)), ["crates/a/src/more.rs:1"]);
        let mut fewer = tree();
        fewer.insert("crates/a/src/lib.rs".to_owned(), "mod other;\n".to_owned());
        assert_eq!(places(&check(&fewer)), [format!("{PAGE}:1")]);
    }

    #[test]
    fn more_files_than_the_limit_are_too_many() {
        let mut tree = tree();
        let mut page = String::from(
            "| file | line |\n| --- | --- |\n| `docs/schema/a.json` | |\n| `crates/a/src/lib.rs` | |\n",
        );
        for number in 0..=MOST - 2 {
            let path = format!("crates/a/src/m{number}.rs");
            page.push_str(&format!("| `{path}` | |\n"));
            tree.insert(path, "use crate::widths;\n".to_owned());
        }
        tree.insert(PAGE.to_owned(), page);
        let findings = check(&tree);
        assert!(findings.len() == 1 && findings[0].text.contains("in 9 files"), "{findings:?}");
    }
}
