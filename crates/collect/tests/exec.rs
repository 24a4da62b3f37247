//! New programs are followed whatever environment they get, and those that cannot be are left alone and listed.

mod support;

use carom_store::{Exit, Manifest, ProcessInfo};
use support::{Folder, Run};

/// The processes that ran `program` under the agent.
fn recorded<'a>(manifest: &'a Manifest, argv: &[&str]) -> Vec<&'a ProcessInfo> {
    manifest.processes.iter().filter(|process| process.argv == argv && process.unprofiled.is_none()).collect()
}

/// Programs listed as unprofiled, and why.
fn unprofiled(manifest: &Manifest) -> Vec<(&str, &str)> {
    let listed = manifest.processes.iter();
    listed.filter_map(|process| Some((process.argv[0].as_str(), process.unprofiled.as_deref()?))).collect()
}

/// Without what following a program takes.
fn without_ours(run: Run) -> Run {
    let ours = |line: &&str| {
        let preload = line.starts_with("env LD_PRELOAD=/") && line.contains("carom_agent");
        preload || line.starts_with("env CAROM_SESSION=")
    };
    let stdout = run.stdout.lines().filter(|line| !ours(line)).map(|line| format!("{line}\n")).collect();
    Run { stdout, ..run }
}

/// `launcher`'s arguments for what it starts.
const ARGUMENTS: [&str; 8] = ["a", "b c", "", "d", "e", "f", "g", "h"];

#[test]
fn a_program_is_followed_whatever_its_environment() {
    let folder = Folder::new();
    let launcher = folder.compile("launcher.c", "launcher", &[]);
    let show = folder.compile("show.c", "show", &[]);
    let [launcher, show] = [&launcher, &show].map(|path| path.to_str().unwrap());
    let ways = [
        "execve", "null", "execv", "execvp", "execvpe", "execl", "execlp", "execle", "short", "fexecve",
        "execveat", "path", "spawn", "spawnp",
    ];
    for how in ways {
        let argv = [launcher, how, show];
        // An empty LD_PRELOAD is where our entry goes, so it does not show in the recorded run.
        let mut native = folder.native(&argv);
        native.stdout = native.stdout.replace("env LD_PRELOAD=\n", "");
        let (run, manifest) = folder.record(&argv);
        assert_eq!(run.exit, Exit::Code(7), "{how}");
        assert_eq!(run.stdout.matches("carom_agent.so\n").count(), 1, "{how}: {run:?}");
        let session = run.stdout.lines().filter(|line| line.starts_with("env CAROM_SESSION=/")).count();
        assert_eq!(session, 1, "{how}: {run:?}");
        assert_eq!(without_ours(run), native, "{how}");
        let expected = if how == "short" { &ARGUMENTS[..1] } else { &ARGUMENTS };
        let [shown] = recorded(&manifest, expected)[..] else { panic!("{how}: {:?}", manifest.processes) };
        let [started] = recorded(&manifest, &argv)[..] else { panic!("{how}: {:?}", manifest.processes) };
        assert_eq!(shown.parent, Some(started.id), "{how}");
        assert_eq!(shown.pid == started.pid, !how.starts_with("spawn"), "{how}: exec keeps the process");
        assert_eq!(unprofiled(&manifest), [], "{how}");
    }
}

#[test]
fn what_cannot_be_profiled_runs_as_it_would_and_is_listed() {
    let folder = Folder::new();
    let launcher = folder.compile("launcher.c", "launcher", &[]);
    let fixed = folder.compile("show.c", "static", &["-static"]);
    let narrow =
        folder.compile("narrow.c", "narrow", &["-m32", "-nostdlib", "-static", "-fno-pie", "-no-pie"]);
    let script = folder.path("script");
    std::fs::write(&script, format!("#!{} -x\n", fixed.display())).unwrap();
    assert!(std::process::Command::new("chmod").arg("755").arg(&script).status().unwrap().success());
    // glibc's loader under a name that the agent does not know: the agent would load, but it cannot tell.
    let loader = folder.path("ld-other.so.1");
    std::fs::copy("/lib64/ld-linux-x86-64.so.2", &loader).unwrap();
    let other = folder.compile("show.c", "other", &[&format!("-Wl,--dynamic-linker={}", loader.display())]);
    let cases = [
        (&fixed, "statically linked"),
        (&narrow, "not a 64-bit x86 program"),
        (&script, "statically linked"),
        (&other, "uses another loader than glibc's"),
    ];
    for (program, reason) in cases {
        let program = program.to_str().unwrap();
        for how in ["execve", "execvpe", "execl", "fexecve", "path", "spawn"] {
            // The descriptor's name would be closed before the interpreter could open it... but not here.
            let argv = [launcher.to_str().unwrap(), how, program];
            let native = folder.native(&argv);
            let (run, manifest) = folder.record(&argv);
            assert!(!run.stdout.contains("carom_agent"), "{how}: {run:?}");
            assert_eq!(without_ours(run), native, "{how}");
            assert_eq!(unprofiled(&manifest), [(program, reason)], "{how}");
        }
    }
}

#[test]
fn a_shells_children_lose_our_library_only_where_they_must() {
    let folder = Folder::new();
    let show = folder.compile("show.c", "show", &[]);
    let fixed = folder.compile("show.c", "static", &["-static"]);
    let [show, fixed] = [&show, &fixed].map(|path| path.to_str().unwrap());
    let script = format!("{fixed} one; env -i {show} two; env -i {fixed} three; {show} four");
    let (run, manifest) = folder.record(&["/bin/sh", "-c", &script]);
    assert_eq!(run.stderr, "shown\n".repeat(4));
    assert_eq!(run.stdout.matches("carom_agent.so").count(), 2, "two and four: {}", run.stdout);
    assert_eq!(recorded(&manifest, &[show, "two"]).len(), 1);
    assert_eq!(recorded(&manifest, &[show, "four"]).len(), 1);
    assert_eq!(unprofiled(&manifest), [(fixed, "statically linked"); 2]);
}

#[test]
fn a_failing_exec_fails_as_it_would_and_recording_goes_on() {
    let folder = Folder::new();
    let launcher = folder.compile("launcher.c", "launcher", &[]);
    let argv = [launcher.to_str().unwrap(), "fail", "-"];
    let native = folder.native(&argv);
    assert!(
        native.stdout.starts_with("execve ENOENT\nexecve EACCES\nexecve EFAULT\nexeclp ENOENT\n"),
        "{native:?}"
    );
    let (run, manifest) = folder.record(&argv);
    assert_eq!(run, native);
    assert_eq!(unprofiled(&manifest), []);
    let [process] = recorded(&manifest, &argv)[..] else { panic!("{:?}", manifest.processes) };
    let thread = manifest.threads.iter().find(|thread| thread.process == process.id && thread.main).unwrap();
    // 300 ms of work at one sample per ms, or per 4 ms where only POSIX timers work: 75.
    assert!(thread.counters.timer_samples > 40, "{thread:?}");
    assert!(process.mappings.iter().any(|mapping| mapping.path == "[stack]"), "{:?}", process.mappings);
    let ours = |path: &str| path.ends_with(".seg") || path.ends_with("control");
    assert!(!process.mappings.iter().any(|mapping| ours(&mapping.path)), "{:?}", process.mappings);
}

#[test]
fn two_hundred_vfork_children_are_followed_and_leave_nothing_behind() {
    let folder = Folder::new();
    let launcher = folder.compile("launcher.c", "launcher", &[]);
    let show = folder.compile("show.c", "show", &[]);
    let (run, manifest) = folder.record(&[launcher.to_str().unwrap(), "vfork", show.to_str().unwrap()]);
    let own: Vec<&str> = run.stdout.lines().filter(|line| line.starts_with("bad")).collect();
    assert_eq!(own, ["bad 0, new mappings 0"]);
    assert_eq!(recorded(&manifest, &["some name"]).len(), 200);
}

#[test]
fn arguments_are_recorded() {
    let folder = Folder::new();
    let argv = ["/bin/sh", "-c", ": 'a\tb%41\n'", "", "ü"];
    let (exit, manifest) = folder.record_directly(&argv);
    assert_eq!(exit, Exit::Code(0));
    assert_eq!(manifest.processes[0].argv, argv);
}
