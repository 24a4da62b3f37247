//! The session directory: the control page, the boards of shared memory, and the agents' files.

use std::{
    fs::{DirBuilder, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use carom_base_wire::{
    COMMON_FILE, CONTROL_FILE, CommonHeader, Control, SETTINGS_FILE, Settings, TARGETS_FILE,
};

use crate::trace::CodeAddress;

/// An open session.
pub struct Session {
    dir: PathBuf,
    control: File,
}

/// The agents' measurements of themselves, in nanoseconds, and counts of their failures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Results {
    pub timer_ns: u64,
    pub step_ns: u64,
    pub trap_ns: u64,
    pub modify_ns: u64,
    pub unprofiled_threads: u64,
    pub unprofiled_children: u64,
    pub unprofiled_ns: u64,
    pub unprofiled_errno: u64,
    /// Accesses that were kept, of those that count ([`Settings::most_kept`]).
    pub kept: u64,
    /// CPU time of the program and of all processes that were waited for, as the kernel counts it, in nanoseconds.
    pub cpu_ns: u64,
}

/// Whether shared memory matters: with detectors that look at data.
fn looks_at_data(settings: &Settings) -> bool {
    settings.reuse.is_some() || settings.share.is_some()
}

/// Writes a new file that only this user may read.
fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?.write_all(bytes)
}

impl Session {
    /// Makes the directory, with what agents are to do and the control page in it.
    pub fn create(dir: &Path, settings: &Settings, targets: &[CodeAddress]) -> io::Result<Self> {
        DirBuilder::new().mode(0o700).create(dir)?;
        let path = dir.join(CONTROL_FILE);
        let control = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)?;
        control.write_all_at(&Control::bytes(), 0)?;
        write_new(&dir.join(SETTINGS_FILE), settings.to_text().as_bytes())?;
        if !targets.is_empty() {
            let lines = targets.iter().map(|target| format!("{:x} {}\n", target.address, target.path));
            write_new(&dir.join(TARGETS_FILE), lines.collect::<String>().as_bytes())?;
        }
        if looks_at_data(settings) {
            // Written in full instead of extended: a hole on a full file system would kill the processes that map it.
            let board_slots = settings.share.map_or(0, |share| share.board_slots);
            write_new(&dir.join(COMMON_FILE), &CommonHeader::file(board_slots))?;
        }
        Ok(Self { dir: dir.to_owned(), control })
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Asks all agents to stop at their next sample.
    pub fn stop(&self) {
        // Only processes that outlive the program would notice a failure.
        let _ = self.control.write_all_at(&1u32.to_le_bytes(), Control::stop_offset());
    }

    pub fn results(&self) -> Results {
        let mut bytes = [0; 64];
        if self.control.read_exact_at(&mut bytes, Control::results_offset()).is_err() {
            return Results::default();
        }
        let mut kept = [0; 8];
        // As above: nothing is known then.
        let _ = self.control.read_exact_at(&mut kept, Control::kept_offset());
        let mut words = bytes.chunks_exact(8).map(|b| b.try_into().map_or(0, u64::from_le_bytes));
        let mut next = || words.next().unwrap_or(0);
        Results {
            timer_ns: next(),
            step_ns: next(),
            trap_ns: next(),
            modify_ns: next(),
            unprofiled_threads: next(),
            unprofiled_children: next(),
            unprofiled_ns: next(),
            unprofiled_errno: next(),
            kept: u64::from_le_bytes(kept),
            cpu_ns: 0,
        }
    }

    /// Removes the directory with all that is left in it.
    pub fn remove(self) {
        // Remaining files only cost disk space.
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}
