//! Memory that fragments in the making use one after the other, so that none is asked for.

use crate::decode::{block::Decoded, operand::Finder};

/// What the last fragment has left behind.
#[derive(Default)]
pub struct Spare {
    pub code: Vec<u8>,
    pub marks: Vec<u8>,
    pub instructions: Vec<Decoded>,
    pub finder: Option<Finder>,
}
