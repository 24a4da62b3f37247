//! Which file of a crate names an item of which other one, as its text shows.
//!
//! A path (`use crate::a::b`, `super::c`, `a::d()` behind `use crate::a`) leads to the file of the deepest module in it;
//! through `pub use` it leads on to where the thing is defined, so that a re-export is no import of its own. `mod`
//! declarations, tests, comments and strings are left out, and methods, which are called without a path.

use std::collections::{BTreeMap, BTreeSet};

use super::sizes::{is_test_file, lines_without_tests};
use super::tokens::tokens;

/// A module's path from the crate's root, or that of something in it.
pub type Path = Vec<String>;

/// One `use` of one thing.
struct Use {
    path: Path,
    /// What the thing is called here.
    name: String,
    is_public: bool,
}

/// One file.
#[derive(Default)]
struct Module<'t> {
    file: &'t str,
    uses: Vec<Use>,
    /// All other paths of at least two parts.
    paths: Vec<Path>,
    /// Types and macros that are named without a path.
    lone: Vec<String>,
}

/// The files of a crate by the module that each is.
pub struct Crate<'t> {
    modules: BTreeMap<Path, Module<'t>>,
}

impl<'t> Crate<'t> {
    /// `files`: paths below `src` with their texts.
    pub fn new(files: impl Iterator<Item = (&'t str, &'t str)>) -> Self {
        let files = files.filter(|(path, _)| !is_test_file(path));
        Self {
            modules: files.filter_map(|(path, text)| Some((module_path(path)?, parse(path, text)))).collect(),
        }
    }

    /// The files that each file names something of.
    pub fn edges(&self) -> BTreeMap<&'t str, BTreeSet<&'t str>> {
        let edges = self.modules.iter().map(|(here, module)| {
            let imported =
                module.uses.iter().filter(|it| !it.is_public).map(|it| self.absolute(here, &it.path));
            let named = module.paths.iter().map(|path| self.absolute_by_alias(here, module, path));
            let targets = imported.chain(named).flatten().filter_map(|path| self.file_of(&path, 0));
            (module.file, targets.filter(|file| *file != module.file).collect())
        });
        edges.collect()
    }

    /// The path from the crate's root; `None` where it leads out of the crate.
    fn absolute(&self, here: &[String], path: &[String]) -> Option<Path> {
        let mut from = here.to_vec();
        match path.first()?.as_str() {
            "crate" => return path.get(1..).map(<[String]>::to_vec),
            "self" | "super" => {
                let ups = path.iter().take_while(|part| *part == "self" || *part == "super").count();
                for _ in path.iter().take(ups).filter(|part| *part == "super") {
                    from.pop();
                }
                from.extend_from_slice(path.get(ups..)?);
            }
            child => {
                from.push(child.to_owned());
                if !self.modules.contains_key(&from) {
                    return None;
                }
                from.extend_from_slice(path.get(1..)?);
            }
        }
        Some(from)
    }

    /// The same for a path whose first part may have been imported.
    fn absolute_by_alias(&self, here: &[String], module: &Module<'_>, path: &[String]) -> Option<Path> {
        let first = path.first()?;
        let Some(alias) = module.uses.iter().find(|it| it.name == *first) else {
            return self.absolute(here, path);
        };
        let mut whole = self.absolute(here, &alias.path)?;
        whole.extend_from_slice(path.get(1..)?);
        Some(whole)
    }

    /// The file that defines what is at a path from the crate's root.
    fn file_of(&self, path: &[String], depth: usize) -> Option<&'t str> {
        /// Re-exports of re-exports.
        const MOST: usize = 8;
        let (at, module) =
            (0..=path.len()).rev().find_map(|at| Some((at, self.modules.get(path.get(..at)?)?)))?;
        let further = path.get(at).and_then(|name| module.uses.iter().find(|it| it.name == *name));
        let led_on = further.filter(|_| depth < MOST).and_then(|further| {
            let mut whole = self.absolute(path.get(..at)?, &further.path)?;
            whole.extend_from_slice(path.get(at + 1..)?);
            self.file_of(&whole, depth + 1)
        });
        led_on.or(Some(module.file))
    }
}

/// All that a file's code names, tests aside: paths as they are written or imported, types, and macros.
pub fn named(text: &str) -> Vec<Path> {
    let module = parse("", text);
    let lone = module.lone.into_iter().map(|name| vec![name]);
    module.uses.into_iter().map(|it| it.path).chain(module.paths).chain(lone).collect()
}

/// The module that a file below `src` is.
fn module_path(file: &str) -> Option<Path> {
    let mut parts: Path = file.strip_suffix(".rs")?.split('/').map(str::to_owned).collect();
    if matches!(parts.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        parts.pop();
    }
    Some(parts)
}

fn parse<'t>(file: &'t str, text: &str) -> Module<'t> {
    let lines: Vec<&str> = text.lines().take(lines_without_tests(text)).collect();
    let text = lines.join("\n");
    let tokens = tokens(&text);
    let mut module = Module { file, ..Module::default() };
    let mut at = 0;
    let mut is_public = false;
    while let Some(&token) = tokens.get(at) {
        at += 1;
        match token {
            "use" => {
                at += use_tree(tokens.get(at..).unwrap_or_default(), &[], is_public, &mut module.uses);
                is_public = false;
            }
            "pub" => is_public = true,
            // `pub(crate)`
            "(" | ")" | "crate" | "super" | "in" if is_public && tokens.get(at) != Some(&"::") => {}
            name if is_name(name) => {
                is_public = false;
                let mut path = vec![name.to_owned()];
                while let (Some(&"::"), Some(next)) = (tokens.get(at), tokens.get(at + 1))
                    && is_name(next)
                {
                    path.push((*next).to_owned());
                    at += 2;
                }
                if path.len() > 1 {
                    module.paths.push(path);
                } else if name.starts_with(char::is_uppercase) || tokens.get(at) == Some(&"!") {
                    module.lone.push(name.to_owned());
                }
            }
            _ => is_public = false,
        }
    }
    module
}

/// Reads one tree of a `use`, behind `prefix`. Returns how many tokens that was.
fn use_tree(tokens: &[&str], prefix: &[String], is_public: bool, uses: &mut Vec<Use>) -> usize {
    let mut path = prefix.to_vec();
    let mut alias = None;
    let mut at = 0;
    while let Some(&token) = tokens.get(at) {
        match token {
            "{" => {
                at += 1;
                while !matches!(tokens.get(at), Some(&"}") | None) {
                    at += use_tree(tokens.get(at..).unwrap_or_default(), &path, is_public, uses);
                    at += usize::from(tokens.get(at) == Some(&","));
                }
                return at + 1;
            }
            "as" => {
                alias = tokens.get(at + 1).map(|name| (*name).to_owned());
                at += 1;
            }
            // `{self, …}` names what stands before it.
            "self" if !path.is_empty() => {}
            name if is_name(name) => path.push(name.to_owned()),
            "::" | "*" => {}
            _ => break,
        }
        at += 1;
    }
    if let Some(name) = alias.or_else(|| path.last().cloned()) {
        uses.push(Use { path, name, is_public });
    }
    // What ends it is the caller's, and never nothing: an unknown token is passed over.
    at.max(1)
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(files: &[(&'static str, &'static str)]) -> Vec<String> {
        let krate = Crate::new(files.iter().copied());
        let edges = krate.edges();
        edges.iter().flat_map(|(from, to)| to.iter().map(move |to| format!("{from} {to}"))).collect()
    }

    #[test]
    fn a_path_leads_to_the_file_of_its_deepest_module() {
        let files = [
            ("lib.rs", "mod a;\nmod b;\npub use a::inner::X;\n"),
            ("a/mod.rs", "mod inner;\npub fn f() {}\n"),
            ("a/inner.rs", "use super::f;\nuse std::fmt;\npub struct X;\n"),
            ("b.rs", "use crate::{a::{self, inner::X as Y}};\nfn g() { a::f(); Y::new(); fmt::x(); }\n"),
        ];
        assert_eq!(edges(&files), ["a/inner.rs a/mod.rs", "b.rs a/inner.rs", "b.rs a/mod.rs"]);
    }

    #[test]
    fn a_reexport_leads_on_to_the_definition_and_imports_nothing() {
        let files = [
            ("lib.rs", "mod a; mod b;"),
            ("a/mod.rs", "mod x;\npub(crate) use x::f;\n"),
            ("a/x.rs", "pub fn f() {}"),
            ("b.rs", "fn g() { crate::a::f() }"),
        ];
        assert_eq!(edges(&files), ["b.rs a/x.rs"]);
    }

    #[test]
    fn tests_comments_and_strings_import_nothing() {
        let files = [
            (
                "lib.rs",
                "// crate::a::f()\nconst S: &str = \"crate::a::f\";\n#[cfg(test)]\nmod t {\nuse crate::a;\n}\n",
            ),
            ("a.rs", "const C: char = '\"'; /* super::S */ fn f<'a>() {}"),
            ("a/tests.rs", "use super::f;"),
        ];
        assert_eq!(edges(&files), [""; 0]);
    }
}
