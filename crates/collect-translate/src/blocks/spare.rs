//! Buffers that are passed from one fragment in the making to the next, so that none is allocated.

use crate::decode::{block::Decoded, operand::Finder};

/// The buffers of the last fragment.
#[derive(Default)]
pub struct Spare {
    pub code: Vec<u8>,
    pub marks: Vec<u8>,
    pub instructions: Vec<Decoded>,
    pub finder: Option<Finder>,
}
