use rustc_hash::FxHashSet;

use super::*;
use crate::{
    encode::marks::{Marks, Undo},
    lane::exit::{Exit, Reason},
    memory::{Lanes, testing::low_memory},
    probes::mode::Version,
};

const PC: u64 = 0x40_1000;

/// An arena beside position-dependent code, and one far from it.
fn arenas(lanes: &mut Lanes) -> [Code; 2] {
    let reach = PC..PC + 4096;
    let near = Arena::new(reach.clone(), lanes).expect("an arena near the code");
    let far = Arena::far(None, lanes).expect("an arena anywhere");
    let codes = [near, far].map(|arena| Code::new(arena, (0, Version::Plain), [0; 3]).expect("memory"));
    assert!(codes.iter().all(|code| code.reaches(&reach)), "below 2 GiB everything has a name");
    codes
}

/// A fragment with one jump to the block at `PC`, which leaves. Returns the address of the displacement, and the exit
/// stub.
fn jump(code: &mut Code) -> (u64, u64) {
    let mut emitter = Emitter::at(code.next_hot());
    let mut stub = 0;
    let patch = emitter.jump(|patch| {
        stub = code.stub(Exit { reason: Reason::Link, detail: patch, pc: PC, back: 0 }, false);
        stub
    });
    let (marks, _) = Marks::new(emitter.start(), PC).finish();
    assert!(code.add_fragment(&emitter, marks, PC..PC + 5));
    (patch, stub)
}

/// The block is at least 4 GiB away: the jump leads to a springboard, through a word beside it, and back to its exit
/// stub when the block is forgotten.
#[test]
fn a_block_out_of_reach_is_jumped_to_all_the_same() {
    let _turn = low_memory();
    let mut lanes = Lanes::reserve().expect("lanes");
    let [mut near, far] = arenas(&mut lanes);
    let to = far.next_hot();
    let (patch, stub) = jump(&mut near);
    assert_eq!(near.target(patch), Some(stub));
    near.link(PC, patch, to);
    let springboard = near.target(patch).expect("a jump");
    let code: [u8; 6] = near.memory.read(springboard, 6).expect("code").try_into().expect("six bytes");
    let [0xff, 0x25, displacement @ ..] = code else { panic!("jmp [rip+...]: {code:x?}") };
    let word = (springboard + 6).wrapping_add(i32::from_le_bytes(displacement) as u64);
    assert_eq!(near.memory.read(word, 8).expect("a word"), to.to_le_bytes());
    assert_eq!(near.mark(springboard).map(|mark| mark.pc), Some(PC));
    // A second link, by a thread that was on its way out meanwhile, changes nothing.
    near.link(PC, patch, to);
    assert_eq!((near.target(patch), near.jumps.links.len()), (Some(springboard), 1));
    let gone = FxHashSet::from_iter([PC]);
    assert_eq!(near.unlink(&gone), [(PC, patch)]);
    assert_eq!(near.target(patch), Some(stub));
}

/// An arena that is emptied has all of its room again, and its memory reads as zero until it is written.
#[test]
fn an_arena_is_used_again() {
    let _turn = low_memory();
    let mut lanes = Lanes::reserve().expect("lanes");
    let [mut code, _] = arenas(&mut lanes);
    let first = (code.next_hot(), code.next_cold());
    let (patch, _) = jump(&mut code);
    assert!(code.is_current(patch));
    let range = code.retire(1);
    assert!(range.contains(&patch) && !code.is_current(patch) && !code.has_room(COUNTERS_PER_ARENA));
    assert!(code.restart(2));
    assert_eq!((code.next_hot(), code.next_cold(), code.began), (first.0, first.1, 2));
    assert!(code.has_room(COUNTERS_PER_ARENA) && code.mark(patch).is_none());
    // SAFETY: the arena's own memory, mapped to be read.
    assert_eq!(unsafe { (patch as *const u32).read_unaligned() }, 0);
}

/// A landing's jump for other targets is patched: the next landing of its chain is at least 4 GiB away, or in the
/// same arena.
#[test]
fn a_landing_leads_on_wherever_the_next_one_is() {
    let _turn = low_memory();
    let mut lanes = Lanes::reserve().expect("lanes");
    let [mut near, far] = arenas(&mut lanes);
    let mut emitter = Emitter::at(near.next_hot());
    let patch = emitter.jump_if(5, |_| near.miss(TableKind::Return));
    let (marks, _) = Marks::new(emitter.start(), PC).finish();
    assert!(near.add_fragment(&emitter, marks, PC..PC + 5));
    assert_eq!(near.target(patch), Some(near.miss(TableKind::Return)));
    assert!(near.lead_on(patch, far.next_hot(), PC, Undo::Return));
    let hop = near.target(patch).expect("a jump");
    // A signal there finds a return in progress.
    assert!(near.contains(hop) && near.mark(hop).map(|mark| mark.undo) == Some(Undo::Return));
    let next = near.next_hot();
    assert!(near.lead_on(patch, next, PC, Undo::Return));
    assert_eq!(near.target(patch), Some(next));
}
