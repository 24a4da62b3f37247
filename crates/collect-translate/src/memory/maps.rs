//! The mappings of the process: `/proc/self/maps` (proc(5)).

use std::ops::Range;

use super::{
    MemoryError,
    sys::{self, Errno},
};

/// A mapping of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Its first address.
    pub start: u64,
    /// Its end.
    pub end: u64,
    /// May be read.
    pub readable: bool,
    /// May be written.
    pub writable: bool,
    /// May be executed.
    pub executable: bool,
    /// Is shared, so that others may write it.
    pub shared: bool,
    /// What it maps.
    pub kind: MappingKind,
}

impl Mapping {
    /// Its addresses.
    pub fn range(&self) -> Range<u64> {
        self.start..self.end
    }
}

/// What a mapping maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MappingKind {
    /// A file on a file system.
    File,
    /// The kernel's code for user space.
    Vdso,
    /// Memory without a name, or with one given by the program.
    Anonymous,
    /// The heap (`brk`), which grows upwards. Empty where the program has none yet but could have.
    Heap,
    /// The main thread's stack, which grows downwards.
    Stack,
    /// Anything else: files in memory, System V segments, devices, the kernel's data pages.
    Other,
}

/// One read returns at most a page or so; a large program has some thousand mappings of about 100 bytes.
const READ_BYTES: usize = 16 << 10;

/// The current mappings, in ascending order.
///
/// Other threads may map and unmap meanwhile: the answer may be outdated.
///
/// # Errors
/// [`MemoryError::NoMaps`].
pub fn read() -> Result<Vec<Mapping>, MemoryError> {
    let text = read_text().map_err(|errno| MemoryError::NoMaps { errno })?;
    let mut mappings = parse(&text);
    if !mappings.iter().any(|mapping| mapping.kind == MappingKind::Heap) {
        let end = sys::heap_end();
        let at = mappings.partition_point(|mapping| mapping.start < end);
        mappings.insert(at, Mapping { start: end, end, ..NO_HEAP });
    }
    Ok(mappings)
}

const NO_HEAP: Mapping = Mapping {
    start: 0,
    end: 0,
    readable: false,
    writable: false,
    executable: false,
    shared: false,
    kind: MappingKind::Heap,
};

fn read_text() -> Result<Vec<u8>, Errno> {
    let file = carom_base_sys::maps::open()?;
    let mut text = Vec::new();
    let mut filled = 0;
    loop {
        text.resize(filled + READ_BYTES, 0);
        match file.read_at(text.get_mut(filled..).unwrap_or_default(), filled as u64) {
            0 => break,
            read => filled += read,
        }
    }
    text.truncate(filled);
    if text.is_empty() { Err(libc::ESRCH) } else { Ok(text) }
}

/// The mappings in a text of the form of `/proc/PID/maps`; lines of any other form are left out.
pub fn parse(text: &[u8]) -> Vec<Mapping> {
    text.split(|&byte| byte == b'\n').filter_map(parse_line).collect()
}

/// A line: addresses, permissions, offset, device, inode, name.
fn parse_line(line: &[u8]) -> Option<Mapping> {
    let mut fields = line.splitn(6, |&byte| byte == b' ');
    let addresses = str::from_utf8(fields.next()?).ok()?;
    let (start, end) = addresses.split_once('-')?;
    let hex = |digits| u64::from_str_radix(digits, 16).ok();
    let (start, end) = (hex(start)?, hex(end)?);
    let &[read, write, execute, share] = fields.next()? else { return None };
    let (_offset, _device, _inode) = (fields.next()?, fields.next()?, fields.next()?);
    let name = fields.next().unwrap_or_default().trim_ascii_start();
    (start < end).then_some(Mapping {
        start,
        end,
        readable: read == b'r',
        writable: write == b'w',
        executable: execute == b'x',
        shared: share == b's',
        kind: kind(name),
    })
}

/// Paths that name memory, not files of a file system.
const IN_MEMORY: [&[u8]; 4] = [b"/memfd:", b"/dev/zero", b"/SYSV", b"/[aio]"];

fn kind(name: &[u8]) -> MappingKind {
    match name {
        b"" => MappingKind::Anonymous,
        b"[vdso]" => MappingKind::Vdso,
        b"[heap]" => MappingKind::Heap,
        b"[stack]" => MappingKind::Stack,
        _ if name.starts_with(b"[anon:") => MappingKind::Anonymous,
        _ if IN_MEMORY.iter().any(|prefix| name.starts_with(prefix)) => MappingKind::Other,
        [b'/', ..] => MappingKind::File,
        _ => MappingKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::testing::forked, *};

    #[test]
    fn lines_are_read() {
        let text = b"\
5575f5e55000-5575f5e5a000 r-xp 00002000 fe:00 247030                     /usr/bin/cat
5576156bd000-5576156de000 rw-p 00000000 00:00 0                          [heap]
7f7766573000-7f776657a000 r--s 00000000 fe:00 325743                     /a b (deleted)
7f7766583000-7f7766585000 r-xp 00000000 00:00 0                          [vdso]
7f7766600000-7f7766700000 r-xs 00000000 00:01 1                          /memfd:doublemapper (deleted)
7f776638a000-7f776638d000 rw-p 00000000 00:00 0 
7f776638d000-7f776638e000 rwxp 00000000 00:00 0                          [anon:jit]
7ffd218a3000-7ffd218c4000 rw-p 00000000 00:00 0                          [stack]
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
";
        let mappings = parse(text);
        let kinds: Vec<_> = mappings.iter().map(|mapping| mapping.kind).collect();
        use MappingKind::*;
        assert_eq!(kinds, [File, Heap, File, Vdso, Other, Anonymous, Anonymous, Stack, Other]);
        let rights = |mapping: &Mapping| {
            let Mapping { readable, writable, executable, shared, .. } = *mapping;
            [readable, writable, executable, shared]
        };
        assert_eq!(mappings[0].range(), 0x5575_f5e5_5000..0x5575_f5e5_a000);
        assert_eq!(rights(&mappings[0]), [true, false, true, false]);
        assert_eq!(rights(&mappings[1]), [true, true, false, false]);
        assert_eq!(rights(&mappings[2]), [true, false, false, true]);
        assert_eq!(rights(&mappings[8]), [false, false, true, false]);
        assert_eq!(mappings[8].end, 0xffff_ffff_ff60_1000);
    }

    #[test]
    fn other_lines_are_left_out() {
        for line in [
            "",
            "0-1000",
            "0-1000 r-xp",
            "0-1000 r-xp 0 0",
            "x-1000 r-xp 0 0 0",
            "1000-1000 r-xp 0 0 0",
            "0-1000 r-x 0 0 0",
        ] {
            assert_eq!(parse(line.as_bytes()), [], "{line:?}");
        }
    }

    #[test]
    fn this_process_has_code_a_stack_and_a_heap() {
        let mappings = read().expect("readable");
        let here = this_process_has_code_a_stack_and_a_heap as fn() as usize as u64;
        let code = mappings.iter().find(|mapping| mapping.range().contains(&here)).expect("mapped");
        assert!(code.readable && code.executable && !code.writable && !code.shared);
        assert_eq!(code.kind, MappingKind::File);
        let count = |kind| mappings.iter().filter(|mapping| mapping.kind == kind).count();
        assert_eq!((count(MappingKind::Stack), count(MappingKind::Vdso)), (1, 1));
        assert!(count(MappingKind::Heap) >= 1);
        assert!(mappings.is_sorted_by_key(|mapping| mapping.start));
    }

    #[test]
    fn mappings_are_read_without_a_main_thread() {
        let status = forked(|| {
            std::thread::spawn(|| {
                // The main thread is gone when the process's own list is empty.
                let gone = || std::fs::read("/proc/self/maps").is_ok_and(|text| text.is_empty());
                let soon = (0..5000).any(|_| {
                    std::thread::sleep(std::time::Duration::from_millis(1));
                    gone()
                });
                let found = read().is_ok_and(|mappings| mappings.iter().any(|mapping| mapping.executable));
                // SAFETY: ends the child.
                unsafe { libc::_exit(if soon { i32::from(!found) } else { 2 }) }
            });
            // SAFETY: ends the child's main thread only.
            unsafe { libc::syscall(libc::SYS_exit, 0) };
            3
        });
        assert_eq!(status, 0);
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(text in prop::collection::vec(any::<u8>(), 0..200)) {
            parse(&text);
        }
    }
}
