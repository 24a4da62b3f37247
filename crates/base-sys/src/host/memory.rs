//! How much memory a process and its descendants have, from /proc, without touching them.

use std::{
    fs::{self, File},
    io::{Read, Seek, SeekFrom},
};

/// Memory of a process tree at one moment, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Resident memory: VmRSS. Pages that processes share count in each of them. The kernel's number may lag by some hundred KiB
    /// for each thread.
    pub resident: u64,
    /// Reserved addresses: VmSize.
    pub reserved: u64,
    /// Processes that were there.
    pub processes: u32,
}

/// Reads the memory of a process and its descendants again and again.
#[derive(Debug)]
pub struct MemoryWatch {
    processes: Vec<(u32, File)>,
    page: u64,
}

impl MemoryWatch {
    /// Of `process`, which must not have been waited for.
    pub fn new(process: u32) -> Self {
        // SAFETY: no arguments beyond an integer.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        let mut watch = Self { processes: Vec::new(), page: u64::try_from(page).unwrap_or(4096) };
        watch.add(process);
        watch
    }

    fn add(&mut self, process: u32) {
        if !self.processes.iter().any(|(known, _)| *known == process)
            && let Ok(file) = File::open(format!("/proc/{process}/statm"))
        {
            self.processes.push((process, file));
        }
    }

    /// Looks for new descendants.
    pub fn look_for_children(&mut self) {
        let mut next = 0;
        while let Some(&(process, _)) = self.processes.get(next) {
            next += 1;
            let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
            let children: Vec<u32> = threads
                .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok())
                .flat_map(|list| {
                    list.split_whitespace().filter_map(|child| child.parse().ok()).collect::<Vec<u32>>()
                })
                .collect();
            children.into_iter().for_each(|child| self.add(child));
        }
    }

    /// The memory now; `None` where no process has any left.
    pub fn now(&mut self) -> Option<Footprint> {
        let mut all = Footprint::default();
        let page = self.page;
        self.processes.retain_mut(|(_, file)| {
            // Fields in pages: size, resident, and others (proc(5)).
            let mut text = [0; 128];
            let length = file.seek(SeekFrom::Start(0)).and_then(|_| file.read(&mut text)).unwrap_or(0);
            let text = std::str::from_utf8(text.get(..length).unwrap_or(&[])).unwrap_or("");
            let mut fields = text.split_whitespace().filter_map(|field| field.parse::<u64>().ok());
            let (Some(size), Some(resident)) = (fields.next(), fields.next()) else { return false };
            all.reserved = all.reserved.saturating_add(size.saturating_mul(page));
            all.resident = all.resident.saturating_add(resident.saturating_mul(page));
            all.processes += 1;
            true
        });
        (all.reserved > 0).then_some(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_and_its_children_have_memory() {
        let mut watch = MemoryWatch::new(std::process::id());
        let alone = watch.now().unwrap();
        assert!(alone.resident > 100_000 && alone.reserved >= alone.resident, "{alone:?}");
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        watch.look_for_children();
        let both = watch.now().unwrap();
        assert!(both.processes >= 2, "{both:?}");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_process_that_is_gone_has_none() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        assert_eq!(MemoryWatch::new(child.id()).now(), None);
    }
}
