//! When to observe.

use carom_base_sys::clock;
use carom_collect::Window;
use clap::Args;

/// When the program is observed.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct WindowArgs {
    /// Start observing after this time of the run: seconds, or a number with ms or s
    #[arg(long, value_name = "TIME", value_parser = span)]
    pub after: Option<u64>,
    /// Stop observing after this long
    #[arg(long = "for", value_name = "TIME", value_parser = span)]
    pub during: Option<u64>,
    /// Observe for that long again and again, each time this long after the last beginning: at least a tenth of a second longer
    #[arg(long, value_name = "TIME", value_parser = span, requires = "during")]
    pub every: Option<u64>,
}

/// The engine notices the end of a window and the next beginning by a timer of 10 ms of CPU time.
const LEAST_BETWEEN_NS: u64 = 100_000_000;

impl WindowArgs {
    /// Whether only a part of the run is to be observed.
    pub fn is_asked(&self) -> bool {
        self.after.is_some() || self.during.is_some()
    }

    /// For a program that starts now.
    pub fn window(&self) -> Window {
        self.window_from(clock::now().0)
    }

    fn window_from(&self, now_ns: u64) -> Window {
        let opens_ns = self.after.map_or(0, |after| now_ns.saturating_add(after));
        let closes_ns = self.during.map_or(u64::MAX, |during| opens_ns.max(now_ns).saturating_add(during));
        // The first opening is when the program starts where no other is asked for.
        let opens_ns = if self.every.is_some() { opens_ns.max(now_ns) } else { opens_ns };
        let least = self.during.unwrap_or(0).saturating_add(LEAST_BETWEEN_NS);
        let every_ns = self.every.map_or(0, |every| every.max(least));
        Window { opens_ns, closes_ns, every_ns, marked: false }
    }
}

/// `1.5`, `1.5s` or `1500ms`, in nanoseconds.
fn span(text: &str) -> Result<u64, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let scale = match unit.trim() {
        "" | "s" => 1e9,
        "ms" => 1e6,
        _ => return Err("the units are s and ms".to_owned()),
    };
    let ns = number.parse::<f64>().map_err(|_| "not a number".to_owned())? * scale;
    if ns >= 1.0 { Ok(ns as u64) } else { Err("must be above 0".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_in_seconds_unless_they_say_otherwise() {
        assert_eq!(
            (span("2"), span("1.5s"), span("20ms")),
            (Ok(2_000_000_000), Ok(1_500_000_000), Ok(20_000_000))
        );
        for bad in ["", "0", "1h", "-1", "1.2.3"] {
            assert!(span(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_window_without_a_beginning_is_open_from_the_start() {
        let window = |after, during| WindowArgs { after, during, every: None }.window_from(100);
        assert_eq!(window(None, None), Window::ALWAYS);
        assert_eq!(
            window(Some(5), None),
            Window { opens_ns: 105, closes_ns: u64::MAX, every_ns: 0, marked: false }
        );
        assert_eq!(window(None, Some(5)), Window { opens_ns: 0, closes_ns: 105, every_ns: 0, marked: false });
        assert_eq!(
            window(Some(5), Some(7)),
            Window { opens_ns: 105, closes_ns: 112, every_ns: 0, marked: false }
        );
    }

    #[test]
    fn a_window_that_comes_again_is_closed_between() {
        let window =
            |after, every| WindowArgs { after, during: Some(7), every: Some(every) }.window_from(100);
        let least = 7 + LEAST_BETWEEN_NS;
        assert_eq!(window(None, 5), Window { opens_ns: 100, closes_ns: 107, every_ns: least, marked: false });
        assert_eq!(
            window(Some(5), 2 * least),
            Window { opens_ns: 105, closes_ns: 112, every_ns: 2 * least, marked: false }
        );
    }
}
