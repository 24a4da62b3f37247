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

fn object(base: u64, size: u64, site: u32) -> Object {
    Object { base, size, site }
}

fn around(address: u64) -> Option<Object> {
    find(&(address..address + 1))
}

#[test]
fn found_from_the_first_byte_to_the_last() {
    // The region's end, too: a block there reaches into the next region.
    let start = 0x1000_0000_0000 + (1 << REGION_BITS);
    for size in [1, 8, 24, 31, 33, 1023, 1024, 1025, 4096, 65_537, MOST_MIDDLE] {
        for base in [start - 16, start, start + 8, start + 24] {
            let block = object(base, size, SITES_END - 1);
            assert!(enter_anywhere(block));
            for address in [base, base + size / 2, base + size - 1] {
                assert_eq!(around(address), Some(block), "{address:#x} in {base:#x}+{size:#x}");
            }
            assert_eq!((around(base - 1), around(base + size)), (None, None), "{base:#x}+{size:#x}");
            assert_eq!((take(base + 8), take(base - 8)), (None, None));
            assert_eq!(take(base), Some(block));
            assert_eq!((take(base), around(base)), (None, None));
        }
    }
}

#[test]
fn what_does_not_fit_is_kept_elsewhere() {
    let base = 0x1100_0000_0000;
    assert!(!enter(object(base, 24, 1)), "no leaf yet");
    assert!(!enter_anywhere(object(base, MOST_MIDDLE + 1, 1)));
    assert!(!enter_anywhere(object(base + 4, 24, 1)), "at no multiple of a unit");
    // Other allocators lay blocks closer together than the C library.
    assert!(enter_anywhere(object(base, 8, 1)));
    assert!(!enter(object(base + 16, 8, 2)));
    assert_eq!(around(base), Some(object(base, 8, 1)));
    // One that overlaps was freed unseen.
    assert!(enter(object(base + 8, 24, 3)) || take(base).is_some());
}

#[test]
fn a_block_takes_the_place_of_one_that_was_freed_unseen() {
    let base = 0x1200_0000_0000;
    assert!(enter_anywhere(object(base, 64, 1)));
    assert!(enter(object(base + 16, 64, 2)), "it overlaps");
    assert_eq!(around(base + 16), Some(object(base + 16, 64, 2)));
    assert_eq!(around(base), None);
    assert_eq!(take(base), None);
}

#[test]
fn agrees_with_a_list_of_blocks() {
    // Blocks are laid out at random without overlap, at least as far apart as in the C library: the list is the
    // reference.
    for seed in 1..=20 {
        let mut random = Random(0x9E37_79B9_7F4A_7C15 ^ seed);
        let start = 0x2000_0000_0000 + (seed << 32);
        let mut live: Vec<Object> = Vec::new();
        for step in 0..3000 {
            let base = start + (random.below(1 << 17) & !15);
            let magnitude = random.below(18);
            let block = object(base, random.below(1 << magnitude) + 1, step + 1);
            let end = |block: &Object| block.base + block.size.next_multiple_of(16).max(32);
            if live.iter().all(|other| end(&block) <= other.base || end(other) <= block.base) {
                assert!(enter_anywhere(block));
                live.push(block);
            }
            if random.below(3) == 0 && !live.is_empty() {
                let block = live.swap_remove(random.below(live.len() as u64) as usize);
                assert_eq!(take(block.base), Some(block));
            }
            let address = start + random.below(1 << 17);
            let expected = live.iter().find(|block| (block.base..block.base + block.size).contains(&address));
            assert_eq!(around(address), expected.copied(), "seed {seed}, {address:#x}");
        }
        live.iter().for_each(|block| assert_eq!(take(block.base), Some(*block)));
    }
}

#[test]
fn threads_see_their_own_blocks_or_none() {
    // Each of 8 threads has every eighth 32-byte place of the same pages.
    let work = |thread: u64| {
        let mut random = Random(thread + 1);
        let mut held = [None; 512];
        for step in 0..100_000 {
            let index = random.below(512);
            let base = 0x3000_0000_0000 + (index * 8 + thread) * 32;
            let held = &mut held[index as usize];
            match held.take() {
                Some(block) => assert_eq!(take(base), Some(block)),
                None => {
                    let block = object(base, 1 + random.below(32), step + 1);
                    assert!(enter_anywhere(block));
                    *held = Some(block);
                }
            }
            assert_eq!(around(base), *held);
        }
    };
    std::thread::scope(|scope| (0..8).for_each(|thread| drop(scope.spawn(move || work(thread)))));
}
