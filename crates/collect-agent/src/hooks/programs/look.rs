//! Whether a program that is about to be executed can be profiled. The host checks the first program in the same way;
//! this side must be signal-safe and never a cancellation point.

use std::ffi::{CStr, c_int};

use carom_base_sys::{file, process, raw::File};
use carom_base_wire::Engine;

use super::needed::{Dynamic, word};

/// Why a program runs unprofiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No loader that could preload.
    Static,
    /// The loader ignores LD_PRELOAD in it.
    Privileged,
    /// Another architecture, or 32-bit.
    Architecture,
    /// Another C library's loader.
    Loader,
    /// The Go runtime takes every signal handler for itself.
    Go,
    /// The library of a sanitizer has to be loaded first.
    Sanitizer,
    /// A debugger has started it.
    Traced,
    /// Its arguments and environment leave no room for our entries.
    NoRoom,
    /// Carom's files cannot be opened, with this error number.
    OutOfReach(c_int),
    /// The agent is linked into the program that starts it, so there is no library to preload.
    #[cfg(feature = "static-link")]
    NoLibrary,
}

impl Refusal {
    /// For the report.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Static => "statically linked",
            Self::Privileged => "setuid, setgid or with file capabilities",
            Self::Architecture => "not a 64-bit x86 program",
            Self::Loader => "uses another loader than glibc's",
            Self::Go => "a Go program",
            Self::Sanitizer => "built with a sanitizer",
            Self::Traced => "under a debugger",
            Self::NoRoom => "arguments and environment leave no room for carom's",
            Self::OutOfReach(_) => "cannot open carom's files",
            #[cfg(feature = "static-link")]
            Self::NoLibrary => "started by a program with the agent linked in",
        }
    }

    /// Whether it is one with this engine. The translator handles a program's signals before its handlers do.
    pub fn holds_for(self, engine: Engine) -> bool {
        self != Self::Go || engine != Engine::Translate
    }
}

/// Scripts may name scripts; the kernel follows this many (`BINPRM_MAX_RECURSION`).
const MOST_SCRIPTS: usize = 5;

/// Bytes of a `#!` line that the kernel reads (`BINPRM_BUF_SIZE`). An ELF header is shorter.
const HEAD_BYTES: usize = 256;

/// Why the file at `path`, relative to `dir`, would run unprofiled. `None` where it can be profiled, or where it cannot
/// be executed or read, which the kernel reports.
pub fn look(dir: c_int, path: &CStr) -> Option<Refusal> {
    let mut head = [0; HEAD_BYTES];
    let mut refusal = open_and_look(dir, path, &mut head);
    for _ in 0..MOST_SCRIPTS {
        let Err(Script) = refusal else { break };
        let line = head;
        let mut interpreter = [0; HEAD_BYTES];
        refusal = match interpreter_of(&line, &mut interpreter) {
            Some(path) => open_and_look(libc::AT_FDCWD, path, &mut head),
            None => Ok(None),
        };
    }
    refusal.unwrap_or(None)
}

/// The file is a script; its beginning has been read.
struct Script;

fn open_and_look(dir: c_int, path: &CStr, head: &mut [u8; HEAD_BYTES]) -> Result<Option<Refusal>, Script> {
    let Some(status) = file::status(dir, path) else { return Ok(None) };
    let executable = status.st_mode & libc::S_IFMT == libc::S_IFREG && status.st_mode & 0o111 != 0;
    if !executable {
        return Ok(None);
    }
    head.fill(0);
    let file = file::open(dir, path);
    let length = file.as_ref().map_or(0, |file| file.read_at(head, 0));
    if head.starts_with(b"#!") {
        return Err(Script);
    }
    if is_privileged(dir, path, &status) {
        return Ok(Some(Refusal::Privileged));
    }
    // Whatever else it may be, the kernel refuses it, or a shell runs it.
    let elf = file.filter(|_| length >= ELF_HEADER_BYTES && head.starts_with(b"\x7fELF"));
    Ok(elf.and_then(|file| look_at_elf(&file, head, path)))
}

/// The interpreter that a `#!` line names, as a string in `place`.
fn interpreter_of<'a>(line: &[u8], place: &'a mut [u8; HEAD_BYTES]) -> Option<&'a CStr> {
    let line = line.strip_prefix(b"#!")?;
    let line = line.split(|&byte| byte == b'\n' || byte == 0).next()?;
    let name = line.split(|&byte| byte == b' ' || byte == b'\t').find(|word| !word.is_empty())?;
    place.get_mut(..name.len())?.copy_from_slice(name);
    *place.get_mut(name.len())? = 0;
    CStr::from_bytes_until_nul(place).ok()
}

/// Would the kernel run it in secure mode, so that the loader ignores LD_PRELOAD?
fn is_privileged(dir: c_int, path: &CStr, status: &libc::stat) -> bool {
    // A setgid bit without group execution means mandatory locking.
    const SETGID: u32 = libc::S_ISGID | libc::S_IXGRP;
    let (user, group) = process::user_and_group();
    let setuid = status.st_mode & libc::S_ISUID != 0 && status.st_uid != user;
    let setgid = status.st_mode & SETGID == SETGID && status.st_gid != group;
    // Capabilities of a file take nothing away from root's loader (`cap_bprm_creds_from_file`).
    let capable = user != 0 && dir == libc::AT_FDCWD && file::has_attribute(path, c"security.capability");
    setuid || setgid || capable
}

const ELF_HEADER_BYTES: usize = 64;
const PROGRAM_HEADER_BYTES: usize = 56;

/// Program headers read at a time.
const BATCH: usize = 16;

/// Program headers looked at; the kernel takes more, linkers make about a dozen.
const MOST_HEADERS: usize = 128;

fn look_at_elf(file: &File, head: &[u8], path: &CStr) -> Option<Refusal> {
    let byte = |at: usize| head.get(at).copied().unwrap_or(0);
    let half = |at: usize| u16::from_le_bytes([byte(at), byte(at + 1)]);
    // Offsets in the ELF header: class 4, machine 18, program headers 32, their size 54 and number 56.
    if byte(4) != libc::ELFCLASS64 || half(18) != libc::EM_X86_64 {
        return Some(Refusal::Architecture);
    }
    if usize::from(half(54)) != PROGRAM_HEADER_BYTES {
        return None;
    }
    let table = word(head, 32);
    let count = usize::from(half(56)).min(MOST_HEADERS);
    let mut loader = None;
    let mut go = false;
    let mut dynamic = Dynamic::default();
    for first in (0..count).step_by(BATCH) {
        let mut headers = [0; BATCH * PROGRAM_HEADER_BYTES];
        let wanted = (count - first).min(BATCH) * PROGRAM_HEADER_BYTES;
        let read =
            file.read_at(&mut headers[..wanted], table.wrapping_add((first * PROGRAM_HEADER_BYTES) as u64));
        for header in headers[..read].chunks_exact(PROGRAM_HEADER_BYTES) {
            // Offsets in a program header: type 0, offset in the file 8, address 16, bytes in the file 32.
            let (offset, bytes) = (word(header, 8), word(header, 32));
            match word(header, 0) as u32 {
                libc::PT_LOAD => dynamic.load(word(header, 16), offset, bytes),
                libc::PT_DYNAMIC => dynamic.section(offset, bytes),
                libc::PT_INTERP => loader = Some(is_glibc(file, offset, bytes)),
                libc::PT_NOTE => match note(file, offset, bytes) {
                    Some(Note::Go) => go = true,
                    Some(Note::Agent) => return None,
                    None => {}
                },
                _ => {}
            }
        }
    }
    match loader {
        Some(true) if dynamic.names_sanitizer(file) => Some(Refusal::Sanitizer),
        Some(true) if go => Some(Refusal::Go),
        Some(true) => without_library(),
        Some(false) => Some(Refusal::Loader),
        // The loader itself, called by name, preloads for the program that it is given.
        None if path.to_bytes().ends_with(GLIBC_LOADER) => without_library(),
        None => Some(Refusal::Static),
    }
}

#[cfg(feature = "static-link")]
const fn without_library() -> Option<Refusal> {
    Some(Refusal::NoLibrary)
}

#[cfg(not(feature = "static-link"))]
const fn without_library() -> Option<Refusal> {
    None
}

const GLIBC_LOADER: &[u8] = b"ld-linux-x86-64.so.2";

fn is_glibc(file: &File, offset: u64, bytes: u64) -> bool {
    let mut path = [0; 256];
    let length = path.len().min(bytes as usize);
    let read = file.read_at(&mut path[..length], offset);
    path[..read].strip_suffix(b"\0").is_some_and(|path| path.ends_with(GLIBC_LOADER))
}

/// A note that says what the program is.
enum Note {
    Go,
    Agent,
}

fn note(file: &File, offset: u64, bytes: u64) -> Option<Note> {
    /// Notes of one segment looked at: build-id, ABI, properties and package come to some 250 bytes.
    const NOTE_BYTES: usize = 512;
    let mut notes = [0; NOTE_BYTES];
    let length = NOTE_BYTES.min(bytes as usize);
    let read = file.read_at(&mut notes[..length], offset);
    let mut rest = &notes[..read];
    // A note: bytes of its name, bytes of its content, type; name and content, each padded to 4 bytes.
    while let Some((head, body)) = rest.split_at_checked(12) {
        let padded = |bytes: u64| (bytes as u32 as usize).next_multiple_of(4);
        let (name, content) = (padded(word(head, 0)), padded(word(head, 4)));
        if body.starts_with(b"Go\0\0") && name == 4 {
            return Some(Note::Go);
        }
        if body.starts_with(b"carom\0") {
            return Some(Note::Agent);
        }
        rest = body.get(name.saturating_add(content)..)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use std::{
        ffi::CString,
        os::unix::{ffi::OsStrExt, fs::PermissionsExt},
        path::{Path, PathBuf},
    };

    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let dir = std::env::temp_dir().join(format!("carom-look-{name}-{}", std::process::id()));
            let _ = std::fs::remove_dir_all(&dir);
            std::fs::create_dir(&dir).unwrap();
            Self(dir)
        }

        fn put(&self, name: &str, bytes: &[u8], mode: u32) -> PathBuf {
            let path = self.0.join(name);
            std::fs::write(&path, bytes).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            path
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn verdict(path: &Path) -> Option<Refusal> {
        look(libc::AT_FDCWD, &CString::new(path.as_os_str().as_bytes()).unwrap())
    }

    /// The place of a program header's fields in the file.
    fn header(elf: &[u8], kind: u32) -> usize {
        let (table, count) = (word(elf, 32) as usize, usize::from(elf[56]));
        let mut places = (0..count).map(|index| table + index * PROGRAM_HEADER_BYTES);
        places.find(|&at| word(elf, at) as u32 == kind).expect("a segment of this kind")
    }

    #[test]
    fn ordinary_programs_and_their_scripts_pass() {
        let folder = Folder::new("scripts");
        assert_eq!(verdict(Path::new("/bin/ls")), None);
        assert_eq!(verdict(Path::new("/no/such/file")), None);
        assert_eq!(verdict(Path::new("/etc/passwd")), None, "not executable: the kernel will say so");
        assert_eq!(verdict(&folder.put("script", b"#! /bin/sh -e\n", 0o755)), None);
        assert_eq!(verdict(&folder.put("text", b"echo a shell runs this\n", 0o755)), None);
        assert_eq!(verdict(&folder.put("loop", b"#!/proc/self/exe/x\n", 0o755)), None);
        assert_eq!(verdict(&folder.put("empty", b"#!\n", 0o755)), None);
    }

    #[test]
    fn the_loader_called_by_name_passes() {
        assert_eq!(verdict(Path::new("/lib64/ld-linux-x86-64.so.2")), None);
    }

    #[test]
    fn foreign_programs_are_told_by_what_they_are() {
        let folder = Folder::new("foreign");
        let elf = std::fs::read("/bin/ls").unwrap();
        let changed = |name: &str, mode: u32, change: &dyn Fn(&mut Vec<u8>)| {
            let mut elf = elf.clone();
            change(&mut elf);
            verdict(&folder.put(name, &elf, mode))
        };
        assert_eq!(changed("same", 0o755, &|_| {}), None);
        // Field 4 is the class, 18 the machine (183: AArch64).
        assert_eq!(changed("narrow", 0o755, &|elf| elf[4] = 1), Some(Refusal::Architecture));
        assert_eq!(changed("arm", 0o755, &|elf| elf[18] = 183), Some(Refusal::Architecture));
        let interpreter = header(&elf, libc::PT_INTERP);
        // Without PT_INTERP (made PT_NULL) there is no loader; with another name in it another loader.
        assert_eq!(changed("static", 0o755, &|elf| elf[interpreter] = 0), Some(Refusal::Static));
        let name = word(&elf, interpreter + 8) as usize;
        assert_eq!(changed("musl", 0o755, &|elf| elf[name + 8] = b'X'), Some(Refusal::Loader));
        let notes = word(&elf, header(&elf, libc::PT_NOTE) + 8) as usize;
        let go = |elf: &mut Vec<u8>| elf[notes + 12..notes + 16].copy_from_slice(b"Go\0\0");
        assert_eq!(changed("go", 0o755, &go), Some(Refusal::Go));
        assert!(Refusal::Go.holds_for(Engine::Burst) && !Refusal::Go.holds_for(Engine::Translate));
        let static_go = |elf: &mut Vec<u8>| {
            elf[interpreter] = 0;
            elf[notes + 12..notes + 16].copy_from_slice(b"Go\0\0");
        };
        assert_eq!(changed("static-go", 0o755, &static_go), Some(Refusal::Static));
        assert!(Refusal::Static.holds_for(Engine::Translate));
        // Its first library's name, which lies in the first segment, as its own address says.
        let library = elf.windows(15).position(|bytes| bytes == b"libselinux.so.1").expect("a library of ls");
        let sanitized = |elf: &mut Vec<u8>| elf[library..library + 15].copy_from_slice(b"libasan.so.8\0\0\0");
        assert_eq!(changed("sanitized", 0o755, &sanitized), Some(Refusal::Sanitizer));
        assert!(Refusal::Sanitizer.holds_for(Engine::Translate));
        let linked = |elf: &mut Vec<u8>| {
            elf[interpreter] = 0;
            elf[notes] = 6;
            elf[notes + 12..notes + 18].copy_from_slice(b"carom\0");
        };
        assert_eq!(changed("linked", 0o755, &linked), None);
        let script = format!("#!{} -x\n", folder.0.join("static").display());
        assert_eq!(verdict(&folder.put("through", script.as_bytes(), 0o755)), Some(Refusal::Static));
    }

    #[test]
    fn privilege_counts_where_it_changes_something() {
        let folder = Folder::new("setuid");
        let path = folder.put("tool", &std::fs::read("/bin/ls").unwrap(), 0o4755);
        assert_eq!(verdict(&path), None, "setuid to oneself is nothing");
        // Only root can give a file away.
        if std::os::unix::fs::chown(&path, Some(65534), Some(65534)).is_ok() {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o4755)).unwrap();
            assert_eq!(verdict(&path), Some(Refusal::Privileged));
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o2755)).unwrap();
            assert_eq!(verdict(&path), Some(Refusal::Privileged));
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o2745)).unwrap();
            assert_eq!(verdict(&path), None, "mandatory locking");
        }
    }

    #[test]
    fn a_cut_or_garbled_file_is_never_misread() {
        let folder = Folder::new("cut");
        let elf = std::fs::read("/bin/ls").unwrap();
        for length in (0..2048).step_by(61) {
            let _ = verdict(&folder.put("cut", &elf[..length], 0o755));
            let mut garbled = elf[..4096].to_vec();
            garbled[64..].iter_mut().skip(length % 64).step_by(7).for_each(|byte| *byte = 0xff);
            let _ = verdict(&folder.put("garbled", &garbled, 0o755));
        }
    }
}
