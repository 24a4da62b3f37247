//! Switches: the first instructions of blocks in [`Mode::Episodes`](crate::Mode::Episodes), by which threads change between the two
//! versions of the code.
//!
//! Jumps, landings and tables lead to the plain version of a block. It begins with a switch: five bytes that do nothing, or, during an
//! episode, a jump to the watching version. So all threads change within microseconds, and neither links nor tables have
//! to. A watching block leads to the plain versions of its successors as well, whose switches lead on.

use rustc_hash::FxHashMap;

/// `nop dword ptr [rax+rax]` (Intel SDM volume 2, NOP).
const OFF: [u8; Switch::BYTES as usize] = [0x0f, 0x1f, 0x44, 0, 0];

/// The opcode of `jmp rel32`.
const JUMP: u8 = 0xe9;

/// The switch of a block.
#[derive(Clone, Copy, Debug)]
pub struct Switch {
    /// Where it lies: within an aligned quadword, so that it can be replaced as a whole.
    pub at: u64,
    /// The exit stub to which it leads while the block has no watching version.
    pub stub: u64,
    /// The way to the watching version.
    pub to: Option<u64>,
}

impl Switch {
    /// Its size.
    pub const BYTES: u64 = 5;

    /// The one at `at`, with this exit stub.
    pub const fn new(at: u64, stub: u64) -> Self {
        Self { at, stub, to: None }
    }

    /// Its bytes. Out of reach the block is not watched.
    pub fn bytes(&self, open: bool) -> [u8; Self::BYTES as usize] {
        let target = self.to.unwrap_or(self.stub);
        let displacement = i32::try_from(target.wrapping_sub(self.at + Self::BYTES) as i64);
        let Some(displacement) = displacement.ok().filter(|_| open) else { return OFF };
        let [a, b, c, d] = displacement.to_le_bytes();
        [JUMP, a, b, c, d]
    }
}

/// All switches, by the blocks that they begin.
#[derive(Debug, Default)]
pub struct Switches {
    all: FxHashMap<u64, Switch>,
    open: bool,
    /// How many episodes have begun.
    begun: u64,
}

impl Switches {
    /// Whether there is an episode.
    pub const fn are_open(&self) -> bool {
        self.open
    }

    /// The number of the episode, from 1 on; 0 where there is none.
    pub const fn episode(&self) -> u64 {
        if self.open { self.begun } else { 0 }
    }

    /// Begins or ends an episode. False where nothing changes with that.
    pub const fn turn(&mut self, open: bool) -> bool {
        let changes = self.open != open;
        self.open = open;
        self.begun += (changes && open) as u64;
        changes
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Switch> {
        self.all.values()
    }

    /// That of the block at `pc`.
    pub fn get_mut(&mut self, pc: u64) -> Option<&mut Switch> {
        self.all.get_mut(&pc)
    }

    /// The block at `pc` begins with this one.
    pub fn add(&mut self, pc: u64, switch: Switch) {
        self.all.insert(pc, switch);
    }

    /// Forgets those that lie where `is_dead` holds.
    pub fn forget(&mut self, is_dead: impl Fn(u64) -> bool) {
        self.all.retain(|_, switch| !is_dead(switch.at));
    }
}
