//! Starts the program with the agent in it, and reports how it ends.

use std::{
    ffi::{OsStr, OsString},
    io,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus},
};

use carom_base_sys::host::signals;
use carom_base_wire::SESSION_VARIABLE;
use carom_store::Exit;

/// Starts `argv` with `agent` preloaded (unless it is linked in) and the session in `dir`.
pub fn start(argv: &[String], agent: Option<&Path>, dir: &Path) -> io::Result<Child> {
    let (program, arguments) = argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    command.args(arguments).env(SESSION_VARIABLE, dir);
    if let Some(agent) = agent {
        command.env("LD_PRELOAD", preload(agent, std::env::var_os("LD_PRELOAD").as_deref()));
    }
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
