//! Whether the report may speak of data of this process.

use std::{ptr::NonNull, sync::atomic::Ordering::Relaxed};

use carom_base_wire::{ControlSettings, ReuseMethod};

use super::{Segment, Session};

impl Session {
    /// Whether the report may speak of data, and not only of how much was executed. Signal-safe.
    pub fn has_met_data(&self) -> bool {
        let ControlSettings { load_period, store_period, period_ns, reuse, .. } = &self.settings;
        match reuse {
            Some(asked) if matches!(asked.method, ReuseMethod::Exact { .. }) => true,
            None if [*load_period, *store_period, *period_ns] == [0; 3] => false,
            _ => self.has_records(),
        }
    }

    /// Whether anything may have been written into a ring. Most children of a fork end before their first sample.
    fn has_records(&self) -> bool {
        let Some(head) = self.head().filter(|_| self.has_been_alone()) else { return true };
        let first = Segment { base: NonNull::from(head).cast(), slots: 1 }.slot(0);
        first.header().head.load(Relaxed) != 0
    }
}
