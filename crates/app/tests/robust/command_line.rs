//! What carom itself does: statuses, signals, refusals, full disks.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, chown},
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use crate::support::{Ending, Running, Share, carom, compare, compile, run, scratch};

/// As long as a program on a busy machine may take to come up.
const READY: Duration = Duration::from_secs(20);

fn wait_for(file: &Path) {
    let start = Instant::now();
    while !file.exists() {
        assert!(start.elapsed() < READY, "the program does not come up");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Signals a running `carom share`; the program's handler turns signal n into status 40 + n.
fn signalled(name: &str, number: i32, group: bool) {
    let place = scratch();
    let ready = place.path().join("ready");
    let program = compile("robust/interrupted.c", &[]);
    let mut share = Share::new(&[], &program, &[ready.to_str().expect("UTF-8")]);
    let running = Running::start(&mut share.command);
    wait_for(&ready);
    // Where carom forwards, it must have seen its child start.
    thread::sleep(Duration::from_millis(100));
    running.signal(name, group);
    let ending = running.wait();
    assert_eq!(ending.code(), Some(40 + number), "{name}: {}", ending.complaint());
    assert_eq!(ending.stdout, format!("got {number}\n").as_bytes());
    assert_eq!(ending.complaint(), "");
    let report = share.report();
    assert_eq!(report.0["program"]["exit"]["code"], 40 + number);
    assert!(report.samples() > 0 && !report.warns("cut-short"));
}

#[test]
fn ctrl_c_goes_to_the_program() {
    signalled("INT", 2, true);
}

#[test]
fn sigterm_is_forwarded() {
    signalled("TERM", 15, false);
}

#[test]
fn timeout_works_on_either_side() {
    let program = compile("robust/interrupted.c", &[]);
    let place = scratch();
    let file = |name: &str| place.path().join(name).to_string_lossy().into_owned();
    let mut share = Share::new(&[], Path::new("timeout"), &["0.5", program.to_str().unwrap(), &file("a")]);
    let alone = run(Command::new("timeout").arg("0.5").arg(&program).arg(file("b")));
    let inside = share.run();
    // timeout(1) says 124 whatever the program says.
    assert_eq!(inside.code(), Some(124));
    compare(&share.command, &alone, &inside);
    share.report();

    let share = Share::new(&[], &program, &[&file("c")]);
    let outside = run(Command::new("timeout")
        .arg("0.5")
        .arg(share.command.get_program())
        .args(share.command.get_args()));
    assert_eq!(outside.code(), Some(124));
    assert_eq!(outside.stdout, b"got 15\n");
    assert_eq!(outside.complaint(), "");
    assert_eq!(share.report().0["program"]["exit"]["code"], 55);
}

/// carom ends with `status` and one sentence that has `word` in it, before anything runs.
fn refused(status: i32, word: &str, program: &Path) {
    let mut share = Share::new(&[], program, &[]);
    let ending = share.run();
    let complaint = ending.complaint();
    assert_eq!(ending.code(), Some(status), "{}: {complaint}", program.display());
    assert_eq!(complaint.lines().count(), 1, "{complaint}");
    assert!(complaint.starts_with("carom: ") && complaint.contains(word), "{complaint}");
    assert!(!complaint.contains("LD_PRELOAD cannot"), "{complaint}");
    assert_eq!(ending.stdout, b"");
    assert!(!share.profile().exists(), "nothing ran, so nothing is left");
}

/// A copy of `program`, changed.
fn variant(place: &Path, name: &str, program: &Path, change: impl FnOnce(&mut Vec<u8>)) -> PathBuf {
    let copy = place.join(name);
    let mut bytes = fs::read(program).expect("a program");
    change(&mut bytes);
    fs::write(&copy, bytes).expect("a copy");
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).expect("permissions");
    copy
}

#[test]
fn what_cannot_be_profiled_is_refused_before_it_starts() {
    let place = scratch();
    let program = compile("robust/ends.c", &[]);
    refused(127, "no such program", Path::new("/no/such/program"));
    refused(127, "no such program", Path::new("no-such-program-anywhere"));
    let plain = place.path().join("plain");
    fs::write(&plain, "no program").expect("a file");
    refused(126, "denied", &plain);
    refused(126, "a directory, not a program", place.path());
    let script = place.path().join("script");
    fs::write(&script, "#!/no/such/shell\n").expect("a file");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("permissions");
    refused(127, "its interpreter /no/such/shell does not exist", &script);
    refused(127, "name is empty", Path::new(""));
    refused(125, "not an ELF program", &variant(place.path(), "garbage", &program, |bytes| bytes[0] = b'?'));
    // e_ident[EI_CLASS] = ELFCLASS32; e_machine = EM_AARCH64.
    refused(125, "64-bit", &variant(place.path(), "narrow", &program, |bytes| bytes[4] = 1));
    refused(125, "x86-64", &variant(place.path(), "foreign", &program, |bytes| bytes[18] = 183));
    refused(125, "statically linked", &compile("robust/ends.c", &["-static"]));
    if Path::new("/proc/self").metadata().map(|m| std::os::unix::fs::MetadataExt::uid(&m)).ok() == Some(0) {
        let owned = variant(place.path(), "setuid", &program, |_| {});
        chown(&owned, Some(1), Some(1)).expect("root may");
        fs::set_permissions(&owned, fs::Permissions::from_mode(0o4755)).expect("permissions");
        refused(125, "setuid", &owned);
    } else {
        eprintln!("skipped: root: only root can make a setuid program of another user");
    }
}

/// `carom ARGUMENTS` in a directory.
fn carom_in(dir: &Path, arguments: &[&str]) -> Ending {
    run(Command::new(carom()).current_dir(dir).args(arguments))
}

#[test]
fn what_follows_the_program_is_its_own() {
    let place = scratch();
    let echo = |arguments: &[&str]| {
        let ending = carom_in(place.path(), &[&["count", "-q"], arguments].concat());
        assert_eq!(ending.code(), Some(0), "{}", ending.complaint());
        String::from_utf8(ending.stdout).expect("UTF-8")
    };
    assert_eq!(echo(&["echo", "--json", "a", "--", "-q"]), "--json a -- -q\n");
    assert_eq!(echo(&["--", "echo", "--json", "a", "--", "-q"]), "--json a -- -q\n");
    assert!(!place.path().join("a").exists());
    for arguments in [&["count"][..], &["count", "--"], &["count", "-q"]] {
        let ending = carom_in(place.path(), arguments);
        assert_eq!(ending.code(), Some(2));
        assert!(ending.complaint().contains("<PROGRAM> [ARGS]..."), "{}", ending.complaint());
    }
}

#[test]
fn a_program_of_this_directory_is_named_by_it() {
    let place = scratch();
    fs::copy(compile("robust/ends.c", &[]), place.path().join("ends-here")).expect("a copy");
    let ending = carom_in(place.path(), &["share", "ends-here"]);
    assert_eq!(ending.code(), Some(127));
    assert!(ending.complaint().contains("write ./ends-here"), "{}", ending.complaint());
}

#[test]
fn existing_profiles_and_standard_output_are_refused() {
    let program = compile("robust/ends.c", &[]);
    let mut share = Share::new(&[], &program, &["return"]);
    assert_eq!(share.run().code(), Some(7));
    let before = fs::metadata(share.profile().join("manifest.json")).expect("a manifest").modified().ok();
    let again = share.run();
    assert_eq!(again.code(), Some(125));
    assert_eq!(again.complaint().lines().count(), 1, "{}", again.complaint());
    assert_eq!(again.stdout, b"", "the program did not run");
    share.report();
    assert_eq!(fs::metadata(share.profile().join("manifest.json")).expect("still").modified().ok(), before);
    for option in ["--json", "--html"] {
        let place = scratch();
        let ending = run(Command::new(carom())
            .current_dir(place.path())
            .args(["share", option, "-", "--"])
            .arg(&program));
        assert_eq!((ending.code(), ending.stdout.len()), (Some(125), 0), "{option}");
        assert!(ending.complaint().contains("standard output"), "{}", ending.complaint());
    }
}

#[test]
fn a_full_disk_costs_the_profile_and_nothing_else() {
    let place = scratch();
    let disk = place.path().join("disk");
    fs::create_dir(&disk).expect("a directory");
    let mounted = run(Command::new("mount").args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"]).arg(&disk));
    if mounted.code() != Some(0) {
        eprintln!("skipped: root: no tmpfs to fill: {}", mounted.complaint());
        return;
    }
    let unmount = Unmount(disk.clone());
    for (program, arguments) in [("robust/many_threads.c", &["300", "100"][..]), ("robust/forks.c", &["20"])]
    {
        let program = compile(program, &[]);
        let alone = run(Command::new(&program).args(arguments));
        let mut command = Command::new(carom());
        let profile = disk.join("profile");
        command
            .args(["share", "-q", "--period", "60us", "-o"])
            .arg(&profile)
            .arg("--")
            .arg(&program)
            .args(arguments);
        let shared = run(&mut command);
        // carom may complain on standard error, where it otherwise says nothing with -q.
        assert_eq!((shared.status, &shared.stdout), (alone.status, &alone.stdout), "{}", shared.complaint());
        for line in shared.complaint().lines() {
            assert!(line.starts_with("carom: "), "{line}");
        }
        fs::remove_dir_all(&profile).expect("a profile");
    }
    drop(unmount);
}

struct Unmount(PathBuf);

impl Drop for Unmount {
    fn drop(&mut self) {
        run(Command::new("umount").arg(&self.0));
    }
}
