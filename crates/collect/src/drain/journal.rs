//! A journal: lines about a process, and about those that it forked.

use std::{collections::HashSet, path::Path};

use carom_base::ProcessId;
use carom_base_wire::journal::Line;

use super::tail::Tail;
use crate::processes::ProcessTable;

/// How far a journal has been read.
#[derive(Default)]
pub struct Journal {
    tail: Tail,
    /// The processes that have written into it.
    pub writers: HashSet<ProcessId>,
    /// The process that the next lines are about, and their number, where it is not the one that the journal is named after.
    of: Option<(ProcessId, u64)>,
    /// All of them had ended before it was read last, so that no more lines are expected.
    pub is_over: bool,
}

impl Journal {
    /// Takes in the new lines, about the process that the journal is named after and about those that it forked.
    pub fn take(&mut self, path: &Path, named_after: ProcessId, table: &mut ProcessTable) {
        for line in self.read(path) {
            if let Some(Line::Of { stem, lines }) = line {
                let process = table.process(&stem);
                self.writers.insert(process);
                self.of = Some((process, lines));
                continue;
            }
            let process = match &mut self.of {
                Some((process, lines)) if *lines > 0 => {
                    *lines -= 1;
                    *process
                }
                _ => named_after,
            };
            if let Some(line) = line {
                table.note(process, line);
            }
        }
    }

    /// The new whole lines. `None` for a line that cannot be parsed.
    fn read(&mut self, path: &Path) -> Vec<Option<Line>> {
        self.tail.read(path, u64::MAX);
        let bytes = &mut self.tail.bytes;
        let Some(end) = bytes.iter().rposition(|&byte| byte == b'\n') else { return Vec::new() };
        let rest = bytes.split_off(end + 1);
        let whole = std::mem::replace(bytes, rest);
        String::from_utf8_lossy(&whole).lines().map(Line::parse).collect()
    }
}
