//! Whether a program's code can be translated, and whether that is worth while.

use carom_base_sys::probe::{Probes, Support, choose_burst_delivery};
use carom_collect::{Engine, examine};

use crate::options::ProgramArgs;

/// Whether the program's code can be translated on this machine. The error is the reason, a clause without a full stop.
/// Whether the program can run at all is not examined.
pub fn translatable(program: &ProgramArgs, probes: &Probes) -> Result<(), String> {
    let path = std::env::var("PATH").ok();
    let name = program.program.first().map_or("", String::as_str);
    match &probes.translate {
        _ if examine(name, path.as_deref(), Engine::Translate).is_ok_and(|target| target.linked_in) => {
            Err("the agent is linked into the program".into())
        }
        Support::Yes => Ok(()),
        Support::No { cause, .. } | Support::Unknown { cause } => Err(cause.to_string()),
    }
}

/// Why `auto` does not translate the program although it could: its runtime makes most of the code, which is not translated,
/// and the burst engine has all that it needs. A clause without a full stop.
pub fn generated(program: &ProgramArgs, probes: &Probes) -> Option<String> {
    choose_burst_delivery(probes).ok().filter(|choice| choice.watchpoints > 0)?;
    let path = std::env::var("PATH").ok();
    let name = program.program.first()?;
    let runtime = examine(name, path.as_deref(), Engine::Translate).ok()?.runtime?;
    Some(format!("{runtime} makes code while it runs, which is not translated"))
}
