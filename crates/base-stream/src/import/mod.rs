//! Accesses as other tools print them.
//!
//! | tool | printed by | a line |
//! | --- | --- | --- |
//! | Valgrind's lackey | `valgrind --tool=lackey --trace-mem=yes` | `I  0401000,3`, ` L 1ffeffe7e,8`, ` S 1ffeffe7e,8`, ` M 0421c7cc,4` |
//! | drcachesim | `drrun -t drmemtrace -tool view`, also of older versions | `… : 3264604 write        8 byte(s) @ 0x00007ffc by PC 0x00007f3c` |
//!
//! Neither says when. Accesses are taken to be one nanosecond apart, in the order in which they are printed.

mod drcachesim;
mod lackey;

use carom_base::{Access, AccessKind, Addr, Ip, Nanos, ProcessId, ThreadId};

pub use drcachesim::Drcachesim;
pub use lackey::Lackey;

use crate::{
    record::{Event, Record, Streamed},
    text::{self, TextError},
};

/// Who printed a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A person, or carom: [`text`].
    Carom,
    /// Valgrind's lackey.
    Lackey,
    /// drcachesim's view.
    Drcachesim,
}

impl Origin {
    /// Who printed this line. `None` where it does not tell: an empty one, or a message of one of the tools.
    pub fn of(line: &str) -> Option<Self> {
        if Lackey::knows(line) {
            Some(Self::Lackey)
        } else if Drcachesim::knows(line) {
            Some(Self::Drcachesim)
        } else {
            let record = text::Parser::default().line(line);
            matches!(record, Ok(Some(_))).then_some(Self::Carom)
        }
    }

    /// A reader of its lines.
    pub fn importer(self) -> Importer {
        match self {
            Self::Carom => Importer::Carom(text::Parser::default()),
            Self::Lackey => Importer::Lackey(Lackey::default()),
            Self::Drcachesim => Importer::Drcachesim(Drcachesim::default()),
        }
    }
}

/// Reads a text line by line.
#[derive(Clone, Debug)]
pub enum Importer {
    /// Of a person, or of carom.
    Carom(text::Parser),
    /// Of lackey.
    Lackey(Lackey),
    /// Of drcachesim.
    Drcachesim(Drcachesim),
}

impl Importer {
    /// The record in the next line; `None` where it has none.
    ///
    /// # Errors
    /// The line is not what its tool prints.
    pub fn line(&mut self, line: &str) -> Result<Option<Record>, TextError> {
        match self {
            Self::Carom(parser) => parser.line(line),
            Self::Lackey(lackey) => lackey.line(line),
            Self::Drcachesim(view) => view.line(line),
        }
    }
}

/// Numbers lines and accesses.
#[derive(Clone, Debug, Default)]
struct Counter {
    lines: usize,
    accesses: u64,
}

/// An access as it is printed.
struct Printed {
    kind: AccessKind,
    addr: u64,
    width: u64,
    ip: u64,
    thread: u32,
}

impl Counter {
    /// The record of an access. One of no bytes has one, as prefetches have.
    ///
    /// # Errors
    /// It goes past the end of the address space.
    fn record(&mut self, printed: &Printed) -> Result<Record, TextError> {
        let Printed { kind, addr, width, ip, thread } = *printed;
        let width = u32::try_from(width.max(1)).map_err(|_| self.error(text::Cause::AddressWraps))?;
        if addr.checked_add(u64::from(width)).is_none() {
            return Err(self.error(text::Cause::AddressWraps));
        }
        let access = Access { ip: Ip(ip), addr: Addr(addr), width, kind };
        let time = Nanos(self.accesses);
        self.accesses += 1;
        let event = Event::Access(Streamed { access, atomic: false });
        Ok(Record { process: ProcessId(0), thread: ThreadId(thread), time, event })
    }

    fn error(&self, cause: text::Cause) -> TextError {
        TextError { line: self.lines, cause }
    }

    fn malformed(&self, expected: &'static str, found: &str) -> TextError {
        self.error(text::Cause::Malformed { expected, found: found.to_owned() })
    }
}

/// A number in hexadecimal, with or without `0x`.
fn hexadecimal(word: &str) -> Option<u64> {
    let digits = word.strip_prefix("0x").unwrap_or(word);
    let plain = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    plain.then(|| u64::from_str_radix(digits, 16).ok()).flatten()
}

/// A decimal number.
fn decimal(word: &str) -> Option<u64> {
    let plain = !word.is_empty() && word.bytes().all(|digit| digit.is_ascii_digit());
    plain.then(|| word.parse().ok()).flatten()
}
