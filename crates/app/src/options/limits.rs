//! What counts may be, or grow by.

use std::{fs, path::PathBuf};

use carom_study::count::{Bound, EventLimit};
use clap::Args;

use super::events::event;
use crate::failure::Failure;

/// Options of commands that judge counts.
#[derive(Clone, Debug, Default, Args)]
pub struct LimitArgs {
    /// Fail (status 124) where this is so by more than chance: 'instructions > 5%' if they grew by more, 'peak-memory > 100MiB'
    /// if the mean is more
    #[arg(long, value_name = "EVENT > LIMIT", value_parser = limit)]
    pub fail_if: Vec<EventLimit>,
    /// Read such conditions from a file, one in a line; # begins a comment
    #[arg(long, value_name = "FILE")]
    pub budget: Option<PathBuf>,
}

impl LimitArgs {
    /// Those of the command line and of the file.
    ///
    /// # Errors
    /// The file cannot be read, or a line of it is no condition.
    pub fn all(&self) -> Result<Vec<EventLimit>, Failure> {
        let mut all = self.fail_if.clone();
        if let Some(file) = &self.budget {
            let at = |what: String| Failure::new(format!("{}: {what}", file.display()));
            let text = fs::read_to_string(file).map_err(|error| at(error.to_string()))?;
            for (number, line) in (1..).zip(text.lines()) {
                let condition = line.split('#').next().unwrap_or_default().trim();
                if !condition.is_empty() {
                    all.push(limit(condition).map_err(|error| at(format!("line {number}: {error}")))?);
                }
            }
        }
        Ok(all)
    }
}

/// `instructions > 5%`, `time > 80ms`, `loads > 1.5M`
fn limit(text: &str) -> Result<EventLimit, String> {
    let (name, bound) =
        text.split_once('>').ok_or("a condition is EVENT > LIMIT, such as 'instructions > 5%'")?;
    let quantity = event(name.trim())?;
    let bound = bound.trim();
    let number = |text: &str| {
        let value = text.trim().parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0);
        value.ok_or_else(|| format!("{text:?} is no limit: 5%, or a number{}", units(quantity.unit()).1))
    };
    if let Some(percent) = bound.strip_suffix('%') {
        return Ok(EventLimit { quantity, bound: Bound::Growth(number(percent)? / 100.0) });
    }
    let all = units(quantity.unit()).0;
    let unit = all.iter().find(|(unit, _)| bound.ends_with(unit));
    let (digits, scale) =
        unit.map_or((bound, 1.0), |(unit, scale)| (bound.strip_suffix(unit).unwrap_or(bound), *scale));
    Ok(EventLimit { quantity, bound: Bound::Value(number(digits)? * scale) })
}

/// What may stand behind a number, with its size, and in words.
const fn units(unit: &str) -> (&'static [(&'static str, f64)], &'static str) {
    match unit.as_bytes() {
        b"s" => (&[("ms", 1e-3), ("us", 1e-6), ("s", 1.0)], " of s, ms or us"),
        b"bytes" => (
            &[("KiB", 1024.0), ("MiB", 1_048_576.0), ("GiB", 1_073_741_824.0), ("B", 1.0)],
            " of B, KiB, MiB or GiB",
        ),
        _ => (&[("k", 1e3), ("M", 1e6), ("G", 1e9)], ", perhaps with k, M or G"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_growths_or_values() {
        let read = |text: &str| limit(text).map(|limit| (limit.quantity.name(), limit.bound));
        assert_eq!(read("instructions > 5%"), Ok(("instructions", Bound::Growth(0.05))));
        assert_eq!(read("time>80ms"), Ok(("time", Bound::Value(0.08))));
        assert_eq!(read("time > 2"), Ok(("time", Bound::Value(2.0))));
        assert_eq!(read("peak-memory > 1.5 KiB"), Ok(("peak-memory", Bound::Value(1536.0))));
        assert_eq!(read("loads > 2M"), Ok(("loads", Bound::Value(2e6))));
        for bad in [
            "loads",
            "cycles > 5%",
            "loads > x",
            "loads > -5%",
            "loads > 5 s",
            "time > 5 MiB",
            "loads >",
            "> 5%",
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn budgets_are_conditions_with_comments() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(&file, "# what the service may use\n\nloads > 5%  # hot path\ntime > 1s\n").unwrap();
        let args = LimitArgs { fail_if: Vec::new(), budget: Some(file.path().to_owned()) };
        assert_eq!(args.all().unwrap().len(), 2);
        fs::write(&file, "loads > 5%\nloads 5%\n").unwrap();
        assert!(args.all().unwrap_err().to_string().contains("line 2"));
    }
}
