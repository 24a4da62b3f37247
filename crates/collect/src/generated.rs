//! Finds the files in which processes describe code that they make while they run: `/tmp/perf-PID.map`, and jitdumps, which
//! a process has mapped executable so that profilers find them.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Read},
    os::{fd::AsRawFd, unix::fs::MetadataExt},
    path::{Path, PathBuf},
    time::{Duration, Instant, UNIX_EPOCH},
};

use carom_base::ProcessId;
use carom_store::{GeneratedInfo, ProcessInfo};

use crate::processes::ProcessTable;

/// The pause before the first look at a process, and the longest one: it doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Processes that are looked at: each holds a descriptor.
const MOST_PROCESSES: usize = 256;

/// Larger files are not copied into a profile.
const MOST_COPIED_BYTES: u64 = 64 << 20;

/// What is known of the processes.
#[derive(Default)]
pub struct Generated {
    met: BTreeMap<ProcessId, Met>,
}

/// A process that was met while it ran.
struct Met {
    pid: u32,
    /// Its `/tmp`, which another mount namespace may have elsewhere.
    tmp: Option<File>,
    dumps: Vec<Dump>,
    next: Instant,
    pause: Duration,
}

/// A jitdump.
struct Dump {
    /// Its path for the process.
    path: PathBuf,
    file: File,
}

impl Generated {
    /// Looks at each process that is due.
    pub fn look(&mut self, table: &ProcessTable) {
        for process in table.processes.iter().filter(|process| process.unprofiled.is_none()) {
            if !table.is_known_here(process.id) || table.has_ended(process.id) {
                continue;
            }
            let room = self.met.len() < MOST_PROCESSES;
            if let Some(met) = self.met.get_mut(&process.id) {
                met.look();
            } else if room {
                self.met.insert(process.id, Met::new(process.pid));
            }
        }
    }

    /// The files of a process that has ended, begun no earlier than the recording. Those that are not at the same path for us
    /// are copied into the profile.
    pub fn of(&self, process: &ProcessInfo, dir: &Path, started_unix_s: f64) -> Vec<GeneratedInfo> {
        let number = process.id.0;
        let mut found = Vec::new();
        let met = self.met.get(&process.id);
        let path = PathBuf::from(format!("/tmp/perf-{}.map", process.pid));
        let map = match met.and_then(|met| met.tmp.as_ref()) {
            Some(tmp) => beneath(tmp, &path),
            None => path.clone(),
        };
        if let Some(file) = own(&map, started_unix_s) {
            found.extend(kept(&file, &path, dir, &format!("code-{number}.map")));
        }
        let dumps = || met.iter().flat_map(|met| &met.dumps);
        for (index, dump) in dumps().enumerate() {
            found.extend(kept(&dump.file, &dump.path, dir, &format!("code-{number}-{index}.dump")));
        }
        // Those that were mapped to the end, of processes that were too short for a look.
        let mapped = process.mappings.iter().map(|mapping| Path::new(&mapping.path));
        for path in mapped.filter(|path| is_dump(path) && !dumps().any(|dump| dump.path == **path)) {
            let file = own(path, started_unix_s);
            found.extend(file.and_then(|file| kept(&file, path, dir, &format!("code-{number}.dump"))));
        }
        found
    }
}

impl Met {
    fn new(pid: u32) -> Self {
        let tmp = File::open(format!("/proc/{pid}/root/tmp")).ok();
        Self { pid, tmp, dumps: Vec::new(), next: Instant::now() + FIRST_PAUSE, pause: FIRST_PAUSE }
    }

    fn look(&mut self) {
        if Instant::now() < self.next {
            return;
        }
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        self.next = Instant::now() + self.pause;
        let Ok(maps) = fs::read_to_string(format!("/proc/{}/maps", self.pid)) else { return };
        for path in maps.lines().filter_map(dump).map(PathBuf::from) {
            if self.dumps.iter().any(|known| known.path == path) {
                continue;
            }
            let outside = path.strip_prefix("/").unwrap_or(&path);
            let file = File::open(Path::new(&format!("/proc/{}/root", self.pid)).join(outside));
            self.dumps.extend(file.ok().map(|file| Dump { path, file }));
        }
    }
}

/// The jitdump in a line of `/proc/PID/maps`: addresses, permissions, offset, device, inode, path.
fn dump(line: &str) -> Option<&str> {
    let mut fields = line.splitn(6, ' ');
    let (permissions, path) = (fields.nth(1)?, fields.nth(3)?.trim_start());
    (permissions.contains('x') && is_dump(Path::new(path))).then_some(path)
}

/// Whether a file is called `jit-PID.dump`.
fn is_dump(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let digits = name.strip_prefix("jit-").and_then(|rest| rest.strip_suffix(".dump")).unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Where a file of this name lies beneath a directory that is open.
fn beneath(directory: &File, path: &Path) -> PathBuf {
    let directory = PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd()));
    path.file_name().map_or(directory.clone(), |name| directory.join(name))
}

/// The file, if it is ours or root's, and was written since then. Anybody may put a file into `/tmp`, and the kernel uses
/// numbers of processes again.
fn own(path: &Path, since_unix_s: f64) -> Option<File> {
    let status = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file)?;
    let us = fs::metadata("/proc/self").ok()?.uid();
    let written = status.modified().ok()?.duration_since(UNIX_EPOCH).ok()?.as_secs_f64();
    let ours = status.uid() == us || status.uid() == 0;
    // File systems round times down.
    (ours && written + 1.0 >= since_unix_s).then(|| File::open(path).ok()).flatten()
}

/// How the profile refers to a file.
fn kept(file: &File, path: &Path, dir: &Path, name: &str) -> Option<GeneratedInfo> {
    let status = file.metadata().ok().filter(fs::Metadata::is_file)?;
    let here = fs::metadata(path).is_ok_and(|here| (here.dev(), here.ino()) == (status.dev(), status.ino()));
    let info = |path: &Path| GeneratedInfo { path: path.to_string_lossy().into_owned(), bytes: status.len() };
    if here {
        return Some(info(path));
    }
    if status.len() > MOST_COPIED_BYTES {
        return None;
    }
    let mut copy = File::create_new(dir.join(name)).ok()?;
    io::copy(&mut file.take(status.len()), &mut copy).ok()?;
    Some(info(Path::new(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitdumps_are_known_by_their_names_and_permissions() {
        let line = "7f00-7fff r-xp 00000000 fe:02 1234                       /tmp/a b/jit-77.dump";
        assert_eq!(dump(line), Some("/tmp/a b/jit-77.dump"));
        for other in [
            "",
            "7f00-7fff r--p 00000000 fe:02 1234                       /tmp/jit-77.dump",
            "7f00-7fff r-xp 00000000 fe:02 1234                       /tmp/jit-.dump",
            "7f00-7fff r-xp 00000000 fe:02 1234                       /tmp/jit-7a.dump",
            "7f00-7fff r-xp 00000000 00:00 0 ",
        ] {
            assert_eq!(dump(other), None, "{other}");
        }
    }

    #[test]
    fn files_elsewhere_are_copied_and_old_ones_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("perf-7.map");
        fs::write(&path, "10 8 routine\n").unwrap();
        let file = own(&path, 0.0).expect("ours");
        assert!(own(&path, f64::MAX).is_none());
        assert!(own(&dir.path().join("none"), 0.0).is_none());
        let here = kept(&file, &path, dir.path(), "copy");
        assert_eq!(here, Some(GeneratedInfo { path: path.to_string_lossy().into_owned(), bytes: 13 }));
        let elsewhere = kept(&file, Path::new("/nonexistent/perf-7.map"), dir.path(), "code-0.map");
        assert_eq!(elsewhere, Some(GeneratedInfo { path: "code-0.map".into(), bytes: 13 }));
        assert_eq!(fs::read(dir.path().join("code-0.map")).unwrap(), b"10 8 routine\n");
        // A profile that was written to before is not.
        assert_eq!(kept(&file, Path::new("/nonexistent"), dir.path(), "code-0.map"), None);
    }
}
