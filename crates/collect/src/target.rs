//! Checks, before a program runs, whether the agent can be loaded into it.

use std::{
    fs::File,
    io::{self, Read, Seek},
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

use carom_base_wire::{Engine, SANITIZERS};
use object::{
    Endianness, ReadCache, ReadRef, elf,
    read::elf::{Dyn, FileHeader, ProgramHeader},
};

use crate::{
    refusal::{Absence, Obstacle, Refusal},
    runtime,
};

/// A program that can be profiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The file that will be executed (a script stays a script).
    pub path: PathBuf,
    /// True where the agent is linked in.
    pub linked_in: bool,
    /// The runtime that it is, or that runs it, where most of its code is made while it runs: `Java`, `V8`.
    pub runtime: Option<&'static str>,
}

/// A program's file, behind all scripts.
struct Looked {
    /// The file that is loaded.
    file: PathBuf,
    linked_in: bool,
}

/// Scripts may name scripts; the kernel follows this many (`BINPRM_MAX_RECURSION`).
const MOST_SCRIPTS: usize = 5;

/// Bytes of a `#!` line that the kernel reads (`BINPRM_BUF_SIZE`).
const SHEBANG_BYTES: usize = 256;

/// In the agent's read-only data, to recognise a static program that contains it.
const LINKED_IN_MARK: &[u8] = b"carom agent linked in\0";

/// Finds `program` as `execvp` would and looks whether it can be profiled by `engine`.
///
/// # Errors
/// See [`Obstacle`].
pub fn examine(program: &str, search_path: Option<&str>, engine: Engine) -> Result<Target, Obstacle> {
    let path = find(program, search_path)?;
    match look(&path, search_path, MOST_SCRIPTS) {
        Err(Obstacle::Refused(Refusal::Go)) if engine == Engine::Translate => {
            Ok(Target { path, linked_in: false, runtime: None })
        }
        looked => {
            looked.map(|Looked { file, linked_in }| Target { path, linked_in, runtime: runtime::of(&file) })
        }
    }
}

fn find(program: &str, search_path: Option<&str>) -> Result<PathBuf, Obstacle> {
    if program.is_empty() {
        return Err(Obstacle::Absent(Absence::Name));
    }
    if program.contains('/') {
        let path = PathBuf::from(program);
        return executable(&path).map(|()| path);
    }
    let mut denied = None;
    for dir in search_path.unwrap_or("/bin:/usr/bin").split(':') {
        let path = Path::new(if dir.is_empty() { "." } else { dir }).join(program);
        match executable(&path) {
            Ok(()) => return Ok(path),
            Err(Obstacle::Absent(_)) => {}
            Err(other) => denied = Some(other),
        }
    }
    let here = || match executable(Path::new(program)) {
        Ok(()) => Absence::OnPath(program.to_owned()),
        Err(_) => Absence::Program,
    };
    Err(denied.unwrap_or_else(|| Obstacle::Absent(here())))
}

fn executable(path: &Path) -> Result<(), Obstacle> {
    let metadata = path.metadata().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Obstacle::Absent(Absence::Program),
        _ => Obstacle::Io(error),
    })?;
    if metadata.is_dir() {
        return Err(Obstacle::Io(io::Error::new(io::ErrorKind::IsADirectory, "a directory, not a program")));
    }
    if !metadata.is_file() || metadata.permissions().mode() & 0o111 == 0 {
        return Err(Obstacle::Io(io::ErrorKind::PermissionDenied.into()));
    }
    Ok(())
}

fn look(path: &Path, search_path: Option<&str>, scripts_left: usize) -> Result<Looked, Obstacle> {
    let mut file = File::open(path).map_err(Obstacle::Io)?;
    let metadata = file.metadata().map_err(Obstacle::Io)?;
    let mut start = vec![0; SHEBANG_BYTES];
    let length = read_up_to(&mut file, &mut start).map_err(Obstacle::Io)?;
    start.truncate(length);
    if let Some(rest) = start.strip_prefix(b"#!") {
        let line = rest.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let line = String::from_utf8_lossy(line);
        let interpreter = line.split_whitespace().next().unwrap_or_default();
        if interpreter.is_empty() || scripts_left == 0 {
            return Err(Obstacle::Refused(Refusal::NotAProgram));
        }
        let looked = match look(Path::new(interpreter), search_path, scripts_left - 1) {
            Err(Obstacle::Io(error)) if error.kind() == io::ErrorKind::NotFound => {
                return Err(Obstacle::Absent(Absence::Interpreter(interpreter.to_owned())));
            }
            looked => looked?,
        };
        // What `env` executes in its place; whether that can be profiled is found out then.
        let executed = executed_by_env(&line).and_then(|program| find(program, search_path).ok());
        return Ok(Looked { file: executed.unwrap_or(looked.file), ..looked });
    }
    let owner = Path::new("/proc/self").metadata().map(|m| (m.uid(), m.gid())).unwrap_or((0, 0));
    let mode = metadata.permissions().mode();
    if mode & 0o4000 != 0 && metadata.uid() != owner.0 || mode & 0o2000 != 0 && metadata.gid() != owner.1 {
        return Err(Obstacle::Refused(Refusal::Privileged));
    }
    // Programs can be large: only the needed parts are read.
    match look_at_elf(&ReadCache::new(&file)) {
        Some(Refusal::Static) if has_agent(&file).map_err(Obstacle::Io)? => {
            Ok(Looked { file: path.to_owned(), linked_in: true })
        }
        Some(refusal) => Err(Obstacle::Refused(refusal)),
        None => Ok(Looked { file: path.to_owned(), linked_in: false }),
    }
}

/// The program in `/usr/bin/env [-S] [NAME=VALUE…] program`.
fn executed_by_env(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    words.next().filter(|interpreter| interpreter.ends_with("/env"))?;
    words.find(|word| !word.starts_with('-') && !word.contains('='))
}

fn read_up_to(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while let Some(rest) = buffer.get_mut(length..).filter(|rest| !rest.is_empty()) {
        match file.read(rest)? {
            0 => break,
            read => length += read,
        }
    }
    Ok(length)
}

fn has_agent(mut program: &File) -> io::Result<bool> {
    let mut bytes = Vec::new();
    program.rewind()?;
    program.read_to_end(&mut bytes)?;
    Ok(contains(&bytes, LINKED_IN_MARK))
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle)
}

/// Why this file cannot be profiled, if it cannot.
fn look_at_elf<'data>(bytes: impl ReadRef<'data>) -> Option<Refusal> {
    if bytes.read_bytes_at(0, elf::ELFMAG.len() as u64).ok() != Some(elf::ELFMAG.as_slice()) {
        return Some(Refusal::NotAProgram);
    }
    let Ok(header) = elf::FileHeader64::<Endianness>::parse(bytes) else {
        return Some(Refusal::Architecture("a 32-bit or foreign ELF".into()));
    };
    let Ok(endian) = header.endian() else { return Some(Refusal::NotAProgram) };
    let machine = header.e_machine(endian);
    if machine != elf::EM_X86_64 {
        return Some(Refusal::Architecture(format!("ELF machine {}", machine.0)));
    }
    let Ok(segments) = header.program_headers(endian, bytes) else { return Some(Refusal::NotAProgram) };
    let go = segments.iter().any(|segment| {
        let notes = segment.notes(endian, bytes).ok().flatten();
        notes.is_some_and(|mut notes| {
            std::iter::from_fn(|| notes.next().ok().flatten()).any(|note| note.name() == b"Go")
        })
    });
    if let Some(library) = sanitizer(header, endian, bytes) {
        return Some(Refusal::Sanitizer(library));
    }
    match segments.iter().find_map(|segment| segment.interpreter(endian, bytes).ok().flatten()) {
        None if go => Some(Refusal::StaticGo),
        None => Some(Refusal::Static),
        Some(loader) if contains(loader, b"ld-linux-x86-64.so") => go.then_some(Refusal::Go),
        Some(loader) => Some(Refusal::Loader(String::from_utf8_lossy(loader).into_owned())),
    }
}

/// The library of a sanitizer that a program needs ([`SANITIZERS`]).
fn sanitizer<'data>(
    header: &elf::FileHeader64<Endianness>,
    endian: Endianness,
    bytes: impl ReadRef<'data>,
) -> Option<String> {
    let sections = header.sections(endian, bytes).ok()?;
    let (entries, strings) = sections.dynamic(endian, bytes).ok()??;
    let strings = sections.strings(endian, bytes, strings).ok()?;
    let needed = entries.iter().filter(|entry| entry.tag(endian) == elf::DT_NEEDED);
    let mut names = needed.filter_map(|entry| entry.string(endian, strings).ok());
    let is_one = |name: &&[u8]| SANITIZERS.iter().any(|sanitizer| name.starts_with(sanitizer));
    names.find(is_one).map(|name| String::from_utf8_lossy(name).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(program: &str) -> Option<Refusal> {
        match examine(program, Some("/usr/bin:/bin"), Engine::Burst) {
            Err(Obstacle::Refused(refusal)) => Some(refusal),
            Ok(_) => None,
            Err(other) => panic!("{program}: {other:?}"),
        }
    }

    #[test]
    fn ordinary_programs_and_scripts_pass() {
        assert_eq!(refusal("ls"), None);
        assert_eq!(refusal("/bin/sh"), None);
        let dir = tempfile::tempdir().unwrap();
        let script = dir.path().join("script");
        std::fs::write(&script, "#!/bin/sh -e\nexit 0\n").unwrap();
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(refusal(script.to_str().unwrap()), None);
    }

    #[test]
    fn missing_and_plain_files_are_told_apart() {
        assert!(matches!(
            examine("no-such-program", Some("/usr/bin"), Engine::Burst),
            Err(Obstacle::Absent(Absence::Program))
        ));
        assert!(matches!(examine("", None, Engine::Burst), Err(Obstacle::Absent(Absence::Name))));
        assert!(matches!(examine("/etc/passwd", None, Engine::Burst), Err(Obstacle::Io(_))));
    }

    #[test]
    fn env_executes_the_first_word_that_is_neither_option_nor_variable() {
        assert_eq!(executed_by_env("/usr/bin/env node"), Some("node"));
        assert_eq!(executed_by_env("/usr/bin/env -S A=1 node --expose-gc"), Some("node"));
        assert_eq!(executed_by_env("/usr/bin/env"), None);
        assert_eq!(executed_by_env("/bin/sh node"), None);
    }

    #[test]
    fn a_script_needs_its_interpreter() {
        let dir = tempfile::tempdir().unwrap();
        let script = dir.path().join("script");
        std::fs::write(&script, "#!/no/such/shell -e\n").unwrap();
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
        let Err(Obstacle::Absent(absence)) = examine(script.to_str().unwrap(), None, Engine::Burst) else {
            panic!("there is no such shell")
        };
        assert_eq!(absence.to_string(), "its interpreter /no/such/shell does not exist");
    }

    #[test]
    fn foreign_files_are_refused_by_what_they_are() {
        assert_eq!(look_at_elf(b"MZ".as_slice()), Some(Refusal::NotAProgram));
        let mut elf = std::fs::read("/bin/ls").unwrap();
        let library = elf.windows(15).position(|bytes| bytes == b"libselinux.so.1").expect("a library of ls");
        elf[library..library + 15].copy_from_slice(b"libasan.so.8\0\0\0");
        assert_eq!(look_at_elf(elf.as_slice()), Some(Refusal::Sanitizer("libasan.so.8".into())));
        elf[4] = 1; // ELFCLASS32
        assert!(matches!(look_at_elf(elf.as_slice()), Some(Refusal::Architecture(_))));
        elf[4] = 2;
        elf[18] = 183; // EM_AARCH64
        assert!(matches!(look_at_elf(elf.as_slice()), Some(Refusal::Architecture(_))));
        for length in (0..4096).step_by(7) {
            let _ = look_at_elf(&elf[..length]);
        }
    }

    /// The note that Go's linker writes, in the place of another.
    #[test]
    fn a_go_program_is_for_the_translator() {
        let mut elf = std::fs::read("/bin/ls").unwrap();
        let name = elf.windows(4).position(|window| window == b"GNU\0").expect("a note of the GNU linker");
        elf[name..name + 4].copy_from_slice(b"Go\0\0");
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("go");
        std::fs::write(&program, &elf).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let program = program.to_str().unwrap();
        assert_eq!(refusal(program), Some(Refusal::Go));
        assert!(examine(program, None, Engine::Translate).is_ok());
    }
}
