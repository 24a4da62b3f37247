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
}

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
        Window { opens_ns, closes_ns }
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
        let window = |after, during| WindowArgs { after, during }.window_from(100);
        assert_eq!(window(None, None), Window::ALWAYS);
        assert_eq!(window(Some(5), None), Window { opens_ns: 105, closes_ns: u64::MAX });
        assert_eq!(window(None, Some(5)), Window { opens_ns: 0, closes_ns: 105 });
        assert_eq!(window(Some(5), Some(7)), Window { opens_ns: 105, closes_ns: 112 });
    }
}
