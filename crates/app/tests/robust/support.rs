//! Compiles the small programs of `programs/targets/robust`, runs them alone and under `carom share`, and compares.

use std::{
    collections::HashMap,
    fs::{self, File},
    io,
    os::unix::process::{CommandExt, ExitStatusExt},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Mutex, OnceLock},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;
use tempfile::TempDir;

/// Far more than any run takes; what is still there then hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often a run is looked at.
const GLANCE: Duration = Duration::from_millis(5);

/// Samples as dense as they can be: every defect of the agent has many chances to show.
pub const DENSE: [&str; 4] = ["--period", "60us", "--budget", "90"];

/// The command under test. Its agent is built once, beside it.
pub fn carom() -> &'static Path {
    static CAROM: OnceLock<PathBuf> = OnceLock::new();
    CAROM.get_or_init(|| {
        let carom = PathBuf::from(env!("CARGO_BIN_EXE_carom"));
        let profile = carom.parent().expect("target/PROFILE/carom");
        let target = profile.parent().expect("target/PROFILE/carom");
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--quiet", "-p", "carom-collect-agent", "--lib", "--target-dir"]).arg(target);
        if !cfg!(debug_assertions) {
            build.arg("--release");
        }
        let built = build.current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("cargo starts");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        assert!(profile.join("libcarom_agent.so").exists());
        carom
    })
}

/// Where the sources of the programs are.
pub fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/targets")
}

/// A directory that is removed with what it holds when the test is done with it.
pub fn scratch() -> TempDir {
    tempfile::Builder::new().prefix("carom-robust-").tempdir().expect("a temporary directory")
}

/// A directory for the compiled programs of a whole run. Nobody removes it, so it lies in the build's own folder.
fn kept() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory for programs")
}

/// Compiles `FILE`, relative to `programs/targets`, with these flags after the source. Each is compiled once.
pub fn compile(file: &str, flags: &[&str]) -> PathBuf {
    static PROGRAMS: OnceLock<Mutex<(TempDir, HashMap<String, PathBuf>)>> = OnceLock::new();
    let programs = PROGRAMS.get_or_init(|| Mutex::new((kept(), HashMap::new())));
    let mut programs = programs.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let key = format!("{file} {flags:?}");
    if let Some(program) = programs.1.get(&key) {
        return program.clone();
    }
    let stem = Path::new(file).file_stem().expect("a file").to_string_lossy();
    let program = programs.0.path().join(format!("{stem}-{}", programs.1.len()));
    let compiler = if file.ends_with(".cpp") { "c++" } else { "cc" };
    let mut compile = Command::new(compiler);
    compile.args(["-g", "-O1", "-pthread", "-o"]).arg(&program).arg(sources().join(file)).args(flags);
    let done = compile.output().expect("a C compiler");
    assert!(done.status.success(), "{compile:?}: {}", String::from_utf8_lossy(&done.stderr));
    programs.1.insert(key, program.clone());
    program
}

/// What a process left behind.
#[derive(Debug, PartialEq, Eq)]
pub struct Ending {
    pub status: ExitStatus,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

impl Ending {
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    pub fn signal(&self) -> Option<i32> {
        self.status.signal()
    }

    pub fn complaint(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }
}

/// A process in a group of its own whose output goes to files, so that neither a full pipe nor a child that keeps one
/// open can hold the test up.
pub struct Running {
    child: Child,
    output: TempDir,
    what: String,
}

impl Running {
    pub fn start(command: &mut Command) -> Self {
        let output = scratch();
        let file = |name: &str| File::create(output.path().join(name)).expect("a file for the output");
        command.stdin(Stdio::null()).stdout(file("stdout")).stderr(file("stderr")).process_group(0);
        let what = format!("{command:?}");
        let child = command.spawn().unwrap_or_else(|error| panic!("{what}: {error}"));
        Self { child, output, what }
    }

    /// Signals the process, or its whole group.
    pub fn signal(&self, name: &str, group: bool) {
        let id = self.child.id();
        let target = if group { format!("-{id}") } else { id.to_string() };
        let sent = Command::new("kill").args(["-s", name, "--", &target]).status().expect("kill");
        assert!(sent.success(), "{}: kill -s {name} {target}", self.what);
    }

    /// Waits for the end. A process that does not end is killed with its group, and fails the test.
    pub fn wait(mut self) -> Ending {
        let start = Instant::now();
        let status = loop {
            match self.child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => panic!("{}: {error}", self.what),
            }
            if start.elapsed() > PATIENCE {
                self.signal("KILL", true);
                let _ = self.child.wait();
                panic!("{}: hangs; so far: {:?}", self.what, self.read("stderr"));
            }
            thread::sleep(GLANCE);
        };
        Ending { status, stdout: self.read("stdout"), stderr: self.read("stderr") }
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.output.path().join(name)).unwrap_or_default()
    }
}

/// Runs `command` to its end.
pub fn run(command: &mut Command) -> Ending {
    Running::start(command).wait()
}

/// A `carom share`, or another recording command, to be: where its profile and its report go.
pub struct Recorded {
    place: TempDir,
    pub command: Command,
}

/// Most are.
pub type Share = Recorded;

impl Recorded {
    /// `carom share -q OPTIONS -- PROGRAM ARGUMENTS`.
    pub fn new(options: &[&str], program: &Path, arguments: &[&str]) -> Self {
        Self::by("share", options, program, arguments)
    }

    /// The same by another command.
    pub fn by(command: &str, options: &[&str], program: &Path, arguments: &[&str]) -> Self {
        Self::under(command, None, options, program, arguments)
    }

    /// The same, started by another program.
    pub fn under(
        subcommand: &str,
        launcher: Option<&Path>,
        options: &[&str],
        program: &Path,
        arguments: &[&str],
    ) -> Self {
        let place = scratch();
        let mut command = Command::new(launcher.unwrap_or(carom()));
        if launcher.is_some() {
            command.arg(carom());
        }
        command.args([subcommand, "-q", "-o"]).arg(place.path().join("profile"));
        command.arg("--json").arg(place.path().join("report.json")).args(options);
        command.arg("--").arg(program).args(arguments);
        Self { place, command }
    }

    pub fn run(&mut self) -> Ending {
        run(&mut self.command)
    }

    pub fn profile(&self) -> PathBuf {
        self.place.path().join("profile")
    }

    /// The report, after the profile was found to be in order.
    pub fn report(&self) -> Report {
        let violations = carom_store::check(&self.profile()).expect("a profile");
        let list: Vec<String> = violations.iter().map(ToString::to_string).collect();
        assert!(list.is_empty(), "{:?}: {list:#?}", self.command);
        let json = fs::read(self.place.path().join("report.json")).expect("a report");
        Report(serde_json::from_slice(&json).expect("JSON"))
    }
}

/// What `--json` wrote.
pub struct Report(pub Value);

impl Report {
    pub fn samples(&self) -> u64 {
        self.count("samples")
    }

    /// A number under `quality`.
    pub fn count(&self, name: &str) -> u64 {
        self.0["quality"][name].as_u64().unwrap_or_else(|| panic!("quality.{name}"))
    }

    pub fn warns(&self, code: &str) -> bool {
        let warnings = self.0["quality"]["warnings"].as_array().expect("quality.warnings");
        warnings.iter().any(|warning| warning["code"] == code)
    }

    pub fn delivery(&self) -> &str {
        self.0["engine"]["delivery"].as_str().expect("engine.delivery")
    }

    pub fn verdict(&self) -> &str {
        self.0["verdict"].as_str().expect("verdict")
    }
}

/// Runs the program alone and under `carom share`: output, errors and end must be the same. Returns how it ended
/// and the report.
pub fn same_with(options: &[&str], program: &Path, arguments: &[&str]) -> (Ending, Report) {
    let alone = run(Command::new(program).args(arguments));
    let mut share = Share::new(options, program, arguments);
    let shared = share.run();
    compare(&share.command, &alone, &shared);
    let report = share.report();
    assert_eq!(report.count("unprofiled_threads"), 0, "{:?}", share.command);
    (alone, report)
}

/// Fails, with what can be read of both, where two runs differ.
pub fn compare(what: &Command, alone: &Ending, shared: &Ending) {
    let show = |ending: &Ending| {
        let text = |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(4000)]).into_owned();
        format!("{}\nstdout:\n{}\nstderr:\n{}", ending.status, text(&ending.stdout), text(&ending.stderr))
    };
    assert!(alone == shared, "{what:?}\nalone: {}\n\nwith carom: {}", show(alone), show(shared));
}

/// As [`same_with`], with dense samples, for a program of `programs/targets/robust`.
pub fn same(file: &str, arguments: &[&str]) -> (Ending, Report) {
    same_with(&DENSE, &compile(&format!("robust/{file}"), &[]), arguments)
}

/// As [`same`], for a program that checks itself and ends with status 0.
pub fn keeps(file: &str, arguments: &[&str]) -> Report {
    let (ending, report) = same(file, arguments);
    assert_eq!(ending.code(), Some(0), "{file} {arguments:?}: {}", ending.complaint());
    assert!(report.samples() > 0, "{file} {arguments:?}: nothing was sampled");
    report
}
