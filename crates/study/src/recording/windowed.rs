use carom_base::Nanos;

use super::{Input, Losses, ThreadEntry};

/// A time of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Its beginning, which belongs to it.
    pub from: Nanos,
    /// Its end, which does not; `None`: whatever comes later belongs to it.
    pub until: Option<Nanos>,
    /// How long the program was observed in it, in seconds.
    pub seconds: f64,
}

impl Window {
    /// Whether this moment is in it.
    pub fn has(&self, time: Nanos) -> bool {
        self.from <= time && self.until.is_none_or(|until| time < until)
    }
}

/// The part of a recording that lies in a time: rows of other times are left out. The threads are those of the whole, so that
/// all numbers mean the same.
pub struct Windowed<'a, I: ?Sized> {
    pub(crate) input: &'a I,
    pub(crate) window: Window,
}

impl<'a, I: ?Sized> Windowed<'a, I> {
    /// This part of `input`.
    pub fn new(input: &'a I, window: Window) -> Self {
        Self { input, window }
    }
}

impl<I: Input + ?Sized> Input for Windowed<'_, I> {
    fn threads(&self) -> &[ThreadEntry] {
        self.input.threads()
    }

    fn processes(&self) -> u32 {
        self.input.processes()
    }

    fn cpus(&self) -> u32 {
        self.input.cpus()
    }

    fn machine(&self) -> Option<&str> {
        self.input.machine()
    }

    fn seconds(&self) -> f64 {
        self.window.seconds
    }

    /// None: what was lost, and how often, is known of the whole recording only.
    fn losses(&self) -> Losses {
        Losses::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_in_one_of_two_windows_that_touch() {
        let first = Window { from: Nanos(0), until: Some(Nanos(10)), seconds: 0.0 };
        let second = Window { from: Nanos(10), until: None, seconds: 0.0 };
        for time in [0, 9, 10, u64::MAX] {
            let found = [first, second].map(|window| window.has(Nanos(time)));
            assert_eq!(found, [time < 10, time >= 10], "{time}");
        }
    }
}
