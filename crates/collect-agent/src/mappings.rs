//! What is mapped at the end and is no module: mapped files, shared memory, the heap, the stack. The host names
//! data by it.

use std::{ffi::CStr, ops::Range, os::unix::ffi::OsStrExt};

use crate::{journal::Text, lock::SpinLock, modules, raw::File, session::Session};

/// The longest name (a path of PATH_MAX) and the numbers around it fit.
const LINE_BYTES: usize = 5 << 10;

struct Buffers {
    read: [u8; 2 * LINE_BYTES],
    written: Text<LINE_BYTES>,
}

/// Not on the stack: the process may be ending in a handler on a small alternate stack.
static BUFFERS: SpinLock<Buffers> =
    SpinLock::new(Buffers { read: [0; 2 * LINE_BYTES], written: Text::new() });

/// Mappings told at most. What has more of them maps files by the thousand, which no report can show.
const MOST_MAPPINGS: usize = 1024;

const MAPS: &CStr = c"/proc/self/maps";

/// Writes down what is mapped. Signal-safe, but for errno.
pub fn announce(session: &Session) {
    // A second thread on its way out need not repeat it.
    let Some(mut buffers) = BUFFERS.try_lock() else { return };
    let Buffers { read: buffer, written } = &mut *buffers;
    let Some(file) = File::open(libc::AT_FDCWD, MAPS) else { return };
    let (mut told, mut offset, mut kept) = (0, 0, 0);
    loop {
        let read = file.read_at(&mut buffer[kept..], offset);
        if read == 0 {
            return;
        }
        offset += read as u64;
        let filled = &buffer[..kept + read];
        let whole = filled.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        for (range, name) in filled[..whole].split(|&byte| byte == b'\n').filter_map(parse) {
            if told < MOST_MAPPINGS && is_data(session, &range, name) {
                told += 1;
                session.append(written.line("map").number(range.start, 16).number(range.end, 16).name(name));
            }
        }
        let filled = kept + read;
        buffer.copy_within(whole..filled, 0);
        kept = filled - whole;
    }
}

fn is_data(session: &Session, range: &Range<u64>, name: &[u8]) -> bool {
    let kernels: [&[u8]; 4] = [b"[vdso]", b"[vvar", b"[vsyscall]", b"anon_inode:"];
    let ours = name.starts_with(session.dir().as_os_str().as_bytes());
    let module = || modules::with(|modules| modules.is_some_and(|modules| modules.hold(range.start)));
    !ours && !kernels.iter().any(|kernel| name.starts_with(kernel)) && !module()
}

/// A line of `/proc/PID/maps` (proc(5)): addresses, permissions, offset, device, inode, name. `None` for a
/// mapping without a name.
fn parse(line: &[u8]) -> Option<(Range<u64>, &[u8])> {
    let mut rest = line;
    let mut field = || {
        let end = rest.iter().position(|&byte| byte == b' ')?;
        let (field, after) = rest.split_at(end);
        rest = after.trim_ascii_start();
        Some(field)
    };
    let addresses = field()?;
    for _other in 0..4 {
        field()?;
    }
    let (low, high) = str::from_utf8(addresses).ok()?.split_once('-')?;
    let hex = |digits| u64::from_str_radix(digits, 16).ok();
    let range = hex(low)?..hex(high)?;
    (!rest.is_empty()).then_some((range, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_mappings_are_read() {
        let parsed = |line: &str| parse(line.as_bytes()).map(|(range, name)| (range, name.to_vec()));
        assert_eq!(
            parsed("7f00-7fff rw-s 00001000 fe:00 1234                       /tmp/a b (deleted)"),
            Some((0x7f00..0x7fff, b"/tmp/a b (deleted)".to_vec()))
        );
        assert_eq!(
            parsed("55d0-55e0 rw-p 00000000 00:00 0                          [heap]"),
            Some((0x55d0..0x55e0, b"[heap]".to_vec()))
        );
        for line in
            ["", "55d0-55e0 rw-p 00000000 00:00 0 ", "55d0-55e0 rw-p 00000000 00:00 0", "x-y a b c d e"]
        {
            assert_eq!(parsed(line), None, "{line:?}");
        }
    }
}
