//! Trials that all worked need not be made again until the machine is started anew, unless something changes that they depend on.
//!
//! Only success is remembered: whoever mends what was refused is believed at once. Behind a filter on system calls nothing is, since
//! nothing tells one filter from another.

use std::{
    env, fs,
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::PathBuf,
};

use super::{Limits, Tried};
use crate::host::machine::{Machine, Root, Seccomp, Settings};

/// Changes with the trials.
const VERSION: u32 = 1;

/// The file that has what the trials depended on.
const NAME: &str = "trials";

/// Where the file is, and what it must say.
#[derive(Clone, Debug)]
pub struct Remembered {
    dir: PathBuf,
    circumstances: String,
}

impl Remembered {
    /// For this process. `None` where nothing can be remembered.
    pub fn here(machine: &Machine) -> Option<Self> {
        let dir = directory(|name| env::var_os(name).map(PathBuf::from))?;
        Some(Self { dir, circumstances: circumstances(&Root::system(), machine, Limits::here())? })
    }

    /// The trials, if they are known to work.
    pub fn recall(&self) -> Option<Tried> {
        // Whatever lies there, reading it must not block.
        let flags = libc::O_NONBLOCK | libc::O_NOFOLLOW;
        let file = fs::OpenOptions::new().read(true).custom_flags(flags).open(self.dir.join(NAME)).ok()?;
        let is_it =
            file.metadata().is_ok_and(|it| it.is_file() && it.len() == self.circumstances.len() as u64);
        let said = is_it.then(|| io::read_to_string(file).ok())??;
        (said == self.circumstances).then(Tried::all_worked)
    }

    /// Notes that the trials worked, if they did. Not being able to is no loss but of time.
    pub fn note(&self, tried: &Tried) {
        if tried.worked() {
            let _ = self.write();
        }
    }

    fn write(&self) -> io::Result<()> {
        // Not the home directory, which some users lack.
        for dir in [self.dir.parent(), Some(&self.dir)].into_iter().flatten() {
            match fs::DirBuilder::new().mode(0o700).create(dir) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
        }
        // Others may write it at the same time.
        let next = self.dir.join(format!("{NAME}.{}", std::process::id()));
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&next)?;
        let written = file
            .write_all(self.circumstances.as_bytes())
            .and_then(|()| fs::rename(&next, self.dir.join(NAME)));
        if written.is_err() {
            let _ = fs::remove_file(&next);
        }
        written
    }
}

/// The directory of files that may be lost: where the user's session has one, that one, which ends with it (XDG Base Directory
/// Specification).
fn directory(of: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    let absolute = |name| of(name).filter(|path: &PathBuf| path.is_absolute());
    let session = absolute("XDG_RUNTIME_DIR").or_else(|| absolute("XDG_CACHE_HOME"));
    Some(session.or_else(|| Some(absolute("HOME")?.join(".cache")))?.join("carom"))
}

/// All that the outcomes depend on, in words.
fn circumstances(root: &Root, machine: &Machine, limits: Limits) -> Option<String> {
    let Machine { kernel, privilege, settings, container, .. } = machine;
    if privilege.seccomp != Seccomp::Off || privilege.tracer != 0 {
        return None;
    }
    let boot = root.line("proc/sys/kernel/random/boot_id")?;
    let spaces = ["user", "pid", "mnt"].map(|space| namespace(root, space));
    // The kernel lowers it under load.
    let settings = Settings { max_sample_rate: None, ..settings.clone() };
    let (label, all_limits) = (root.line("proc/self/attr/current"), root.text("proc/self/limits"));
    Some(format!(
        "carom {VERSION}\n{boot}\n{kernel:?}\n{privilege:?}\n{settings:?}\n{container:?}\n{spaces:?}\n{label:?}\n{limits:?}\n{all_limits:?}\n"
    ))
}

fn namespace(root: &Root, name: &str) -> Option<PathBuf> {
    fs::read_link(root.path(&format!("proc/self/ns/{name}"))).ok()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{super::Slots, *};
    use crate::host::machine::Privilege;

    /// A tree with a boot of this number, and a namespace.
    fn root(dir: &Path, boot: &str) -> Root {
        let random = dir.join("proc/sys/kernel/random");
        fs::create_dir_all(&random).unwrap();
        fs::create_dir_all(dir.join("proc/self/ns")).unwrap();
        fs::write(random.join("boot_id"), boot).unwrap();
        let link = dir.join("proc/self/ns/pid");
        let _ = fs::remove_file(&link);
        std::os::unix::fs::symlink("pid:[4026531836]", link).unwrap();
        Root::at(dir)
    }

    fn with_slots(opened: u32) -> Tried {
        Tried { slots: Slots { opened, stopped: None }, ..Tried::all_worked() }
    }

    #[test]
    fn what_worked_is_remembered_until_something_changes() {
        let dir = tempfile::tempdir().unwrap();
        let of = |boot: &str, machine: &Machine, limits| Remembered {
            dir: dir.path().join("made/carom"),
            circumstances: circumstances(&root(dir.path(), boot), machine, limits).unwrap(),
        };
        let (machine, limits) = (Machine::default(), Limits::default());
        let here = of("first", &machine, limits);
        assert!(here.recall().is_none());
        // What did not work is tried again.
        here.note(&with_slots(3));
        assert!(here.recall().is_none());
        here.note(&with_slots(4));
        assert!(here.recall().is_some());
        // Another load is no other machine.
        let loaded = Settings { max_sample_rate: Some(1), ..Settings::default() };
        assert!(of("first", &Machine { settings: loaded, ..machine.clone() }, limits).recall().is_some());
        let strict = Settings { perf_event_paranoid: Some(4), ..Settings::default() };
        let poor = Privilege { uid: 1000, ..Privilege::default() };
        for (boot, machine, limits) in [
            ("second", machine.clone(), limits),
            ("first", Machine { settings: strict, ..machine.clone() }, limits),
            ("first", Machine { privilege: poor, ..machine.clone() }, limits),
            ("first", machine, Limits { address_space: Some(1 << 30), ..limits }),
        ] {
            assert!(of(boot, &machine, limits).recall().is_none());
        }
        fs::write(here.dir.join(NAME), "carom").unwrap();
        assert!(here.recall().is_none());
        // Something else is in the way, and nothing is left beside it.
        fs::remove_file(here.dir.join(NAME)).unwrap();
        fs::create_dir(here.dir.join(NAME)).unwrap();
        here.note(&with_slots(4));
        assert!(here.recall().is_none());
        assert_eq!(fs::read_dir(&here.dir).unwrap().count(), 1);
    }

    #[test]
    fn who_has_no_home_gets_none() {
        let dir = tempfile::tempdir().unwrap();
        let nobody = Remembered { dir: dir.path().join("home/.cache/carom"), circumstances: "none".into() };
        nobody.note(&with_slots(4));
        assert!(nobody.recall().is_none() && !dir.path().join("home").exists());
    }

    #[test]
    fn behind_filters_nothing_is_remembered() {
        let dir = tempfile::tempdir().unwrap();
        let root = root(dir.path(), "first");
        let with =
            |privilege| circumstances(&root, &Machine { privilege, ..Machine::default() }, Limits::default());
        assert!(with(Privilege::default()).is_some());
        assert_eq!(with(Privilege { seccomp: Seccomp::Filter, ..Privilege::default() }), None);
        assert_eq!(with(Privilege { tracer: 7, ..Privilege::default() }), None);
    }

    #[test]
    fn the_sessions_directory_comes_first() {
        let of = |set: &[(&str, &str)]| {
            directory(|name| set.iter().find(|(key, _)| *key == name).map(|(_, value)| PathBuf::from(value)))
        };
        let [home, cache, session] = [("HOME", "/h"), ("XDG_CACHE_HOME", "/c"), ("XDG_RUNTIME_DIR", "/r")];
        assert_eq!(of(&[home, cache, session]), Some("/r/carom".into()));
        assert_eq!(of(&[home, cache]), Some("/c/carom".into()));
        assert_eq!(of(&[home, ("XDG_CACHE_HOME", "relative")]), Some("/h/.cache/carom".into()));
        assert_eq!(of(&[("HOME", "")]), None);
    }
}
