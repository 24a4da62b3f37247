//! The small programs that profilers are pointed at: compiled as their first comments say, and run.

// clippy.toml allows it in test functions, but not in their helpers.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use object::{Object, ObjectSymbol};
use tempfile::TempDir;

/// Compiles `targets/<name>.c` with `cc -g -O2` and these flags.
fn compile(folder: &TempDir, name: &str, flags: &[&str]) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("targets").join(format!("{name}.c"));
    let program = folder.path().join(format!("{name}{}", flags.concat()).replace('/', "-"));
    let status = Command::new("cc")
        .args(["-g", "-O2"])
        .args(flags)
        .arg(source)
        .arg("-o")
        .arg(&program)
        .status()
        .expect("a C compiler");
    assert!(status.success(), "{name} {flags:?}");
    program
}

fn stdout(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Address and size of a global variable.
fn variable(program: &Path, name: &str) -> (u64, u64) {
    let file = fs::read(program).unwrap();
    let elf = object::File::parse(&*file).unwrap();
    let symbol = elf.symbols().find(|symbol| symbol.name() == Ok(name)).unwrap();
    (symbol.address(), symbol.size())
}

#[test]
fn counters_count_in_one_line_or_in_two() {
    let folder = TempDir::new().unwrap();
    let shared = compile(&folder, "counters", &["-pthread"]);
    let padded = compile(&folder, "counters", &["-pthread", "-DPADDED"]);
    for program in [&shared, &padded] {
        assert_eq!(stdout(Command::new(program).arg("100000")), "hits 100000 misses 100000\n");
    }
    // Two words of 8 bytes from the start of a line lie in it; with one line of 64 bytes for each it is 128.
    let (address, size) = variable(&shared, "stats");
    assert_eq!((address % 64, size), (0, 16));
    let (address, size) = variable(&padded, "stats");
    assert_eq!((address % 64, size), (0, 128));
}

#[test]
fn counters_on_the_heap_count() {
    let folder = TempDir::new().unwrap();
    for flags in [&["-pthread"][..], &["-pthread", "-DPADDED"]] {
        let program = compile(&folder, "counters_heap", flags);
        assert_eq!(stdout(Command::new(program).arg("100000")), "hits 100000 misses 100000\n");
    }
}

#[test]
fn threads_add_on_the_stack_of_main() {
    let folder = TempDir::new().unwrap();
    let program = compile(&folder, "stack_share", &["-pthread"]);
    // 0 + 1 + ... + 99,999 = 100,000 * 99,999 / 2.
    assert_eq!(stdout(Command::new(program).arg("100000")), "sums 4999950000 4999950000\n");
}

#[test]
fn the_stencils_checksum_does_not_depend_on_the_threads() {
    let folder = TempDir::new().unwrap();
    let program = compile(&folder, "stencil", &["-fopenmp"]);
    let run = |threads: &str, n: &str, iterations: &str| {
        stdout(Command::new(&program).env("OMP_NUM_THREADS", threads).args([n, iterations]))
    };
    // Three hot cells of 1 above, and in the one inner cell a quarter of the one above it.
    assert_eq!(run("1", "3", "1"), "n 3 iterations 1 checksum 3.250000000000e+00\n");
    assert_eq!(run("1", "64", "20"), run("3", "64", "20"));
}

#[test]
fn the_counters_and_their_total_do_not_depend_on_padding() {
    let folder = TempDir::new().unwrap();
    for flags in [&["-pthread"][..], &["-pthread", "-DPADDED"]] {
        let program = compile(&folder, "totals", flags);
        assert_eq!(stdout(Command::new(program).arg("1000")), "1000 1000 500\n");
    }
}

/// Each compares its result with what it has to be.
#[test]
fn kernels_are_right_with_any_number_of_threads() {
    let folder = TempDir::new().unwrap();
    for name in ["bt", "cg", "ep", "ft", "is", "lu", "mg", "smg", "sp", "sppm"] {
        let flags = ["-fopenmp", "-Wl,--no-as-needed", "-lm"];
        let program = compile(&folder, &format!("kernels/{name}"), &flags);
        for threads in ["1", "3"] {
            let told = stdout(Command::new(&program).env("OMP_NUM_THREADS", threads));
            assert!(told.starts_with(&format!("{name}: verified")), "{told}");
        }
    }
}

#[test]
fn the_rayon_programs_checksum_does_not_depend_on_the_threads() {
    let run = |threads: &str, seed: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_carom-rayon"));
        let command = command.env("RAYON_NUM_THREADS", threads);
        stdout(command.args(["--numbers", "20000", "--rounds", "2", "--seed", seed]))
    };
    assert_eq!(run("1", "1"), run("3", "1"));
    assert_ne!(run("1", "1"), run("1", "2"));
}
