//! Names for addresses: functions and lines for code, variables and fields for data.
//!
//! [`Symbols`] stands for one process. It reads a module when the first address in it is asked for: the file
//! that ran, if that is still there unchanged, and its separate debug file. What cannot be read costs names,
//! never the report: the address in the module remains.

mod allocator;
mod code;
mod debug_file;
mod demangle;
mod dwarf;
mod elf;
mod fields;
mod frame_base;
mod function_code;
mod functions;
mod generated;
mod globals;
mod heap_fields;
mod heap_type;
mod image;
mod intervals;
mod locals;
mod loops;
mod object;
mod own_variable;
mod pointers;
mod preceding;
mod process;
mod regular;
mod scopes;
mod short;
mod source;
mod subscripts;
mod thread_locals;
mod types;
mod units;

pub use allocator::is_of_library;
pub(crate) use allocator::{Layer, layer, wraps_allocator};
pub(crate) use code::is_only_placed;
pub use generated::{Description, GeneratedCode, Malformed};
pub use heap_type::HeapType;
pub use loops::Loop;
pub(crate) use object::UNKNOWN_HEAP;
pub use preceding::Preceding;
pub use process::{Images, Mapping, Module, Note, Problem, StackFrame, Symbols, ThreadStack};
pub use short::{function_within, is_reserved};
pub use source::Excerpt;
pub(crate) use source::Sources;
pub(crate) use subscripts::array_of;

use std::path::PathBuf;

use carom_base::Addr;
use serde::{Deserialize, Serialize};

/// One function in a call path; inlined calls are frames of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Frame {
    /// Demangled name, or `None` where no symbol covers the address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// Source file as the compiler recorded it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Source line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The executable or library.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module: Option<PathBuf>,
    /// The address in the module as its symbol table states it, or the absolute address without a module.
    pub address: u64,
    /// True where this function was inlined into the next frame.
    pub inlined: bool,
    /// The lines of source around it. In a call path only the innermost frame of the program's own code has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Excerpt>,
}

/// What lies at a data address.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DataObject {
    /// Which kind of memory.
    pub kind: ObjectKind,
    /// Variable, allocation site, `stack of worker-1`, file name; a plain description where nothing is known.
    pub name: String,
    /// Position of the line's first byte in the object, in bytes. Negative where the object begins in
    /// the middle of the line.
    pub offset: i64,
    /// Bytes, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Where it was declared or allocated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declared: Option<Frame>,
    /// The allocation's call path, innermost first; empty for other kinds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allocation: Vec<Frame>,
}

/// A variable or heap block that is an array.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArrayObject {
    /// First byte.
    #[serde(with = "number")]
    pub base: Addr,
    /// The variable; `None` for a heap block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The type of an element: `struct worker`, `long int`.
    pub element: String,
    /// Bytes of an element.
    pub element_bytes: u64,
}

/// An address as a plain number.
mod number {
    use carom_base::Addr;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(at: &Addr, serializer: S) -> Result<S::Ok, S::Error> {
        at.0.serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Addr, D::Error> {
        u64::deserialize(deserializer).map(Addr)
    }
}

impl ArrayObject {
    /// Whether its elements are of a type with fields that the program declares: its author can align it.
    pub fn is_of_records(&self) -> bool {
        short::record(&self.element).is_some_and(|name| !short::is_of_library(name))
    }

    /// Whether its elements are of a type with fields that a language's library declares, other than atomic numbers.
    pub fn is_of_library_records(&self) -> bool {
        let is_number = |name: &str| name.starts_with("Atomic") || name.starts_with("std::atomic");
        short::record(&self.element).is_some_and(|name| short::is_of_library(name) && !is_number(name))
    }

    /// The number of the element that holds this byte.
    pub fn index(&self, at: Addr) -> u64 {
        at.0.saturating_sub(self.base.0).checked_div(self.element_bytes).unwrap_or(0)
    }
}

/// Kinds of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ObjectKind {
    /// A variable with static storage.
    Global,
    /// From malloc and its kin.
    Heap,
    /// On the stack of a thread.
    Stack,
    /// A mapped file or shared memory.
    Mapped,
}
