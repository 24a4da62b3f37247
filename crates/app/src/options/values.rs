//! Values of options that several commands have.

/// The shortest mean period in accesses: longer than a block of translated code.
pub const LEAST_ACCESSES: u64 = 100;

/// The mean interval between samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    /// Thread CPU time, in nanoseconds.
    Time(u64),
    /// Loads, and stores.
    Accesses(u64),
}

/// Reads a part of the program's CPU time.
pub fn percent(text: &str) -> Result<f64, String> {
    let value: f64 = text.trim_end_matches('%').parse().map_err(|_| "not a number".to_owned())?;
    if (0.1..=90.0).contains(&value) { Ok(value) } else { Err("must be between 0.1 and 90".to_owned()) }
}

/// From the kernel's floor for software clock events, 10 us, to a minute.
const PERIODS_NS: std::ops::RangeInclusive<u64> = 10_000..=60_000_000_000;

/// Reads a period: a number of accesses, or a time with its unit.
pub fn period(text: &str) -> Result<Period, String> {
    match text.parse() {
        Ok(0) => Err("must be at least 1".to_owned()),
        Ok(number) => Ok(Period::Accesses(number)),
        Err(_) => duration_ns(text).map(Period::Time),
    }
}

fn duration_ns(text: &str) -> Result<u64, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let scale = match unit.trim() {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return Err("needs a unit: ns, us, ms or s".to_owned()),
    };
    let value: f64 = number.parse().map_err(|_| "not a number".to_owned())?;
    let ns = (value * scale) as u64;
    if PERIODS_NS.contains(&ns) { Ok(ns) } else { Err("must be between 10us and 60s".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_need_units_and_bounds() {
        assert_eq!(duration_ns("1.5ms"), Ok(1_500_000));
        assert_eq!(duration_ns("250us"), Ok(250_000));
        for bad in ["1", "1ns", "2h", "ms", "61s", "1.2.3ms"] {
            assert!(duration_ns(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn periods_without_a_unit_are_accesses() {
        assert_eq!(period("500000"), Ok(Period::Accesses(500_000)));
        assert_eq!(period("3ms"), Ok(Period::Time(3_000_000)));
        for bad in ["0", "1.5", "-1", "3h", ""] {
            assert!(period(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn budgets_have_bounds() {
        assert_eq!(percent("5%"), Ok(5.0));
        for bad in ["0", "100", "x", "NaN", "-1"] {
            assert!(percent(bad).is_err(), "{bad}");
        }
    }
}
