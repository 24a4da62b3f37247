//! Types of heap blocks, inferred from the call path of their allocation.
//!
//! The programs are not run: they have allocators of their own, so that a call path is the allocator's address and
//! the return addresses of calls that objdump lists.

use carom_base::{Addr, Ip};
use carom_study::symbols::Symbols;

use crate::toolchain::{Program, compile, run, text};

/// Calls that the compiler must keep: those whose result is not needed, and those at the end of a function, which
/// would become jumps and so leave the function out of the call path.
const KEEP: [&str; 2] = ["-fno-builtin", "-fno-optimize-sibling-calls"];

/// A block of malloc's, which seldom begins with a line.
const MALLOCED: Addr = Addr(0x1010);

/// The calls of a function: where it goes on after each, and the line of the call. Names as objdump demangles them.
fn calls(program: &Program, function: &str) -> Vec<(Ip, String)> {
    let listing = run("objdump", &["-d", "-C", "--no-show-raw-insn", text(&program.path)]).expect("with cc");
    let head = format!("<{function}>:");
    let lines = listing.lines().skip_while(|line| !line.ends_with(&head));
    let lines: Vec<&str> = lines.skip(1).take_while(|line| !line.is_empty()).collect();
    let address = |line: &str| u64::from_str_radix(line.trim().split(':').next()?, 16).ok();
    let calls = lines
        .windows(2)
        .filter(|pair| pair[0].contains("call"))
        .filter_map(|pair| Some((Ip(address(pair[1])? + program.bias), pair[0].to_owned())));
    calls.collect()
}

/// Where `caller` goes on after its first call of `callee`.
fn after_call(program: &Program, caller: &str, callee: &str) -> Ip {
    let target = format!("<{callee}>");
    let calls = calls(program, caller);
    let call = calls.iter().find(|(_, line)| line.ends_with(&target));
    call.unwrap_or_else(|| panic!("{caller} calls {calls:?}")).0
}

/// The call path of an allocation, by function: the allocator first, as objdump calls it.
fn path(program: &Program, mangled: &str, functions: &[&str]) -> Vec<Ip> {
    let calls = functions.windows(2).map(|pair| match pair {
        [callee, caller] => after_call(program, caller, callee),
        _ => unreachable!("windows of two"),
    });
    std::iter::once(Ip(program.nm()[mangled].0)).chain(calls).collect()
}

/// The inferred type's name, or `-`.
fn type_of(symbols: &Symbols, path: &[Ip], size: u64) -> String {
    symbols.heap_type(path, MALLOCED, size).map_or("-".to_owned(), |of| of.name)
}

/// The field of 8 bytes at each offset of a block, or `-`.
fn fields<const N: usize>(symbols: &Symbols, path: &[Ip], size: u64, offsets: [u64; N]) -> [String; N] {
    let of = symbols.heap_type(path, MALLOCED, size);
    offsets.map(|at| of.as_ref().and_then(|of| symbols.heap_field(of, at..at + 8)).unwrap_or("-".to_owned()))
}

const C: &str = r#"
typedef unsigned long size_t;
#define ALLOCATOR __attribute__((noipa)) void *
static char memory[4096];
ALLOCATOR malloc(size_t n) { return memory + n; }
ALLOCATOR calloc(size_t n, size_t m) { return memory + n * m; }
ALLOCATOR aligned_alloc(size_t a, size_t n) { return memory + a + n; }
#define APART __attribute__((noipa))

struct stats { volatile long hits, misses; };
struct node { struct node *next; long key, value; };
struct point { double x, y, z; };
typedef struct { long head, tail; } queue_t;
struct list { struct node *head; };
struct bytes { char *data; size_t size; };

/* Returned, and held by a variable that the compiler need not keep. */
APART struct stats *returned(void) { struct stats *s = malloc(sizeof *s); s->hits = 0; return s; }
APART struct stats *rounded(void) { return aligned_alloc(64, 64); }
APART struct stats *array(int n) { return calloc(n, sizeof(struct stats)); }
APART int out_parameter(queue_t **queue) { *queue = malloc(sizeof **queue); return !*queue; }
APART void member(struct list *list) { list->head = malloc(sizeof(struct node)); }

/* Two of one size. */
APART long either(void) {
    struct node *node;
    struct point *point;
    node = malloc(24);
    point = (struct point *)node;
    return node->key + (long)point->x;
}
/* The same, but each is declared where it is allocated. */
APART long each(int n) {
    struct node *node = malloc(sizeof *node);
    struct point *point = calloc(n, sizeof *point);
    node->key = 1; point->x = 2;
    return node->key + (long)point->x;
}
/* Characters fill everything, also what would be four `struct bytes`. */
APART void grow(struct bytes *bytes) { bytes->data = malloc(64); }
APART long text(struct stats *s) { char *line = malloc(16); line[3] = 1; return s->hits + line[3]; }

static APART void *checked(size_t n) { void *p = malloc(n); if (!p) __builtin_trap(); return p; }
APART struct stats *through(void) { return checked(sizeof(struct stats)); }
/* Keeps what it allocates: that its caller has a pointer of that size says nothing. */
static APART void keeps(size_t n) { static void *kept; kept = malloc(n); __asm__("" : : "r"(kept)); }
APART struct stats *unrelated(struct stats *s) { keeps(sizeof *s); return s; }

static inline __attribute__((always_inline)) queue_t *make_queue(void) { return malloc(sizeof(queue_t)); }
APART void outer(struct stats **all) { all[0]->hits = (long)make_queue(); }

/* Kept in a variable outside. */
struct gauge { volatile long reads, writes, errors; char name[16]; };
struct gauge *gauge;
void *arena;
APART void start(void) { gauge = malloc(sizeof *gauge); gauge->reads = 1; }
APART void start_arena(size_t n) { arena = malloc(n); __asm__("" : : "r"(arena)); }

int main(int n, char **v) {
    start(); start_arena(n);
    queue_t *q; struct list list; struct bytes bytes; outer((struct stats **)v); out_parameter(&q);
    member(&list); grow(&bytes); each(n); either(); unrelated(through()); text(array(n));
    return (int)(returned()->hits + rounded()->hits + q->tail);
}
"#;

#[test]
fn the_pointer_that_receives_the_block_tells_its_type() {
    for options in [["-g", "-O2"], ["-g", "-O0"], ["-gdwarf-4", "-O2"]] {
        let Some(program) = compile("cc", "heap.c", C, &[options, KEEP].concat()) else { return };
        eprintln!("{options:?}");
        let symbols = program.symbols();
        let one = |allocator: &str, function: &str, size| {
            type_of(&symbols, &path(&program, allocator, &[allocator, function]), size)
        };
        assert_eq!(one("malloc", "returned", 16), "struct stats");
        assert_eq!(one("malloc", "returned", 24), "-", "no whole number of them");
        assert_eq!(one("malloc", "out_parameter", 16), "struct queue_t", "called by its typedef");
        assert_eq!(one("malloc", "member", 24), "struct node");
        assert_eq!(one("malloc", "either", 24), "-", "a node or a point");
        assert_eq!(one("malloc", "each", 24), "struct node");
        assert_eq!(one("calloc", "each", 24), "struct point");
        assert_eq!(one("calloc", "each", 48), "struct point", "two");
        assert_eq!(one("malloc", "grow", 64), "-");
        assert_eq!(one("malloc", "text", 16), "-");
        assert_eq!(one("malloc", "start", 40), "struct gauge");
        assert_eq!(one("malloc", "start_arena", 400), "-", "anything, or ten of them");

        let through = path(&program, "malloc", &["malloc", "checked", "through"]);
        assert_eq!(type_of(&symbols, &through, 16), "struct stats", "the wrapper's caller knows");
        let kept = path(&program, "malloc", &["malloc", "keeps", "unrelated"]);
        assert_eq!(type_of(&symbols, &kept, 16), "-", "nothing was returned to it");
        // Inlined, it is still the function that allocates.
        assert_eq!(one("malloc", "outer", 16), "struct queue_t");
        assert_eq!(type_of(&symbols, &[], 16), "-");
    }
}

#[test]
fn fields_of_one_object_and_of_several() {
    let Some(program) = compile("cc", "heap.c", C, &[&["-g", "-O2"], &KEEP[..]].concat()) else { return };
    let symbols = program.symbols();
    let returned = path(&program, "malloc", &["malloc", "returned"]);
    assert_eq!(fields(&symbols, &returned, 16, [0, 8]), ["struct stats.hits", "struct stats.misses"]);
    // 64 bytes of 16: element 3 begins at 48.
    let array = path(&program, "calloc", &["calloc", "array"]);
    let names = ["struct stats[0].hits", "struct stats[3].hits", "struct stats[3].misses"];
    assert_eq!(fields(&symbols, &array, 64, [0, 48, 56]), names);
    let of = symbols.heap_type(&array, MALLOCED, 64).expect("an array");
    assert_eq!(symbols.heap_field(&of, 8..24).as_deref(), Some("struct stats[0]..[1]"), "a wide access");
    let drawn = symbols.heap_layout(&of, 64, 40..56);
    let drawn: Vec<_> = drawn.iter().map(|(bytes, name)| (bytes.start, bytes.end, name.as_str())).collect();
    assert_eq!(drawn, [(40, 48, "struct stats[2].misses"), (48, 56, "struct stats[3].hits")]);
    assert_eq!(symbols.heap_layout(&of, 64, 64..128), [], "the block ends");
    // The same 64 bytes, when they are a line: one object and the rest of the line, unless somebody goes there.
    let rounded = path(&program, "aligned_alloc", &["aligned_alloc", "rounded"]);
    let of = symbols.heap_type(&rounded, Addr(0x1040), 64).expect("a line");
    let name = |at| symbols.heap_field(&of, at..at + 8).expect("a field");
    assert_eq!([0, 8, 56].map(name), ["struct stats.hits", "struct stats.misses", "struct stats[3].misses"]);
    assert_eq!(symbols.heap_layout(&of, 64, 0..64).len(), 2);
    // Two lines are more than rounding up adds.
    let of = symbols.heap_type(&rounded, Addr(0x1040), 128).expect("an array");
    assert_eq!(symbols.heap_layout(&of, 128, 64..128).len(), 8);
}

#[test]
fn without_debug_information_there_is_no_type() {
    let Some(program) = compile("cc", "heap.c", C, &[&["-g0", "-O2"], &KEEP[..]].concat()) else { return };
    let path = path(&program, "malloc", &["malloc", "returned"]);
    assert_eq!(type_of(&program.symbols(), &path, 16), "-");
}

#[test]
fn the_arguments_of_main_receive_nothing() {
    const MAIN: &str = "
        struct stats { long hits, misses; };
        __attribute__((noipa)) void *malloc(unsigned long n) { static char memory[64]; return memory + n; }
        int main(int count, char **arguments) {
            struct stats *stats;
            stats = malloc(count * sizeof *stats);
            return stats[1].hits > **arguments;
        }
    ";
    let Some(program) = compile("cc", "main.c", MAIN, &[&["-g", "-O1"], &KEEP[..]].concat()) else { return };
    let path = path(&program, "malloc", &["malloc", "main"]);
    assert_eq!(type_of(&program.symbols(), &path, 48), "struct stats", "not characters");
}

const CPP: &str = r#"
#include <memory>
#include <new>
#include <vector>
#define APART __attribute__((noipa))
alignas(64) static char memory[4096];
APART void *operator new(std::size_t n) { return memory + n; }
APART void *operator new[](std::size_t n) { return memory + n; }
APART void operator delete(void *) noexcept {}
APART void operator delete(void *, std::size_t) noexcept {}

namespace demo {
class Stats { public: long hits = 0, misses = 0; };
struct Base { virtual ~Base() = default; long tag = 0; };
struct Derived : Base { long more[2] = {}; };
struct Owner { Stats *stats; long other; APART void make() { stats = new Stats; } };
APART Stats *returned() { return new Stats; }
APART Stats *several(int n) { return new Stats[n]; }
struct Small { long value = 0; ~Small() { value = 0; } };
APART Small *counted(int n) { return new Small[n]; }
APART Base *derived() { Base *base = new Derived; return base; }
APART std::unique_ptr<Stats> unique() { return std::make_unique<Stats>(); }
// The vector's elements, not the object that the function also has a pointer to.
APART long numbers(Stats *s) { Stats *t = s; std::vector<long> v; v.reserve(2); t->hits = 1; return v.capacity(); }
APART std::size_t objects() { std::vector<Stats> v; v.reserve(4); return v.capacity(); }
}
int main(int n, char **) {
    demo::Owner owner; owner.make();
    return (int)(demo::returned()->hits + demo::several(n)->hits + demo::counted(n)->value + demo::derived()->tag + demo::unique()->hits
                 + demo::numbers(owner.stats) + demo::objects());
}
"#;

#[test]
fn new_is_asked_like_malloc_and_containers_know_their_elements() {
    let Some(program) = compile("c++", "heap.cc", CPP, &[&["-g", "-O2"], &KEEP[..]].concat()) else { return };
    let symbols = program.symbols();
    let one = "operator new(unsigned long)";
    let by = |function: &str| path(&program, "_Znwm", &[one, function]);
    assert_eq!(type_of(&symbols, &by("demo::returned()"), 16), "class demo::Stats");
    assert_eq!(type_of(&symbols, &by("demo::Owner::make()"), 16), "class demo::Stats");
    // A vtable pointer and a number, 16 bytes, and 16 more: not two of the base class.
    assert_eq!(type_of(&symbols, &by("demo::derived()"), 32), "-");
    assert_eq!(type_of(&symbols, &by("demo::unique()"), 16), "class demo::Stats");
    assert_eq!(type_of(&symbols, &by("demo::numbers(demo::Stats*)"), 16), "-", "two numbers");
    let objects = by("demo::objects()");
    assert_eq!(fields(&symbols, &objects, 64, [56]), ["class demo::Stats[3].misses"]);
    let by = |function: &str| path(&program, "_Znam", &["operator new[](unsigned long)", function]);
    assert_eq!(
        type_of(&symbols, &by("demo::counted(int)"), 32),
        "-",
        "the number of elements and three of them"
    );
    let array = by("demo::several(int)");
    assert_eq!(fields(&symbols, &array, 48, [16]), ["class demo::Stats[1].hits"]);
}

const RUST: &str = r#"
use std::hint::black_box;
use std::sync::Arc;
#[repr(C)]
pub struct Stats { hits: u64, misses: u64 }
#[unsafe(no_mangle)]
#[inline(never)]
pub fn boxed(n: u64) -> Box<Stats> { Box::new(Stats { hits: n, misses: 2 }) }
#[unsafe(no_mangle)]
#[inline(never)]
pub fn shared(n: u64) -> Arc<Stats> { Arc::new(Stats { hits: n, misses: 2 }) }
#[unsafe(no_mangle)]
#[inline(never)]
pub fn numbers(n: usize) -> Vec<u64> { Vec::with_capacity(n) }
fn main() {
    let n = std::env::args().count();
    black_box(boxed(n as u64).hits + shared(n as u64).misses + numbers(n).len() as u64);
}
"#;

#[test]
fn boxes_and_shared_values_know_what_they_hold() {
    let options = ["--edition=2024", "-g", "-Copt-level=3", "-Ccodegen-units=1"];
    let Some(program) = compile("rustc", "heap.rs", RUST, &options) else { return };
    let symbols = program.symbols();
    // A path may begin with the call instead of the allocator. Calls go through a table, so objdump does not know
    // of what: the allocator's comes second, after that of an empty function that tells the linker to include it.
    let by = |function: &str| [Ip(calls(&program, function)[1].0.0 - 1)];
    assert_eq!(fields(&symbols, &by("boxed"), 16, [8]), ["struct Stats.misses"]);
    // Two counters of references, then the value.
    let inner = "struct ArcInner<Stats>";
    assert_eq!(fields(&symbols, &by("shared"), 32, [16]), [format!("{inner}.data.hits")]);
    for (after, _) in calls(&program, "numbers") {
        assert_eq!(type_of(&symbols, &[Ip(after.0 - 1)], 32), "-");
    }
}
