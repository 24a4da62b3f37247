use super::*;

/// xorshift64 (Marsaglia 2003).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }
}

fn object(base: u64, size: u64) -> Object {
    Object { base, size, site: 0 }
}

fn bytes(object: Object) -> (u64, u64) {
    (object.base, object.size)
}

/// The block around `addr`.
fn around(table: &BlockTable, addr: u64) -> Option<(u64, u64)> {
    table.find(addr..addr + 1).unwrap().map(bytes)
}

#[test]
fn found_from_the_first_byte_to_the_last() {
    // The ends of every level, one byte and one granule beyond them, and the largest block of user space.
    let edges = (0..LEVELS).flat_map(|level| [0, 1, 8].map(|more| (1 << (11 + 8 * level)) + more));
    for size in edges.chain([1, 7, 8, 9, 64, 4096]).filter(|&size| size < 1 << 46) {
        let table = BlockTable::new();
        // Bases that are and are not aligned to a granule of the block's level.
        for base in [1 << 46, (1 << 46) + 8, (1 << 46) - 8] {
            table.insert(object(base, size));
            for addr in [base, base + size / 2, base + size - 1] {
                assert_eq!(around(&table, addr), Some((base, size)), "{addr:#x} in {base:#x}+{size:#x}");
            }
            for addr in [base - 1, base + size] {
                assert_eq!(around(&table, addr), None, "{addr:#x} beside {base:#x}+{size:#x}");
            }
            assert_eq!(table.remove(base).map(bytes), Some((base, size)));
            assert_eq!(around(&table, base), None);
        }
    }
}

#[test]
fn a_range_finds_what_it_touches() {
    let table = BlockTable::new();
    table.insert(object(0x1000, 24));
    table.insert(object(0x1030, 8));
    let find = |range| table.find(range).unwrap().map(bytes);
    assert_eq!(find(0x1018..0x1030), None, "between the two");
    assert_eq!(find(0x1000..0x1040), Some((0x1030, 8)), "the last of two");
    assert_eq!(find(0x0fc0..0x1001), Some((0x1000, 24)), "its first byte");
    assert_eq!(find(0x1017..0x1030), Some((0x1000, 24)), "its last byte");
    assert_eq!(find(u64::MAX - 1..u64::MAX), None);
    assert_eq!(find(0..1), None);
}

#[test]
fn only_the_first_byte_removes() {
    let table = BlockTable::new();
    table.insert(object(0x1000, 64));
    for wrong in [0x0fff, 0x1001, 0x1008, 0x1040] {
        assert!(table.remove(wrong).is_none(), "{wrong:#x}");
    }
    // Freed where nobody saw it, allocated again with another size.
    table.insert(object(0x1000, 32));
    assert_eq!(around(&table, 0x1000), Some((0x1000, 32)));
    assert_eq!(table.remove(0x1000).map(bytes), Some((0x1000, 32)));
    assert!(table.remove(0x1000).is_none());
}

#[test]
fn agrees_with_a_list_of_blocks() {
    // Blocks are laid out at random without overlap, as an allocator would: the list is the reference.
    for seed in 1..=20 {
        let mut random = Random(0x9E37_79B9_7F4A_7C15 ^ seed);
        let table = BlockTable::new();
        let mut live: Vec<(u64, u64)> = Vec::new();
        for _ in 0..3000 {
            // A few pages, so that neighbours touch, and now and then far away.
            let span = if random.below(4) == 0 { 1 << 45 } else { 1 << 16 };
            let base = (0x5555_0000_0000 + random.below(span)) & !7;
            // Mostly small, one in eight up to 1 GiB: every order of magnitude alike.
            let magnitude = if random.below(8) == 0 { 31 } else { 12 };
            let magnitude = random.below(magnitude);
            let size = random.below(1 << magnitude) + 1;
            let free = live.iter().all(|&(b, s)| base + size <= b || b + s <= base);
            if free {
                table.insert(object(base, size));
                live.push((base, size));
            }
            if random.below(3) == 0 && !live.is_empty() {
                let (base, size) = live.swap_remove(random.below(live.len() as u64) as usize);
                assert_eq!(table.remove(base).map(bytes), Some((base, size)));
            }
            // In a live block, at its edges, or anywhere.
            let addr = match live.get(random.below(live.len() as u64 + 1) as usize) {
                Some(&(base, size)) => base + random.below(size + 2) - 1,
                None => 0x5555_0000_0000 + random.below(span),
            };
            let expected = live.iter().copied().find(|&(b, s)| addr >= b && addr < b + s);
            assert_eq!(around(&table, addr), expected, "seed {seed}, {addr:#x}");
        }
        for (base, size) in live {
            assert_eq!(table.remove(base).map(bytes), Some((base, size)));
        }
        assert_eq!(around(&table, 0x5555_0000_0000), None);
    }
}

#[test]
fn many_blocks_in_one_page_and_many_pages() {
    // 16-byte blocks, the densest that the C library lays out, over 4,000 pages: growth and long windows.
    let table = BlockTable::new();
    let bases = || (0..1_000_000u64).map(|i| 0x7f00_0000_0000 + i * 16);
    bases().for_each(|base| table.insert(object(base, 16)));
    for base in bases().step_by(97) {
        assert_eq!(around(&table, base + 15), Some((base, 16)));
    }
    bases().step_by(2).for_each(|base| assert!(table.remove(base).is_some()));
    for (index, base) in bases().enumerate().step_by(89) {
        assert_eq!(around(&table, base + 3), (index % 2 == 1).then_some((base, 16)));
    }
}

#[test]
fn threads_keep_to_their_own_blocks() {
    // Each of 8 threads has every eighth 32-byte place of the same pages, so they meet in every shard.
    static TABLE: BlockTable = BlockTable::new();
    let work = |thread: u64| {
        let mut random = Random(thread + 1);
        let mut held = [false; 512];
        for _ in 0..100_000 {
            let index = random.below(512);
            let base = 0x6000_0000_0000 + (index * 8 + thread) * 32;
            let held = &mut held[index as usize];
            if *held {
                assert_eq!(TABLE.remove(base).map(bytes), Some((base, 32)));
            } else {
                assert!(TABLE.remove(base).is_none());
                TABLE.insert(object(base, 32));
            }
            *held = !*held;
            // A try that fails may not claim that there is nothing.
            let found = TABLE.find(base + 31..base + 32).map(|found| found.map(bytes));
            assert!(found == Err(Busy) || found == Ok(held.then_some((base, 32))), "{found:?}");
        }
    };
    std::thread::scope(|scope| (0..8).for_each(|thread| drop(scope.spawn(move || work(thread)))));
}

#[test]
fn a_part_that_is_being_changed_is_unknown_not_empty() {
    let table = BlockTable::new();
    let block = object(0x1000, 64);
    table.insert(block);
    let key = Key::at(0, 0x1000);
    let guard = table.shard(key).try_lock();
    assert_eq!(table.find(0x1000..0x1001).map(|found| found.map(bytes)), Err(Busy));
    // The same thread again: a signal handler of the program. It goes on without.
    table.insert(block);
    assert!(table.remove(0x1000).is_none());
    drop(guard);
    assert_eq!(around(&table, 0x1000), Some((0x1000, 64)));
}
