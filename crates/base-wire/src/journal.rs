//! The journal: lines of text, fields separated by tabs, names percent-encoded where they hold control bytes.
//!
//! The agent appends with single writes, so a cut journal loses at most its last line. Children of a fork write into their
//! parent's journal: a file of their own would have to be made while the program waits.
//!
//! | line | fields |
//! | --- | --- |
//! | `process` | pid, parent pid, start (ns) |
//! | `argv` | one field per argument |
//! | `engine` | `burst` or `translate`; why not the one that was asked for, empty where it is that one |
//! | `delivery` | `sigtrap`, `setsig` or `posix-timer`; why nothing better |
//! | `module` | time (ns), load bias, low, high (hex), path |
//! | `unload` | time (ns), low (hex) |
//! | `tls` | low, distance (hex): the module at `low` has its thread-local variables that far below the thread pointer, in every thread |
//! | `frames` | serial, then address of an instruction and end of the frame (hex) for each frame, innermost first: where they lay on the thread's stack |
//! | `map` | low, high (hex), path: memory that is not a module |
//! | `shared` | low, high (hex), segment, offset in it (hex), device (hex), inode, 1 where it may be written, path: memory that processes may share, as met |
//! | `trouble` | code, text: something that the report should say |
//! | `unprofiled` | program, why: a child that could not be profiled |
//! | `aside` | time (ns), CPU time of the process (ns), code, text: it runs natively and unobserved from here on |
//! | `end` | time (ns) |
//! | `of` | `PID.STARTED`, n: the n lines that follow are of that process, a child by fork |

/// The code of a [`Line::Trouble`]: code could not be translated in a process.
pub const NOT_TRANSLATED: &str = "not-translated";

/// The code of a [`Line::Trouble`]: memory that processes share was not compared.
pub const NOT_COMPARED: &str = "shared-memory-not-compared";

/// One line of a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// The process that writes.
    Process {
        /// Process id.
        pid: u32,
        /// Parent's process id.
        parent: u32,
        /// CLOCK_MONOTONIC nanoseconds.
        started: u64,
    },
    /// Program and arguments.
    Argv(Vec<String>),
    /// The engine in this process. A process without this line is not observed by `translate`: a `trouble` line with
    /// the code [`NOT_TRANSLATED`] says why.
    Engine {
        /// [`crate::Engine::name`].
        name: String,
        /// Why not the engine that was asked for; may be empty.
        reason: String,
    },
    /// How samples are delivered.
    Delivery {
        /// `sigtrap`, `setsig` or `posix-timer`.
        name: String,
        /// Why nothing better; may be empty.
        reason: String,
    },
    /// A loaded executable or library.
    Module {
        /// CLOCK_MONOTONIC nanoseconds.
        time: u64,
        /// Load address minus stated address.
        bias: u64,
        /// First byte.
        low: u64,
        /// One past the last.
        high: u64,
        /// File.
        path: String,
    },
    /// A library was unloaded.
    Unload {
        /// CLOCK_MONOTONIC nanoseconds.
        time: u64,
        /// First byte.
        low: u64,
    },
    /// Where a module's thread-local variables lie in every thread.
    Tls {
        /// The module's first byte.
        low: u64,
        /// Bytes from their beginning to the thread pointer.
        distance: u64,
    },
    /// Where frames lay on a thread's stack while it made another thread.
    Frames {
        /// The thread's number in its process.
        serial: u32,
        /// An instruction and the end of each frame, innermost first.
        frames: Vec<(u64, u64)>,
    },
    /// Other memory.
    Map {
        /// First byte.
        low: u64,
        /// One past the last.
        high: u64,
        /// What `/proc/PID/maps` calls it.
        path: String,
    },
    /// Memory that processes may share, mapped at these addresses when it was met.
    Shared(SharedMapping),
    /// A problem for the report.
    Trouble {
        /// A short stable code.
        code: String,
        /// A sentence.
        text: String,
    },
    /// A child that could not be profiled.
    Unprofiled {
        /// The program.
        program: String,
        /// Why.
        reason: String,
    },
    /// The process runs natively and unobserved from here on.
    Aside {
        /// CLOCK_MONOTONIC nanoseconds.
        time: u64,
        /// CPU time of the process until then, in nanoseconds.
        cpu_ns: u64,
        /// A short stable code.
        code: String,
        /// What the program did: "installed a seccomp filter that …".
        text: String,
    },
    /// An orderly end.
    End {
        /// CLOCK_MONOTONIC nanoseconds.
        time: u64,
    },
    /// Lines that follow are of another process.
    Of {
        /// The stem of its files.
        stem: String,
        /// How many.
        lines: u64,
    },
}

/// A mapping of memory that processes may share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SharedMapping {
    /// First byte.
    pub low: u64,
    /// One past the last.
    pub high: u64,
    /// The number of the segment ([`carom_base::SegmentId`]).
    pub segment: u32,
    /// Where the first byte lies in the segment.
    pub offset: u64,
    /// Device of the file, as the kernel numbers it.
    pub device: u64,
    /// The file on that device.
    pub inode: u64,
    /// Whether the process may write there.
    pub writable: bool,
    /// What `/proc/PID/maps` calls it.
    pub path: String,
}

/// Escapes a name for one field.
pub fn escape(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        if c.is_control() || c == '%' {
            let mut bytes = [0; 4];
            for byte in c.encode_utf8(&mut bytes).bytes() {
                out.push('%');
                out.extend(char::from_digit(u32::from(byte >> 4), 16));
                out.extend(char::from_digit(u32::from(byte & 15), 16));
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// The inverse of [`escape`]; anything that is no escape is unchanged.
pub fn unescape(field: &str) -> String {
    let mut out = Vec::with_capacity(field.len());
    let mut rest = field.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let code = (first == b'%').then(|| tail.get(..2)).flatten();
        let byte = code.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        if let Some(byte) = byte {
            out.push(byte);
            rest = tail.get(2..).unwrap_or_default();
        } else {
            out.push(first);
            rest = tail;
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

impl Line {
    /// The line as text, newline included.
    pub fn format(&self) -> String {
        match self {
            Self::Process { pid, parent, started } => format!("process\t{pid}\t{parent}\t{started}\n"),
            Self::Argv(argv) => {
                let fields: String = argv.iter().map(|arg| format!("\t{}", escape(arg))).collect();
                format!("argv{fields}\n")
            }
            Self::Unprofiled { program, reason } => {
                format!("unprofiled\t{}\t{}\n", escape(program), escape(reason))
            }
            Self::Engine { name, reason } => format!("engine\t{name}\t{}\n", escape(reason)),
            Self::Delivery { name, reason } => format!("delivery\t{name}\t{}\n", escape(reason)),
            Self::Module { time, bias, low, high, path } => {
                format!("module\t{time}\t{bias:x}\t{low:x}\t{high:x}\t{}\n", escape(path))
            }
            Self::Unload { time, low } => format!("unload\t{time}\t{low:x}\n"),
            Self::Tls { low, distance } => format!("tls\t{low:x}\t{distance:x}\n"),
            Self::Frames { serial, frames } => {
                let fields: String = frames.iter().map(|(ip, end)| format!("\t{ip:x}\t{end:x}")).collect();
                format!("frames\t{serial}{fields}\n")
            }
            Self::Map { low, high, path } => format!("map\t{low:x}\t{high:x}\t{}\n", escape(path)),
            Self::Shared(SharedMapping { low, high, segment, offset, device, inode, writable, path }) => {
                let (path, writable) = (escape(path), u8::from(*writable));
                let of = format!("{device:x}\t{inode}\t{writable}\t{path}");
                format!("shared\t{low:x}\t{high:x}\t{segment}\t{offset:x}\t{of}\n")
            }
            Self::Trouble { code, text } => format!("trouble\t{code}\t{}\n", escape(text)),
            Self::Aside { time, cpu_ns, code, text } => {
                format!("aside\t{time}\t{cpu_ns}\t{}\t{}\n", escape(code), escape(text))
            }
            Self::End { time } => format!("end\t{time}\n"),
            Self::Of { stem, lines } => format!("of\t{}\t{lines}\n", escape(stem)),
        }
    }

    /// Reads one line, without its newline. `None` where it is not one: the host skips and counts those.
    pub fn parse(text: &str) -> Option<Self> {
        let mut fields = text.split('\t');
        let kind = fields.next()?;
        let mut next = || fields.next();
        let hex = |field: &str| u64::from_str_radix(field, 16).ok();
        let line = match kind {
            "process" => Self::Process {
                pid: next()?.parse().ok()?,
                parent: next()?.parse().ok()?,
                started: next()?.parse().ok()?,
            },
            "argv" => Self::Argv(fields.map(unescape).collect()),
            "unprofiled" => Self::Unprofiled { program: unescape(next()?), reason: unescape(next()?) },
            "engine" => Self::Engine { name: next()?.into(), reason: unescape(next()?) },
            "delivery" => Self::Delivery { name: next()?.into(), reason: unescape(next()?) },
            "module" => Self::Module {
                time: next()?.parse().ok()?,
                bias: hex(next()?)?,
                low: hex(next()?)?,
                high: hex(next()?)?,
                path: unescape(next()?),
            },
            "unload" => Self::Unload { time: next()?.parse().ok()?, low: hex(next()?)? },
            "tls" => Self::Tls { low: hex(next()?)?, distance: hex(next()?)? },
            "frames" => {
                let serial = next()?.parse().ok()?;
                let numbers: Option<Vec<u64>> = fields.map(hex).collect();
                let pairs = numbers?;
                Self::Frames {
                    serial,
                    frames: pairs.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect(),
                }
            }
            "map" => Self::Map { low: hex(next()?)?, high: hex(next()?)?, path: unescape(next()?) },
            "shared" => Self::Shared(SharedMapping {
                low: hex(next()?)?,
                high: hex(next()?)?,
                segment: next()?.parse().ok()?,
                offset: hex(next()?)?,
                device: hex(next()?)?,
                inode: next()?.parse().ok()?,
                writable: next()? == "1",
                path: unescape(next()?),
            }),
            "trouble" => Self::Trouble { code: next()?.into(), text: unescape(next()?) },
            "aside" => Self::Aside {
                time: next()?.parse().ok()?,
                cpu_ns: next()?.parse().ok()?,
                code: unescape(next()?),
                text: unescape(next()?),
            },
            "end" => Self::End { time: next()?.parse().ok()? },
            "of" => Self::Of { stem: unescape(next()?), lines: next()?.parse().ok()? },
            _ => return None,
        };
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_survives_a_round_trip() {
        let nasty = "a\tb\nc%41 \u{7}ü".to_owned();
        let lines = [
            Line::Process { pid: 1, parent: 2, started: 3 },
            Line::Engine { name: "translate".into(), reason: nasty.clone() },
            Line::Delivery { name: "setsig".into(), reason: nasty.clone() },
            Line::Module { time: 1, bias: u64::MAX, low: 0x10, high: 0x20, path: nasty.clone() },
            Line::Argv(vec![nasty.clone(), String::new(), "x".into()]),
            Line::Unprofiled { program: nasty.clone(), reason: "static".into() },
            Line::Unload { time: 9, low: 0xabc },
            Line::Tls { low: 0x10, distance: 0x40 },
            Line::Frames { serial: 3, frames: vec![(0x10, 0x7000), (0x20, 0x7080)] },
            Line::Map { low: 1, high: 2, path: nasty.clone() },
            Line::Shared(SharedMapping {
                low: 0x7000,
                high: 0x9000,
                segment: 12,
                offset: 0xff0,
                device: 0x1a,
                inode: 99,
                writable: true,
                path: nasty.clone(),
            }),
            Line::Aside { time: 1, cpu_ns: 2, code: "x".into(), text: nasty.clone() },
            Line::Trouble { code: "x".into(), text: nasty },
            Line::End { time: 4 },
            Line::Of { stem: "1.3".into(), lines: 5 },
        ];
        for line in lines {
            let text = line.format();
            assert_eq!(text.matches('\n').count(), 1, "one line each: {text:?}");
            assert_eq!(Line::parse(text.trim_end_matches('\n')), Some(line));
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "process", "process\tx\t1\t2", "module\t1\t2", "what\t1", "unload\t1\tzz"] {
            assert_eq!(Line::parse(text), None, "{text:?}");
        }
    }
}
