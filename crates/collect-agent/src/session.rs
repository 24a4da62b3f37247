//! What one process shares with the host: settings in, slots and a journal out.

mod common;
mod unprofiled;

use std::{
    ffi::CString,
    fs::File,
    io::Read,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    ptr::NonNull,
    sync::atomic::{AtomicPtr, AtomicU32, Ordering::*},
};

use carom_base_sys::{SysError, clock, file, map, process, signal::Quiet};
use carom_base_wire::{
    COMMON_FILE, CONTROL_FILE, Control, PID_NAMESPACE, SEGMENT_MAGIC, SETTINGS_FILE, SLOT_BYTES,
    SegmentHeader, Settings, SlotState, VERSION, journal::Line, slot_offset,
};

use crate::{
    journal::Text,
    lock::{Lock, Rank},
    ring::Slot,
    sampler::Mode,
    trim,
};
pub use common::CommonBoards;
pub use unprofiled::{child_is_unprofiled, unprofiled_child_ends};

/// The recording session of this process. Made once and never freed; a forked child makes its own.
pub struct Session {
    dir: PathBuf,
    pid: u32,
    /// `PID.STARTED`, the stem of this process's files.
    stem: String,
    journal: CString,
    /// The journal is that of a parent, which has forked this process.
    is_in_parents_journal: bool,
    cells: CString,
    kept: CString,
    counts: CString,
    control: &'static Control,
    /// What the host asked for.
    pub settings: Settings,
    /// How samples reach the threads of this process.
    pub mode: Mode,
    /// Why not by a better way; may be empty.
    mode_reason: String,
    /// The program's name and arguments.
    arguments: Vec<String>,
    /// The boards of memory that processes share; `None` where nothing is sampled.
    pub common: Option<CommonBoards>,
    segments: Lock<Vec<Segment>>,
    /// Slots of the first of them.
    first_slots: usize,
    /// Our PID namespace, by its inode; 0 where that cannot be told.
    namespace: u64,
    /// The head of the first of them, for those that cannot wait for a lock.
    head: AtomicPtr<SegmentHeader>,
    next_serial: AtomicU32,
}

#[derive(Clone, Copy)]
struct Segment {
    base: NonNull<u8>,
    slots: usize,
}
// SAFETY: a segment is shared memory of atomics that is never unmapped.
unsafe impl Send for Segment {}

static CURRENT: AtomicPtr<Session> = AtomicPtr::new(std::ptr::null_mut());

/// Slots of the first segment of a process; later ones double up to [`MOST_SLOTS`]. Most processes are small, and most
/// children of a fork have one thread for all of their life.
const FIRST_SLOTS: usize = 4;
const FIRST_SLOTS_OF_CHILD: usize = 1;
const MOST_SLOTS: usize = 64;

/// Slots of one process at most: 512 MiB of rings would be a bug, not a program.
const SLOT_LIMIT: usize = 1 << 14;

/// The session of this process, if it is being recorded.
pub fn current() -> Option<&'static Session> {
    // SAFETY: sessions are leaked, so the pointer is null or valid for ever.
    unsafe { CURRENT.load(Acquire).as_ref() }
}

/// Makes `session` the current one; `None` ends recording in this process.
pub fn publish(session: Option<&'static Session>) {
    let pointer = session.map_or(std::ptr::null_mut(), |s| std::ptr::from_ref(s).cast_mut());
    CURRENT.store(pointer, Release);
}

fn c_path(path: &Path) -> Result<CString, SysError> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| SysError { call: "open", errno: libc::EINVAL })
}

/// The program's name and arguments as the kernel has them.
fn arguments() -> Vec<String> {
    /// A command line may have megabytes; its beginning is enough.
    const MOST_BYTES: u64 = 16 << 10;
    let mut bytes = Vec::new();
    // Without /proc there are none.
    let _ = File::open("/proc/self/cmdline").and_then(|file| file.take(MOST_BYTES).read_to_end(&mut bytes));
    let bytes = bytes.strip_suffix(b"\0").unwrap_or(&bytes);
    if bytes.is_empty() {
        return Vec::new();
    }
    bytes.split(|&byte| byte == 0).map(|argument| String::from_utf8_lossy(argument).into_owned()).collect()
}

/// Our PID namespace, by its inode; 0 where that cannot be told.
fn pid_namespace() -> u64 {
    file::status(libc::AT_FDCWD, PID_NAMESPACE).map_or(0, |status| status.st_ino)
}

/// What the host asks of this session; `None` where that cannot be read, or is of another version.
fn settings(dir: &Path) -> Option<Settings> {
    let text = std::fs::read_to_string(dir.join(SETTINGS_FILE)).ok()?;
    Settings::from_text(&text).ok()
}

/// What is known of a process when its session begins.
struct Known<'a> {
    mode: Mode,
    mode_reason: String,
    arguments: Vec<String>,
    /// Lines that tell of its modules.
    modules: Vec<Line>,
    /// The session of the parent that has forked it, if that was recorded.
    parent: Option<&'a Session>,
}

impl Session {
    /// Opens the session in `dir` for the calling process.
    ///
    /// # Errors
    /// The control file is missing, unreadable or of another version.
    pub fn open(dir: &Path) -> Result<&'static Self, SysError> {
        let page = map::open_shared(&c_path(&dir.join(CONTROL_FILE))?, size_of::<Control>())?;
        // SAFETY: a mapping of at least this size that stays; all fields are atomics.
        let control = unsafe { page.cast::<Control>().as_ref() };
        let settings = settings(dir).filter(|_| control.is_valid());
        let settings = settings.ok_or(SysError { call: "settings", errno: libc::EPROTO })?;
        let (mode, mode_reason) = Mode::choose(settings.delivery);
        // On a full disk lines are lost, and nothing else may be.
        let known = Known { mode, mode_reason, arguments: arguments(), modules: Vec::new(), parent: None };
        Self::begin(dir, control, settings, known).map(|(session, _)| session)
    }

    /// In a forked child of this process: a session of its own, which begins with the lines `modules`. Everything else
    /// that is the same in parent and child is copied.
    ///
    /// # Errors
    /// The child cannot make files here: it may have lost the right to, or a disk is full.
    pub fn fork(&self, modules: Vec<Line>) -> Result<&'static Self, SysError> {
        let known = Known {
            mode: self.mode,
            mode_reason: self.mode_reason.clone(),
            arguments: self.arguments.clone(),
            modules,
            parent: Some(self),
        };
        let (child, written) = Self::begin(&self.dir, self.control, self.settings, known)?;
        if written { Ok(child) } else { Err(SysError::last("open")) }
    }

    /// A session, and whether its first lines could be written.
    fn begin(
        dir: &Path,
        control: &'static Control,
        settings: Settings,
        known: Known<'_>,
    ) -> Result<(&'static Self, bool), SysError> {
        let Known { mode, mode_reason, arguments, modules, parent: forked_by } = known;
        let pid = process::process_id();
        let parent = std::os::unix::process::parent_id();
        // A process that sees its parent's id as the parent does is in the parent's PID namespace.
        let beside = forked_by.filter(|forked_by| forked_by.pid == parent);
        let started = clock::now().0;
        let stem = format!("{pid}.{started}");
        let board_slots = settings.share.map_or(0, |share| share.board_slots);
        let common = common::boards(&c_path(&dir.join(COMMON_FILE))?, board_slots);
        let session: &'static Self = Box::leak(Box::new(Self {
            dir: dir.to_owned(),
            pid,
            journal: match forked_by {
                Some(forked_by) => forked_by.journal.clone(),
                None => c_path(&dir.join(format!("{stem}.journal")))?,
            },
            is_in_parents_journal: forked_by.is_some(),
            cells: c_path(&dir.join(format!("{stem}.cells")))?,
            kept: c_path(&dir.join(format!("{stem}.accesses")))?,
            counts: c_path(&dir.join(format!("{stem}.counts")))?,
            stem,
            control,
            settings,
            mode,
            mode_reason,
            arguments,
            common,
            segments: Lock::new(Rank::Slots, Vec::new()),
            first_slots: if forked_by.is_some() { FIRST_SLOTS_OF_CHILD } else { FIRST_SLOTS },
            namespace: beside.map_or_else(pid_namespace, |beside| beside.namespace),
            head: AtomicPtr::new(std::ptr::null_mut()),
            next_serial: AtomicU32::new(0),
        }));
        let (name, reason) = (mode.name().into(), session.mode_reason.clone());
        let first = [
            Line::Process { pid, parent, started },
            Line::Argv(session.arguments.clone()),
            Line::Delivery { name, reason },
        ];
        let lines: String = first.iter().chain(&modules).map(Line::format).collect();
        let written = session.append_lines(lines.as_bytes());
        Ok((session, written))
    }

    /// False in a `vfork` child, which runs in its parent's memory.
    pub fn is_of_this_process(&self) -> bool {
        self.pid == process::process_id()
    }

    /// The page shared with the host.
    pub fn control(&self) -> &'static Control {
        self.control
    }

    /// Where the session lives.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Writes a line into the journal. Not for handlers. A full disk loses the line.
    pub fn note(&self, line: &Line) {
        self.append_lines(line.format().as_bytes());
    }

    /// Notes a problem for the report.
    pub fn trouble(&self, code: &str, text: &str) {
        self.note(&Line::Trouble { code: code.into(), text: text.into() });
    }

    /// Writes a line into the journal. Signal-safe.
    pub fn append<const N: usize>(&self, text: &mut Text<N>) {
        self.append_lines(text.end());
    }

    /// Writes whole lines into the journal. False where that fails. Signal-safe.
    pub fn append_lines(&self, lines: &[u8]) -> bool {
        if !self.is_in_parents_journal {
            return file::append(&self.journal, [lines]);
        }
        let count = lines.iter().filter(|&&byte| byte == b'\n').count();
        let mut of = Text::<64>::new();
        of.line("of").name(self.stem.as_bytes()).number(count as u64, 10);
        file::append(&self.journal, [of.end(), lines])
    }

    /// Writes counts of the exact mode, whole records, for the host. False where that fails. Signal-safe.
    pub fn append_cells(&self, records: &[u8]) -> bool {
        file::append(&self.cells, [records])
    }

    /// Writes accesses that are to be kept. False where that fails. Signal-safe.
    pub fn append_kept(&self, words: &[u8]) -> bool {
        file::append(&self.kept, [words])
    }

    /// Writes counts by instruction, whole records. False where that fails.
    pub fn append_counts(&self, records: &[u8]) -> bool {
        file::append(&self.counts, [records])
    }

    /// Whether nothing was written into any ring. Most children of a fork end before their first sample. Signal-safe.
    pub fn has_no_records(&self) -> bool {
        let Some(head) = self.head().filter(|_| self.has_been_alone()) else { return false };
        let first = Segment { base: NonNull::from(head).cast(), slots: 1 }.slot(0);
        first.header().head.load(Relaxed) == 0
    }

    /// The number of the next thread of this process.
    pub fn next_serial(&self) -> u32 {
        self.next_serial.fetch_add(1, Relaxed)
    }

    /// Whether the process has had only one thread until now.
    pub fn has_been_alone(&self) -> bool {
        self.next_serial.load(Relaxed) <= 1
    }

    /// A slot for a new thread.
    ///
    /// # Errors
    /// The disk is full, or the process has too many threads.
    pub fn take_slot(&self) -> Result<Slot, SysError> {
        let _quiet = Quiet::begin();
        let mut segments = self.segments.lock();
        let free = segments.iter().find_map(|segment| segment.take());
        match free {
            Some(slot) => Ok(slot),
            None => {
                let segment = self.grow(&segments)?;
                segments.push(segment);
                segment.take().ok_or(SysError { call: "take_slot", errno: libc::EAGAIN })
            }
        }
    }

    /// Makes room for many threads more: the program may be about to lose the right to make files here.
    pub fn reserve_slots(&self) {
        /// More than most programs make from then on.
        const AHEAD: usize = 64;
        let _quiet = Quiet::begin();
        let mut segments = self.segments.lock();
        while segments.iter().map(Segment::free).sum::<usize>() < AHEAD {
            let Ok(segment) = self.grow(&segments) else { return };
            segments.push(segment);
        }
    }

    /// The process is ending in an orderly way, perhaps by `_exit` in a handler of the program. Signal-safe.
    pub fn end(&self) {
        self.append(Text::<64>::new().line("end").number(clock::now().0, 10));
        if let Some(head) = self.head() {
            // ATOMICS: everything above belongs to the process that ended.
            head.ended.store(1, Release);
        }
    }

    fn grow(&self, segments: &[Segment]) -> Result<Segment, SysError> {
        let have: usize = segments.iter().map(|segment| segment.slots).sum();
        if have >= SLOT_LIMIT {
            return Err(SysError { call: "take_slot", errno: libc::EAGAIN });
        }
        let slots = (self.first_slots << segments.len().min(8)).min(MOST_SLOTS);
        let path = self.dir.join(format!("{}.{}.seg", self.stem, segments.len()));
        let base = map::create_shared(&c_path(&path)?, slot_offset(slots))?;
        // SAFETY: a fresh mapping of more than a header; all fields are atomics.
        let header = unsafe { base.cast::<SegmentHeader>().as_ref() };
        header.version.store(VERSION, Relaxed);
        header.slots.store(slots as u32, Relaxed);
        header.namespace.store(self.namespace, Relaxed);
        // ATOMICS: the host looks at the magic first.
        header.magic.store(SEGMENT_MAGIC, Release);
        if segments.is_empty() {
            self.head.store(std::ptr::from_ref(header).cast_mut(), Release);
        } else {
            trim::drop_own_code();
        }
        Ok(Segment { base, slots })
    }
}

impl Segment {
    /// The number of free slots.
    fn free(&self) -> usize {
        (0..self.slots)
            .filter(|&index| self.slot(index).header().state.load(Relaxed) == SlotState::Free as u32)
            .count()
    }

    fn slot(&self, index: usize) -> Slot {
        // SAFETY: the offset is inside the mapping.
        let place = unsafe { self.base.add(slot_offset(index)) };
        // SAFETY: a mapped slot that is never unmapped.
        unsafe { Slot::new(place.as_ptr()) }
    }

    fn take(self) -> Option<Slot> {
        (0..self.slots).find_map(|index| {
            debug_assert_eq!(SLOT_BYTES % 8, 0);
            let slot = self.slot(index);
            let state = &slot.header().state;
            let taken =
                state.compare_exchange(SlotState::Free as u32, SlotState::Taken as u32, AcqRel, Relaxed);
            taken.is_ok().then_some(slot)
        })
    }
}
