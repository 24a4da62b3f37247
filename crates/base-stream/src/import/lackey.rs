use carom_base::AccessKind;

use super::{Counter, Printed, decimal, hexadecimal};
use crate::{record::Record, text::TextError};

/// Reads what `valgrind --tool=lackey --trace-mem=yes` prints: each instruction, and behind it its accesses. All threads are one,
/// because lackey does not tell them apart.
#[derive(Clone, Debug, Default)]
pub struct Lackey {
    counter: Counter,
    /// The address of the last instruction.
    ip: u64,
}

/// `I`, `L`, `S` or `M` with its place in the line; address; size.
fn parts(line: &str) -> Option<(&str, &str, &str)> {
    let (what, rest) = line.split_at_checked(3)?;
    let (addr, size) = rest.split_once(',')?;
    matches!(what, "I  " | " L " | " S " | " M ").then_some((what, addr, size))
}

impl Lackey {
    /// Whether lackey prints such lines.
    pub fn knows(line: &str) -> bool {
        parts(line).is_some_and(|(_, addr, size)| hexadecimal(addr).is_some() && decimal(size).is_some())
    }

    /// The access in the next line; `None` where it has none: an instruction, or a message (`==123== …`).
    ///
    /// # Errors
    /// An address or a size is no number. The reader can go on.
    pub fn line(&mut self, line: &str) -> Result<Option<Record>, TextError> {
        self.counter.lines += 1;
        let Some((what, addr, size)) = parts(line) else { return Ok(None) };
        let number = hexadecimal(addr).ok_or_else(|| self.counter.malformed("an address", addr))?;
        let width = decimal(size).ok_or_else(|| self.counter.malformed("a size", size))?;
        let kind = match what {
            "I  " => {
                self.ip = number;
                return Ok(None);
            }
            " L " => AccessKind::Load,
            " S " => AccessKind::Store,
            _ => AccessKind::ReadModifyWrite,
        };
        let printed = Printed { kind, addr: number, width, ip: self.ip, thread: 0 };
        self.counter.record(&printed).map(Some)
    }
}
