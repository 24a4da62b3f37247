//! Mappings that are no modules: files, shared memory, the heap, the stack. The host names data by them.

use std::{ops::Range, os::unix::ffi::OsStrExt};

use carom_base_sys::{SysError, map_query::MapQuery, maps, raw};

use crate::{
    journal::Text,
    lock::{Lock, Rank},
    modules,
    session::Session,
};

/// The longest name (a path of PATH_MAX) and the numbers around it fit.
const LINE_BYTES: usize = 5 << 10;

struct Buffers {
    read: [u8; 2 * LINE_BYTES],
    written: Text<LINE_BYTES>,
    lines: [u8; LINES_BYTES],
}

/// Lines are written together: to write takes several system calls.
const LINES_BYTES: usize = 4 * LINE_BYTES;

/// Not on the stack: the process may be ending in a handler on a small alternate stack.
static BUFFERS: Lock<Buffers> = Lock::new(
    Rank::Mappings,
    Buffers { read: [0; 2 * LINE_BYTES], written: Text::new(), lines: [0; LINES_BYTES] },
);

/// The most mappings that are reported. A program with more of them maps thousands of files, which no report can show.
const MOST_MAPPINGS: usize = 1024;

/// Writes the mappings into the journal. Signal-safe.
pub fn announce(session: &Session) {
    // A second thread on its way out need not repeat it.
    let Some(mut buffers) = BUFFERS.try_lock() else { return };
    let Buffers { read, written, lines } = &mut *buffers;
    let (mut told, mut filled) = (0, 0);
    each(read, |Mapping { range, name, .. }, _| {
        if told >= MOST_MAPPINGS || !is_data(session, &range, name) {
            return;
        }
        told += 1;
        let line = written.line("map").number(range.start, 16).number(range.end, 16).name(name).end();
        if filled + line.len() > lines.len() {
            session.append_lines(&lines[..filled]);
            filled = 0;
        }
        lines[filled..filled + line.len()].copy_from_slice(line);
        filled += line.len();
    });
    if filled > 0 {
        session.append_lines(&lines[..filled]);
    }
}

/// The only thread of a forked child holds none of the parent's buffers.
pub fn after_fork() {
    BUFFERS.open();
}

/// Visits every mapping whose memory other processes may see, in order of address. False where that cannot be told now.
/// Signal-safe.
pub fn shared(session: &Session, mut visit: impl FnMut(&Mapping<'_>)) -> bool {
    let Some(mut buffers) = BUFFERS.try_lock() else { return true };
    each(&mut buffers.read, |mapping, shared| {
        if shared && !is_ours(session, mapping.name) && is_memory(mapping.name) {
            visit(&mapping);
        }
    })
}

/// The main thread's stack, if it holds `sp`: the lowest byte that it may grow to, and one past the highest. A child
/// that another thread forked has its only thread elsewhere.
///
/// As `pthread_getattr_np`, which for this thread reads the same file through a stream, and so would use the
/// program's heap and a good part of the C library before the program does.
pub fn main_stack(sp: u64) -> Option<(u64, u64)> {
    let mut buffers = BUFFERS.try_lock()?;
    let (mut found, mut below) = (None, 0);
    each(&mut buffers.read, |Mapping { range, name, .. }, _| {
        if name == b"[stack]" && range.contains(&sp) {
            let lowest = range.end.saturating_sub(raw::limit(libc::RLIMIT_STACK).unwrap_or(u64::MAX));
            found = Some((lowest.max(below), range.end));
        }
        below = range.end;
    });
    found
}

/// The shared mapping at `addr`, without its name. Signal-safe.
///
/// # Errors
/// The kernel is older than Linux 6.11, or there is no /proc.
pub fn shared_at(addr: u64) -> Result<Option<Mapping<'static>>, SysError> {
    const UNKNOWN: SysError = SysError { call: "PROCMAP_QUERY", errno: libc::ENOTTY };
    /// In the answer: the process may write there; others see what it writes.
    const WRITABLE: u64 = 2;
    const SHARED: u64 = 8;
    let file = maps::open().map_err(|_| UNKNOWN)?;
    let mut query = MapQuery::at(addr);
    let found = match query.ask(&file) {
        Err(libc::ENOENT) => return Ok(None),
        Err(errno) => return Err(SysError { errno, ..UNKNOWN }),
        Ok(()) => query,
    };
    Ok((found.flags & SHARED != 0).then_some(Mapping {
        range: found.start..found.end,
        offset: found.offset,
        device: u64::from(found.major) << 20 | u64::from(found.minor),
        inode: found.inode,
        writable: found.flags & WRITABLE != 0,
        name: b"",
    }))
}

/// Visits every mapping, with whether it is shared. False where there is nothing to read. Signal-safe.
fn each(buffer: &mut [u8], mut visit: impl FnMut(Mapping<'_>, bool)) -> bool {
    let Ok(file) = maps::open() else { return false };
    let (mut offset, mut kept) = (0, 0);
    loop {
        let read = file.read_at(&mut buffer[kept..], offset);
        if read == 0 {
            return offset > 0;
        }
        offset += read as u64;
        let filled = kept + read;
        let whole = buffer[..filled].iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        for (mapping, shared) in buffer[..whole].split(|&byte| byte == b'\n').filter_map(parse) {
            visit(mapping, shared);
        }
        buffer.copy_within(whole..filled, 0);
        kept = filled - whole;
    }
}

fn is_data(session: &Session, range: &Range<u64>, name: &[u8]) -> bool {
    let kernels: [&[u8]; 4] = [b"[vdso]", b"[vvar", b"[vsyscall]", b"anon_inode:"];
    let module = || modules::with(|modules| modules.is_some_and(|modules| modules.hold(range.start)));
    let of_kernel = || kernels.iter().any(|kernel| name.starts_with(kernel));
    !name.is_empty() && !is_ours(session, name) && !of_kernel() && !module()
}

/// Session files, and translated code.
fn is_ours(session: &Session, name: &[u8]) -> bool {
    name.starts_with(session.dir().as_os_str().as_bytes())
        || name.starts_with(carom_collect_translate::CODE_NAME)
}

/// Whether equal offsets of equal inodes are the same bytes. They are not in devices, nor in mappings without a file.
fn is_memory(name: &[u8]) -> bool {
    let memory: [&[u8]; 3] = [b"/dev/shm/", b"/dev/hugepages/", b"/dev/zero (deleted)"];
    let device = name.starts_with(b"/dev/") && !memory.iter().any(|memory| name.starts_with(memory));
    name.starts_with(b"/") && !device
}

/// A line of `/proc/PID/maps`.
pub struct Mapping<'a> {
    /// Its addresses.
    pub range: Range<u64>,
    /// Where the first byte lies in the file.
    pub offset: u64,
    /// The device of the file: major times 2^20 plus minor, as in the kernel.
    pub device: u64,
    /// The file's number there.
    pub inode: u64,
    /// Whether the process may write there.
    pub writable: bool,
    /// Its name; empty where it has none.
    pub name: &'a [u8],
}

/// A line of `/proc/PID/maps` (proc(5)): addresses, permissions, offset, device, inode, name, which may be missing. Also
/// whether it is shared.
fn parse(line: &[u8]) -> Option<(Mapping<'_>, bool)> {
    let mut rest = line;
    let mut field = || {
        let end = rest.iter().position(|&byte| byte == b' ')?;
        let (field, after) = rest.split_at(end);
        rest = after.trim_ascii_start();
        Some(field)
    };
    let [addresses, permissions, offset, device, inode] = [field()?, field()?, field()?, field()?, field()?];
    let (low, high) = around(addresses, b'-')?;
    let (major, minor) = around(device, b':')?;
    let mapping = Mapping {
        range: hexadecimal(low)?..hexadecimal(high)?,
        offset: hexadecimal(offset)?,
        device: hexadecimal(major)? << 20 | hexadecimal(minor)?,
        inode: decimal(inode)?,
        writable: permissions.get(1) == Some(&b'w'),
        name: rest,
    };
    Some((mapping, permissions.ends_with(b"s")))
}

/// The text before and behind the first `mark`.
fn around(text: &[u8], mark: u8) -> Option<(&[u8], &[u8])> {
    let at = text.iter().position(|&byte| byte == mark)?;
    Some((text.get(..at)?, text.get(at + 1..)?))
}

/// The standard library's function would bring back pages that `trim` has dropped, when the process ends.
fn hexadecimal(digits: &[u8]) -> Option<u64> {
    number(digits, 16)
}

fn decimal(digits: &[u8]) -> Option<u64> {
    number(digits, 10)
}

fn number(digits: &[u8], radix: u32) -> Option<u64> {
    digits.iter().try_fold(0u64, |value, &digit| {
        let digit = char::from(digit).to_digit(radix)?;
        value.checked_mul(radix.into())?.checked_add(digit.into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_mappings_are_read() {
        let parsed = |line: &str| parse(line.as_bytes()).map(|(line, _)| (line.range, line.name.to_vec()));
        let shared = "7f00-7fff rw-s 00001000 fe:02 1234                       /tmp/a b (deleted)";
        assert_eq!(parsed(shared), Some((0x7f00..0x7fff, b"/tmp/a b (deleted)".to_vec())));
        let (Mapping { offset, device, inode, writable, .. }, shared) = parse(shared.as_bytes()).unwrap();
        assert_eq!((offset, device, inode, writable, shared), (0x1000, 0xfe0_0002, 1234, true, true));
        assert_eq!(
            parsed("55d0-55e0 rw-p 00000000 00:00 0                          [heap]"),
            Some((0x55d0..0x55e0, b"[heap]".to_vec()))
        );
        assert_eq!(parsed("55d0-55e0 rw-p 00000000 00:00 0 "), Some((0x55d0..0x55e0, Vec::new())));
        for line in ["", "55d0-55e0 rw-p 00000000 00:00 0", "x-y a b c d e"] {
            assert_eq!(parsed(line), None, "{line:?}");
        }
    }

    #[test]
    #[expect(clippy::disallowed_macros, reason = "a test says that it was skipped")]
    fn one_mapping_is_what_all_of_them_say() {
        let file = std::fs::File::open("/proc/self/exe").unwrap();
        let fd = std::os::fd::AsRawFd::as_raw_fd(&file);
        let map = |flags| {
            // SAFETY: a fresh mapping at an address of the kernel's choice.
            let at = unsafe { libc::mmap(std::ptr::null_mut(), 4096, libc::PROT_READ, flags, fd, 4096) };
            assert_ne!(at, libc::MAP_FAILED);
            at.addr() as u64
        };
        let at = map(libc::MAP_SHARED);
        let Ok(found) = shared_at(at + 100) else { return eprintln!("skipped: kernel: no PROCMAP_QUERY") };
        let found = found.expect("what was mapped");
        let mut buffer = vec![0; 2 * LINE_BYTES];
        let mut seen = false;
        each(&mut buffer, |mapping, shared| {
            if shared && mapping.range.contains(&at) {
                seen = true;
                let said =
                    |one: &Mapping<'_>| (one.range.clone(), one.offset, one.device, one.inode, one.writable);
                assert_eq!(said(&found), said(&mapping));
            }
        });
        assert!(seen && found.offset == 4096);
        // Nothing is mapped at the lowest page, and a copy of one's own is not shared.
        assert!([0, map(libc::MAP_PRIVATE)].iter().all(|at| matches!(shared_at(*at), Ok(None))));
    }

    #[test]
    fn devices_are_no_memory() {
        for memory in
            ["/dev/shm/x", "/dev/zero (deleted)", "/SYSV0000002a (deleted)", "/memfd:a (deleted)", "/tmp/f"]
        {
            assert!(is_memory(memory.as_bytes()), "{memory}");
        }
        for other in ["/dev/dri/renderD128", "anon_inode:[io_uring]", "socket:[1]", "[heap]", "", "/dev/zero"]
        {
            assert!(!is_memory(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn the_main_stack_is_told_from_others() {
        // Tests run in threads of their own, whose stacks are no `[stack]`.
        let here = 0u8;
        assert_eq!(main_stack((&raw const here).addr() as u64), None);
        // The environment's strings lie at the top of the main stack, above its frames.
        let name = std::env::vars_os().next().expect("a variable").0;
        let name = std::ffi::CString::new(name.as_bytes()).unwrap();
        // SAFETY: a valid string; only the address of the answer is used.
        let top = unsafe { libc::getenv(name.as_ptr()) }.addr() as u64;
        let (low, high) = main_stack(top).expect("the main stack");
        assert!(low < top && top < high, "{low:#x} {top:#x} {high:#x}");
        assert!(raw::limit(libc::RLIMIT_STACK).is_none_or(|limit| high - low <= limit));
    }
}
