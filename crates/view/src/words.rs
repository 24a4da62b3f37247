//! One wording of numbers, threads and bytes for all texts.

use std::{borrow::Cow, collections::HashMap};

use crate::model::{Frame, Interval, Thread};

/// More names than this are counted instead of listed.
const LISTED: usize = 3;

/// Longer than this nobody runs a program to fill a report, in seconds: sampling more often is what helps.
pub const LONGEST_RUN_S: f64 = 120.0;

/// What each thread is called in the report: its name, with its process added where the name is not unique, or its id where
/// it is not unique there either.
pub struct ThreadNames(HashMap<u32, String>);

impl ThreadNames {
    /// Names for all threads of a report.
    pub fn new(threads: &[Thread]) -> Self {
        let (mut uses, mut of_process) = (HashMap::<&str, usize>::new(), HashMap::new());
        for thread in threads {
            *uses.entry(&thread.name).or_default() += 1;
            *of_process.entry((thread.name.as_str(), thread.process)).or_insert(0) += 1;
        }
        let label = |thread: &Thread| match uses.get(thread.name.as_str()) {
            _ if thread.name.is_empty() => format!("thread {}", thread.id),
            Some(1) => thread.name.clone(),
            _ if of_process.get(&(thread.name.as_str(), thread.process)) == Some(&1) => {
                format!("{} of process {}", thread.name, thread.process)
            }
            _ => format!("{} #{}", thread.name, thread.id),
        };
        Self(threads.iter().map(|thread| (thread.id, label(thread))).collect())
    }

    /// One thread's name.
    pub fn get(&self, id: u32) -> Cow<'_, str> {
        self.0.get(&id).map_or_else(|| format!("thread {id}").into(), |name| name.as_str().into())
    }

    /// How many threads there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// `a`, `a and b`, `a, b and c`, or `8 threads`.
    pub fn list(&self, ids: &[u32]) -> String {
        if ids.len() > LISTED {
            return format!("{} threads", ids.len());
        }
        sentence_list(&ids.iter().map(|&id| self.get(id).into_owned()).collect::<Vec<_>>())
    }

    /// `between a and b`, `among 8 threads`, `by a`; empty without threads.
    pub fn between(&self, ids: &[u32]) -> String {
        match ids.len() {
            0 => String::new(),
            1 => format!("by {}", self.list(ids)),
            2 => format!("between {}", self.list(ids)),
            _ => format!("among {}", self.list(ids)),
        }
    }
}

/// `a, b and c`.
pub fn sentence_list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [head @ .., last] => format!("{} and {last}", head.join(", ")),
    }
}

/// A fraction as a percentage: one decimal below ten, none above, none needlessly.
pub fn percent(fraction: f64) -> String {
    format!("{}%", points(fraction))
}

fn points(fraction: f64) -> String {
    /// Below this many percent a decimal is worth its place.
    const DECIMAL_BELOW: f64 = 9.95;
    // A sum of nothing may be -0.
    let value = fraction * 100.0 + 0.0;
    if !value.is_finite() {
        "?".into()
    } else if value > 0.0 && value < 0.05 {
        "<0.1".into()
    } else if value.abs() < DECIMAL_BELOW {
        let text = format!("{:.1}", (value * 10.0).round() / 10.0);
        text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
    } else {
        format!("{:.0}", value.round())
    }
}

/// `18% (±2)`: the larger half of the interval, in percentage points.
pub fn percent_with_error(interval: &Interval) -> String {
    let estimate = interval.estimate.0;
    let error = (interval.high.0 - estimate).max(estimate - interval.low.0);
    format!("{} (±{})", percent(estimate), points(error))
}

/// `bytes 0-7`, `byte 3`.
pub fn bytes(offset: u32, width: u32) -> String {
    if width == 1 { format!("byte {offset}") } else { format!("bytes {}", byte_range(offset, width)) }
}

/// `0-7`, `3`.
pub fn byte_range(offset: u32, width: u32) -> String {
    if width <= 1 { offset.to_string() } else { format!("{offset}-{}", offset.saturating_add(width - 1)) }
}

/// `1 line`, `2 lines`.
pub fn count(number: usize, noun: &str) -> String {
    format!("{} {noun}{}", thousands(number as u64), if number == 1 { "" } else { "s" })
}

/// A call path from the program's own code on: what it calls of libraries says little to a reader. The whole path where none
/// of it is the program's.
pub fn own(path: &[Frame]) -> &[Frame] {
    let own = path.iter().position(|frame| !frame.library && frame.function.is_some());
    own.and_then(|own| path.get(own..)).unwrap_or(path)
}

/// A call path without the functions of libraries, where others remain.
pub fn own_alone(path: &[Frame]) -> Vec<&Frame> {
    let own: Vec<&Frame> = path.iter().filter(|frame| !frame.library && frame.function.is_some()).collect();
    if own.is_empty() { path.iter().collect() } else { own }
}

/// Of a call path the innermost place in the program's own code that has a line.
pub fn place_in(path: &[Frame]) -> Option<&Frame> {
    own(path).iter().find(|frame| frame.file.is_some() && frame.line.is_some_and(|line| line > 0))
}

/// Digits in groups of three, as in `12,345`.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A volume in at most four characters: `0`, `7`, `431`, `1.2k`, `37k`, `5.0M`.
pub fn compact(value: f64) -> String {
    const STEPS: [(f64, &str); 3] = [(1e9, "G"), (1e6, "M"), (1e3, "k")];
    let value = if value.is_finite() { value.max(0.0) } else { 0.0 };
    for (unit, suffix) in STEPS {
        if value >= 0.9995 * unit {
            let scaled = value / unit;
            let decimals = usize::from(scaled < 9.95);
            return format!("{scaled:.decimals$}{suffix}");
        }
    }
    format!("{value:.0}")
}

/// A count to three digits: `0`, `412`, `1.23 k`, `41.2 M`, `412 G`.
pub fn measure(value: u64) -> String {
    const STEPS: [(f64, &str); 6] =
        [(1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    let value = value as f64;
    for (unit, suffix) in STEPS {
        // From here on three digits round up to the next unit.
        if value >= 0.9995 * unit {
            let scaled = value / unit;
            let decimals = if scaled < 9.995 { 2 } else { usize::from(scaled < 99.95) };
            return format!("{scaled:.decimals$} {suffix}");
        }
    }
    format!("{value:.0}")
}

/// A size in binary units to two or three digits: `64 bytes`, `48 KiB`, `3.1 MiB`.
pub fn size(bytes: u64) -> String {
    approximate_size(bytes as f64)
}

/// The same with a shorter unit: `64 B`.
pub fn short_size(bytes: u64) -> String {
    size(bytes).replace("bytes", "B")
}

/// The same for a size that was computed.
pub fn approximate_size(bytes: f64) -> String {
    const KIB: f64 = 1024.0;
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    let bytes = if bytes.is_finite() { bytes.max(0.0) } else { 0.0 };
    let (mut value, mut unit) = (bytes / KIB, "KiB");
    if value < 1.0 {
        return format!("{bytes:.0} bytes");
    }
    for next in UNITS.into_iter().skip(1) {
        if value < KIB {
            break;
        }
        (value, unit) = (value / KIB, next);
    }
    let decimals = usize::from(value < 9.95 && (value - value.round()).abs() > 0.05);
    format!("{value:.decimals$} {unit}")
}

/// A duration to three digits: `120 ns`, `4.10 us`, `12.0 ms`.
pub fn nanoseconds(value: u64) -> String {
    if value < 1000 {
        format!("{value} ns")
    } else {
        let (scaled, unit) = match value as f64 {
            value if value < 1e6 => (value / 1e3, "us"),
            value if value < 1e9 => (value / 1e6, "ms"),
            value => (value / 1e9, "s"),
        };
        format!("{scaled:.1} {unit}")
    }
}

/// How much was counted, with two decimals, never rounded up: `100%` is all of it.
pub fn coverage(fraction: f64) -> String {
    if fraction >= 1.0 { "100%".into() } else { format!("{:.2}%", (fraction * 1e4).floor() / 1e2) }
}

/// `4.0 s`, `0.35 s`, `120 s`.
pub fn seconds(value: f64) -> String {
    let decimals = if value < 1.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.decimals$} s")
}

/// `12 us`, `3.4 ms`, `2.5 s`: a time to two digits.
pub fn short_time(seconds: f64) -> String {
    let scaled =
        [(1.0, "s"), (1e-3, "ms")].into_iter().find(|(unit, _)| seconds >= *unit).unwrap_or((1e-6, "us"));
    let (value, unit) = (seconds / scaled.0, scaled.1);
    let decimals = usize::from(value < 9.95);
    format!("{value:.decimals$} {unit}")
}

/// `+1.2 s`, `-0.35 s`.
pub fn signed_seconds(value: f64) -> String {
    format!("{}{}", if value < 0.0 { "-" } else { "+" }, seconds(value.abs()))
}

/// `app.c:12`; the whole path is in the other formats.
pub fn place(file: Option<&str>, line: Option<u32>) -> Option<String> {
    let file = file?.rsplit('/').next()?;
    Some(line.map_or_else(|| file.to_owned(), |line| format!("{file}:{line}")))
}

/// A command as one would type it in a shell: words that a shell would split or change are in quotes.
pub fn command_line(argv: &[String]) -> String {
    let words: Vec<Cow<'_, str>> = argv.iter().map(|word| quoted(word)).collect();
    words.join(" ")
}

fn quoted(word: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_alphanumeric() || "%+,-./:=@_".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', r"'\''")).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_times_have_a_unit_that_fits() {
        let times = [0.0, 4.5e-5, 3.44e-3, 0.457, 1.0, 9.96, 72.0].map(short_time);
        assert_eq!(times.join(", "), "0.0 us, 45 us, 3.4 ms, 457 ms, 1.0 s, 10 s, 72 s");
    }

    #[test]
    fn percentages_keep_the_digits_that_matter() {
        let text = |fraction: f64| percent(fraction);
        assert_eq!(
            [0.0, -0.0, 0.0001, 0.014, 0.07, 0.0996, 0.184, 1.0].map(text).join(" "),
            "0% 0% <0.1% 1.4% 7% 10% 18% 100%"
        );
        assert_eq!(percent(f64::NAN), "?%");
    }

    #[test]
    fn volumes_fit_four_characters() {
        assert_eq!(
            [0.4, 7.0, 999.4, 999.9, 1234.0, 37_400.0, 5e6].map(compact).join(" "),
            "0 7 999 1.0k 1.2k 37k 5.0M"
        );
    }

    #[test]
    fn measures_have_three_digits() {
        assert_eq!(
            [0, 7, 999, 1_000, 9_994, 9_996, 412_400, 999_600, 1_230_000_000].map(measure).join(" "),
            "0 7 999 1.00 k 9.99 k 10.0 k 412 k 1.00 M 1.23 G"
        );
        assert_eq!(measure(u64::MAX), "18.4 E");
        assert_eq!([0.0, 0.5, 0.99999, 1.0].map(coverage).join(" "), "0.00% 50.00% 99.99% 100%");
    }

    #[test]
    fn sizes_have_binary_units() {
        assert_eq!(
            [0, 64, 1024, 49_152, 1 << 20, 3_250_586, 34 << 20, u64::MAX].map(size).join(", "),
            "0 bytes, 64 bytes, 1 KiB, 48 KiB, 1 MiB, 3.1 MiB, 34 MiB, 16384 PiB"
        );
    }

    #[test]
    fn bytes_and_thousands() {
        assert_eq!(bytes(8, 8), "bytes 8-15");
        assert_eq!(bytes(3, 1), "byte 3");
        assert_eq!(thousands(1_234_567), "1,234,567");
        assert_eq!(thousands(123), "123");
    }

    #[test]
    fn commands_can_be_typed_again() {
        let argv = ["./app", "", "--name=a b", "it's", "$HOME", "größe"].map(str::to_owned);
        assert_eq!(command_line(&argv), r"./app '' '--name=a b' 'it'\''s' '$HOME' größe");
    }

    #[test]
    fn equal_names_are_told_apart() {
        let thread = |id, name: &str| Thread { id, process: 0, tid: 100 + id, name: name.into(), cpu_ns: 0 };
        let names = ThreadNames::new(&[thread(0, "main"), thread(1, "w"), thread(2, "w"), thread(3, "")]);
        assert_eq!(names.list(&[0, 1]), "main and w #1");
        assert_eq!(names.list(&[2, 3, 9]), "w #2, thread 3 and thread 9");
        assert_eq!(names.between(&[0, 1, 2, 3]), "among 4 threads");
    }
}
