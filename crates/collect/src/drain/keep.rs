//! Writes records into the store. Threads get the recording's numbers, and call paths that were lost become none.

use carom_base::{Ip, ProcessId, ReuseCell, SharingEvent, StackId, ThreadId, Touch};
use carom_base_wire::Record;
use carom_store::{HeapObject, Stack, Writer};

use super::Drain;

/// Events that may wait at a time.
const MOST_WAITING: usize = 1 << 16;

impl Drain {
    /// Writes a call path into the store.
    pub(super) fn keep_stack(&mut self, process: ProcessId, record: &Record, writer: &mut Writer) {
        let Record::Stack(stack) = record else { return };
        // Every thread sends a path once. The store has it once per process.
        if self.stacks.insert((process, stack.id)) {
            let frames = stack.frames.iter().take(stack.depth).map(|&ip| Ip(ip)).collect();
            writer.push(&[Stack { process, id: stack.id, frames, truncated: stack.truncated }]);
        }
    }

    /// Writes a record into the store.
    pub(super) fn keep(&mut self, process: ProcessId, thread: ThreadId, record: Record, writer: &mut Writer) {
        match record {
            Record::Sample(mut sample) => {
                sample.thread = thread;
                sample.stack = self.known(process, sample.stack);
                writer.push(&[sample]);
            }
            Record::Event(event) => self.keep_event(process, SharingEvent { thread, ..event }, writer),
            Record::Stack(_) => {}
            Record::Reuse(mut event) => {
                event.earlier = self.touch(process, event.earlier);
                event.later = event.later.map(|later| self.touch(process, later));
                writer.push(&[event]);
            }
            Record::Cell(cell) => self.keep_cells(process, vec![cell], writer),
            Record::Object { base, size, site, seen } => {
                let site = self.known(process, site);
                writer.push(&[HeapObject { process, base, size, site, seen }]);
            }
        }
    }

    /// Writes an event into the store. Its thread has the recording's number, the earlier one still the agent's.
    pub(super) fn keep_event(&mut self, process: ProcessId, mut event: SharingEvent, writer: &mut Writer) {
        let earlier = match event.earlier.thread.number_among_processes() {
            None => self.table.thread(process, event.earlier.thread.0),
            Some(number) => match self.table.among_processes(number) {
                Some(thread) => thread,
                // A number of no thread: something has overwritten the boards.
                None if self.waiting.len() == MOST_WAITING => return self.garbage += 1,
                None => return self.waiting.push((process, event)),
            },
        };
        if earlier == event.thread {
            return self.garbage += 1;
        }
        let of_earlier = self.table.threads.get(earlier.0 as usize).map_or(process, |thread| thread.process);
        event.earlier.thread = earlier;
        event.stack = self.known(process, event.stack);
        event.earlier.stack = self.known(of_earlier, event.earlier.stack);
        self.found_sharing = true;
        writer.push(&[event]);
    }

    /// The number of words and records in session memory that meant nothing, once all have been read.
    pub fn nonsense(&self) -> u64 {
        self.garbage.saturating_add(self.waiting.len() as u64)
    }

    /// One access of a pair, with the recording's numbers.
    fn touch(&mut self, process: ProcessId, touch: Touch) -> Touch {
        let thread = self.table.thread(process, touch.thread.0);
        Touch { thread, stack: self.known(process, touch.stack), ..touch }
    }

    /// Writes counts of the exact mode into the store.
    pub(super) fn keep_cells(&mut self, process: ProcessId, mut cells: Vec<ReuseCell>, writer: &mut Writer) {
        cells.retain(|cell| cell.count > 0);
        for cell in &mut cells {
            cell.thread = self.table.thread(process, cell.thread.0);
        }
        writer.push(&cells);
    }

    /// The number of a call path. None where the path was lost, or comes through a ring that had been read before it was
    /// sent.
    fn known(&self, process: ProcessId, stack: StackId) -> StackId {
        if self.stacks.contains(&(process, stack)) { stack } else { StackId::NONE }
    }
}
