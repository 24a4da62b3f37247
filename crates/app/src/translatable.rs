//! Whether a program's code can be translated.

use carom_base_sys::probe::{Probes, Support};
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
