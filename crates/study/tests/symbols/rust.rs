//! Rust: statics, tuples, enums, and the wrappers around one value.

use carom_base::{Addr, Ip};

use crate::toolchain::{compile, field};

const SOURCE: &str = r#"
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
pub struct Counter { pub name: u8, pub hits: AtomicU64 }
pub struct Stats { pub a: Counter, pub pair: (AtomicU32, AtomicU32), pub table: [[AtomicU32; 3]; 2] }
const fn counter() -> Counter { Counter { name: 1, hits: AtomicU64::new(0) } }
const ZERO: AtomicU32 = AtomicU32::new(0);
#[repr(C)]
pub struct Fixed { first: Counter2, second: AtomicU64, third: (u8,) }
#[repr(C)]
pub struct Counter2 { count: AtomicU64 }
#[unsafe(no_mangle)]
pub static FIXED: Fixed =
    Fixed { first: Counter2 { count: AtomicU64::new(1) }, second: AtomicU64::new(2), third: (3,) };
mod inner {
    pub static STATS: super::Stats = super::Stats {
        a: super::counter(), pair: (super::ZERO, super::ZERO), table: [[super::ZERO; 3], [super::ZERO; 3]] };
}
static FLAG: AtomicBool = AtomicBool::new(false);
static LOCKED: Mutex<(u64, u64)> = Mutex::new((1, 2));
static CELLS: [AtomicU64; 8] = [const { AtomicU64::new(0) }; 8];
#[inline(never)]
fn work() -> u64 {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    CALLS.fetch_add(1, Relaxed)
}
#[inline(never)]
fn lonely(x: u64) -> u64 {
    x ^ FIXED.second.load(Relaxed)
}
fn main() {
    FLAG.store(true, Relaxed);
    CELLS[std::env::args().count()].fetch_add(1, Relaxed);
    inner::STATS.a.hits.fetch_add(1, Relaxed);
    inner::STATS.table[1][2].fetch_add(1, Relaxed);
    inner::STATS.pair.1.fetch_add(1, Relaxed);
    LOCKED.lock().unwrap().1 += FIXED.second.load(Relaxed) + FIXED.first.count.load(Relaxed);
    println!("{FLAG:?} {} {}", lonely(work()), FIXED.third.0);
}
"#;

#[test]
fn statics_and_their_fields() {
    let forms: [&[&str]; 3] =
        [&["-g"], &["-g", "-Copt-level=3"], &["-g", "-Copt-level=3", "-Csymbol-mangling-version=v0"]];
    for options in forms {
        let options = [&["--edition=2024", "-Ccodegen-units=1"], options].concat();
        let Some(program) = compile("rustc", "demo.rs", SOURCE, &options) else { return };
        eprintln!("{options:?}");
        let symbols = program.symbols();

        // #[repr(C)]: 0, 8 and 16. A struct that the program's author wrote is named, the library's are not.
        let fixed = program.address("FIXED");
        assert_eq!(field(&symbols, fixed, 0, 8), "demo::FIXED.first.count");
        assert_eq!(field(&symbols, fixed, 8, 8), "demo::FIXED.second");
        assert_eq!(field(&symbols, fixed, 16, 1), "demo::FIXED.third.0");

        // Rust orders fields as it likes, so each name is looked for in the whole.
        let stats = program.address("STATS");
        let size = symbols.object(Addr(stats)).size.expect("nm has it");
        let layout = symbols.layout(Addr(stats), Addr(stats + size));
        let names: Vec<&str> = layout.iter().map(|(_, name)| name.as_str()).collect();
        for expected in ["a.name", "a.hits", "pair.0", "pair.1", "table[0][0]", "table[1][2]"] {
            assert!(
                names.iter().any(|name| name.ends_with(&format!("::inner::STATS.{expected}"))),
                "{names:?}"
            );
        }
        assert_eq!(names.len(), 2 + 2 + 6);

        let calls = symbols.object(Addr(program.address("CALLS")));
        assert!(calls.name.ends_with("::work::CALLS"), "{}", calls.name);
        let line = SOURCE.lines().position(|line| line.contains("static CALLS")).expect("it is there") + 1;
        assert_eq!(calls.declared.and_then(|frame| frame.line), u32::try_from(line).ok());
        assert!(field(&symbols, program.address("4FLAG"), 0, 1).ends_with("::FLAG"));
        assert!(field(&symbols, program.address("5CELLS"), 24, 8).ends_with("::CELLS[3]"));
        let locked = program.address("6LOCKED");
        let layout = symbols.layout(Addr(locked), Addr(locked + 24));
        assert!(layout.iter().any(|(_, name)| name.ends_with("::LOCKED.data.1")), "{layout:?}");

        let frames = symbols.frames(Ip(program.address("6lonely")), false);
        let outermost = frames.last().and_then(|frame| frame.function.as_deref()).unwrap_or_default();
        assert!(outermost.ends_with("::lonely"), "{outermost}");
    }
}
