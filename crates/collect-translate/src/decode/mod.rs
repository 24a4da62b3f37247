//! The program's instructions: basic blocks, their operands, and properties of the places where they lie.

pub mod block;
pub mod linkage;
pub mod operand;
pub mod reader;
pub mod restartable;
pub mod source;
