//! Numbers as reports show them: rounded, with a unit.

/// What a text says of a number: it lies between these.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shown {
    pub low: f64,
    pub high: f64,
}

/// Units behind a number, the longer first.
const UNITS: [(&str, f64); 20] = [
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("TiB", 1_099_511_627_776.0),
    ("PiB", 1_125_899_906_842_624.0),
    ("%", 0.01),
    ("ns", 1.0),
    ("us", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("k", 1e3),
    ("M", 1e6),
    ("G", 1e9),
    ("T", 1e12),
    ("P", 1e15),
    ("E", 1e18),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("TB", 1e12),
];

impl Shown {
    /// Whether a number may be shown so.
    pub fn is(&self, number: f64) -> bool {
        let slack = 1e-9 * number.abs().max(1e-9);
        number >= self.low - slack && number <= self.high + slack
    }
}

/// The number at the beginning of a text, and what follows it.
fn first(text: &str) -> Option<(Shown, &str)> {
    let below = text.starts_with('<');
    let digits = text.trim_start_matches('<');
    let end = digits.find(|c: char| !(c.is_ascii_digit() || ".,".contains(c))).unwrap_or(digits.len());
    let number = digits[..end].trim_end_matches(['.', ',']);
    let rest = &digits[number.len()..];
    let value: f64 = number.replace(',', "").parse().ok()?;
    let decimals = number.split_once('.').map_or(0, |(_, behind)| behind.len());
    let (unit, rest) = unit(rest);
    let half = 0.5 / 10f64.powi(decimals as i32);
    let (low, high) = if below { (0.0, value) } else { (value - half, value + half) };
    Some((Shown { low: low * unit, high: high * unit }, rest))
}

fn unit(text: &str) -> (f64, &str) {
    let behind = text.strip_prefix(' ').unwrap_or(text);
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric());
    let known = UNITS.iter().filter_map(|(name, factor)| Some((*factor, behind.strip_prefix(name)?)));
    known.into_iter().find(|(_, rest)| ends(rest)).unwrap_or((1.0, text))
}

/// A number by itself.
pub fn number(text: &str) -> Option<Shown> {
    first(text.trim()).map(|(shown, _)| shown)
}

/// All numbers of a text that begin a word, but for those in names.
pub fn numbers(text: &str) -> Vec<Shown> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit() || c == '<') {
        let in_word = rest[..at].ends_with(|c: char| c.is_alphanumeric() || "-_./".contains(c));
        let from = &rest[at..];
        let whole = |rest: &str| !rest.starts_with(char::is_alphanumeric);
        match first(from).filter(|(_, rest)| !in_word && whole(rest)) {
            Some((shown, behind)) => {
                found.push(shown);
                rest = behind;
            }
            None => {
                let end =
                    from.find(|c: char| !(c.is_alphanumeric() || "<._".contains(c))).unwrap_or(from.len());
                rest = &from[end..];
            }
        }
    }
    found
}

#[test]
fn texts_are_ranges() {
    let is = |text: &str, value: f64| number(text).is_some_and(|shown| shown.is(value));
    assert!(is("17%", 0.1749) && is("17%", 0.165) && !is("17%", 0.176) && !is("17%", 0.164));
    assert!(is("<0.1%", 0.0004) && !is("<0.1%", 0.0012));
    assert!(
        is("8.00 G accesses", 8.004e9)
            && is("2.1G", 2.14e9)
            && is("12,345", 12345.0)
            && !is("12,345", 12346.0)
    );
    assert!(is("3.1 MiB", 3_250_586.0) && is("4.10 us", 4_100.0) && is("1 thread", 1.0));
    let all = numbers("95% interval of t-1: 3 of L2, 1.5 k (±2%) 0x12");
    assert_eq!(all.len(), 4, "{all:?}");
}
