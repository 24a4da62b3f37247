//! Starts the program with the agent in it, and reports how it ends.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, Seek, SeekFrom},
    os::{fd::AsFd, unix::process::ExitStatusExt},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
};

use carom_base_sys::host::signals;
use carom_base_wire::{Engine, SESSION_VARIABLE};
use carom_store::Exit;

use crate::{error::CollectError, refusal::Obstacle, target::examine};

/// The program's standard input and output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Streams {
    /// Those of carom.
    #[default]
    Own,
    /// Equal for every run of a series: carom's input from where it stood at first if that is a file, else nothing. Output is
    /// dropped.
    Equal,
}

impl Streams {
    fn apply(self, command: &mut Command) {
        if self == Self::Equal {
            command.stdin(input_again()).stdout(Stdio::null());
        }
    }
}

/// Carom's input as it was when carom started. Opened anew, a file has an offset of its own.
fn input_again() -> Stdio {
    let reopened = || {
        let mut own = io::stdin().as_fd().try_clone_to_owned().map(File::from).ok()?;
        own.metadata().ok().filter(|metadata| metadata.is_file())?;
        let mut again = File::open("/proc/self/fd/0").ok()?;
        again.seek(SeekFrom::Start(own.stream_position().ok()?)).ok()?;
        Some(again)
    };
    reopened().map_or_else(Stdio::null, Stdio::from)
}

/// Starts `argv` with `agent` preloaded (unless it is linked in) and the session in `dir`.
pub fn start(argv: &[String], agent: Option<&Path>, dir: &Path, streams: Streams) -> io::Result<Child> {
    let mut command = command(argv, streams)?;
    command.env(SESSION_VARIABLE, dir);
    if let Some(agent) = agent {
        command.env("LD_PRELOAD", preload(agent, std::env::var_os("LD_PRELOAD").as_deref()));
    }
    spawn(&mut command)
}

/// Starts `argv` without the agent.
///
/// # Errors
/// There is no such program, or it cannot be executed.
pub fn start_natively(argv: &[String], streams: Streams) -> Result<Child, CollectError> {
    let program = argv.first().map_or("", String::as_str);
    let path = std::env::var("PATH").ok();
    // As for a program with the agent, so that it fails in the same words; one that cannot be profiled runs here.
    match examine(program, path.as_deref(), Engine::Translate) {
        Ok(_) | Err(Obstacle::Refused(_)) => {}
        Err(obstacle) => return Err(CollectError::of(program, obstacle)),
    }
    let child = command(argv, streams).and_then(|mut command| spawn(&mut command));
    child.map_err(|source| CollectError::NotExecutable { program: program.to_owned(), source })
}

fn command(argv: &[String], streams: Streams) -> io::Result<Command> {
    let (program, arguments) = argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    command.args(arguments);
    streams.apply(&mut command);
    Ok(command)
}

fn spawn(command: &mut Command) -> io::Result<Child> {
    // They may still be ignored since an earlier recording.
    signals::restore();
    let child = command.spawn()?;
    // After the start of the program, which inherits ignored signals.
    signals::ignore_terminal_signals();
    signals::ignore_file_size_signal();
    if let Ok(pid) = i32::try_from(child.id()) {
        signals::forward_to(pid);
    }
    Ok(child)
}

/// The agent first, then the user's libraries.
fn preload(agent: &Path, before: Option<&OsStr>) -> OsString {
    let mut list = agent.as_os_str().to_owned();
    if let Some(before) = before.filter(|before| !before.is_empty()) {
        list.push(":");
        list.push(before);
    }
    list
}

/// How a process ended.
pub fn exit(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => Exit::Unknown,
    }
}

/// The agent's library: where `make install` puts it, or beside the executable in a build tree.
pub fn find_agent() -> io::Result<PathBuf> {
    const NAME: &str = "libcarom_agent.so";
    let exe = std::env::current_exe()?;
    let bin = exe.parent().unwrap_or(Path::new("/"));
    let places = [bin.join("../lib/carom").join(NAME), bin.join(NAME), bin.join("../").join(NAME)];
    let found = places.iter().find_map(|place| place.canonicalize().ok());
    found.ok_or_else(|| {
        let message = format!("the agent {NAME} is neither in ../lib/carom nor beside {}", exe.display());
        io::Error::new(io::ErrorKind::NotFound, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_preloads_stay() {
        let agent = Path::new("/a.so");
        assert_eq!(preload(agent, None), "/a.so");
        assert_eq!(preload(agent, Some(OsStr::new(""))), "/a.so");
        assert_eq!(preload(agent, Some(OsStr::new("b.so:c.so"))), "/a.so:b.so:c.so");
    }
}
