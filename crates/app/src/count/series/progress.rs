//! How far a series is, and how long it will take.

use std::{
    io::{IsTerminal, Write},
    time::{Duration, Instant},
};

/// A line on a terminal that is written anew for each run.
pub struct Progress {
    shown: bool,
    begun: Instant,
    all: usize,
}

impl Progress {
    /// Of so many runs. `quiet`: shows nothing, as where standard error is no terminal.
    pub fn new(all: usize, quiet: bool) -> Self {
        Self { shown: !quiet && std::io::stderr().is_terminal(), begun: Instant::now(), all }
    }

    /// The next run begins, after so many.
    pub fn show(&self, done: usize, command: &str) {
        if self.shown {
            let text = line(done, self.all, self.begun.elapsed(), command);
            // Where it cannot be shown nobody misses it.
            let _ = write!(std::io::stderr(), "\r\x1b[K{text}");
            let _ = std::io::stderr().flush();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

/// `run 3 of 28, 12 s left: gzip -9 -c big`
fn line(done: usize, all: usize, elapsed: Duration, command: &str) -> String {
    /// Columns that every terminal has.
    const WIDTH: usize = 78;
    let left = elapsed.as_secs_f64() / done.max(1) as f64 * all.saturating_sub(done) as f64;
    let left = match left {
        _ if done == 0 => String::new(),
        short if short < 100.0 => format!(", {short:.0} s left"),
        long => format!(", {:.0} min left", (long / 60.0).ceil()),
    };
    let text = format!("run {} of {all}{left}: {command}", done + 1);
    text.chars().map(|c| if c.is_control() { '?' } else { c }).take(WIDTH).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_takes_as_long_as_what_is_done() {
        let line = |done, seconds| line(done, 28, Duration::from_secs(seconds), "./app\x1b[2J");
        assert_eq!(line(0, 0), "run 1 of 28: ./app?[2J");
        assert_eq!(line(4, 8), "run 5 of 28, 48 s left: ./app?[2J");
        assert_eq!(line(4, 80), "run 5 of 28, 8 min left: ./app?[2J");
    }
}
