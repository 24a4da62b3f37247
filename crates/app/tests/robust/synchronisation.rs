//! Traces say what threads did to wait for each other: as often as the program says that it did.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use carom_base::{Domain, Nanos, ThreadId};
use carom_base_stream::{Act, Sink, Streamed, Synchronisation};
use carom_store::Recording;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::{carom, compile, run, scratch};

/// How often what was done, with which object; 0: all of them together.
type Counts = BTreeMap<(String, u64), u64>;

#[derive(Default)]
struct Counter(Counts);

impl Sink<Streamed> for Counter {
    fn accesses(&mut self, _: ThreadId, _: Domain, _: &[Streamed], _: Nanos) {}

    fn synchronises(&mut self, _: ThreadId, it: Synchronisation, _: Nanos) {
        for object in [it.object.0, 0] {
            *self.0.entry((it.what.word().to_owned(), object)).or_default() += 1;
        }
    }

    fn ended(&mut self, _: ThreadId) {}
}

/// Data that is guarded by a lock, as the order of time has it.
struct Guarded {
    data: u64,
    lock: u64,
    owner: Option<ThreadId>,
    /// Accesses by who has the lock, and by anybody else while one has it.
    inside: u64,
    intruders: u64,
}

impl Sink<Streamed> for Guarded {
    fn accesses(&mut self, thread: ThreadId, _: Domain, accesses: &[Streamed], _: Nanos) {
        let found = accesses.iter().filter(|streamed| streamed.access.addr.0 == self.data).count() as u64;
        match self.owner {
            Some(owner) if owner == thread => self.inside += found,
            Some(_) => self.intruders += found,
            None => {}
        }
    }

    fn synchronises(&mut self, thread: ThreadId, it: Synchronisation, _: Nanos) {
        match it.what {
            Act::Lock if it.object.0 == self.lock => assert_eq!(self.owner.replace(thread), None),
            Act::Unlock if it.object.0 == self.lock => assert_eq!(self.owner.take(), Some(thread)),
            _ => {}
        }
    }

    fn ended(&mut self, _: ThreadId) {}
}

/// A trace of a program, and what this says that it did: `WORD OBJECT NUMBER` in each line.
struct Traced {
    place: TempDir,
    said: Vec<(String, u64, u64)>,
}

impl Traced {
    fn of(program: &Path, arguments: &[&str], options: &[&str]) -> Self {
        let place = scratch();
        let mut command = Command::new(carom());
        command
            .args(["trace", "-q", "--no-symbols"])
            .args(options)
            .arg("-o")
            .arg(place.path().join("profile"));
        let done = run(command.arg(program).args(arguments));
        assert_eq!(done.code(), Some(0), "{}", done.complaint());
        let text = String::from_utf8(done.stdout).expect("text");
        let line = |line: &str| {
            let mut words = line.split(' ');
            let [word, object, number] = [0; 3].map(|_| words.next().expect("three words"));
            let object = u64::from_str_radix(object.trim_start_matches("0x"), 16).expect("an address");
            (word.to_owned(), object, number.parse().expect("a number"))
        };
        Self { place, said: text.lines().map(line).collect() }
    }

    fn profile(&self) -> PathBuf {
        self.place.path().join("profile")
    }

    /// The trace has as many of each as the program has said.
    fn is_complete(&self) {
        assert_eq!(carom_store::check(&self.profile()).expect("a profile"), []);
        let recording = Recording::open(&self.profile()).expect("a profile");
        let mut counter = Counter::default();
        recording.stream(&mut counter).expect("readable");
        assert!(self.said.len() > 5);
        for (word, object, number) in self.said.iter().filter(|(word, ..)| word != "guarded") {
            let found = match *object {
                // One that the program cannot name.
                1 => {
                    let is_it = |((of, it), count): (&(String, u64), &u64)| {
                        (of == word && *it != 0 && count == number).then_some(*count)
                    };
                    counter.0.iter().find_map(is_it)
                }
                _ => counter.0.get(&(word.clone(), *object)).copied(),
            };
            assert_eq!(found.unwrap_or(0), *number, "{word} {object:#x}");
        }
    }

    /// The report of a simulation in which threads wait for each other.
    fn simulated(&self) -> Value {
        let mut command = Command::new(carom());
        let json = self.place.path().join("report.json");
        command.args(["simulate", "-q", "--no-symbols", "--order", "synchronised", "--json"]).arg(&json);
        let done = run(command.arg(self.profile()));
        assert_eq!(done.code(), Some(0), "{}", done.complaint());
        serde_json::from_slice(&fs::read(json).expect("a report")).expect("JSON")
    }
}

/// The order of the simulation contradicts nothing.
fn all_match(report: &Value) {
    let found = &report["simulate"];
    assert_eq!(found["order"], "synchronised");
    assert!(found["synchronisations"]["all"].as_u64() > Some(100), "{}", found["synchronisations"]);
    assert_eq!(found["synchronisations"]["unmatched"], 0);
}

#[test]
fn what_posix_threads_wait_for_is_in_the_trace() {
    let program = compile("robust/wait_for_threads.c", &["-O1", "-g", "-pthread"]);
    let traced = Traced::of(&program, &["500"], &[]);
    traced.is_complete();
    all_match(&traced.simulated());
    // They have their places among the accesses: each round of each thread adds to the data under the lock.
    let (_, data, lock) = traced.said.first().cloned().expect("what is guarded");
    let mut guarded = Guarded { data, lock, owner: None, inside: 0, intruders: 0 };
    Recording::open(&traced.profile()).expect("a profile").stream(&mut guarded).expect("readable");
    assert!(guarded.inside >= 1500, "{}", guarded.inside);
    assert_eq!((guarded.intruders, guarded.owner), (0, None));
    // The text has it all, and leads back to the same.
    let printed = run(Command::new(carom()).args(["trace", "--print"]).arg(traced.profile()));
    let text = String::from_utf8(printed.stdout).expect("text");
    let unlocks = text.lines().filter(|line| line.contains(" unlock @0x")).count();
    assert!(unlocks >= 3000, "{unlocks}");
}

#[test]
fn reduced_traces_have_it_too() {
    let program = compile("robust/wait_for_threads.c", &["-O1", "-g", "-pthread"]);
    Traced::of(&program, &["50"], &["--mode", "lossy"]).is_complete();
}

#[test]
fn what_openmp_threads_wait_for_is_in_the_trace() {
    let program = compile("robust/wait_in_regions.c", &["-O1", "-g", "-fopenmp"]);
    let traced = Traced::of(&program, &["30"], &[]);
    traced.is_complete();
    all_match(&traced.simulated());
}

/// The LLVM runtime, which is no part of a C compiler.
fn llvm_regions(flags: &[&str]) -> Option<PathBuf> {
    const RUNTIME: &str = "-l:libomp.so.5";
    let there = Command::new("cc").args(["-shared", "-o", "/dev/null", RUNTIME]).output();
    if !there.is_ok_and(|done| done.status.success()) {
        println!("skipped: tool: libomp.so.5");
        return None;
    }
    Some(compile("robust/wait_in_llvm_regions.c", &[flags, &[RUNTIME]].concat()))
}

#[test]
fn what_threads_of_the_llvm_runtime_wait_for_is_in_the_trace() {
    let Some(program) = llvm_regions(&[]) else { return };
    let traced = Traced::of(&program, &["30"], &[]);
    traced.is_complete();
    all_match(&traced.simulated());
}

#[test]
fn runtimes_that_come_with_a_library_are_in_the_trace() {
    let program = compile("robust/run_library.c", &["-ldl"]);
    let gnu = compile("robust/wait_in_regions.c", &["-fopenmp", "-shared", "-fPIC"]);
    for library in [Some(gnu), llvm_regions(&["-shared", "-fPIC"])].into_iter().flatten() {
        let traced = Traced::of(&program, &[&library.to_string_lossy(), "30"], &[]);
        traced.is_complete();
        all_match(&traced.simulated());
    }
}

/// A trace that ends in the middle says how many have no counterpart, if any; it is simulated all the same.
#[test]
fn a_trace_that_ends_early_is_simulated() {
    let program = compile("robust/wait_for_threads.c", &["-O1", "-g", "-pthread"]);
    let traced = Traced::of(&program, &["5000"], &["--limit", "30000"]);
    let found = &traced.simulated()["simulate"];
    assert!(found["synchronisations"]["all"].as_u64() > Some(100), "{}", found["synchronisations"]);
}
