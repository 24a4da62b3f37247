//! Facts about instructions that their decoded form does not have.

use iced_x86::InstructionInfoFactory;

use crate::code::decode;
use crate::xsave::Layout;

/// The decoder's list of an instruction's operands and registers, and the layout of XSAVE areas.
pub(crate) struct Info {
    pub factory: InstructionInfoFactory,
    pub layout: Layout,
}

impl Info {
    /// Allocates everything that later uses need.
    pub fn new() -> Self {
        let mut factory = InstructionInfoFactory::new();
        for bytes in LONGEST {
            // The first decoding anywhere in the process also builds the decoder's tables.
            let _ = factory.info(&decode(bytes, 0));
        }
        Self { factory, layout: Layout::of_this_processor() }
    }
}

/// The instructions with the most registers and the most memory operands. The factory's lists do not grow after it has
/// listed these.
const LONGEST: [&[u8]; 6] = [
    // vzeroall and vzeroupper: all vector registers, the latter twice.
    &[0xc5, 0xfc, 0x77],
    &[0xc5, 0xf8, 0x77],
    // frstor [rax]: all x87 and MMX registers.
    &[0xdd, 0x20],
    // fxrstor [rax]: x87, MMX and XMM registers.
    &[0x0f, 0xae, 0x08],
    // xrstor [rax].
    &[0x0f, 0xae, 0x28],
    // enter 0, 31: 31 frame pointers loaded and stored.
    &[0xc8, 0x00, 0x00, 31],
];
