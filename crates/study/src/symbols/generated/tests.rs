use super::*;

const CODE: &str = "/tmp/perf-7.map";

fn of_map(text: &[u8]) -> GeneratedCode {
    let mut code = GeneratedCode::default();
    code.read_map(&mut &*text, &Rc::from(Path::new(CODE))).unwrap();
    code
}

fn of_dump(bytes: &[u8]) -> (GeneratedCode, Result<(), Malformed>) {
    let mut code = GeneratedCode::default();
    let read = code.read_dump(&mut &*bytes, &Rc::from(Path::new("/tmp/jit-7.dump")));
    (code, read)
}

/// `add sum.js:3`, or nothing.
fn at(code: &GeneratedCode, address: u64) -> String {
    let Some(frame) = code.frame(address) else { return String::new() };
    let place = frame.file.map(|file| format!(" {file}:{}", frame.line.unwrap_or(0)));
    format!("{}{}", frame.function.unwrap(), place.unwrap_or_default())
}

#[test]
fn a_map_has_a_routine_in_a_line() {
    let code = of_map(b"1000 20 Builtin:Add\n0x2000 0x10 void Counter.run(int[])\n");
    assert_eq!(
        ["1000", "101f", "1020", "2000", "200f", "2010", "fff"]
            .map(|hex| { at(&code, u64::from_str_radix(hex, 16).unwrap()) }),
        ["Builtin:Add", "Builtin:Add", "", "void Counter.run(int[])", "void Counter.run(int[])", "", ""]
    );
    assert_eq!(code.frame(0x1000).unwrap().module.as_deref(), Some(Path::new(CODE)));
}

#[test]
fn damaged_lines_of_a_map_are_skipped() {
    let code =
        of_map(b"\nname\n10 z name\n10 8\n10 8  \n20 0 empty\nffffffffffffffff 8 last\n30 8 good\n40 8 cut");
    assert_eq!(code.routines.len(), 1);
    assert_eq!((at(&code, 0x30), at(&code, 0x40)), ("good".into(), String::new()));
    // A name that is too long is cut, and the next line is read.
    let long = [b"10 8 ".to_vec(), vec![b'x'; 3 * MOST_NAME_BYTES], b"\n20 8 next\n".to_vec()].concat();
    assert_eq!(at(&of_map(&long), 0x20), "next");
}

#[test]
fn of_two_routines_in_one_place_the_later_one_counts() {
    let code = of_map(b"10 10 a\n20 10 b\n30 10 c\n18 10 d\n");
    assert_eq!([0x10, 0x18, 0x27, 0x28, 0x30].map(|address| at(&code, address)), ["", "d", "d", "", "c"]);
}

fn record(kind: u32, payload: &[u8]) -> Vec<u8> {
    let bytes = 16 + payload.len() as u32;
    [&kind.to_le_bytes()[..], &bytes.to_le_bytes(), &0u64.to_le_bytes(), payload].concat()
}

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn header() -> Vec<u8> {
    let fields: [u32; 10] = [0x4A69_5444, 1, 40, 62, 0, 7, 0, 0, 0, 0];
    fields.iter().flat_map(|field| field.to_le_bytes()).collect()
}

/// Code of four bytes.
fn load(address: u64, name: &str) -> Vec<u8> {
    let payload =
        [words(&[0, address, address, 4, 0]), name.as_bytes().to_vec(), vec![0, 1, 2, 3, 4]].concat();
    record(0, &payload)
}

/// Lines 3 and 5 of one file, from the third byte on.
fn lines(address: u64) -> Vec<u8> {
    let entry =
        |offset: u64, line: u64, file: &[u8]| [&words(&[address + offset, line])[..], file, b"\0"].concat();
    let entries = [words(&[address, 2]), entry(2, 3, b"sum.js"), entry(3, 5, b"\xff")].concat();
    record(2, &entries)
}

#[test]
fn a_dump_has_lines_and_moves() {
    let moved = record(1, &words(&[0, 0x20, 0x20, 0x80, 4, 0]));
    let dump =
        [header(), lines(0x10), load(0x10, "add"), load(0x20, "sub"), record(9, b"unknown"), moved].concat();
    let (code, read) = of_dump(&dump);
    read.unwrap();
    let found = [0x10, 0x12, 0x13, 0x14, 0x20, 0x83].map(|address| at(&code, address));
    assert_eq!(found, ["add", "add sum.js:3", "add sum.js:5", "", "", "sub"]);
}

#[test]
fn a_dump_counts_as_far_as_it_can_be_read() {
    let dump = [header(), load(0x10, "first"), load(0x20, "second")].concat();
    for length in 0..dump.len() {
        let (code, read) = of_dump(&dump[..length]);
        assert!(read.is_ok(), "{length}: {read:?}");
        assert!(code.routines.len() <= 2);
    }
    let short = [header(), load(0x10, "first"), record(0, b"short"), load(0x20, "second")].concat();
    let (code, read) = of_dump(&short);
    assert!(matches!(read, Err(Malformed::Record { kind: 0, bytes: 21 })), "{read:?}");
    assert_eq!((at(&code, 0x10), at(&code, 0x20)), ("first".into(), String::new()));
    let mut foreign = dump.clone();
    foreign[12] = 183; // EM_AARCH64
    assert!(matches!(of_dump(&foreign).1, Err(Malformed::Machine(183))));
    assert!(matches!(of_dump(b"\x7fELF............................").1, Err(Malformed::NoJitdump)));
}

/// Every byte of a dump, changed in every bit: reading returns.
#[test]
fn no_damage_is_fatal() {
    let dump =
        [header(), lines(0x10), load(0x10, "add"), record(1, &words(&[0, 0x10, 0x10, 0x80, 4, 0]))].concat();
    for bit in 0..dump.len() * 8 {
        let mut damaged = dump.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let (code, _) = of_dump(&damaged);
        assert!(code.routines.len() <= 1);
    }
}

#[test]
fn a_description_of_another_length_is_not_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("perf-7.map");
    std::fs::write(&path, "10 8 routine\n").unwrap();
    let read = |bytes| GeneratedCode::read(&[Description { path: path.clone(), bytes }]);
    assert_eq!(at(&read(13).0, 0x10), "routine");
    let (code, malformed) = read(12);
    assert_eq!(at(&code, 0x10), "");
    assert_eq!(malformed[0].1.to_string(), "has changed since the recording");
}
