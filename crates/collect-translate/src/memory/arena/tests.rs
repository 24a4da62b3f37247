use super::{
    super::{
        bank::ROW_BYTES,
        maps,
        testing::{forked, low_memory},
    },
    *,
};

/// This test's own code, which an arena must reach.
fn here() -> Range<u64> {
    let here = here as fn() -> Range<u64> as usize as u64;
    here..here + 1
}

fn call(at: u64) -> u32 {
    // SAFETY: the tests write a whole function there first.
    let function: extern "C" fn() -> u32 = unsafe { std::mem::transmute(at as usize) };
    function()
}

/// `mov eax, value; ret`, padded in front so that the value can be patched.
fn returning(value: u8) -> [u8; 8] {
    // nop; nop; mov eax, imm32 at offset 2: its operand at 3..7 lies within a quadword.
    [0x90, 0x90, 0xb8, value, 0, 0, 0, 0xc3]
}

const OPERAND: u64 = 3;

/// An arena with `returning(value)` at its first address.
fn arena(lanes: &mut Lanes, value: u8) -> Arena {
    let mut arena = Arena::new(here(), lanes).expect("arena");
    let at = arena.hot();
    arena.allocate(8, 8).expect("room");
    arena.write(at, &returning(value)).expect("allocated");
    arena
}

#[test]
fn what_is_written_through_the_alias_is_executed_and_patched() {
    let _turn = low_memory();
    let mut lanes = Lanes::reserve().expect("lanes");
    let mut arena = arena(&mut lanes, 7);
    let at = arena.range().start;
    assert_eq!(call(at), 7);
    arena.patch_u32(at + OPERAND, 0x1234_5678).expect("patched");
    assert_eq!(call(at), 0x1234_5678);
    arena.patch_u8(at + OPERAND, 0xff).expect("patched");
    assert_eq!(call(at), 0x1234_56ff);
    arena.patch_u32(at + OPERAND, 9).expect("patched");
    assert_eq!(call(at), 9);
    assert_eq!(arena.read(at, 8).expect("allocated"), returning(9));
    // Cold code lies in the other part.
    assert_eq!(arena.cold(), at + HOT_BYTES as u64 + 8);
    arena.write(arena.cold() - 8, &returning(4)).expect("allocated");
    assert_eq!(call(arena.cold() - 8), 4);
}

#[test]
fn no_page_is_writable_and_executable() {
    let _turn = low_memory();
    let mut lanes = Lanes::reserve().expect("lanes");
    let arena = arena(&mut lanes, 7);
    let mappings = maps::read().expect("maps");
    let of = |at: u64| *mappings.iter().find(|mapping| mapping.range().contains(&at)).expect("mapped");
    let (code, alias) = (of(arena.range().start), of(arena.alias.range().start));
    assert!(code.executable && !code.writable && code.shared, "{code:?}");
    assert!(alias.writable && !alias.executable && alias.shared, "{alias:?}");
}

#[test]
fn an_arena_is_near_the_code_and_its_counters_near_the_arena() {
    let _turn = low_memory();
    let mut lanes = Lanes::reserve().expect("lanes");
    let mappings = maps::read().expect("maps");
    let libraries = mappings.iter().rfind(|mapping| mapping.kind == super::super::MappingKind::File);
    // This program, the libraries, above which there may be no room for counters, and where a position-dependent program
    // would be.
    let everywhere =
        [(here(), true), (libraries.expect("a library").range(), false), (0x40_0000..0x50_0000, true)];
    for (code, has_room) in everywhere {
        let arena = Arena::new(code.clone(), &mut lanes).expect("arena");
        assert!(arena.reaches(&code));
        let farthest = |from: &Range<u64>, to: &Range<u64>| {
            from.end.abs_diff(to.start).max(to.end.abs_diff(from.start)) as i64
        };
        assert!(farthest(&code, &arena.range()) <= (2 << 30) - (32 << 20), "{code:x?} {arena:x?}");
        let v = arena.windows().v;
        // The last byte of the first counter's window, from the first byte of code, and the other way round.
        let last = v.wrapping_add((1 << 20) - 1);
        for (counter, byte) in [(v, arena.range().end - 1), (last, arena.range().start)] {
            let distance = counter.wrapping_sub(byte) as i64;
            let is_near = distance.abs() < (2 << 30) - (1 << 20);
            assert!(is_near || !has_room && v < ROW_BYTES, "{code:x?} {arena:x?}");
        }
    }
}

#[test]
fn a_counter_beside_the_code_counts() {
    let _turn = low_memory();
    let mut lanes = Lanes::reserve().expect("lanes");
    let lane = lanes.take().expect("lane");
    let mut arena = arena(&mut lanes, 0);
    let counter = arena.windows().counter_address(lane, 3);
    // sub qword ptr gs:[rip + d32], 1 (nine bytes: gs 48 83 2d d32 01); ret. Its effective address is V + 8 * 3.
    let at = arena.hot();
    let displacement = (arena.windows().v + 24).wrapping_sub(at + 9) as i64;
    let mut code = vec![0x65, 0x48, 0x83, 0x2d];
    code.extend(i32::try_from(displacement).expect("in reach").to_le_bytes());
    code.extend([0x01, 0xc3]);
    arena.allocate(code.len(), 0).expect("room");
    arena.write(at, &code).expect("allocated");
    // SAFETY: sets this thread's GS base, which nothing else in this process uses.
    unsafe { libc::syscall(libc::SYS_arch_prctl, 0x1001, lanes.base(lane)) };
    call(at);
    call(at);
    // SAFETY: an open counter.
    assert_eq!(unsafe { *counter }, -2);
}

#[test]
fn memory_is_used_as_code_grows() {
    let _turn = low_memory();
    let mut lanes = Lanes::reserve().expect("lanes");
    let mut arena = arena(&mut lanes, 7);
    let resident = |arena: &Arena| {
        let mut pages = vec![0u8; (ARENA_BYTES / 4096) as usize];
        let start = arena.alias.range().start as *mut libc::c_void;
        // SAFETY: a mapping of ours and a byte for each of its pages.
        unsafe { libc::mincore(start, ARENA_BYTES as usize, pages.as_mut_ptr()) };
        pages.iter().filter(|&&page| page & 1 == 1).count()
    };
    // One step of 64 KiB in each part.
    assert_eq!(resident(&arena), 2 * 16);
    arena.allocate(100 << 10, 0).expect("room");
    assert_eq!(resident(&arena), 3 * 16);
}

/// An arena that has begun a fragment can complete it, whatever happens to the memory meanwhile.
#[test]
fn what_was_made_ready_needs_no_memory() {
    let _turn = low_memory();
    let mut lanes = Lanes::reserve().expect("lanes");
    let mut arena = arena(&mut lanes, 1);
    let (hot, cold, before) = (arena.hot(), arena.cold(), arena.hot.populated);
    arena.make_ready(before + 1, 1).expect("memory");
    assert_eq!((arena.hot(), arena.cold()), (hot, cold));
    let ready = arena.hot.populated;
    assert!(ready > before);
    arena.allocate(before + 1, 1).expect("room");
    assert_eq!(arena.hot.populated, ready);
    assert!(arena.make_ready(HOT_BYTES, 0).is_err());
    assert_eq!(arena.hot(), hot + before as u64 + 1);
}

#[test]
fn a_full_part_takes_no_more() {
    let _turn = low_memory();
    let mut lanes = Lanes::reserve().expect("lanes");
    let mut arena = arena(&mut lanes, 7);
    // 8 bytes are in use in each part.
    assert!(arena.room(HOT_BYTES - 8, COLD_BYTES - 8));
    assert!(!arena.room(HOT_BYTES - 7, 0) && !arena.room(0, COLD_BYTES - 7) && !arena.room(usize::MAX, 0));
    let full = arena.allocate(1, COLD_BYTES - 7);
    assert_eq!(full, Err(MemoryError::ArenaFull { hot: 1, cold: COLD_BYTES - 7 }));
    assert_eq!(arena.hot(), arena.range().start + 8, "nothing was taken");
    arena.allocate(HOT_BYTES - 8, 0).expect("room");
    assert_eq!(arena.hot(), arena.range().start + HOT_BYTES as u64);
}

#[test]
fn only_allocated_code_is_written_and_no_patch_is_torn() {
    let _turn = low_memory();
    let mut lanes = Lanes::reserve().expect("lanes");
    let mut arena = arena(&mut lanes, 7);
    let at = arena.range().start;
    for (at, bytes) in [(at + 1, 8), (at - 1, 1), (at + 8, 1), (0, 1), (u64::MAX, 1), (at + ARENA_BYTES, 1)] {
        let refused = Err(MemoryError::NotAllocated { at, bytes });
        assert_eq!(arena.write(at, &[0; 8][..bytes]), refused);
    }
    assert_eq!(arena.patch_u32(at + 5, 0), Err(MemoryError::Torn { at: at + 5, bytes: 4 }));
    assert_eq!(call(at), 7, "nothing was changed");
}

#[test]
fn a_child_gets_code_of_its_own() {
    let _turn = low_memory();
    let mut lanes = Lanes::reserve().expect("lanes");
    let mut arena = arena(&mut lanes, 7);
    let (hot, cold) = (arena.range().start, arena.cold() - 8);
    arena.write(cold, &returning(5)).expect("allocated");
    // As long as it is shared, the parent executes what a child writes.
    let status = forked(|| arena.patch_u8(hot + OPERAND, 8).map_or(98, |()| 0));
    assert_eq!((status, call(hot)), (0, 8));

    let copy = arena.copy().expect("copy");
    arena.patch_u8(cold + OPERAND, 6).expect("patched after the copy was made");
    let mut copy = Some(copy);
    let status = forked(|| {
        arena.after_fork(copy.take().expect("one child")).expect("mapped");
        let before = (call(hot), call(cold));
        arena.patch_u8(hot + OPERAND, 20).expect("patched");
        // New code follows the parent's.
        let at = arena.hot();
        arena.allocate(100 << 10, 0).expect("room");
        arena.write(at, &returning(30)).expect("allocated");
        i32::from((before, call(hot), call(at)) != ((8, 5), 20, 30))
    });
    assert_eq!(status, 0);
    assert_eq!((call(hot), call(cold)), (8, 6), "the parent's code is the parent's");
    assert_eq!(arena.hot(), hot + 8);
}

#[test]
fn limits_are_named() {
    let _turn = low_memory();
    let limited = |resource, bytes| {
        let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
        // SAFETY: a valid limit, in a child of its own.
        unsafe { libc::setrlimit(resource, &raw const limit) };
    };
    // Only a lane needs more than what is left.
    let status = forked(|| {
        let mut lanes = Lanes::reserve().expect("lanes");
        let pages = std::fs::read_to_string("/proc/self/statm").expect("readable");
        let pages: u64 = pages.split(' ').next().and_then(|pages| pages.parse().ok()).expect("a number");
        let most = pages * PAGE_BYTES + (192 << 10);
        limited(libc::RLIMIT_AS, most);
        match lanes.take() {
            Err(MemoryError::AddressSpaceLimit { limit, .. }) => i32::from(limit != most),
            _ => 2,
        }
    });
    assert_eq!(status, 0, "RLIMIT_AS");
    // Beyond this limit ftruncate raises SIGXFSZ, which would end the child by that signal.
    let status = forked(|| {
        let mut lanes = Lanes::reserve().expect("lanes");
        limited(libc::RLIMIT_FSIZE, ARENA_BYTES - 1);
        let refused = Arena::new(here(), &mut lanes).expect_err("too large a file");
        i32::from(refused != MemoryError::FileSizeLimit { limit: ARENA_BYTES - 1 })
    });
    assert_eq!(status, 0, "RLIMIT_FSIZE");
    let status = forked(|| {
        let mut lanes = Lanes::reserve().expect("lanes");
        limited(libc::RLIMIT_DATA, 0);
        match lanes.take() {
            Err(MemoryError::DataLimit { limit: 0, .. }) => 0,
            _ => 1,
        }
    });
    assert_eq!(status, 0, "RLIMIT_DATA");
}

#[test]
fn locked_memory_is_released_too() {
    let _turn = low_memory();
    let status = forked(|| {
        let mut lanes = Lanes::reserve().expect("lanes");
        let lane = lanes.take().expect("lane");
        let place = lanes.base(lane) as *mut u64;
        // SAFETY: an open lane.
        unsafe { *place = 1 };
        // SAFETY: no memory is changed. Without the privilege and within a small limit it fails.
        if unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) } < 0 {
            return 0;
        }
        lanes.leave(lane).give_back().expect("given back");
        lanes.free(lane);
        let taken = lanes.take().expect("lane");
        // A new reservation may fail, but only for this reason.
        if let Err(error) = lanes.open_windows(&here()) {
            assert_eq!(error, MemoryError::LockedLimit { what: "counters" });
        }
        // SAFETY: as above.
        i32::from(taken != lane || unsafe { *place } != 0)
    });
    assert_eq!(status, 0);
}

#[test]
fn errno_stays() {
    let _turn = low_memory();
    // SAFETY: this thread's errno.
    let place = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    unsafe { *place = 77 };
    let nowhere = 0..USER_END;
    let mut lanes = Lanes::reserve().expect("lanes");
    assert!(matches!(Arena::new(nowhere, &mut lanes), Err(MemoryError::NoHole { .. })));
    // SAFETY: as above.
    assert_eq!(unsafe { *place }, 77);
}
