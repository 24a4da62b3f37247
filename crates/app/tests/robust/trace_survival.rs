//! Traces of programs that are killed, fork, have many threads or fill the disk: what was kept can be read, and the program
//! does what it does alone.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use carom_base_stream::frame::Content;
use carom_store::{Recording, StreamFrame};

use crate::support::{Ending, Running, carom, compare, compile, run, scratch};

/// All modes; targeted ones run the program twice.
const MODES: [&[&str]; 3] =
    [&["--mode", "full"], &["--mode", "lossy", "--sample", "2"], &["--mode", "targeted", "--stores", "0.25"]];

/// `carom trace -q OPTIONS -o PROFILE PROGRAM ARGUMENTS`.
fn trace(options: &[&str], profile: &Path, program: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(carom());
    command.args(["trace", "-q", "--no-symbols"]).args(options).arg("-o").arg(profile);
    command.arg(program).args(arguments);
    command
}

/// `carom trace --check PROFILE`, which succeeds.
fn check(profile: &Path) -> Ending {
    let checked = run(Command::new(carom()).args(["trace", "--check"]).arg(profile));
    assert_eq!(checked.code(), Some(0), "{}", checked.complaint());
    checked
}

/// The threads of which something was kept, and how many accesses.
fn kept(profile: &Path) -> (usize, usize) {
    let recording = Recording::open(profile).expect("a profile");
    let (mut threads, mut accesses) = (BTreeSet::new(), 0);
    for row in recording.rows::<StreamFrame>() {
        let frame = row.expect("a row").decode().expect("a frame");
        if let Content::Batch { accesses: made, .. } = frame.content
            && !made.is_empty()
        {
            threads.insert(frame.thread.0);
            accesses += made.len();
        }
    }
    (threads.len(), accesses)
}

#[test]
fn sixty_four_threads_are_all_in_the_trace() {
    let program = compile("robust/far_loads.c", &[]);
    for options in MODES {
        let place = scratch();
        let profile = place.path().join("profile");
        let done = run(&mut trace(options, &profile, &program, &["500", "500", "64"]));
        assert_eq!(done.code(), Some(0), "{options:?}: {}", done.complaint());
        check(&profile);
        assert_eq!(kept(&profile).0, 64, "{options:?}");
    }
}

#[test]
fn children_of_a_fork_are_traced_apart() {
    let program = compile("robust/forks.c", &[]);
    let alone = run(Command::new(&program).arg("20"));
    for options in MODES {
        let place = scratch();
        let profile = place.path().join("profile");
        let mut command = trace(options, &profile, &program, &["20"]);
        let traced = run(&mut command);
        compare(&command, &alone, &traced);
        check(&profile);
        assert!(kept(&profile).0 > 20, "{options:?}");
    }
}

/// A profile in which something was kept, while the program that is to make it still runs.
fn started(options: &[&str], profile: &Path) -> Running {
    let program = compile("robust/far_loads.c", &[]);
    let running = Running::start(&mut trace(options, profile, &program, &["2000000000", "1", "2"]));
    let begun = Instant::now();
    let file = profile.join("accesses.chunks");
    while fs::metadata(&file).map_or(0, |file| file.len()) < 4096 {
        assert!(begun.elapsed() < Duration::from_secs(200), "nothing is kept");
        thread::sleep(Duration::from_millis(50));
    }
    running
}

/// carom and the program are killed at the same time, in the middle of whatever they do.
#[test]
fn a_killed_run_leaves_what_it_has_kept() {
    for options in [MODES[0], MODES[1]] {
        let place = scratch();
        let profile = place.path().join("profile");
        let running = started(options, &profile);
        running.signal("KILL", true);
        assert_eq!(running.wait().signal(), Some(9));
        check(&profile);
        assert!(kept(&profile).1 > 0, "{options:?}");
    }
}

#[test]
fn a_killed_program_leaves_what_it_has_kept() {
    let program = compile("robust/far_loads.c", &[]);
    for options in [MODES[0], MODES[1]] {
        let place = scratch();
        let profile = place.path().join("profile");
        let path = program.to_string_lossy();
        let arguments = ["-s", "KILL", "5", &path, "2000000000", "1", "2"];
        let done = run(&mut trace(options, &profile, Path::new("timeout"), &arguments));
        // timeout(1) ends as its child did, and carom as timeout did.
        assert_eq!(done.signal(), Some(9), "{}", done.complaint());
        check(&profile);
        assert!(kept(&profile).1 > 0, "{options:?}");
    }
}

struct Unmount(PathBuf);

impl Drop for Unmount {
    fn drop(&mut self) {
        run(Command::new("umount").arg(&self.0));
    }
}

/// 3 MiB are enough for a manifest and the beginning of a full trace.
#[test]
fn a_full_disk_ends_the_trace_and_not_the_program() {
    let place = scratch();
    let disk = place.path().join("disk");
    fs::create_dir(&disk).expect("a directory");
    let mounted = run(Command::new("mount").args(["-t", "tmpfs", "-o", "size=3m", "tmpfs"]).arg(&disk));
    if mounted.code() != Some(0) {
        eprintln!("skipped: root: no tmpfs to fill: {}", mounted.complaint());
        return;
    }
    let _unmount = Unmount(disk.clone());
    let program = compile("robust/many_threads.c", &[]);
    let alone = run(Command::new(&program).args(["300", "30"]));
    for options in [MODES[0], MODES[1]] {
        let profile = disk.join("profile");
        let traced = run(&mut trace(options, &profile, &program, &["300", "30"]));
        assert_eq!((traced.status, &traced.stdout), (alone.status, &alone.stdout), "{}", traced.complaint());
        check(&profile);
        fs::remove_dir_all(&profile).expect("a profile");
    }
}

/// The program makes eight million accesses; it goes on to its end, and what was kept ends without a gap.
#[test]
fn a_limit_ends_the_trace_and_not_the_program() {
    let program = compile("counters.c", &[]);
    for options in MODES {
        let place = scratch();
        let profile = place.path().join("profile");
        let mut limited = options.to_vec();
        limited.extend(["--limit", "100k"]);
        let done = run(&mut trace(&limited, &profile, &program, &["2000000"]));
        assert_eq!(done.code(), Some(0), "{options:?}: {}", done.complaint());
        assert_eq!(done.stdout, b"hits 2000000 misses 2000000\n", "{options:?}");
        check(&profile);
        // A batch of 64 thousand may begin with the last access that counts.
        let (_, accesses) = kept(&profile);
        assert!((100_000..200_000).contains(&accesses), "{options:?}: {accesses}");
        let recording = Recording::open(&profile).expect("a profile");
        assert!(recording.manifest().warnings.iter().any(|warning| warning.code == "limit"));
    }
}
