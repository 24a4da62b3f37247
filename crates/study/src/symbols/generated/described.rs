//! What the names that runtimes give to their routines say of the source.

/// A name in parts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Described<'a> {
    pub(super) function: &'a str,
    pub(super) file: Option<&'a str>,
    pub(super) line: Option<u32>,
}

/// How V8 calls JavaScript, by what it was compiled from.
const JAVASCRIPT: [&str; 5] = ["JS:", "LazyCompile:", "Function:", "Script:", "Eval:"];

/// How V8 marks the compilers that made the code.
const TIERS: [char; 4] = ['*', '~', '^', '+'];

/// The parts of `JS:*add /app/sum.js:3:14` (V8) and `py::add:/app/sum.py` (CPython). Other names are left as they are.
pub(super) fn of(name: &str) -> Described<'_> {
    let javascript = JAVASCRIPT.iter().find_map(|prefix| name.strip_prefix(prefix)).and_then(of_v8);
    let python = || name.strip_prefix("py::").and_then(of_python);
    javascript.or_else(python).unwrap_or(Described { function: name, file: None, line: None })
}

/// Whether the name is one that V8 gives to JavaScript.
pub(super) fn is_javascript(name: &str) -> bool {
    JAVASCRIPT.iter().any(|prefix| name.starts_with(prefix))
}

fn of_v8(rest: &str) -> Option<Described<'_>> {
    let rest = rest.trim_start_matches(TIERS);
    let (before, _column) = rest.rsplit_once(':')?;
    let (before, line) = before.rsplit_once(':')?;
    let (function, file) = before.split_once(' ')?;
    let function = if function.is_empty() { "(anonymous)" } else { function };
    let file = file.strip_prefix("file://").unwrap_or(file);
    Some(Described { function, file: Some(file), line: Some(line.parse().ok()?) })
}

fn of_python(rest: &str) -> Option<Described<'_>> {
    let (function, file) = rest.split_once(':')?;
    Some(Described { function, file: Some(file), line: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, function: &str, file: Option<&str>, line: Option<u32>) {
        assert_eq!(of(name), Described { function, file, line }, "{name}");
    }

    #[test]
    fn names_of_v8_have_a_place_in_the_source() {
        check("JS:*add /app/sum.js:3:14", "add", Some("/app/sum.js"), Some(3));
        check("LazyCompile:~add /app/my sum.js:3:14", "add", Some("/app/my sum.js"), Some(3));
        check("JS:^ file:///app/sum.mjs:1:1", "(anonymous)", Some("/app/sum.mjs"), Some(1));
        check(
            "JS:~realm node:internal/bootstrap/realm:1:1",
            "realm",
            Some("node:internal/bootstrap/realm"),
            Some(1),
        );
        check("Builtin:ArrayPush", "Builtin:ArrayPush", None, None);
        check("JS:*", "JS:*", None, None);
    }

    #[test]
    fn names_of_python_have_a_file() {
        check("py::add:/app/sum.py", "add", Some("/app/sum.py"), None);
        check("py::add", "py::add", None, None);
    }

    #[test]
    fn other_names_are_left_as_they_are() {
        check("void Counter.run()", "void Counter.run()", None, None);
        check("", "", None, None);
    }
}
