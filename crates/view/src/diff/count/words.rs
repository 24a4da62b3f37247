//! Numbers and changes of counts in words.

use super::model::{EventBasis, EventDiff};
use crate::{model::Real, words};

/// `instructions`, `system calls`. Names of tracepoints and of events of PMUs are the kernel's.
pub fn label(name: &str) -> String {
    if is_of_kernel(name) { name.to_owned() } else { name.replace('-', " ") }
}

/// Whether a name is the kernel's or libpfm's, and stays as it is.
pub fn is_of_kernel(name: &str) -> bool {
    name.contains([':', '/'])
}

/// The label with how the event is known: `loads c`, `l1 load misses s`.
pub fn marked(name: &str, basis: EventBasis) -> String {
    let mark = match basis {
        EventBasis::Counted => " c",
        EventBasis::Simulated => " s",
        EventBasis::Machine => " m",
        EventBasis::Native => "",
    };
    format!("{}{mark}", label(name))
}

/// What the marks say, for events that are known in these ways.
pub fn legend(bases: impl IntoIterator<Item = EventBasis>) -> String {
    let bases: Vec<EventBasis> = bases.into_iter().collect();
    let marked = [
        (EventBasis::Simulated, "s: modelled, by simulated caches; "),
        (EventBasis::Machine, "m: of the whole machine, whoever caused it; "),
    ];
    let marked = marked.iter().filter(|(basis, _)| bases.contains(basis)).map(|(_, text)| *text);
    format!("(c: counted exactly under carom; {}the rest: measured without it)", marked.collect::<String>())
}

/// `1.23 G`, `4.10 ms`, `3.1 MiB`, `12.3 J`.
pub fn amount(value: f64, unit: &str) -> String {
    match unit {
        _ if value == 0.0 => "0".into(),
        "s" => words::nanoseconds((value * 1e9).round() as u64),
        "bytes" => words::approximate_size(value).replace("bytes", "B"),
        "J" if value < 999.5 => format!("{} J", three_digits(value)),
        "J" => format!("{} J", words::measure(value.round() as u64)),
        _ => words::measure(value.round() as u64),
    }
}

/// The mean; `None` without values.
pub fn mean(values: &[Real]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().map(|value| value.0).sum::<f64>() / values.len() as f64)
}

/// A change in either direction that is not worth its digits.
const TINY: &str = "<0.001%";

/// `3.1 times`, `+12%`, `-58%`, `0%`: the change to this part of what was before.
pub fn change(relative: f64) -> String {
    /// From here on a factor says more than a percentage.
    const TIMES: f64 = 1.0;
    if !relative.is_finite() {
        return "?".into();
    }
    if relative >= TIMES {
        return format!("{} times", three_digits(relative + 1.0));
    }
    let percent = relative * 100.0;
    let text = match percent.abs() {
        0.0 => return "0%".into(),
        small if small < 0.001 => return TINY.into(),
        small if small < 0.01 => format!("{percent:+.3}"),
        small if small < 0.095 => format!("{percent:+.2}"),
        small if small < 9.95 => format!("{percent:+.1}"),
        // -99.95% is not -100%: something is left.
        large if (99.5..100.0).contains(&large) => format!("{percent:+.1}"),
        _ => format!("{percent:+.0}"),
    };
    format!("{}%", text.strip_suffix(".0").unwrap_or(&text))
}

/// `5.1 times, 4.9 to 5.3`, `+12%, +9% to +15%`; from nothing: `from 0`.
pub fn with_interval(event: &EventDiff) -> String {
    let Some(relative) = event.relative_change else {
        let before = mean(&event.before);
        return if before == Some(0.0) { "from 0".into() } else { String::new() };
    };
    let by = change(relative.0);
    match (event.low, event.high) {
        (Some(low), Some(high)) if low != high => {
            let [low, high] = [low, high].map(|end| change(end.0));
            if [&by, &low, &high].iter().all(|text| *text == TINY) {
                return by;
            }
            format!(
                "{by}, {} to {high}",
                low.strip_suffix(" times").filter(|_| high.ends_with("times")).unwrap_or(&low)
            )
        }
        _ => by,
    }
}

/// `<0.001`, `0.03`.
pub fn probability(p: f64) -> String {
    match p {
        p if p < 0.001 => "<0.001".into(),
        p if p < 0.0995 => format!("{p:.3}").trim_end_matches('0').to_owned(),
        p => format!("{p:.2}"),
    }
}

fn three_digits(value: f64) -> String {
    let decimals = if value < 9.95 { 2 } else { usize::from(value < 99.5) };
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_factors_or_percentages() {
        let all =
            [2.1, 1.0, 0.99, 0.12, -0.58, -0.999, -1.0, 0.0, 0.000_02, -1e-9, 41.06, 4_100.0].map(change);
        assert_eq!(
            all.join(" | "),
            "3.1 times | 2 times | +99% | +12% | -58% | -99.9% | -100% | 0% | +0.002% | <0.001% | 42.1 times | 4101 times"
        );
    }

    #[test]
    fn amounts_have_their_units() {
        assert_eq!(
            [amount(0.004_1, "s"), amount(3_250_586.0, "bytes"), amount(1.23e9, "instructions")].join(" | "),
            "4.1 ms | 3.1 MiB | 1.23 G"
        );
        assert_eq!(
            [0.25, 12.34, 4321.0].map(|value| amount(value, "J")).join(" | "),
            "0.25 J | 12.3 J | 4.32 k J"
        );
        assert_eq!([probability(1e-9), probability(0.03), probability(0.5)].join(" "), "<0.001 0.03 0.50");
    }
}
