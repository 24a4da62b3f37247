use super::*;

/// A stack: at each word's place, the word.
struct Stage(Vec<u64>);

impl Stage {
    fn caller(&self, ip: u64) -> Caller {
        let sp = self.0.as_ptr().expose_provenance() as u64;
        Caller { ip, sp, fp: sp + 0x40 }
    }
}

fn mark(index: u64, value: u64) -> Mark {
    Mark { place: Place::above(index * 8).expect("aligned"), value }
}

fn add(ip: u64, marks: &[Mark], site: u32, goes_on: bool) {
    Path { ip, marks, site, goes_on }.add();
}

#[test]
fn paths_are_told_apart_by_any_of_their_marks() {
    const IP: u64 = 0x5000_0001;
    let path = |a, b, c| [mark(1, a), mark(4, b), mark(6, c)];
    let stage = |a, b, c| Stage(vec![0, a, 0, 0, b, 0, c, 0]);
    let found = |a, b, c| find(&stage(a, b, c).caller(IP));
    assert_eq!(found(1, 2, 3), 0);
    add(IP, &path(1, 2, 3), 10, false);
    assert_eq!(found(1, 2, 3), 10);
    // They differ in the last mark, in the first, in the one between.
    for (site, [a, b, c]) in [(11, [1, 2, 4]), (12, [5, 2, 3]), (13, [1, 6, 3]), (14, [5, 6, 3])] {
        assert_eq!(found(a, b, c), 0);
        add(IP, &path(a, b, c), site, false);
        assert_eq!(found(a, b, c), site);
    }
    assert_eq!([found(1, 2, 3), found(1, 2, 4), found(5, 2, 3), found(1, 6, 3)], [10, 11, 12, 13]);
    assert_eq!([found(1, 2, 5), found(7, 2, 3), found(1, 6, 4), found(5, 6, 4)], [0; 4]);
    assert_eq!(find(&stage(1, 2, 3).caller(IP + 1)), 0, "another function has called");
}

#[test]
fn frames_that_are_not_told_apart_have_one_number() {
    const IP: u64 = 0x5000_0002;
    let stage = |a, b| Stage(vec![0, a, b, 0]);
    add(IP, &[mark(1, 7), mark(2, 8)], 20, false);
    // A later path is cut behind its first mark.
    add(IP, &[mark(1, 7)], 21, true);
    assert_eq!(find(&stage(7, 8).caller(IP)), 20);
    assert_eq!(find(&stage(7, 9).caller(IP)), 21);
    assert_eq!(find(&stage(6, 8).caller(IP)), 0);
    // Also where a known path goes on for a while.
    add(IP, &[mark(1, 5), mark(2, 8), mark(3, 9)], 24, false);
    add(IP, &[mark(1, 5)], 25, true);
    assert_eq!(find(&Stage(vec![0, 5, 8, 9]).caller(IP)), 24);
    assert_eq!(find(&Stage(vec![0, 5, 8, 1]).caller(IP)), 25);
    // A whole path that ends there contradicts the known one, and is left out.
    add(IP + 1, &[mark(1, 7), mark(2, 8)], 22, false);
    add(IP + 1, &[mark(1, 7)], 23, false);
    assert_eq!(find(&stage(7, 9).caller(IP + 1)), 0);
}

#[test]
fn frame_pointers_are_compared_as_distances() {
    const IP: u64 = 0x5000_0003;
    let saved = Place::above(8).expect("aligned").saved();
    let own = Mark { place: Place::FRAME_POINTER, value: 0x40 };
    add(IP, &[own, Mark { place: saved, value: 0x100 }], 30, false);
    for _ in 0..3 {
        let mut stage = Stage(vec![0; 4]);
        let caller = stage.caller(IP);
        assert_eq!(find(&caller), 0);
        stage.0[1] = caller.sp + 0x100;
        assert_eq!(find(&caller), 30);
        assert_eq!(find(&Caller { fp: caller.fp + 8, ..caller }), 0);
    }
}

#[test]
fn paths_through_code_that_is_gone_are_forgotten() {
    const IP: u64 = 0x5000_0006;
    let found = |a, b, c| {
        let stage = Stage(vec![0, a, b, c]);
        find(&stage.caller(IP))
    };
    let paths = [(50, [21, 22, 23]), (51, [21, 0x7001, 23]), (52, [0x7002, 22, 23]), (53, [0x7002, 22, 24])];
    for (site, [a, b, c]) in paths {
        assert_eq!(found(a, b, c), 0);
        add(IP, &[mark(1, a), mark(2, b), mark(3, c)], site, false);
    }
    assert!(paths.iter().all(|&(site, [a, b, c])| found(a, b, c) == site));
    forget(&(0x7000..0x7100));
    assert_eq!(paths.map(|(_, [a, b, c])| found(a, b, c)), [50, 0, 0, 0]);
    add(IP, &[mark(1, 0x7002), mark(2, 22), mark(3, 23)], 54, false);
    assert_eq!([found(0x7002, 22, 23), found(0x7002, 22, 24), found(21, 22, 23)], [54, 0, 50]);
}

/// Libraries come and go, each with four words of code, and paths through several of them are learnt anew. What is found is what a
/// list has of them.
#[test]
fn what_is_left_is_what_does_not_lead_through_code_that_is_gone() {
    const IP: u64 = 0x5000_0007;
    const LIBRARIES: u64 = 6;
    let code = |library: u64| 0x1_0000 * (library + 1)..0x1_0000 * (library + 1) + 4;
    let mut seed = 1u64;
    let mut random = |n: u64| {
        seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (seed >> 33) % n
    };
    let mut known: Vec<([u64; 4], u32)> = Vec::new();
    let (mut forgotten, mut kept) = (0, 0);
    let found = |words: [u64; 4]| find(&Stage([[0].as_slice(), &words, &[0]].concat()).caller(IP));
    for site in 1..4000 {
        let words = [(); 4].map(|()| code(random(LIBRARIES)).start + random(4));
        let site = match known.iter().find(|(path, _)| *path == words) {
            Some((_, site)) => *site,
            None => {
                assert_eq!(found(words), 0);
                let marks: Vec<_> = (1..).zip(words).map(|(index, word)| mark(index, word)).collect();
                add(IP, &marks, site, false);
                known.push((words, site));
                site
            }
        };
        assert_eq!(found(words), site);
        if random(200) == 0 {
            let gone = code(random(LIBRARIES));
            let lost: Vec<_> =
                known.extract_if(.., |(path, _)| path.iter().any(|word| gone.contains(word))).collect();
            forget(&gone);
            (forgotten, kept) = (forgotten + lost.len(), kept + known.len());
            assert!(lost.iter().all(|(path, _)| found(*path) == 0));
            assert!(known.iter().all(|(path, site)| found(*path) == *site));
        }
    }
    assert!(forgotten > 1000 && kept > 1000, "{forgotten} forgotten, {kept} kept");
}

#[test]
fn many_paths_are_found_while_others_are_added() {
    const IP: u64 = 0x5000_0004;
    // Each path has four marks of four values; every number says what they are.
    let words = |number: u64| (0..4).map(move |digit| 0x40 + (number >> (2 * digit)) % 4);
    let stage = |number| Stage([0].into_iter().chain(words(number)).chain([0]).collect());
    let read = |from: u64| {
        for number in (0..256).cycle().skip(from as usize).take(20_000) {
            let found = find(&stage(number).caller(IP));
            assert!(found == 0 || found == 1000 + number as u32, "{found} for {number}");
        }
    };
    std::thread::scope(|scope| {
        (0..4).for_each(|thread| drop(scope.spawn(move || read(thread * 64))));
        for number in 0..256 {
            let marks: Vec<_> = (1..).zip(words(number)).map(|(index, word)| mark(index, word)).collect();
            add(IP, &marks, 1000 + number as u32, false);
        }
    });
    assert!((0..256).all(|number| find(&stage(number).caller(IP)) == 1000 + number as u32));
}

/// A function that calls itself from two places and allocates on every level: as many paths as allocations.
#[test]
fn paths_of_a_recursion_end_where_they_are_not_told_apart() {
    const IP: u64 = 0x5000_0005;
    const DEPTH: u32 = 12;
    let mut slow = 0;
    for round in 0..2 {
        for number in 1..1u64 << DEPTH {
            // The bits of the number below its highest: which call led to each level, the innermost first.
            let levels = u64::BITS - 1 - number.leading_zeros();
            let calls = (0..levels).map(|level| 100 + (number >> level & 1)).chain([7]);
            let stage = Stage([0].into_iter().chain(calls.clone()).chain([0; 16]).collect());
            let caller = stage.caller(IP);
            if find(&caller) == 0 {
                slow += 1;
                let most = if slow < 100 { 64 } else { 4 };
                let marks: Vec<_> = (1..).zip(calls).map(|(index, word)| mark(index, word)).collect();
                let cut = marks.len() > most;
                add(IP, &marks[..marks.len().min(most)], 40, cut);
                assert_ne!(find(&caller), 0, "round {round}, {number:b}");
            }
        }
    }
    assert!(slow < 100 + 40, "{slow}");
}
