//! Variables and fields of C, in every form of executable and debug information that GCC makes.

use carom_base::{Addr, LINE_BYTES};
use carom_study::symbols::{ObjectKind, Symbols};

use crate::toolchain::{Program, compile, field};

pub const SOURCE: &str = "
struct inner { unsigned char kind; unsigned flag_a : 3, flag_b : 7; long count; };
struct stats {
    long hits, misses;
    char tag[3];
    struct inner table[4];
    union { int whole; double real; } value;
    struct { int x, y; };
};
typedef struct stats stats_t;
const volatile stats_t stats __attribute__((aligned(64))) = { 1 };
static volatile long counters[4];
volatile int grid[3][5];
_Atomic long total;
struct { int length; int values[]; } list = { 3, { 1, 2, 3 } };
__thread volatile long private;
static volatile long unrelated;

long work(void) {
    static volatile long calls;
    return ++calls;
}

void *malloc(unsigned long size);
struct stats *make(void) {
    struct stats *made = malloc(sizeof *made);
    return made;
}

int main(void) {
    counters[1]++; grid[2][3]++; total++; private++; unrelated++;
    return (int)(work() + stats.hits + list.length);
}
";

/// Every version of DWARF, kind of executable, and way to store sections, each at least once with the others.
const FORMS: [[&str; 5]; 8] = [
    ["-O0", "-pie", "-fPIE", "-gdwarf-5", "-gz=none"],
    ["-O2", "-pie", "-fPIE", "-gdwarf-5", "-gz=zlib"],
    ["-O0", "-no-pie", "-fno-pie", "-gdwarf-5", "-gz=zlib"],
    ["-O0", "-pie", "-fPIE", "-gdwarf-4", "-gz=zlib"],
    ["-O2", "-no-pie", "-fno-pie", "-gdwarf-4", "-gz=none"],
    ["-O2", "-no-pie", "-fno-pie", "-gdwarf-5", "-gz=zlib-gnu"],
    // Offsets as expressions, bit-fields counted from the top.
    ["-O2", "-pie", "-fPIE", "-gdwarf-3", "-gstrict-dwarf"],
    ["-O0", "-no-pie", "-fno-pie", "-gdwarf-2", "-gstrict-dwarf"],
];

/// Compiles [`SOURCE`] in each of [`FORMS`] and runs the check.
fn in_every_form(check: impl Fn(&Program, &Symbols)) {
    for options in FORMS {
        let Some(program) = compile("cc", "stats.c", SOURCE, &options) else { return };
        eprintln!("{options:?}");
        check(&program, &program.symbols());
    }
}

#[test]
fn fields_are_named_as_in_the_source() {
    // On x86-64, by the System V ABI: hits 0, misses 8, tag 16..19, table 24 (elements of 16 bytes: kind 0, the
    // bits of flag_a 8..11 and of flag_b 11..18, count 8), value 88, x 96, y 100; 104 bytes in all.
    in_every_form(|program, symbols| {
        let stats = program.address("stats");
        let at = |offset, width| field(symbols, stats, offset, width);
        assert_eq!(at(0, 8), "stats.hits");
        assert_eq!(at(8, 8), "stats.misses");
        assert_eq!(at(0, 16), "stats.hits..misses", "one vector load of both");
        assert_eq!(at(18, 1), "stats.tag[2]");
        assert_eq!(at(19, 1), "stats (padding)");
        assert_eq!(at(24 + 16, 1), "stats.table[1].kind");
        assert_eq!(at(24 + 16 * 3 + 8, 8), "stats.table[3].count");
        assert_eq!(at(24 + 16 * 3 + 12, 4), "stats.table[3].count", "the upper half");
        assert_eq!(at(24 + 1, 1), "stats.table[0].flag_a|flag_b", "a byte with bits of both");
        assert_eq!(at(24 + 2, 1), "stats.table[0].flag_b");
        assert_eq!(at(24 + 3, 1), "stats.table[0] (padding)");
        assert_eq!(at(24, 32), "stats.table[0]..[1]");
        assert_eq!(at(88, 4), "stats.value.whole", "the first member that fits");
        assert_eq!(at(88, 8), "stats.value.real", "too wide for the first");
        assert_eq!(at(96, 4), "stats.x", "anonymous structs are not named");
        assert_eq!(at(100, 4), "stats.y");

        assert_eq!(field(symbols, program.address("counters"), 8, 8), "counters[1]");
        // 2 rows of 5, then 3: element 13.
        assert_eq!(field(symbols, program.address("grid"), 13 * 4, 4), "grid[2][3]");
        assert_eq!(field(symbols, program.address("total"), 0, 8), "total");
        assert_eq!(field(symbols, program.address("list"), 4 + 8, 4), "list.values[2]", "a flexible array");
        assert_eq!(field(symbols, program.address("calls"), 0, 8), "work::calls");
    });
}

#[test]
fn objects_have_name_size_and_place_of_declaration() {
    in_every_form(|program, symbols| {
        let (address, size) = program.nm()["stats"];
        assert_eq!(size, 104);
        // `stats` is aligned to a line, so its second line begins 64 bytes into it.
        let object = symbols.object(Addr(address + 88));
        assert_eq!((object.kind, object.name.as_str()), (ObjectKind::Global, "stats"));
        assert_eq!((object.offset, object.size), (64, Some(104)));
        let declared = object.declared.expect("debug information says where");
        assert!(declared.file.is_some_and(|file| file.ends_with("/stats.c")));
        let line = SOURCE.lines().position(|line| line.contains("stats_t stats")).expect("it is there") + 1;
        assert_eq!(declared.line, u32::try_from(line).ok());
        assert_eq!(declared.address, address - program.bias, "as the symbol table states it");

        // A variable that begins inside its line: the line begins before it.
        let total = program.address("total");
        let object = symbols.object(Addr(total));
        assert_eq!(object.name, "total");
        assert_eq!(object.offset, -i64::try_from(total % LINE_BYTES).expect("below 64"));
    });
}

#[test]
fn the_layout_of_a_line_has_every_field_in_it() {
    in_every_form(|program, symbols| {
        let stats = program.address("stats");
        let layout = symbols.layout(Addr(stats), Addr(stats + LINE_BYTES));
        let drawn: Vec<(u64, u64, &str)> =
            layout.iter().map(|(bytes, name)| (bytes.start, bytes.end, name.as_str())).collect();
        // Nobody samples here: all of it comes from the types. The third element is cut by the end of the line.
        assert_eq!(
            drawn,
            [
                (0, 8, "stats.hits"),
                (8, 16, "stats.misses"),
                (16, 19, "stats.tag[0]..[2]"),
                (24, 25, "stats.table[0].kind"),
                (25, 27, "stats.table[0].flag_a|flag_b"),
                (32, 40, "stats.table[0].count"),
                (40, 41, "stats.table[1].kind"),
                (41, 43, "stats.table[1].flag_a|flag_b"),
                (48, 56, "stats.table[1].count"),
                (56, 57, "stats.table[2].kind"),
                (57, 59, "stats.table[2].flag_a|flag_b"),
            ]
        );

        // Other variables of the same line are shown under their own names.
        let counters = program.address("counters");
        let line = Addr(counters).line();
        let layout = symbols.layout(line.start(), Addr(line.start().0 + LINE_BYTES));
        let begin = counters - line.start().0;
        assert!(layout.contains(&(begin..begin + 8, "counters[0]".to_owned())), "{layout:?}");
        for other in ["unrelated", "total", "calls"] {
            let address = program.address(other);
            let listed = layout.iter().any(|(_, name)| name.ends_with(other));
            assert_eq!(listed, Addr(address).line() == line, "{other} in {layout:?}");
        }
    });
}

#[test]
fn what_has_no_symbol_is_called_by_its_section() {
    let Some(program) = compile("cc", "stats.c", SOURCE, &["-g", "-no-pie"]) else { return };
    let symbols = program.symbols();
    let address = program.section(".got");
    let object = symbols.object(Addr(address));
    assert_eq!(object.name, ".got of program");
    assert_eq!(symbols.field(Addr(address), 8), None);
}
