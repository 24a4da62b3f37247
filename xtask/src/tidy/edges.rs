//! Which crate may depend on which.

use super::crates::{Crate, crates, sections};
use super::finding::Finding;
use crate::tree::Tree;

/// Every direct dependency between crates of the workspace, of any kind (normal, build, test).
///
/// `study` and `view` cannot reach the kernel, `collect*` cannot reach an analysis, nothing reaches `app`. Add to the
/// table with a reason in a comment, and do not work around it.
const ALLOWED: &[(&str, &[&str])] = &[
    ("carom-base", &[]),
    ("carom-base-detect", &["carom-base"]),
    ("carom-base-insn", &["carom-base"]),
    ("carom-base-records", &["carom-base"]),
    // Takes accesses in the order that streams are put in.
    ("carom-base-reuse", &["carom-base-stream", "carom-base"]),
    ("carom-base-sim", &["carom-base"]),
    // Gives streams to every detector.
    ("carom-base-replay", &["carom-base-detect", "carom-base-reuse", "carom-base-stream", "carom-base"]),
    ("carom-base-stream", &["carom-base"]),
    ("carom-base-sys", &["carom-base"]),
    ("carom-base-wire", &["carom-base"]),
    ("carom-study-stats", &["carom-base"]),
    // A program that is judged, in a workspace of its own.
    ("culprit-parking-lot", &[]),
    // Stores streams, and orders stored ones.
    ("carom-store", &["carom-base-records", "carom-base-stream", "carom-base"]),
    // An instruction's accesses are the same for counting and for sampling.
    ("carom-collect-translate", &["carom-base-insn", "carom-base-sys", "carom-base"]),
    // Feeds decoders with random bytes.
    ("carom-fuzz", &["carom-store", "carom-study", "carom-base-stream"]),
    ("carom-collect-load", &["carom-base-sys", "carom-base"]),
    // A cdylib: the host loads it into the program and never links it.
    (
        "carom-collect-agent",
        &[
            "carom-collect-translate",
            "carom-base-detect",
            "carom-base-reuse",
            "carom-base-insn",
            "carom-base-sim",
            "carom-base-records",
            "carom-base-stream",
            "carom-base-wire",
            "carom-base-sys",
            "carom-base",
        ],
    ),
    (
        "carom-collect",
        // Streams go through from the agent to the store, with other numbers of threads.
        &[
            "carom-base-records",
            "carom-base-stream",
            "carom-base-wire",
            "carom-base-sys",
            "carom-store",
            "carom-base",
        ],
    ),
    (
        "carom-study",
        &[
            "carom-study-stats",
            "carom-base-detect",
            "carom-base-insn",
            "carom-base-sim",
            // Accesses come as streams.
            "carom-base-stream",
            "carom-store",
            "carom-base",
        ],
    ),
    // Shows the program, the machine and the engine as they are in the manifest.
    ("carom-view", &["carom-study", "carom-store", "carom-base"]),
    ("carom-view-live", &["carom-view", "carom-study", "carom-store", "carom-base"]),
    (
        "carom",
        &[
            "carom-collect",
            "carom-collect-load",
            "carom-study",
            "carom-view",
            "carom-view-live",
            "carom-store",
            "carom-base",
            // A test simulates a cache with the accesses that were kept, and replays them to the analysis.
            "carom-base-replay",
            "carom-base-reuse",
            "carom-base-stream",
            // `carom doctor` asks the machine what it can do, and no recording session is involved.
            "carom-base-sys",
        ],
    ),
    // The workloads are the oracle: what they know must not come from the code that they test.
    ("carom-programs", &[]),
    ("xtask", &[]),
];

/// Every dependency that the table lacks, and every crate that is not in it.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let crates = crates(tree);
    crates.iter().flat_map(|krate| check_one(krate, &crates)).collect()
}

fn check_one(krate: &Crate<'_>, all: &[Crate<'_>]) -> Vec<Finding> {
    let manifest = format!("{}/Cargo.toml", krate.folder);
    let Some((_, allowed)) = ALLOWED.iter().find(|(name, _)| *name == krate.name) else {
        let text = format!("`{}` has no row in the table of xtask/src/tidy/edges.rs; add one", krate.name);
        return vec![Finding::error(&manifest, 1, text)];
    };
    let mut findings: Vec<Finding> = dependencies(krate.manifest, all)
        .filter(|(_, dependency)| !allowed.contains(dependency))
        .map(|(line, dependency)| {
            let text = format!(
                "`{}` may not depend on `{dependency}`; move the code, or add the edge with its reason to the \
                 table of xtask/src/tidy/edges.rs",
                krate.name
            );
            Finding::error(&manifest, line, text)
        })
        .collect();
    findings.extend(misnamed(krate, &manifest));
    findings
}

/// The workspace's crates that a manifest names in its tables of dependencies, with the line.
fn dependencies<'a>(manifest: &'a str, all: &[Crate<'a>]) -> impl Iterator<Item = (usize, &'a str)> {
    let names: Vec<&str> = all.iter().map(|krate| krate.name).collect();
    sections(manifest).filter(|line| line.section.contains("dependencies")).flat_map(move |line| {
        // The name is a key (`carom-base.workspace = true`), a header (`[dependencies.carom-base]`), or the
        // value of `package` under another key: a word of the line in each case.
        let words = line.text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_'));
        words.filter(|word| names.contains(word)).map(|word| (line.number, word)).collect::<Vec<_>>()
    })
}

/// Folder X of `crates` holds the package carom-X; the binary's package is `carom`.
fn misnamed(krate: &Crate<'_>, manifest: &str) -> Option<Finding> {
    let folder = krate.folder.strip_prefix("crates/")?;
    let expected = if folder == "app" { "carom".to_owned() } else { format!("carom-{folder}") };
    (krate.name != expected).then(|| {
        Finding::error(manifest, 1, format!("the package of this folder is to be named `{expected}`"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::finding::places;

    const BASE: (&str, &str) = ("crates/base/Cargo.toml", "[package]\nname = \"carom-base\"\n");
    const SYS: (&str, &str) = (
        "crates/base-sys/Cargo.toml",
        "[package]\nname = \"carom-base-sys\"\n[dependencies]\ncarom-base.workspace = true\nlibc = \"0.2\"\n",
    );

    #[test]
    fn the_kernel_is_out_of_reach_for_a_study() {
        let study = "[package]\nname = \"carom-study\"\n\n[dependencies]\ncarom-base.workspace = true\n\
                     carom-base-sys.workspace = true\n";
        let findings = check(&Tree::from([BASE, SYS, ("crates/study/Cargo.toml", study)]));
        // Line 6 is the second dependency; the first is allowed.
        assert_eq!(places(&findings), ["crates/study/Cargo.toml:6"]);
        assert!(findings[0].text.contains("`carom-study` may not depend on `carom-base-sys`"));
    }

    #[test]
    fn no_spelling_of_a_dependency_escapes() {
        for dependency in [
            "[dependencies.carom-base-sys]\nworkspace = true",
            "[dev-dependencies]\ncarom-base-sys = { workspace = true }",
            "[target.'cfg(unix)'.dependencies]\ncarom-base-sys.workspace = true",
            "[dependencies]\nsys = { package = \"carom-base-sys\", path = \"../base-sys\" }",
        ] {
            let view = format!("[package]\nname = \"carom-view\"\n{dependency}\n");
            let findings = check(&Tree::from([BASE, SYS, ("crates/view/Cargo.toml", &view)]));
            assert_eq!(findings.len(), 1, "{dependency}");
        }
    }

    #[test]
    fn a_comment_and_a_folder_of_the_same_word_are_no_dependency() {
        let view = "[package]\nname = \"carom-view\"\n[dependencies]\n# carom-base-sys would be wrong here\n\
                    carom-base = { path = \"../base\" }\n[features]\ncarom-base-sys = []\n";
        assert_eq!(check(&Tree::from([BASE, SYS, ("crates/view/Cargo.toml", view)])), []);
    }

    #[test]
    fn a_crate_without_a_row_and_a_misnamed_crate_are_reported() {
        let findings = check(&Tree::from([
            ("crates/gui/Cargo.toml", "[package]\nname = \"carom-gui\"\n"),
            ("crates/store/Cargo.toml", "[package]\nname = \"carom-base\"\n"),
        ]));
        assert_eq!(places(&findings), ["crates/gui/Cargo.toml:1", "crates/store/Cargo.toml:1"]);
        assert!(findings[0].text.contains("has no row"));
        assert!(findings[1].text.contains("`carom-store`"));
    }

    /// An order in which every crate comes after all that it may use exists, so the table has no cycle.
    #[test]
    fn the_table_itself_is_acyclic_and_closed() {
        let mut placed: Vec<&str> = Vec::new();
        while placed.len() < ALLOWED.len() {
            let next = ALLOWED
                .iter()
                .find(|(name, uses)| !placed.contains(name) && uses.iter().all(|used| placed.contains(used)));
            placed.push(next.unwrap_or_else(|| panic!("a cycle or an unknown crate after {placed:?}")).0);
        }
    }
}
