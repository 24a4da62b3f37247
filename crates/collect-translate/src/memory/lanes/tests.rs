use proptest::prelude::*;

use super::{
    super::{
        reservation,
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
    assert!(lanes.range().start >= 2 << 30);
    let taken: Vec<_> = (0..3).map(|_| lanes.take().expect("lane")).collect();
    assert_eq!(taken.iter().map(|lane| lane.index()).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(lanes.base(taken[2]), lanes.range().start + 2 * ROW_BYTES);
    release(&mut lanes, taken[1]);
    assert_eq!(lanes.in_use().collect::<Vec<_>>(), [taken[0], taken[2]]);
    assert_eq!(lanes.take().expect("lane"), taken[1]);
}

#[test]
fn a_released_lane_is_zero_for_its_next_owner() {
    let _turn = low_memory();
    let mut lanes = Lanes::reserve().expect("lanes");
    let windows = lanes.open_windows(&(0x5555_0000_0000..0x5555_0100_0000)).expect("windows");
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
    let windows = lanes.open_windows(&(0x5555_0000_0000..0x5555_0100_0000)).expect("windows");
    let most = LANES;
    let last = (0..most).map(|_| lanes.take().expect("lane")).last().expect("many lanes");
    fill(lanes.base(last), STATE_BYTES);
    fill(windows.counter_address(last, COUNTERS_PER_ARENA - 1) as u64, COUNTER_BYTES);
    let end = windows.start() + (most as u64 - 1) * ROW_BYTES + COLUMN_BYTES;
    assert_eq!(windows.counter_address(last, COUNTERS_PER_ARENA - 1) as u64, end - COUNTER_BYTES);
    assert_eq!(lanes.take(), Err(MemoryError::NoLane { most }));
}

#[test]
fn windows_opened_later_serve_the_lanes_in_use() {
    let _turn = low_memory();
    let mut lanes = Lanes::reserve().expect("lanes");
    let lane = lanes.take().expect("lane");
    let near = 0x5555_0000_0000..0x5555_0100_0000;
    let windows = lanes.open_windows(&near).expect("windows");
    fill(windows.counter_address(lane, 7) as u64, COUNTER_BYTES);
    // As the instruction computes it: GS base + v + 8 * id.
    assert_eq!(
        lanes.base(lane).wrapping_add(windows.v).wrapping_add(56),
        windows.counter_address(lane, 7) as u64
    );
    assert_eq!(windows.value(lane, 7), 0xa5a5_a5a5_a5a5_a5a5_u64 as i64);
    windows.set(lane, 8, -5);
    assert_eq!([6, 8, COUNTERS_PER_ARENA].map(|id| windows.value(lane, id)), [0, -5, 0]);
    let second = lanes.open_windows(&near).expect("windows");
    assert_ne!(windows.start(), second.start());
    fill(second.counter_address(lane, 7) as u64, COUNTER_BYTES);
    lanes.clear_windows(windows).expect("cleared");
    assert_eq!([windows, second].map(|each| each.value(lane, 7)), [0, 0xa5a5_a5a5_a5a5_a5a5_u64 as i64]);
}

/// Each of these programs found room for four arenas once, and translated its code again and again.
#[test]
fn many_arenas_may_lie_near_each_other() {
    let _turn = low_memory();
    let mut lanes = Lanes::reserve().expect("lanes");
    let lane = lanes.take().expect("lane");
    for first in [64 << 20, 0x5555_0000_0000, 0x7f00_0000_0000] {
        let starts = (0..12).map(|arena: u64| first + arena * (96 << 20));
        let windows: Vec<_> = starts
            .map(|start| lanes.open_windows(&(start..start + (16 << 20))).expect("windows near their arena"))
            .collect();
        for (number, window) in windows.iter().enumerate() {
            window.set(lane, 0, number as i64);
        }
        for (number, window) in windows.iter().enumerate() {
            assert_eq!(window.value(lane, 0), number as i64, "each has its own");
        }
    }
}

/// Where the stack is right above the libraries, there is no room as far above them as lanes are above zero.
#[test]
fn counters_without_room_beside_their_arena_lie_beside_the_lanes() {
    let _turn = low_memory();
    let mut lanes = Lanes::reserve().expect("lanes");
    let lane = lanes.take().expect("lane");
    let highest = USER_END - (16 << 20)..USER_END;
    let windows: Vec<_> = (0..12).map(|_| lanes.open_windows(&highest).expect("windows")).collect();
    for (number, window) in (1..).zip(&windows) {
        assert_eq!(window.v, number * COLUMN_BYTES);
        window.set(lane, 0, number as i64);
    }
    assert_eq!(windows.iter().map(|window| window.value(lane, 0)).sum::<i64>(), 12 * 13 / 2);
}

/// What the program maps where a column is keeps its place, and the arena has another column.
#[test]
fn a_column_that_the_program_uses_is_left_to_it() {
    let _turn = low_memory();
    let mut lanes = Lanes::reserve().expect("lanes");
    let lane = lanes.take().expect("lane");
    let near = 0x5555_0000_0000..0x5555_0100_0000;
    let first = lanes.open_windows(&near).expect("windows");
    // Bytes of the next column.
    let theirs = first.counter_address(lane, 0) as u64 + COLUMN_BYTES;
    assert_eq!(reservation::map_at(theirs, 4096), Ok(true));
    fill(theirs, 4096);
    let second = lanes.open_windows(&near).expect("windows");
    assert_eq!(second.start(), first.start() + 2 * COLUMN_BYTES);
    assert!(bytes(theirs, 4096).iter().all(|&byte| byte == 0xa5));
    // SAFETY: mapped above.
    assert_eq!(unsafe { carom_base_sys::raw::munmap(theirs, 4096) }, Ok(()));
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
        let find = |site| super::super::find_hole(&mappings, BANK_BYTES, COLUMN_BYTES, site, Prefer::Low);
        let lanes = SITES.into_iter().find_map(find).expect("room");
        prop_assert!(lanes >= end + (1 << 30));
    }
}
