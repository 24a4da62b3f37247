//! The executables and libraries in the process: where functions begin, and how to unwind.

use std::{
    ffi::{CStr, CString, c_int, c_void},
    ops::Range,
    sync::{
        OnceLock,
        atomic::{AtomicPtr, AtomicUsize, Ordering::*},
    },
};

use carom_base_sys::{file, signal};
use carom_base_wire::journal::Line;
use framehop::{ExplicitModuleSectionInfo, Unwinder as _};

use crate::{
    eh_frame::{EhFrameHdr, HEADER_BYTES},
    lock::{self, Lock, Rank},
    registry,
    session::Session,
    trim,
    unwind::Unwinder,
};

type Bytes = &'static [u8];

/// One loaded file.
#[derive(Clone)]
struct Module {
    path: String,
    bias: u64,
    range: Range<u64>,
    text: Vec<(Range<u64>, Bytes)>,
    hdr: Option<(EhFrameHdr, Range<u64>)>,
    /// `.eh_frame` up to the end of its segment.
    eh_frame: Option<(Bytes, Range<u64>)>,
    /// Bytes from its thread-local variables to the thread pointer, where they are the same in every thread.
    tls: Option<u64>,
}

/// A snapshot of the loaded modules. Never changed once published; handlers read it without a lock.
pub struct Modules {
    modules: Vec<Module>,
    unwinder: Unwinder,
}

static CURRENT: AtomicPtr<Modules> = AtomicPtr::new(std::ptr::null_mut());
/// The number of handlers that read the current snapshot.
static READERS: AtomicUsize = AtomicUsize::new(0);
/// The number of calls that wait for the readers to finish: meanwhile handlers and hooks work without modules.
static CLOSING: AtomicUsize = AtomicUsize::new(0);
/// How often libraries were unloaded: code that was decoded before may be other code now.
static UNLOADS: AtomicUsize = AtomicUsize::new(0);
/// Told where code was that went away.
static FORGETTING: OnceLock<fn(&Range<u64>)> = OnceLock::new();
static REFRESH: Lock<()> = Lock::new(Rank::Modules, ());

/// Has `forget` called where code has gone away, with signals blocked. Once, for one function.
pub fn when_code_goes(forget: fn(&Range<u64>)) {
    FORGETTING.get_or_init(|| forget);
}

/// A number that changes when code goes away. Signal-safe.
pub fn unloads() -> usize {
    UNLOADS.load(Relaxed)
}

/// Gives `use_them` the current modules, or `None` while a library is being unloaded. Signal-safe.
pub fn with<R>(use_them: impl FnOnce(Option<&Modules>) -> R) -> R {
    // A call that waits for the readers would wait for ever if new ones kept coming.
    if CLOSING.load(SeqCst) > 0 {
        return use_them(None);
    }
    // ATOMICS: sequentially consistent with `closing`: either it sees this reader or the reader sees it.
    READERS.fetch_add(1, SeqCst);
    let modules = if CLOSING.load(SeqCst) > 0 { std::ptr::null_mut() } else { CURRENT.load(Acquire) };
    // SAFETY: published pictures are only freed in `refresh`, after the last reader has left.
    let result = use_them(unsafe { modules.as_ref() });
    READERS.fetch_sub(1, SeqCst);
    result
}

/// Runs `close`, which may unload libraries, while no handler reads their sections; then looks again.
#[cfg(not(feature = "static-link"))]
pub fn closing<R>(session: &Session, close: impl FnOnce() -> R) -> R {
    CLOSING.fetch_add(1, SeqCst);
    readers_left();
    let result = close();
    refresh(session);
    CLOSING.fetch_sub(1, SeqCst);
    result
}

/// Waits for all readers. False where one does not leave: a signal handler of the program has jumped out of a
/// hook, and will not come back.
fn readers_left() -> bool {
    const PATIENCE_NS: u64 = 1_000_000_000;
    let start = carom_base_sys::clock::now().0;
    while READERS.load(SeqCst) > 0 {
        if carom_base_sys::clock::now().0.saturating_sub(start) > PATIENCE_NS {
            return false;
        }
        // Asleep, so that a reader of lower priority can go on.
        lock::sleep();
    }
    true
}

/// Publishes a new snapshot where the loaded modules have changed. Not for handlers.
pub fn refresh(session: &Session) {
    signal::quietly(|| look_again(session));
}

fn look_again(session: &Session) {
    let _guard = REFRESH.lock();
    let old = CURRENT.load(Acquire);
    // SAFETY: only this function, under its lock, replaces and frees pictures.
    let known: &[Module] = unsafe { old.as_ref() }.map_or(&[], |old| &old.modules);
    let mut look = Look { known, found: Vec::new() };
    // SAFETY: `visit` takes its data as the `Look` that outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut look).cast()) };
    let mut modules = look.found;
    modules.sort_by_key(|module| module.range.start);
    let same = |a: &Module, b: &Module| a.is(&b.range, &b.path);
    if known.len() == modules.len() && known.iter().zip(&modules).all(|(a, b)| same(a, b)) {
        return;
    }
    let time = carom_base_sys::clock::now().0;
    for module in modules.iter().filter(|m| !known.iter().any(|k| same(k, m))) {
        module.lines(time).for_each(|line| session.note(&line));
    }
    for module in known.iter().filter(|k| !modules.iter().any(|m| same(k, m))) {
        session.note(&Line::Unload { time, low: module.range.start });
        UNLOADS.fetch_add(1, Relaxed);
        if let Some(forget) = FORGETTING.get() {
            forget(&module.range);
        }
    }
    let mut unwinder = Unwinder::new();
    for module in &modules {
        unwinder.add_module(module.for_framehop());
    }
    CURRENT.store(Box::into_raw(Box::new(Modules { modules, unwinder })), SeqCst);
    if old.is_null() {
        return;
    }
    CLOSING.fetch_add(1, SeqCst);
    if readers_left() {
        // SAFETY: made by `Box::into_raw` above; replaced, and every reader that could hold it has left.
        drop(unsafe { Box::from_raw(old) });
    }
    CLOSING.fetch_sub(1, SeqCst);
    trim::drop_own_code();
}

/// The journal lines that tell a new session about all loaded modules.
pub fn lines() -> Vec<Line> {
    let time = carom_base_sys::clock::now().0;
    with(|modules| {
        let modules = modules.map_or(&[][..], |modules| &modules.modules);
        modules.iter().flat_map(|module| module.lines(time)).collect()
    })
}

/// Calls `each` with the path and the bias of all loaded modules.
pub fn each(mut each: impl FnMut(&str, u64)) {
    with(|modules| {
        modules
            .iter()
            .flat_map(|modules| &modules.modules)
            .for_each(|module| each(&module.path, module.bias));
    });
}

/// In a forked child: readers and refreshers of the parent are not here.
pub fn after_fork() {
    READERS.store(0, SeqCst);
    CLOSING.store(0, SeqCst);
    REFRESH.open();
}

impl Modules {
    /// The unwinder over all modules.
    pub fn unwinder(&self) -> &Unwinder {
        &self.unwinder
    }

    /// Where the function that holds `ip` begins, by `.eh_frame_hdr`. Signal-safe.
    pub fn function_start(&self, ip: u64) -> Option<u64> {
        let module = self.find(ip)?;
        let (hdr, _) = module.hdr.as_ref()?;
        hdr.function_start(ip)
    }

    /// Bytes that are certainly mapped and readable: a module's code from `address` on. Signal-safe.
    pub fn code(&self, address: u64) -> Option<Bytes> {
        let module = self.find(address)?;
        let (range, bytes) = module.text.iter().find(|(range, _)| range.contains(&address))?;
        bytes.get((address - range.start) as usize..)
    }

    /// Does `address` lie in a module? Signal-safe.
    pub fn hold(&self, address: u64) -> bool {
        self.find(address).is_some()
    }

    fn find(&self, address: u64) -> Option<&Module> {
        let after = self.modules.partition_point(|module| module.range.start <= address);
        let module = self.modules.get(after.checked_sub(1)?)?;
        module.range.contains(&address).then_some(module)
    }
}

impl Module {
    fn is(&self, range: &Range<u64>, path: &str) -> bool {
        self.range == *range && self.path == path
    }

    /// What the journal says of it.
    fn lines(&self, time: u64) -> impl Iterator<Item = Line> {
        let (low, high) = (self.range.start, self.range.end);
        let tls = self.tls.map(|distance| Line::Tls { low, distance });
        [Line::Module { time, bias: self.bias, low, high, path: self.path.clone() }].into_iter().chain(tls)
    }

    fn for_framehop(&self) -> framehop::Module<Bytes> {
        let stated =
            |range: &Range<u64>| range.start.wrapping_sub(self.bias)..range.end.wrapping_sub(self.bias);
        let text = self.text.first();
        let info = ExplicitModuleSectionInfo {
            base_svma: 0,
            text_svma: text.map(|(range, _)| stated(range)),
            text: text.map(|(_, bytes)| *bytes),
            eh_frame_svma: self.eh_frame.as_ref().map(|(_, range)| stated(range)),
            eh_frame: self.eh_frame.as_ref().map(|(bytes, _)| *bytes),
            eh_frame_hdr_svma: self.hdr.as_ref().map(|(_, range)| stated(range)),
            eh_frame_hdr: self.hdr.as_ref().map(|(hdr, _)| hdr.bytes()),
            ..Default::default()
        };
        framehop::Module::new(self.path.clone(), self.range.clone(), self.bias, info)
    }
}

/// The argument of [`visit`]: the modules of the last snapshot, and those that are loaded now.
struct Look<'a> {
    known: &'a [Module],
    found: Vec<Module>,
}

/// # Safety
/// Called by `dl_iterate_phdr` with a valid `info` and the `Look` of [`refresh`] as `data`.
unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _size: usize, data: *mut c_void) -> c_int {
    // SAFETY: valid by the contract.
    let info = unsafe { &*info };
    // SAFETY: valid by the contract.
    let Look { known, found } = unsafe { &mut *data.cast::<Look<'_>>() };
    if info.dlpi_phdr.is_null() {
        return 0;
    }
    // SAFETY: the loader states how many headers there are.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let bias = info.dlpi_addr;
    let span = |h: &libc::Elf64_Phdr| {
        let low = bias.wrapping_add(h.p_vaddr);
        low..low.wrapping_add(h.p_memsz)
    };
    let loads: Vec<_> = headers.iter().filter(|h| h.p_type == libc::PT_LOAD && h.p_memsz > 0).collect();
    let Some(low) = loads.iter().map(|h| span(h).start).min() else { return 0 };
    let range = low..loads.iter().map(|h| span(h).end).max().unwrap_or(low);
    let path = module_path(info.dlpi_name);
    if let Some(module) = known.iter().find(|module| module.is(&range, &path)) {
        found.push(module.clone());
        return 0;
    }
    let readable = |h: &&&libc::Elf64_Phdr| h.p_flags & libc::PF_R != 0;
    let text = loads
        .iter()
        .filter(readable)
        .filter(|h| h.p_flags & libc::PF_X != 0)
        // SAFETY: a loaded, readable segment.
        .map(|h| (span(h), unsafe { bytes(&span(h)) }))
        .collect();
    let hdr = headers.iter().find(|h| h.p_type == libc::PT_GNU_EH_FRAME).and_then(|h| {
        // SAFETY: this header describes loaded, readable memory.
        let section = unsafe { bytes(&span(h)) };
        let header = header_in_file(&path, h.p_offset).or_else(|| section.first_chunk().copied())?;
        Some((EhFrameHdr::parse(&header, section, span(h).start)?, span(h)))
    });
    let eh_frame = hdr.as_ref().and_then(|(hdr, _)| {
        let start = hdr.eh_frame();
        let segment = loads.iter().filter(readable).map(|h| span(h)).find(|s| s.contains(&start))?;
        // SAFETY: inside a loaded, readable segment.
        Some((unsafe { bytes(&(start..segment.end)) }, start..segment.end))
    });
    found.push(Module { path, bias, range, text, hdr, eh_frame, tls: tls(info) });
    0
}

/// No program has more static thread-local variables. Those of libraries that were loaded later lie elsewhere in every thread.
const MOST_STATIC_TLS: u64 = 1 << 20;

/// Bytes from the beginning of a module's thread-local variables to the thread pointer.
fn tls(info: &libc::dl_phdr_info) -> Option<u64> {
    let start = info.dlpi_tls_data.addr() as u64;
    let distance = registry::thread_pointer().checked_sub(start)?;
    (start != 0 && distance <= MOST_STATIC_TLS).then_some(distance)
}

/// The beginning of `.eh_frame_hdr`, which is at `offset` in the file at `path`. Reading it in memory would map the 64
/// KiB around it, for each of hundreds of libraries.
fn header_in_file(path: &str, offset: u64) -> Option<[u8; HEADER_BYTES]> {
    // The vDSO has no file, and the working directory may have changed.
    if !path.starts_with('/') {
        return None;
    }
    let file = file::open(libc::AT_FDCWD, &CString::new(path).ok()?)?;
    let mut header = [0; HEADER_BYTES];
    (file.read_at(&mut header, offset) == HEADER_BYTES).then_some(header)
}

/// # Safety
/// `range` is mapped and readable for as long as the module is loaded; readers keep to that.
unsafe fn bytes(range: &Range<u64>) -> Bytes {
    // SAFETY: the caller vouches for the range.
    unsafe { std::slice::from_raw_parts(range.start as *const u8, (range.end - range.start) as usize) }
}

/// The loader names the executable "" and the vDSO by no path.
fn module_path(name: *const libc::c_char) -> String {
    let stated = if name.is_null() {
        String::new()
    } else {
        // SAFETY: the loader's names are valid strings.
        unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
    };
    if stated.is_empty() {
        let link = std::fs::read_link("/proc/self/exe");
        return link.map_or_else(|_| "[executable]".into(), |path| path.to_string_lossy().into_owned());
    }
    stated
}
