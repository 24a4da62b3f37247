//! Small C programs, compiled at test time, run natively and recorded.
#![allow(clippy::unwrap_used, reason = "tests fail by it")]

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::{Mutex, OnceLock},
};

use carom_base_wire::{Engine, Settings, ShareSettings, WatchChoice};
use carom_collect::{Request, record};
use carom_store::{Exit, Manifest, Recording};

/// What came of one run of a program.
#[derive(Debug, PartialEq, Eq)]
pub struct Run {
    pub stdout: String,
    pub stderr: String,
    pub exit: Exit,
}

/// A directory for one test, removed with it.
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Compiles `tests/programs/SOURCE.c` with `flags` behind it.
    pub fn compile(&self, source: &str, name: &str, flags: &[&str]) -> PathBuf {
        let program = self.path(name);
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(source);
        let mut cc = Command::new("cc");
        cc.args(["-O1", "-g", "-pthread", "-o"]).arg(&program).arg(source).args(flags);
        let output = cc.output().expect("a C compiler");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        program
    }

    /// Runs `argv` on its own.
    pub fn native(&self, argv: &[&str]) -> Run {
        let output = Command::new(argv[0]).args(&argv[1..]).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let exit = output.status.code().map_or(Exit::Unknown, Exit::Code);
        Run { stdout: text(output.stdout), stderr: text(output.stderr), exit }
    }

    /// Records `argv`, whose output goes to files by way of a shell that becomes it.
    pub fn record(&self, argv: &[&str]) -> (Run, Manifest) {
        let (out, err) = (self.path("stdout"), self.path("stderr"));
        let script = format!("exec \"$0\" \"$@\" >{} 2>{}", out.display(), err.display());
        let shell = ["/bin/sh", "-c", &script];
        let (exit, manifest) = self.record_directly(&[&shell[..], argv].concat());
        let read = |path| std::fs::read_to_string(path).unwrap_or_default();
        (Run { stdout: read(out), stderr: read(err), exit }, manifest)
    }

    /// Records `argv` with its output where the test's goes.
    pub fn record_directly(&self, argv: &[&str]) -> (Exit, Manifest) {
        self.record_by(Engine::Burst, argv)
    }

    /// The same by any engine.
    pub fn record_by(&self, engine: Engine, argv: &[&str]) -> (Exit, Manifest) {
        // The host's signal handlers are one per process, and processors are few.
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        build_agent();
        let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let dir = self.path("profile");
        let _ = std::fs::remove_dir_all(&dir);
        let settings = Settings {
            load_period: 500_000,
            store_period: 500_000,
            period_ns: 1_000_000,
            budget_ppm: 50_000,
            max_steps: 64,
            watchpoints: 4,
            share: Some(ShareSettings { watch: WatchChoice::Registers, board_slots: 127 }),
            ..Settings::of(engine)
        };
        let outcome = record(&Request {
            command: "share".into(),
            questions: Vec::new(),
            argv: argv.iter().map(|&arg| arg.to_owned()).collect(),
            dir: Some(dir),
            settings,
            reason: "test".into(),
            time_memory: false,
            memory: None,
            streams: carom_collect::Streams::Own,
            targets: Vec::new(),
            series: None,
            accesses: None,
        })
        .unwrap();
        let violations = carom_store::check(&outcome.dir).unwrap();
        assert!(violations.is_empty(), "{violations:?}");
        (outcome.exit, Recording::open(&outcome.dir).unwrap().manifest().clone())
    }
}

/// `target/PROFILE`, where this test lies in `deps`.
fn profile_dir() -> PathBuf {
    std::env::current_exe().unwrap().ancestors().nth(2).unwrap().to_owned()
}

/// `target`.
pub fn target_dir() -> PathBuf {
    profile_dir().parent().unwrap().to_owned()
}

/// Builds the agent with `arguments` besides, as Cargo would for this test.
pub fn cargo_build(arguments: &[&str]) {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "-p", "carom-collect-agent"]).args(arguments);
    let output = cargo.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn build_agent() {
    static BUILT: OnceLock<()> = OnceLock::new();
    BUILT.get_or_init(|| {
        let target = target_dir();
        let mut arguments = vec!["--target-dir", target.to_str().unwrap()];
        if profile_dir().ends_with("release") {
            arguments.push("--release");
        }
        cargo_build(&arguments);
    });
}
