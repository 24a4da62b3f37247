//! How a statically linked program shows that it contains the agent, and which symbols a linker must keep.

/// An ELF note (gABI, "Note Section"): the host reads its content anywhere in the file, the hooks for new
/// programs find it by its owner through the program headers.
#[repr(C, align(4))]
struct Note {
    owner_bytes: u32,
    content_bytes: u32,
    kind: u32,
    owner: [u8; 8],
    content: [u8; 24],
}

const OWNER: &[u8; 6] = b"carom\0";
const MARK: &[u8; 22] = b"carom agent linked in\0";

/// `bytes` with zeroes behind them.
const fn padded<const FROM: usize, const TO: usize>(bytes: &[u8; FROM]) -> [u8; TO] {
    let mut padded = [0; TO];
    let mut at = 0;
    while at < FROM {
        padded[at] = bytes[at];
        at += 1;
    }
    padded
}

#[used]
#[unsafe(link_section = ".note.carom")]
#[unsafe(export_name = "carom_agent_mark")]
static NOTE: Note = Note {
    owner_bytes: OWNER.len() as u32,
    content_bytes: MARK.len() as u32,
    kind: 1,
    owner: padded(OWNER),
    content: padded(MARK),
};
