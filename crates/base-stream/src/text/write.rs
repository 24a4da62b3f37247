use std::fmt::Write;

use carom_base::{AccessKind, Nanos, ProcessId};

use super::words;
use crate::{
    record::{Event, Record, Streamed},
    synchronisation::Synchronisation,
};

/// The text of records: a line for each.
pub fn write(records: &[Record]) -> String {
    let (mut writer, mut text) = (Writer::default(), String::new());
    for record in records {
        text.push_str(writer.line(record));
        text.push('\n');
    }
    text
}

/// Writes a stream record by record, for streams that do not fit into memory.
#[derive(Clone, Debug, Default)]
pub struct Writer {
    /// The time that the next record has if none is written.
    next: Nanos,
    line: String,
}

impl Writer {
    /// The line of the next record, without its newline.
    pub fn line(&mut self, record: &Record) -> &str {
        self.line.clear();
        // Writing into a string cannot fail.
        let _ = self.put(record);
        self.next = Nanos(record.time.0.saturating_add(1));
        &self.line
    }

    fn put(&mut self, record: &Record) -> std::fmt::Result {
        let Record { process, thread, time, event } = *record;
        let line = &mut self.line;
        if time != self.next {
            write!(line, "{}: ", time.0)?;
        }
        if process != ProcessId(0) {
            write!(line, "{}.", process.0)?;
        }
        write!(line, "{} ", thread.0)?;
        let Streamed { access, atomic } = match event {
            Event::Begin => return line.write_str(words::BEGIN),
            Event::End => return line.write_str(words::END),
            Event::Synchronisation(Synchronisation { what, object }) => {
                return write!(line, "{} @{:#x}", what.word(), object.0);
            }
            Event::Access(streamed) => streamed,
        };
        let kind = match access.kind {
            AccessKind::Load => words::LOAD,
            AccessKind::Store => words::STORE,
            AccessKind::ReadModifyWrite if atomic => words::ATOMIC,
            AccessKind::ReadModifyWrite => words::READ_MODIFY_WRITE,
        };
        write!(line, "{kind} {} @{:#x}", access.width, access.addr.0)?;
        if access.ip.0 != 0 {
            write!(line, " {:#x}", access.ip.0)?;
        }
        Ok(())
    }
}
