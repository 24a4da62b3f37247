use std::fmt::{self, Write};

/// Longest name that is worth showing, in bytes. A mangled name of a few hundred bytes can expand to
/// gigabytes through its substitutions.
const MAX_NAME: usize = 16 * 1024;

/// The name as the programmer wrote it: Rust (legacy and v0) without its hash, C++ with its parameters,
/// anything else as it is. Symbol versions (`environ@GLIBC_2.2.5`) are dropped.
pub(super) fn demangle(symbol: &str) -> String {
    let symbol = match symbol.find('@') {
        Some(at) if at > 0 => symbol.get(..at).unwrap_or(symbol),
        _ => symbol,
    };
    let attempt = if is_rust(symbol) { rust(symbol).or_else(|| cpp(symbol)) } else { cpp(symbol) };
    attempt.unwrap_or_else(|| symbol.to_owned())
}

/// True where the mangling carries the scope of the name.
pub(super) fn is_mangled(symbol: &str) -> bool {
    symbol.starts_with("_Z") || symbol.starts_with("_R")
}

/// Legacy Rust names are valid C++ names: the last component, `h` and 16 hexadecimal digits, tells.
fn is_rust(symbol: &str) -> bool {
    const HASH: &str = "17h";
    const DIGITS: usize = 16;
    symbol.starts_with("_R")
        || symbol.starts_with("_ZN")
            && symbol.rfind(HASH).is_some_and(|at| {
                let hash = symbol.as_bytes().get(at + HASH.len()..).unwrap_or_default();
                hash.len() > DIGITS
                    && hash.iter().take(DIGITS).all(u8::is_ascii_hexdigit)
                    && hash.get(DIGITS) == Some(&b'E')
            })
}

fn rust(symbol: &str) -> Option<String> {
    let name = rustc_demangle::try_demangle(symbol).ok()?;
    let mut text = Bounded(String::new());
    write!(text, "{name:#}").ok()?;
    Some(text.0)
}

fn cpp(symbol: &str) -> Option<String> {
    if !symbol.starts_with("_Z") {
        return None;
    }
    let name = cpp_demangle::Symbol::new(symbol).ok()?;
    let mut text = Bounded(String::new());
    name.structured_demangle(&mut text, &cpp_demangle::DemangleOptions::default()).ok()?;
    Some(text.0)
}

/// Text that refuses to grow beyond [`MAX_NAME`].
struct Bounded(String);

impl Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > MAX_NAME {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::demangle;

    #[test]
    fn each_language_has_its_mangling() {
        let check = |symbol: &str, expect: &str| assert_eq!(demangle(symbol), expect);
        check("main", "main");
        check("counter.0", "counter.0");
        check("stdout@@GLIBC_2.2.5", "stdout");
        check("_ZN4demo5StatsC1Ev", "demo::Stats::Stats()");
        check("_ZZ4workvE7counter", "work()::counter");
        check("_ZN12_GLOBAL__N_14hitsE", "(anonymous namespace)::hits");
        // Legacy: the hash goes. v0, from the examples of RFC 2603.
        check("_ZN4demo4HITS17h0123456789abcdefE", "demo::HITS");
        check("_RNvC6_123foo3bar", "123foo::bar");
        // A C++ name may end like `h` and digits without being Rust's.
        check("_ZN4demo3h17E", "demo::h17");
        check("_Znot a name", "_Znot a name");
        check("", "");
        check("@", "@");
    }

    #[test]
    fn names_that_explode_stay_mangled() {
        // Parameter 0 is `g<int, int>`, and each further one `g<T, T>` with the one before for T: the n-th is
        // 2^n times as long.
        let name = |levels: u32| {
            let number = |n: u32| char::from_digit(n, 36).map(|digit| digit.to_ascii_uppercase());
            let parameter = |n| number(n).map(|digit| format!("S_IS{digit}_S{digit}_E"));
            "_Z1f1gIiiE".to_owned() + &(0..levels).filter_map(parameter).collect::<String>()
        };
        assert_eq!(demangle(&name(1)), "f(g<int, int>, g<g<int, int>, g<int, int> >)");
        assert_eq!(demangle(&name(35)), name(35));
    }
}
