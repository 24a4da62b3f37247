use proptest::prelude::*;

use super::{
    super::{
        testing::low_memory,
        windows::{COUNTER_BYTES, COUNTERS_PER_ARENA},
    },
    *,
};

fn bytes(at: u64, count: u64) -> &'static [u8] {
    // SAFETY: the tests ask for open memory of lanes and of their counters only, and read before it is unmapped.
    unsafe { std::slice::from_raw_parts(at as *const u8, count as usize) }
}

fn fill(at: u64, count: u64) {
    // SAFETY: as above; nobody else has these lanes.
    unsafe { std::ptr::write_bytes(at as *mut u8, 0xa5, count as usize) };
}

/// State and stack of a lane, in that order.
fn open_parts(lanes: &Lanes, lane: LaneId) -> [(u64, u64); 2] {
    [(lanes.base(lane), STATE_BYTES), (lanes.stack_top(lane) - STACK_BYTES, STACK_BYTES)]
}

/// Gives a lane back, and its memory.
pub fn release(lanes: &mut Lanes, lane: LaneId) {
    lanes.leave(lane).give_back().expect("given back");
    lanes.free(lane);
}

#[test]
fn lanes_lie_above_2_gib_and_are_taken_lowest_first() {
    let _turn = low_memory();
    let mut lanes = Lanes::reserve().expect("lanes");
    assert!(lanes.region.range().start >= 2 << 30);
    let taken: Vec<_> = (0..3).map(|_| lanes.take().expect("lane")).collect();
    assert_eq!(taken.iter().map(|lane| lane.index()).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(lanes.base(taken[2]), lanes.region.range().start + (2 << 20));
    release(&mut lanes, taken[1]);
    assert_eq!(lanes.in_use().collect::<Vec<_>>(), [taken[0], taken[2]]);
    assert_eq!(lanes.take().expect("lane"), taken[1]);
}

#[test]
fn a_released_lane_is_zero_for_its_next_owner() {
    let _turn = low_memory();
    let mut lanes = Lanes::reserve().expect("lanes");
    let windows = lanes.open_windows(0x5555_0000_0000..0x5555_0100_0000).expect("windows");
    let (other, lane) = (lanes.take().expect("lane"), lanes.take().expect("lane"));
    let counters = windows.counter_address(lane, 0) as u64;
    let parts = open_parts(&lanes, lane).into_iter().chain([(counters, LANE_BYTES)]);
    fill(lanes.base(other), STATE_BYTES);
    for (at, count) in parts.clone() {
        assert!(bytes(at, count).iter().all(|&byte| byte == 0), "a new lane is zero");
        fill(at, count);
    }
    release(&mut lanes, lane);
    assert_eq!(lanes.take().expect("lane"), lane);
    for (at, count) in parts {
        assert!(bytes(at, count).iter().all(|&byte| byte == 0), "{at:#x} is not zero");
    }
    assert!(bytes(lanes.base(other), STATE_BYTES).iter().all(|&byte| byte == 0xa5), "the neighbour's stays");
}

/// In a forked child, the lanes of the other threads become free.
#[test]
fn an_abandoned_lane_is_zero_for_its_next_owner() {
    let _turn = low_memory();
    let mut lanes = Lanes::reserve().expect("lanes");
    let lane = lanes.take().expect("lane");
    fill(lanes.base(lane), STATE_BYTES);
    lanes.abandon(lane);
    assert_eq!(lanes.take().expect("lane"), lane);
    assert!(bytes(lanes.base(lane), STATE_BYTES).iter().all(|&byte| byte == 0));
}

#[test]
fn all_lanes_can_be_taken_and_no_more() {
    let _turn = low_memory();
    let mut lanes = Lanes::reserve().expect("lanes");
    let windows = lanes.open_windows(0x5555_0000_0000..0x5555_0100_0000).expect("windows");
    let most = lanes.count();
    let last = (0..most).map(|_| lanes.take().expect("lane")).last().expect("many lanes");
    fill(lanes.base(last), STATE_BYTES);
    fill(windows.counter_address(last, COUNTERS_PER_ARENA - 1) as u64, COUNTER_BYTES);
    let end = windows.start() + most as u64 * LANE_BYTES;
    assert_eq!(windows.counter_address(last, COUNTERS_PER_ARENA - 1) as u64, end - COUNTER_BYTES);
    assert_eq!(lanes.take(), Err(MemoryError::NoLane { most }));
}

#[test]
fn windows_opened_later_serve_the_lanes_in_use() {
    let _turn = low_memory();
    let mut lanes = Lanes::reserve().expect("lanes");
    let lane = lanes.take().expect("lane");
    let near = 0x5555_0000_0000..0x5555_0100_0000;
    let windows = lanes.open_windows(near.clone()).expect("windows");
    fill(windows.counter_address(lane, 7) as u64, COUNTER_BYTES);
    // As the instruction computes it: GS base + v + 8 * id.
    assert_eq!(
        lanes.base(lane).wrapping_add(windows.v).wrapping_add(56),
        windows.counter_address(lane, 7) as u64
    );
    assert_eq!(windows.value(lane, 7), 0xa5a5_a5a5_a5a5_a5a5_u64 as i64);
    windows.set(lane, 8, -5);
    assert_eq!([6, 8, COUNTERS_PER_ARENA].map(|id| windows.value(lane, id)), [0, -5, 0]);
    let second = lanes.open_windows(near).expect("windows");
    assert_ne!(windows.start(), second.start());
    lanes.close_windows(windows);
    assert_eq!(lanes.windows.len(), 1);
    assert_eq!(lanes.windows[0].range().start, second.start());
}

#[test]
fn the_stack_has_a_guard() {
    let _turn = low_memory();
    let mut lanes = Lanes::reserve().expect("lanes");
    let lane = lanes.take().expect("lane");
    let below = lanes.stack_top(lane) - STACK_BYTES - 1;
    let mappings = maps::read().expect("maps");
    let between = lanes.base(lane) + STATE_BYTES..below + 1;
    assert!(mappings.iter().all(|mapping| mapping.end <= between.start || between.end <= mapping.start));
}

proptest! {
    /// A position-dependent program at 4 MiB: its heap begins up to 1 GiB behind its end (arch_randomize_brk,
    /// arch/x86/kernel/process.c), and may have grown before the engine starts, here up to 256 MiB.
    #[test]
    fn there_is_room_beside_any_heap(gap in 0u64..1 << 30, heap in 4096u64..256 << 20) {
        let page = |address: u64| address & !4095;
        let start = page((6 << 20) + gap);
        let end = page(start + heap);
        let text = format!("400000-600000 r-xp 0 0 1 /bin/a\n{start:x}-{end:x} rw-p 0 0 0 [heap]");
        let mappings = maps::parse(text.as_bytes());
        let find = |site: &Site| {
            let bytes = LANE_BYTES * site.lanes as u64;
            super::super::find_hole(&mappings, bytes, LANE_BYTES, site.within.clone(), site.prefer)
        };
        let lanes = Layout::of(&mappings).sites().iter().find_map(find).expect("room");
        prop_assert!(lanes >= end + (1 << 30));
    }
}
