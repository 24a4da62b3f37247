//! The session directory: the control page, the boards of shared memory, and what the agents put beside them.

use std::{
    fs::{DirBuilder, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use carom_base_wire::{COMMON_FILE, CONTROL_FILE, CommonHeader, Control, ControlSettings};

/// An open session.
pub struct Session {
    dir: PathBuf,
    control: File,
}

/// What the agents measured about themselves, in nanoseconds, and what they could not do.
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
    /// CPU time of the program and of all processes that were waited for, by the kernel's books, in nanoseconds.
    pub cpu_ns: u64,
}

/// Whether it matters which memory processes share: where they do more than count.
fn takes_samples(settings: &ControlSettings) -> bool {
    let samples = [settings.load_period, settings.store_period, settings.period_ns];
    settings.reuse.is_some() || samples.iter().any(|period| *period != 0)
}

impl Session {
    /// Makes the directory and the control page in it.
    pub fn create(dir: &Path, settings: &ControlSettings) -> io::Result<Self> {
        DirBuilder::new().mode(0o700).create(dir)?;
        let path = dir.join(CONTROL_FILE);
        let control = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)?;
        control.write_all_at(&Control::new(settings).to_bytes(), 0)?;
        if takes_samples(settings) {
            // Written, and not only made so long: a hole on a full file system would end whoever maps it.
            let file = CommonHeader::file(settings.board_slots);
            OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(dir.join(COMMON_FILE))?
                .write_all(&file)?;
        }
        Ok(Self { dir: dir.to_owned(), control })
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Asks all agents to stop at their next sample.
    pub fn stop(&self) {
        // Nothing depends on it but the life of processes that outlive the program.
        let _ = self.control.write_all_at(&1u32.to_le_bytes(), Control::stop_offset());
    }

    pub fn results(&self) -> Results {
        let mut bytes = [0; 64];
        if self.control.read_exact_at(&mut bytes, Control::results_offset()).is_err() {
            return Results::default();
        }
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
            cpu_ns: 0,
        }
    }

    /// Removes the directory with all that is left in it.
    pub fn remove(self) {
        // What is left costs disk space, nothing else.
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}
