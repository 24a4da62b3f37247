//! C++: scopes, mangled names, base classes, the standard library's wrappers.

use carom_base::{Addr, Ip};

use crate::toolchain::{compile, field, run, text};

const SOURCE: &str = r#"
#include <array>
#include <atomic>
#include <mutex>
#include <vector>
namespace demo {
struct Empty {};
struct Base { long id; virtual ~Base() {} };
class Counter : public Empty, public Base {
public:
    static constexpr int limit = 3;
    static long instances;
    std::atomic<long> value;
    std::array<int, 4> recent;
};
long Counter::instances = 1;
Counter counter;
std::atomic<long> plain;
std::array<Counter, 2> pair;
template <class T> struct Box { static T shared; };
template <class T> T Box<T>::shared = T(5);
template struct Box<long>;
namespace { volatile long hidden; }
std::mutex gate;
std::vector<int> list;
long bump() { static volatile long calls; return ++calls; }
struct Worker { long run(int) { static volatile long runs; return ++runs; } };
}
int main() {
    demo::hidden++; demo::plain++; demo::counter.value++;
    return (int)(demo::bump() + demo::Worker().run(1) + demo::Box<long>::shared + demo::pair[1].id);
}
"#;

#[test]
fn variables_and_fields_of_classes() {
    for options in
        [["-g", "-O0", "-gdwarf-5"], ["-g", "-O2", "-gdwarf-4"], ["-g", "-O2", "-fdebug-types-section"]]
    {
        let Some(program) = compile("c++", "demo.cc", SOURCE, &options) else { return };
        eprintln!("{options:?}");
        let symbols = program.symbols();
        let name = |part: &str| symbols.object(Addr(program.address(part))).name;
        assert_eq!(name("_ZN4demo7Counter9instancesE"), "demo::Counter::instances");
        assert_eq!(name("sharedE"), "demo::Box<long>::shared");
        assert_eq!(name("hiddenE"), "demo::(anonymous namespace)::hidden");
        assert_eq!(name("E5calls"), "demo::bump()::calls");
        assert_eq!(name("E4runs"), "demo::Worker::run(int)::runs");

        // A vtable pointer, then Base::id; the empty base takes nothing. The atomic at 16, four ints at 24; 40 bytes.
        let counter = program.address("_ZN4demo7counterE");
        assert_eq!(field(&symbols, counter, 0, 8), "demo::counter._vptr.Base");
        assert_eq!(field(&symbols, counter, 8, 8), "demo::counter.id");
        assert_eq!(field(&symbols, counter, 16, 8), "demo::counter.value");
        assert_eq!(field(&symbols, counter, 24 + 4, 4), "demo::counter.recent[1]");
        assert_eq!(field(&symbols, program.address("5plainE"), 0, 8), "demo::plain");
        assert_eq!(field(&symbols, program.address("_ZN4demo4pairE"), 40 + 16, 8), "demo::pair[1].value");
        assert_eq!(field(&symbols, program.address("_ZN4demo4gateE"), 0, 4), "demo::gate.__data.__lock");
        assert_eq!(field(&symbols, program.address("_ZN4demo4listE"), 8, 8), "demo::list._M_finish");

        let object = symbols.object(Addr(program.address("hiddenE")));
        let line = SOURCE.lines().position(|line| line.contains("hidden;")).expect("it is there") + 1;
        assert_eq!(object.declared.and_then(|frame| frame.line), u32::try_from(line).ok());

        let frames = symbols.frames(Ip(program.address("_ZN4demo4bumpEv")), false);
        assert_eq!(frames.last().and_then(|frame| frame.function.as_deref()), Some("demo::bump()"));
    }
}

#[test]
fn without_symbol_table_the_debug_information_names_variables() {
    let Some(program) = compile("c++", "demo.cc", SOURCE, &["-g", "-O1"]) else { return };
    let address = |part| program.address(part);
    let (calls, hidden, shared, counter) =
        (address("E5calls"), address("hiddenE"), address("sharedE"), address("_ZN4demo7counterE"));
    // Only `.symtab` goes; the debug sections stay.
    if run(
        "objcopy",
        &["--remove-section=.symtab", "--strip-unneeded", "--keep-section=.debug*", text(&program.path)],
    )
    .is_none()
    {
        return;
    }
    let symbols = program.symbols();
    let name = |address| symbols.object(Addr(address)).name;
    assert_eq!(name(hidden), "demo::(anonymous namespace)::hidden");
    assert_eq!(name(shared), "demo::Box<long>::shared");
    assert_eq!(name(calls), "demo::bump()::calls");
    assert_eq!(field(&symbols, counter, 8, 8), "demo::counter.id");
}
