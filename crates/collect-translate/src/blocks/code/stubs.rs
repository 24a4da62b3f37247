//! Exit stubs: code that leaves the cache.

use super::Code;
use crate::{
    analyse::group::{Group, Member},
    encode::{Emitter, loops::Counting, marks::Spilled},
    lane::{
        exit::{Exit, Reason},
        registers::Gpr,
        slots::{DISPATCH, LOOK_UP_EXACTLY, LOOKED_UP, Scratch},
    },
};

/// An upper bound of the size of an exit stub.
pub const STUB_BYTES: usize = 80;

/// The code behind an [`Exit`], which is the same at any address. `flags_in_ax`: it first restores the flags from AX,
/// and RAX from C.
fn stub_code(flags_in_ax: bool) -> Vec<u8> {
    const RECORD: u64 = 0;
    let mut code = Emitter::small(RECORD + size_of::<Exit>() as u64);
    if flags_in_ax {
        code.flags_from_ax();
        code.reload(Gpr::RAX, Scratch::C);
    }
    code.spill(Gpr::RAX, Scratch::A);
    code.address_of(Gpr::RAX, RECORD);
    code.jump_gs(DISPATCH);
    code.bytes().to_vec()
}

/// The exit stubs of an arena.
#[derive(Debug)]
pub struct Stubs {
    /// The code behind the `Exit`: with the flags in place, and with the flags in AX.
    code: [Vec<u8>; 2],
    /// The hooks that they lead to.
    hooks: Vec<u64>,
    /// Addresses of the `Exit` records of hooks, ascending.
    records: Vec<u64>,
}

impl Stubs {
    /// None.
    pub fn new() -> Self {
        Self { code: [false, true].map(stub_code), hooks: Vec::new(), records: Vec::new() }
    }

    /// Forgets where they are. The hooks that they lead to are still to be taken.
    pub fn clear(&mut self) {
        self.records.clear();
    }
}

impl Code {
    /// Code that leaves the cache for `exit`. `flags_in_ax`: it first restores the flags from AX, and RAX from C.
    pub fn stub(&mut self, exit: Exit, flags_in_ax: bool) -> u64 {
        let mut stub = [0; STUB_BYTES];
        let Some(stub_code) = self.stubs.code.get(usize::from(flags_in_ax)) else { return 0 };
        let bytes = size_of::<Exit>() + stub_code.len();
        let (record, code) = stub.split_at_mut(size_of::<Exit>());
        record.copy_from_slice(&exit.bytes());
        code.iter_mut().zip(stub_code).for_each(|(place, byte)| *place = *byte);
        let Some(record) = self.cold(stub.get(..bytes).unwrap_or_default()) else { return 0 };
        self.note_hook(&exit, record);
        record + size_of::<Exit>() as u64
    }

    fn note_hook(&mut self, exit: &Exit, record: u64) {
        if exit.reason == Reason::Hook {
            self.stubs.hooks.push(exit.detail);
            self.stubs.records.push(record);
        }
    }

    /// As [`stub`](Self::stub); borrowed registers are restored first.
    pub fn stub_restoring(
        &mut self,
        exit: Exit,
        flags_in_ax: bool,
        spilled: Spilled,
        counting: Option<Counting>,
    ) -> u64 {
        if spilled == Spilled::None && counting.is_none() {
            return self.stub(exit, flags_in_ax);
        }
        let record = self.next_cold();
        let mut code = Emitter::small(record);
        code.raw(&exit.bytes());
        let entry = code.here();
        if flags_in_ax {
            code.flags_from_ax();
            code.reload(Gpr::RAX, Scratch::C);
        }
        code.restore_spilled(spilled);
        counting.into_iter().for_each(|counting| code.end_counting(counting));
        code.spill(Gpr::RAX, Scratch::A);
        code.address_of(Gpr::RAX, record);
        code.jump_gs(DISPATCH);
        if self.cold(code.bytes()).is_none() {
            return 0;
        }
        self.note_hook(&exit, record);
        entry
    }

    /// As [`stub_restoring`](Self::stub_restoring), for accesses that the quick look-up found near watched places: it
    /// leaves only if the exact look-up finds one too.
    pub fn exact_look_up(&mut self, exit: Exit, group: &Group, spilled: Spilled) -> u64 {
        let record = self.next_cold();
        let mut code = Emitter::small(record);
        code.raw(&exit.bytes());
        let ends = Member { offset: 0, mask: 0 };
        for Member { offset, mask } in group.members.iter().copied().chain([ends]) {
            code.raw(&offset.to_le_bytes());
            code.raw(&mask.to_le_bytes());
        }
        let entry = code.here();
        if group.live {
            code.flags_from_ax();
            code.reload(Gpr::RAX, Scratch::C);
        }
        // For a constant address no register is borrowed, and RAX serves.
        let address = if let Spilled::One(address) = spilled { address } else { Gpr::RAX };
        code.spill(Gpr::RAX, Scratch::A);
        code.effective_address(address, &group.first);
        code.store_slot(address, LOOKED_UP);
        code.restore_spilled(spilled);
        code.address_of(Gpr::RAX, record);
        code.jump_gs(LOOK_UP_EXACTLY);
        if self.cold(code.bytes()).is_none() {
            return 0;
        }
        self.note_hook(&exit, record);
        entry
    }

    /// The record of the hook's stub that contains `address`.
    pub fn stub_at(&self, address: u64) -> Option<u64> {
        let after = self.stubs.records.partition_point(|record| *record <= address);
        self.stubs.records.get(after.checked_sub(1)?).copied()
    }

    /// Takes the hooks that its code names; that code is no longer run.
    pub fn take_hooks(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.stubs.hooks)
    }
}
