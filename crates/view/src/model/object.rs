//! Data and code by their names.

use schemars::JsonSchema;
use serde::Serialize;

/// The data that lies on a line.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Object {
    /// Kind of memory.
    pub kind: ObjectKind,
    /// Variable, allocation site, stack, file; a description where nothing is known.
    pub name: String,
    /// Position of the line's first byte in the object; negative where the object begins inside the line.
    pub offset_bytes: i64,
    /// Size of the object, where known.
    pub size_bytes: Option<u64>,
    /// Where it was declared or allocated, where known.
    pub declared: Option<Frame>,
    /// The allocation's call path, innermost first.
    pub allocation: Vec<Frame>,
}

/// Kind of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ObjectKind {
    /// A variable with static storage.
    Global,
    /// From malloc and its kin.
    Heap,
    /// On a thread's stack.
    Stack,
    /// A mapped file or shared memory.
    Mapped,
}

impl ObjectKind {
    /// The word for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Heap => "heap",
            Self::Stack => "stack",
            Self::Mapped => "mapped",
        }
    }
}

/// One function in a call path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, JsonSchema)]
pub struct Frame {
    /// Demangled name, where known.
    pub function: Option<String>,
    /// Source file as the compiler recorded it.
    pub file: Option<String>,
    /// Source line, from 1.
    pub line: Option<u32>,
    /// The executable or library.
    pub module: Option<String>,
    /// The address in the module, in hexadecimal.
    pub address: String,
    /// True where this function was inlined into the next frame.
    pub inlined: bool,
    /// True where the function is not the program's own, but comes with the language or the C library.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub library: bool,
    /// The lines of source around it, where they were at hand: in a call path those of the innermost function of the program's
    /// own code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Excerpt>,
}

/// Some lines of a source file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
pub struct Excerpt {
    /// The number of the first one.
    pub first_line: u32,
    /// Their text.
    pub lines: Vec<String>,
}
