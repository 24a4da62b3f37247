//! Checks of the repository itself: `cargo run -p xtask -- tidy`.
#![forbid(unsafe_code)]

mod tidy;
mod tree;

use std::path::Path;
use std::process::ExitCode;

use tree::Tree;

const USAGE: &str = "usage: cargo run -p xtask -- tidy

  tidy  check the rules that the compiler does not: which crate may use which, circles of
        imports between files, the size of files, where unsafe code and printing may stand, what pure code
        may not name, what holds each invariant, links in documents, words that leak a workplace, phrases that
        are hard to read";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["tidy"] => tidy_here(),
        ["help" | "-h" | "--help"] => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn tidy_here() -> ExitCode {
    let tree = match Tree::read(&repository()) {
        Ok(tree) => tree,
        Err(error) => {
            eprintln!("xtask: cannot read the repository: {error}");
            return ExitCode::FAILURE;
        }
    };
    let findings = tidy::check(&tree);
    for finding in &findings {
        eprintln!("{finding}");
    }
    let errors = findings.iter().filter(|finding| finding.is_error()).count();
    eprintln!("tidy: {} files, {errors} errors, {} warnings", tree.len(), findings.len() - errors);
    if errors == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The repository's root: this crate lies directly in it.
fn repository() -> std::path::PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}
