//! The line that the calling thread's translated code watches, in place of debug registers.

use carom_base::Line;
use carom_collect_translate as engine;

/// At this number of touches of other lines the watch is given up. The thread's tables cannot tell some lines from the
/// watched one (see [`engine::Watches`]), and each touch of these leaves the cache and costs as much as hundreds of
/// accesses.
const MOST_OTHERS: u32 = 64;

/// What one thread watches. Only that thread uses it.
#[derive(Debug, Default)]
pub struct LineWatch {
    line: Option<Line>,
    /// Touches of other lines since the watch was set.
    others: u32,
}

impl LineWatch {
    /// Makes the thread's code report its accesses to this line, in place of the line before. False if it cannot.
    /// Signal-safe.
    pub fn set(&mut self, line: Line) -> bool {
        self.clear();
        let set = engine::watches().is_some_and(|table| table.watch(line.start().0, true, true));
        *self = Self { line: set.then_some(line), others: 0 };
        set
    }

    /// Stops watching. Signal-safe.
    pub fn clear(&mut self) {
        // The table of a thread that has been detached is gone with its watches.
        if let (Some(line), Some(table)) = (self.line.take(), engine::watches()) {
            table.unwatch(line.start().0, true, true);
        }
    }

    /// Whether this line is watched.
    pub fn is_at(&self, line: Line) -> bool {
        self.line == Some(line)
    }

    /// Counts a touch of another line. False if there were too many, so that the watch must be given up.
    pub fn bears_another(&mut self) -> bool {
        self.others = self.others.saturating_add(1);
        self.others < MOST_OTHERS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The test's thread is not translated: nothing can be watched, and there is nothing to undo.
    #[test]
    fn without_a_table_there_is_no_watch() {
        let mut watch = LineWatch::default();
        assert!(!watch.set(Line(7)));
        assert!(!watch.is_at(Line(7)));
        watch.clear();
    }

    #[test]
    fn other_lines_are_borne_so_many_times() {
        let mut watch = LineWatch { line: Some(Line(7)), others: 0 };
        let borne = (0..MOST_OTHERS * 2).take_while(|_| watch.bears_another()).count();
        assert_eq!(borne, MOST_OTHERS as usize - 1);
        assert!(watch.is_at(Line(7)));
    }
}
