use carom_base::{Addr, Ip, Line, ProcessId, StackId};

use serde::{Deserialize, Serialize};

use crate::symbols::{ArrayObject, DataObject, Frame, Loop, ObjectKind, Preceding};

/// What things are called. Implemented over symbols in `symbolised.rs`, over stored answers in `cached.rs`, by a table in tests.
pub trait Names {
    /// The call path of an access, innermost (inlined) function first: the functions at `ip`, then the
    /// callers that `stack` holds.
    fn call_path(&mut self, process: ProcessId, ip: Ip, stack: StackId) -> Vec<Frame>;

    /// What lies at `at`, with its offset for the first byte of the line that `at` is in.
    fn object(&mut self, process: ProcessId, at: Addr) -> DataObject;

    /// The variable or field that covers these bytes.
    fn field(&mut self, process: ProcessId, at: Addr, width: u32) -> Option<String>;

    /// The array that holds this byte, if it lies in one that is a variable or a heap block by itself.
    fn array(&mut self, _process: ProcessId, _at: Addr) -> Option<ArrayObject> {
        None
    }

    /// The innermost loop around an instruction, as far as known.
    fn loop_around(&mut self, _process: ProcessId, _ip: Ip) -> Option<Loop> {
        None
    }

    /// What the basic block of an instruction accessed before it, as far as known: see [`Preceding`].
    fn preceding(&mut self, _process: ProcessId, _ip: Ip) -> Vec<Preceding> {
        Vec::new()
    }

    /// Where a byte of memory that processes share ([`Addr::segment`]) lies in this one.
    fn local(&mut self, _process: ProcessId, _shared: Addr) -> Option<Addr> {
        None
    }

    /// Every variable and field that lies in the line, as far as known.
    fn layout(&mut self, process: ProcessId, line: Line) -> Vec<NamedBytes>;
}

/// A named run of bytes in a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedBytes {
    /// First byte, from the start of the line.
    pub offset: u32,
    /// Bytes in this line.
    pub width: u32,
    /// Variable or field.
    pub name: String,
}

/// Names for a recording whose binaries are not at hand: none.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoNames;

impl Names for NoNames {
    fn call_path(&mut self, _: ProcessId, ip: Ip, _: StackId) -> Vec<Frame> {
        vec![Frame { address: ip.0, ..Frame::default() }]
    }

    fn object(&mut self, _: ProcessId, at: Addr) -> DataObject {
        DataObject {
            kind: ObjectKind::Mapped,
            name: "unknown memory".to_owned(),
            offset: -(at.offset_in_line() as i64),
            size: None,
            declared: None,
            allocation: Vec::new(),
        }
    }

    fn field(&mut self, _: ProcessId, _: Addr, _: u32) -> Option<String> {
        None
    }

    fn layout(&mut self, _: ProcessId, _: Line) -> Vec<NamedBytes> {
        Vec::new()
    }
}
