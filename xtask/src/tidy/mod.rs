//! The repository's rules that the compiler does not check, one module each.
//!
//! A check is a function of a [`Tree`]; it neither reads files nor prints.

mod circles;
mod crates;
mod documents;
mod edges;
mod example;
mod finding;
mod imports;
mod invariants;
mod mentions;
mod phrases;
mod printing;
mod reach;
mod sizes;
mod system_calls;
mod tokens;
mod unsafety;
mod words;

use crate::tree::Tree;
use finding::Finding;

/// Runs every check.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let checks = [
        edges::check,
        circles::check,
        sizes::check,
        unsafety::check,
        printing::check,
        reach::check,
        invariants::check,
        system_calls::check,
        documents::links,
        documents::index,
        mentions::check,
        example::check,
        words::check,
        phrases::check,
    ];
    checks.iter().flat_map(|check| check(tree)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_repository_is_tidy() {
        let tree = Tree::read(&crate::repository()).expect("a readable repository");
        assert!(tree.has("xtask/src/tidy/mod.rs"), "the tree is not this repository");
        let errors: Vec<String> =
            check(&tree).iter().filter(|finding| finding.is_error()).map(Finding::to_string).collect();
        assert!(errors.is_empty(), "\n{}\n", errors.join("\n"));
    }
}
