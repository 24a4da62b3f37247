//! Finds processes outside of the recording that have mapped memory of its processes: their accesses are not observed.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use carom_base::SegmentId;
use carom_base_wire::journal::NOT_COMPARED;
use carom_store::{SegmentInfo, Warning};

use crate::processes::ProcessTable;

/// Looks at all processes of the machine take some milliseconds each.
const PAUSE: Duration = Duration::from_secs(1);

/// Names that a warning lists at most.
const LISTED: usize = 3;

/// Identifies memory: device, inode, and whether it is of System V, which has numbers of its own.
type Identity = (u64, u64, bool);

/// The processes that were found.
pub struct Outside {
    /// Agents have files in it mapped.
    session: PathBuf,
    /// Segments known at the last look.
    known: usize,
    last: Option<Instant>,
    found: BTreeMap<SegmentId, BTreeSet<u32>>,
}

impl Outside {
    pub fn new(session: &Path) -> Self {
        Self { session: session.to_owned(), known: 0, last: None, found: BTreeMap::new() }
    }

    /// Looks if there are new segments.
    pub fn look_where_new(&mut self, table: &ProcessTable) {
        let rested = self.last.is_none_or(|last| last.elapsed() >= PAUSE);
        if table.segments.len() > self.known && rested {
            self.look(table);
        }
    }

    /// Looks which processes have the recording's memory mapped now. Processes that may not be read are left out.
    pub fn look(&mut self, table: &ProcessTable) {
        (self.known, self.last) = (table.segments.len(), Some(Instant::now()));
        let wanted = wanted(table);
        if wanted.is_empty() {
            return;
        }
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let pid = entry.file_name().to_str().and_then(|name| name.parse().ok());
            let Some((pid, maps)) = pid.zip(fs::read_to_string(entry.path().join("maps")).ok()) else {
                continue;
            };
            let mappings: Vec<_> = maps.lines().filter_map(parse).collect();
            if mappings.iter().any(|(_, path)| Path::new(path).starts_with(&self.session)) {
                continue;
            }
            for (identity, _) in mappings {
                for segment in wanted.get(&identity).into_iter().flatten() {
                    self.found.entry(*segment).or_default().insert(pid);
                }
            }
        }
    }

    /// The warning for the report.
    pub fn warning(&self, table: &ProcessTable) -> Option<Warning> {
        let processes: BTreeSet<u32> = self.found.values().flatten().copied().collect();
        let names: BTreeSet<&str> = self
            .found
            .keys()
            .filter_map(|id| table.segments.get(id))
            .map(|known| known.path.as_str())
            .collect();
        let first = processes.first()?;
        let count = processes.len();
        let others = if count == 1 {
            format!("a process (pid {first})")
        } else {
            format!("{count} processes (such as pid {first})")
        };
        let more = if names.len() > LISTED { ", …" } else { "" };
        let names: Vec<&str> = names.into_iter().take(LISTED).collect();
        let text = format!(
            "Shared memory of {others} outside of this recording was not compared with what they do there: {}{more}.",
            names.join(", ")
        );
        Some(Warning { code: NOT_COMPARED.into(), text })
    }
}

/// The recording's memory that other processes may access, without files that no recorded process writes (mostly
/// libraries' data).
fn wanted(table: &ProcessTable) -> HashMap<Identity, Vec<SegmentId>> {
    let mappings = table.processes.iter().flat_map(|process| &process.shared);
    let written: BTreeSet<SegmentId> =
        mappings.filter(|mapping| mapping.writable).map(|mapping| mapping.segment).collect();
    let mut wanted: HashMap<Identity, Vec<SegmentId>> = HashMap::new();
    for SegmentInfo { id, path, device, inode } in table.segments.values() {
        let memory = ["/dev/shm/", "/memfd:", "/SYSV"].iter().any(|memory| path.starts_with(memory));
        if memory || written.contains(id) {
            wanted.entry((*device, *inode, is_system_v(path))).or_default().push(*id);
        }
    }
    wanted
}

/// A shared mapping in a line of `/proc/PID/maps`: addresses, permissions, offset, device, inode, path.
fn parse(line: &str) -> Option<(Identity, &str)> {
    let mut fields = line.splitn(6, ' ');
    let (permissions, device, inode) = (fields.nth(1)?, fields.nth(1)?, fields.next()?);
    let path = fields.next().unwrap_or_default().trim_start();
    let (major, minor) = device.split_once(':')?;
    let hex = |digits| u64::from_str_radix(digits, 16).ok();
    let identity = (hex(major)? << 20 | hex(minor)?, inode.parse().ok()?, is_system_v(path));
    permissions.ends_with('s').then_some((identity, path))
}

fn is_system_v(path: &str) -> bool {
    path.starts_with("/SYSV")
}

#[cfg(test)]
mod tests {
    use std::{fs::File, os::unix::fs::MetadataExt};

    use carom_store::{ProcessInfo, SharedMappingInfo};

    use super::*;

    #[test]
    fn shared_mappings_are_read() {
        let line = "7f00-7fff rw-s 00001000 fe:02 1234                       /tmp/a b (deleted)";
        assert_eq!(parse(line), Some(((0xfe0_0002, 1234, false), "/tmp/a b (deleted)")));
        let line = "7f00-7fff rw-s 00000000 00:01 3       /SYSV0000002a (deleted)";
        assert_eq!(parse(line), Some(((1, 3, true), "/SYSV0000002a (deleted)")));
        for line in ["", "7f00-7fff rw-p 00000000 00:00 0 ", "7f00-7fff rw-s 0 x 0 /a"] {
            assert_eq!(parse(line), None, "{line:?}");
        }
    }

    fn table(path: &str, device: u64, inode: u64, writable: bool) -> ProcessTable {
        let mapping = SharedMappingInfo { low: 0, high: 1, writable, ..SharedMappingInfo::default() };
        let segment = SegmentInfo { id: SegmentId(0), path: path.into(), device, inode };
        let mut table = ProcessTable::default();
        table.processes = vec![ProcessInfo { shared: vec![mapping], ..ProcessInfo::default() }];
        table.segments = BTreeMap::from([(SegmentId(0), segment)]);
        table
    }

    /// A child of this test has a file mapped, in no recording.
    #[test]
    fn others_that_map_the_memory_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("shared");
        fs::write(&path, [0; 4096]).unwrap();
        let status = File::open(&path).unwrap().metadata().unwrap();
        let (device, name) = (status.dev(), path.to_str().unwrap());
        let device = u64::from(libc_major(device)) << 20 | u64::from(libc_minor(device));
        let program = format!(
            "import mmap, time\nf = open({name:?}, 'r+b')\nm = mmap.mmap(f.fileno(), 4096)\nprint('ready', flush=True)\ntime.sleep(60)"
        );
        let child = std::process::Command::new("python3")
            .args(["-c", &program])
            .stdout(std::process::Stdio::piped())
            .spawn();
        let Ok(mut child) = child else { return eprintln!("skipped: tool: python3 is not installed") };
        std::io::BufRead::read_line(
            &mut std::io::BufReader::new(child.stdout.take().unwrap()),
            &mut String::new(),
        )
        .unwrap();
        let mut outside = Outside::new(Path::new("/nonexistent"));
        let shared = table(name, device, status.ino(), true);
        outside.look_where_new(&shared);
        let warning = outside.warning(&shared).expect("a process that was found");
        let mut ours = Outside::new(dir.path());
        ours.look(&shared);
        let mut unwritten = Outside::new(Path::new("/nonexistent"));
        unwritten.look(&table(name, device, status.ino(), false));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(warning.code, NOT_COMPARED);
        assert!(warning.text.contains(&format!("a process (pid {})", child.id())), "{}", warning.text);
        assert!(warning.text.contains(name), "{}", warning.text);
        // A process that maps files of the session is of the recording. Files that no recorded process writes are left
        // out.
        assert_eq!(ours.warning(&shared), None);
        assert_eq!(unwritten.warning(&shared), None);
    }

    fn libc_major(device: u64) -> u32 {
        (device >> 8 & 0xfff) as u32
    }

    fn libc_minor(device: u64) -> u32 {
        (device & 0xff | device >> 12 & 0xfff00) as u32
    }
}
