//! Inlined calls, against binutils.

use std::io::Write;
use std::process::{Command, Stdio};

use carom_base::Ip;
use carom_study::symbols::Frame;

use crate::toolchain::{Program, compile, run, text};

const SOURCE: &str = "
volatile int sink;
static inline __attribute__((always_inline)) int twice(int x) {
    sink = x;
    return 2 * x;
}
static inline __attribute__((always_inline)) int thrice(int x) {
    int y = twice(x);
    return y + x + sink;
}
__attribute__((noinline)) int work(int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) {
        sum += thrice(i);
        sum ^= twice(sum);
    }
    return sum;
}
__attribute__((noinline)) int outer(int n) {
    int got = work(n);
    return got + thrice(got);
}
int main(int argc, char **argv) { (void)argv; return outer(argc) & 1; }
";

/// Function, file and line as `addr2line -f -i` prints them, innermost first.
type Printed = Vec<(String, String)>;

/// One list of frames per stated address.
fn ask_binutils(program: &Program, stated: &[u64]) -> Option<Vec<Printed>> {
    let child = Command::new("addr2line")
        .args(["-a", "-f", "-i", "-e", text(&program.path)])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut child) = child else {
        eprintln!("skipped: tool: addr2line is not installed");
        return None;
    };
    let mut input = child.stdin.take().expect("piped");
    let addresses: String = stated.iter().map(|address| format!("{address:#x}\n")).collect();
    let writer = std::thread::spawn(move || input.write_all(addresses.as_bytes()));
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("no panic").expect("it reads all");
    let printed = String::from_utf8(output.stdout).expect("UTF-8");
    let mut answers: Vec<Printed> = Vec::new();
    let mut lines = printed.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("0x") {
            answers.push(Vec::new());
            continue;
        }
        let place = lines.next().expect("a place follows each function");
        let place = place.split(" (discriminator").next().unwrap_or(place);
        answers.last_mut().expect("an address came first").push((line.to_owned(), place.to_owned()));
    }
    Some(answers)
}

fn printed(frames: &[Frame]) -> Printed {
    let line = |frame: &Frame| frame.line.map_or("?".to_owned(), |line| line.to_string());
    let place = |frame: &Frame| format!("{}:{}", frame.file.as_deref().unwrap_or("??"), line(frame));
    let name = |frame: &Frame| frame.function.clone().unwrap_or_else(|| "??".to_owned());
    frames.iter().map(|frame| (name(frame), place(frame))).collect()
}

#[test]
fn every_instruction_of_three_functions_agrees_with_binutils() {
    for options in [["-g", "-O2", "-gdwarf-5"], ["-g", "-O2", "-gdwarf-4"], ["-g", "-O0", "-gdwarf-5"]] {
        let Some(program) = compile("cc", "inline.c", SOURCE, &options) else { return };
        let symbols = program.symbols();
        let table = program.nm();
        let ranges = ["work", "outer", "main"].map(|name| table[name]);
        let addresses: Vec<u64> = ranges
            .into_iter()
            .flat_map(|(low, size)| low - program.bias..low - program.bias + size)
            .collect();
        let Some(expected) = ask_binutils(&program, &addresses) else { return };
        assert_eq!(expected.len(), addresses.len());
        let mut deepest = 0;
        for (address, expected) in addresses.iter().zip(&expected) {
            let frames = symbols.frames(Ip(address + program.bias), false);
            assert_eq!(&printed(&frames), expected, "at {address:#x} with {options:?}");
            let inlined = frames.iter().filter(|frame| frame.inlined).count();
            assert_eq!(inlined, frames.len() - 1, "all but the outermost");
            deepest = deepest.max(frames.len());
        }
        // `twice` in `thrice` in `work`: always_inline works without optimisation, too.
        assert_eq!(deepest, 3);
    }
}

#[test]
fn a_return_address_belongs_to_the_call_before_it() {
    let Some(program) = compile("cc", "inline.c", SOURCE, &["-g", "-O1"]) else { return };
    let listing = run("objdump", &["-d", "--no-show-raw-insn", text(&program.path)]).expect("comes with cc");
    let mut lines = listing.lines().skip_while(|line| !line.contains("<outer>:"));
    lines.find(|line| line.contains("call") && line.contains("<work>")).expect("`outer` calls `work`");
    let after = lines.next().and_then(|line| line.trim().split(':').next()).expect("an address");
    let after = u64::from_str_radix(after, 16).expect("hexadecimal") + program.bias;
    let work = program.nm()["work"].0;
    let symbols = program.symbols();
    let path = symbols.call_path(&[Ip(work), Ip(after)]);
    let line_of = |text: &str| {
        let line = SOURCE.lines().position(|line| line.contains(text)).expect("it is there") + 1;
        u32::try_from(line).ok()
    };
    let outer = path.last().expect("two frames at least");
    assert_eq!((outer.function.as_deref(), outer.line), (Some("outer"), line_of("int got = work(n);")));
    assert_eq!(path.first().and_then(|frame| frame.function.as_deref()), Some("work"));
    assert_eq!(outer.address, after - program.bias);
}
