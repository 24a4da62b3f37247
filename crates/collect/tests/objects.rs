//! Programs with their heap blocks followed: contended blocks are found, and nothing else changes.
#![allow(clippy::unwrap_used, reason = "tests fail by it")]

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::{Mutex, OnceLock},
};

use carom_base::{Ip, SharingEvent};
use carom_base_wire::{Engine, Settings, ShareSettings, WatchChoice};
use carom_collect::{Request, record};
use carom_store::{Exit, HeapObject, Recording, Stack, check};

/// The folder of the test's programs, with the agent where `record` looks for it.
fn built() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        // This test lies in `target/PROFILE/deps`.
        let exe = std::env::current_exe().unwrap();
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--quiet", "--package", "carom-collect-agent", "--target-dir"]);
        build.arg(exe.ancestors().nth(3).unwrap());
        if !cfg!(debug_assertions) {
            build.arg("--release");
        }
        assert!(build.status().unwrap().success(), "the agent builds");
        let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("objects");
        std::fs::create_dir_all(&dir).unwrap();
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let source = |name: &str| here.join("tests/objects").join(name);
        let counters = here.join("../../programs/targets/counters_heap.c");
        compile(&dir, &["-g", "-O2", "-no-pie", "-pthread"], &counters, "counters_heap");
        compile(&dir, &["-O1", "-w", "-pthread"], &source("heap.c"), "heap");
        compile(
            &dir,
            &["-O1", "-w", "-fno-builtin", "-shared", "-fPIC"],
            &source("interruptible.c"),
            "libinterruptible.so",
        );
        let own =
            ["-O1", "-w", "-pthread", "-Wl,-rpath,$ORIGIN", "-Wl,--no-as-needed", "-L.", "-linterruptible"];
        compile(&dir, &own, &source("heap.c"), "heap_interruptible");
        dir
    })
}

/// Compiles to a name of this process's own first: other processes run what is there by the last one.
fn compile(dir: &Path, options: &[&str], source: &Path, output: &str) {
    let own = format!("{output}.{}", std::process::id());
    let mut cc = Command::new("cc");
    cc.current_dir(dir).args(options).arg(source).args(["-o", &own]);
    assert!(cc.status().unwrap().success(), "{output} compiles");
    std::fs::rename(dir.join(own), dir.join(output)).unwrap();
}

/// What came of one recording.
struct Followed {
    profile: Recording,
    stdout: String,
    /// Where the profile lies, removed with it.
    _scratch: tempfile::TempDir,
}

/// Records `sh -c script` with blocks of at least `least` bytes followed.
fn follow(name: &str, script: &str, least: u64) -> Followed {
    let scratch = tempfile::tempdir_in(built()).unwrap();
    let out = scratch.path().join("out");
    let script = format!("cd {}\n({script}) > {}", built().display(), out.display());
    let settings = Settings {
        period_ns: 500_000,
        budget_ppm: 100_000,
        max_steps: 64,
        watchpoints: 4,
        objects: Some(least),
        share: Some(ShareSettings { watch: WatchChoice::Registers, board_slots: 127 }),
        ..Settings::of(Engine::Burst)
    };
    let request = Request {
        command: "share".into(),
        questions: Vec::new(),
        argv: ["sh", "-c", &script].map(String::from).into(),
        dir: Some(scratch.path().join("profile")),
        settings,
        reason: "test".into(),
        time_memory: false,
        memory: None,
        streams: carom_collect::Streams::Own,
        targets: Vec::new(),
        series: None,
        accesses: None,
    };
    // The host's signal handlers are one per process, and processors are few.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let outcome = {
        let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        record(&request).unwrap()
    };
    assert_eq!(outcome.exit, Exit::Code(0), "{name}");
    let broken: Vec<_> = check(&outcome.dir).unwrap();
    assert!(broken.is_empty(), "{name}: {broken:?}");
    let profile = Recording::open(&outcome.dir).unwrap();
    Followed { profile, stdout: std::fs::read_to_string(out).unwrap(), _scratch: scratch }
}

/// What `script` writes natively.
fn native(script: &str) -> String {
    let output = Command::new("sh").current_dir(built()).args(["-c", script]).output().unwrap();
    assert!(output.status.success(), "{script}");
    String::from_utf8(output.stdout).unwrap()
}

fn same_output(name: &str, script: &str) {
    let stdout = follow(name, script, 0).stdout;
    assert_eq!(stdout, native(script), "{name}");
    assert!(!stdout.contains("NO"), "{stdout}");
}

/// Address and size of a function of the program, by its symbol table.
fn function(program: &str, name: &str) -> std::ops::Range<u64> {
    let output = Command::new("nm").args(["--print-size", program]).current_dir(built()).output().unwrap();
    let table = String::from_utf8(output.stdout).unwrap();
    let line = table.lines().find(|line| line.ends_with(&format!(" {name}"))).unwrap();
    let mut fields = line.split(' ').map(|field| u64::from_str_radix(field, 16));
    let (start, size) = (fields.next().unwrap().unwrap(), fields.next().unwrap().unwrap());
    start..start + size
}

#[test]
fn the_contended_block_is_named_by_its_allocation() {
    let followed = follow("counters_heap", "./counters_heap 400000000", 0);
    let profile = &followed.profile;
    let events: Vec<_> = profile.rows::<SharingEvent>().map(Result::unwrap).collect();
    let objects: Vec<_> = profile.rows::<HeapObject>().map(Result::unwrap).collect();
    assert!(!events.is_empty(), "the two counters are contended for");
    // Both counters lie in the one block of a line that the program allocates.
    let line = events[0].later.addr.line().start();
    let block = objects.iter().find(|object| object.base == line).expect("the line's block");
    assert_eq!(block.size, 64);
    let stacks: Vec<_> = profile.rows::<Stack>().map(Result::unwrap).collect();
    let site = stacks.iter().find(|stack| stack.id == block.site).expect("the block's call path");
    // Not position-independent, so addresses are those of the symbol table.
    let within =
        |frame: Option<&Ip>, name| frame.is_some_and(|ip| function("counters_heap", name).contains(&ip.0));
    assert!(within(site.frames.first(), "allocate_stats"), "{site:x?}");
    assert!(within(site.frames.get(1), "main"), "{site:x?}");
    assert!(!site.truncated);
    // Every thread reports a block once.
    assert!(objects.iter().filter(|object| object.base == line).count() <= 2);
}

#[test]
fn small_blocks_are_left_out_where_that_is_asked_for() {
    let followed = follow("threshold", "./counters_heap 200000000", 65);
    assert!(followed.profile.rows::<SharingEvent>().count() > 0, "the block of 64 bytes is contended for");
    assert_eq!(followed.profile.rows::<HeapObject>().count(), 0);
}

#[test]
fn every_call_does_what_it_did() {
    same_output("calls", "./heap calls");
}

#[test]
fn a_signal_handler_may_allocate() {
    same_output("signal", "./heap_interruptible signal");
}

#[test]
fn a_signal_handler_may_jump_out_of_an_allocation() {
    same_output("jump", "./heap_interruptible jump");
}

#[test]
fn a_process_may_fork_while_its_threads_allocate() {
    same_output("fork", "./heap fork");
}

#[test]
fn an_interpreter_with_threads() {
    let script = r#"python3 -c '
import threading, hashlib
found = {}
def work(n):
    words = [str(i * n) * (i % 50) for i in range(20000)]
    found[n] = hashlib.sha256("".join(sorted(words)).encode()).hexdigest()
threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 5)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(sorted(found.items()))'"#;
    same_output("python", script);
}
