//! The agent in a statically linked program, by the flags that `carom link-flags` prints.
#![allow(clippy::unwrap_used, reason = "tests fail by it")]

mod support;

use std::{collections::BTreeSet, path::PathBuf};

use carom_base_wire::{Engine, journal::NOT_TRANSLATED};
use carom_collect::{HOOKS, examine, link_flags};
use carom_store::{Exit, Manifest};
use object::{Object, ObjectSymbol, read::archive::ArchiveFile};
use support::Folder;

/// The agent as a statically linked program takes it.
fn archive() -> PathBuf {
    let target = support::target_dir().join("static");
    support::cargo_build(&["--features", "static-link", "--target-dir", target.to_str().unwrap()]);
    target.join("debug/libcarom_agent.a")
}

/// Timer samples by thread, in the order in which the threads were made.
fn samples(manifest: &Manifest) -> Vec<u64> {
    let mut threads: Vec<_> = manifest.threads.iter().map(|t| (t.serial, t.counters.timer_samples)).collect();
    threads.sort_unstable();
    threads.into_iter().map(|(_, samples)| samples).collect()
}

#[test]
fn every_hook_in_the_archive_is_asked_for() {
    let bytes = std::fs::read(archive()).unwrap();
    let archive = ArchiveFile::parse(bytes.as_slice()).unwrap();
    let mut hooks = BTreeSet::new();
    for member in archive.members() {
        let member = member.unwrap();
        // The archive's own tables are no objects.
        let Ok(file) = object::File::parse(member.data(bytes.as_slice()).unwrap()) else { continue };
        // What is hidden is for the agent itself.
        let visible = |symbol: &object::Symbol<'_, '_>| symbol.scope() == object::SymbolScope::Dynamic;
        let defined = file.symbols().filter(|symbol| symbol.is_definition() && visible(symbol));
        let names =
            defined.filter_map(|symbol| Some(symbol.name().ok()?.strip_prefix("__wrap_")?.to_owned()));
        hooks.extend(names);
    }
    assert_eq!(hooks, HOOKS.iter().map(|&name| name.to_owned()).collect());
}

#[test]
fn a_linked_in_agent_records_and_lists_what_it_cannot_follow() {
    let folder = Folder::new();
    let flags = link_flags(&archive());
    let flags: Vec<&str> = ["-static"].into_iter().chain(flags.iter().map(String::as_str)).collect();
    let threads = folder.compile("threads.c", "threads", &flags);
    assert!(examine(threads.to_str().unwrap(), None, Engine::Burst).is_ok_and(|target| target.linked_in));
    let native = folder.native(&[threads.to_str().unwrap()]);
    assert_eq!(native.stdout, "42\n");
    let (exit, manifest) = folder.record_directly(&[threads.to_str().unwrap()]);
    assert_eq!(exit, Exit::Code(0));
    // 0.2 s of work each, at one sample per ms, or per 4 ms where only POSIX timers work: 50.
    let [_, workers @ ..] = &samples(&manifest)[..] else { panic!("{manifest:?}") };
    assert!(workers.len() == 3 && workers.iter().all(|&samples| samples > 25), "{workers:?}");
    assert_eq!(manifest.processes[0].argv, [threads.to_str().unwrap()]);

    // Its code is not translated: it is sampled by time all the same, and the recording says why.
    let (exit, manifest) = folder.record_by(Engine::Translate, &[threads.to_str().unwrap()]);
    assert_eq!(exit, Exit::Code(0));
    let warnings = &manifest.processes[0].warnings;
    assert!(warnings.iter().any(|warning| warning.code == NOT_TRANSLATED), "{warnings:?}");
    let [_, workers @ ..] = &samples(&manifest)[..] else { panic!("{manifest:?}") };
    assert!(workers.len() == 3 && workers.iter().all(|&samples| samples > 25), "{workers:?}");

    // A dynamic program that starts it follows it, though it lies behind an empty environment.
    let launcher = folder.compile("launcher.c", "launcher", &[]);
    let (run, manifest) = folder.record(&[launcher.to_str().unwrap(), "spawn", threads.to_str().unwrap()]);
    assert_eq!((run.stdout, run.exit), ("42\n".to_owned(), Exit::Code(0)));
    assert!(
        manifest.processes.iter().all(|process| process.unprofiled.is_none()),
        "{:?}",
        manifest.processes
    );
    assert!(manifest.processes.iter().any(|process| process.argv.first().is_some_and(|name| name == "a")));

    // The other way round there is no library to preload.
    let launcher = folder.compile("launcher.c", "fixed", &flags);
    let show = folder.compile("show.c", "show", &[]);
    for how in ["execl", "execvp", "spawnp"] {
        let (exit, manifest) =
            folder.record_directly(&[launcher.to_str().unwrap(), how, show.to_str().unwrap()]);
        assert_eq!(exit, Exit::Code(7), "{how}");
        let listed = manifest.processes.iter().filter_map(|process| process.unprofiled.as_deref());
        assert_eq!(listed.collect::<Vec<_>>(), ["started by a program with the agent linked in"], "{how}");
    }
}

#[test]
fn threads_of_both_kinds_are_profiled_when_preloaded() {
    let folder = Folder::new();
    let threads = folder.compile("threads.c", "threads", &[]);
    let (run, manifest) = folder.record(&[threads.to_str().unwrap()]);
    assert_eq!((run.stdout.as_str(), run.exit), ("42\n", Exit::Code(0)));
    let process =
        manifest.processes.iter().find(|process| process.argv == [threads.to_str().unwrap()]).unwrap();
    let threads = manifest.threads.iter().filter(|thread| thread.process == process.id && !thread.main);
    let samples: Vec<u64> = threads.map(|thread| thread.counters.timer_samples).collect();
    assert!(samples.len() == 3 && samples.iter().all(|&samples| samples > 25), "{samples:?}");
}
