//! Who may call the C library directly: system calls go through `base-sys`, the one door to the kernel.

use super::finding::Finding;
use super::sizes::{is_test_file, numbered_without_tests};
use crate::tree::Tree;

/// The crate with the door, and the workloads, which are programs like any other.
const MAY: [&str; 3] = ["crates/base-sys/", "programs/", "fuzz/"];

/// Functions of the C library that ask the loader, the environment or the threads' library, and not the kernel.
const ALLOWED: [&str; 6] = ["dl_iterate_phdr", "dladdr", "dlsym", "getauxval", "getenv", "pthread_"];

const PREFIX: &str = "libc::";

/// Every direct call of the C library outside of the door.
pub fn check(tree: &Tree) -> Vec<Finding> {
    tree.with_extension("rs")
        .filter(|(path, _)| !MAY.iter().any(|folder| path.starts_with(folder)) && !is_test_file(path))
        .flat_map(|(path, text)| numbered_without_tests(text).map(move |(number, line)| (path, number, line)))
        .filter_map(|(path, number, line)| {
            let function = calls(line).find(|function| !is_allowed(function))?;
            let text = format!("`libc::{function}` outside of base-sys, the one door to the kernel");
            Some(Finding::error(path, number, text))
        })
        .collect()
}

/// The functions of the C library that a line calls, before any comment.
fn calls(line: &str) -> impl Iterator<Item = &str> {
    let code = line.split("//").next().unwrap_or_default();
    code.split(PREFIX).skip(1).filter_map(|rest| {
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_')?;
        let (name, behind) = rest.split_at(end);
        // Types and the macros of wait(2) begin with a capital letter.
        (behind.starts_with('(') && name.starts_with(|c: char| c.is_lowercase() || c == '_')).then_some(name)
    })
}

fn is_allowed(function: &str) -> bool {
    ALLOWED.iter().any(|allowed| match allowed.strip_suffix('_') {
        Some(_) => function.starts_with(allowed),
        None => function == *allowed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::finding::places;

    #[test]
    fn system_calls_go_through_the_door() {
        let agent = "fn a() { libc::syscall(libc::SYS_gettid); }\n\
                     fn b() { libc::pthread_self(); libc::munmap(x, 1) }\n\
                     fn c(x: libc::stat) { libc::dlsym(y, z); libc::WIFEXITED(1) } // libc::open(x)\n\
                     #[cfg(test)]\n\
                     mod tests {\n\
                     fn d() { libc::fork() }\n\
                     }\n";
        let findings = check(&Tree::from([
            ("crates/collect-agent/src/a.rs", agent),
            ("crates/base-sys/src/a.rs", agent),
            ("crates/collect/tests/a.rs", agent),
        ]));
        assert_eq!(places(&findings), ["crates/collect-agent/src/a.rs:1", "crates/collect-agent/src/a.rs:2"]);
        assert!(findings[1].text.starts_with("`libc::munmap`"));
    }
}
