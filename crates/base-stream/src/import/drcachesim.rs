use carom_base::AccessKind;

use super::{Counter, Printed, decimal, hexadecimal};
use crate::{record::Record, text::TextError};

/// Reads what drcachesim's `view` prints. Instructions, markers and prefetches are left out.
#[derive(Clone, Debug, Default)]
pub struct Drcachesim {
    counter: Counter,
}

/// An access of a line, as words.
struct Words<'a> {
    thread: &'a str,
    kind: AccessKind,
    width: &'a str,
    addr: &'a str,
    ip: &'a str,
}

/// `RECORD INSTRUCTION: THREAD read|write WIDTH byte(s) @ ADDRESS by PC IP`. Older versions print `T3264604` in front, and newer
/// ones `W0.T3264604` where there are several workloads.
fn words(line: &str) -> Option<Words<'_>> {
    let (head, rest) = line.split_once(" byte(s) @ ")?;
    let mut head = head.split_whitespace().rev();
    let (width, kind) = (head.next()?, head.next()?);
    let kind = match kind {
        "read" => AccessKind::Load,
        "write" => AccessKind::Store,
        _ => return None,
    };
    let (addr, behind) = rest.split_once(" by PC ")?;
    let thread = head.next()?;
    let thread = thread.rsplit_once('T').map_or(thread, |(_, digits)| digits);
    Some(Words { thread, kind, width, addr: addr.trim(), ip: behind.split_whitespace().next()? })
}

impl Drcachesim {
    /// Whether `view` prints such lines.
    pub fn knows(line: &str) -> bool {
        let Some(words) = words(line) else {
            return line.contains(" <marker: ") || line.contains(" ifetch ");
        };
        decimal(words.thread).is_some() && decimal(words.width).is_some()
    }

    /// The access in the next line; `None` where it has none.
    ///
    /// # Errors
    /// A word of an access is no number. The reader can go on.
    pub fn line(&mut self, line: &str) -> Result<Option<Record>, TextError> {
        self.counter.lines += 1;
        let Some(words) = words(line) else { return Ok(None) };
        let counter = &self.counter;
        let thread = decimal(words.thread).and_then(|thread| u32::try_from(thread).ok());
        let printed = Printed {
            kind: words.kind,
            thread: thread.ok_or_else(|| counter.malformed("a thread", words.thread))?,
            width: decimal(words.width).ok_or_else(|| counter.malformed("a size", words.width))?,
            addr: hexadecimal(words.addr).ok_or_else(|| counter.malformed("an address", words.addr))?,
            ip: hexadecimal(words.ip)
                .ok_or_else(|| counter.malformed("an instruction's address", words.ip))?,
        };
        self.counter.record(&printed).map(Some)
    }
}
