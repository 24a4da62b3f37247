//! Counters of the kernel that are read again and again while a program runs.

use std::{fs::File, io::Read};

use super::{
    kernel_counters::{KernelEvent, open_event},
    tracepoints::{self, TracepointError},
};

/// Counters that the next program which the calling thread starts inherits, as
/// [`KernelCounters`](super::kernel_counters::KernelCounters) are. They count in its children too, also while these run.
#[derive(Debug, Default)]
pub struct TimedCounters(Vec<(String, File)>);

impl TimedCounters {
    /// Of software events and tracepoints of these names, with the reasons why some of them are not counted.
    pub fn for_next_child<'a>(names: impl IntoIterator<Item = &'a str>) -> (Self, Vec<TracepointError>) {
        let (mut counters, mut refused) = (Vec::new(), Vec::new());
        for name in names {
            match open(name) {
                Ok(file) => counters.push((name.to_owned(), file)),
                Err(error) => refused.push(error),
            }
        }
        (Self(counters), refused)
    }

    /// The names of those that are counted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// What each has counted by now, in the order of their names.
    pub fn read(&mut self) -> impl Iterator<Item = Option<u64>> {
        self.0.iter_mut().map(|(_, file)| {
            let mut count = [0; 8];
            file.read_exact(&mut count).ok()?;
            Some(u64::from_ne_bytes(count))
        })
    }
}

fn open(name: &str) -> Result<File, TracepointError> {
    match KernelEvent::from_name(name) {
        Some(event) => {
            open_event(event).map_err(|source| TracepointError::Refused { name: name.to_owned(), source })
        }
        None => tracepoints::open(name),
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::Write,
        process::{Command, Stdio},
    };

    use super::*;
    use crate::child;

    #[test]
    fn counts_grow_while_the_child_runs() {
        let (mut counters, refused) =
            TimedCounters::for_next_child(["page-faults", "cpu-migrations", "no-such-event"]);
        assert!(!refused.is_empty(), "one of them does not exist");
        if counters.0.is_empty() {
            println!("skipped: perf-events: {}", refused[0]);
            return;
        }
        assert_eq!(counters.names().collect::<Vec<_>>(), ["page-faults", "cpu-migrations"]);
        let mut faults = || counters.read().next().flatten().expect("a number");
        assert_eq!(faults(), 0, "nothing is counted in this thread");
        // A shell that waits, and then makes a child, which faults in pages of its own.
        let mut shell = Command::new("sh");
        let mut shell = shell.args(["-c", "read go; ls >/dev/null"]).stdin(Stdio::piped()).spawn().unwrap();
        let mut before = 0;
        while before < 10 {
            before = faults();
        }
        shell.stdin.take().unwrap().write_all(b"go\n").unwrap();
        child::wait(shell).unwrap();
        assert!(faults() > before + 10, "{before} {}", faults());
    }
}
