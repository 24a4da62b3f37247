//! How every access of a program is recorded.

use carom_base_sys::{
    machine::Machine,
    probe::{Facts, Probes},
};
use carom_collect::{Engine, ReuseMethod, ReuseSettings, Settings};

use crate::{
    options::{ObjectArgs, ProgramArgs},
    reuse::Groups,
    translatable::translatable,
};

/// The settings that keep every access.
///
/// # Errors
/// Code cannot be translated here; the reason.
pub fn settings(program: &ProgramArgs, objects: &ObjectArgs) -> Result<Settings, String> {
    translatable(program, &Probes::judge(&Facts::to_choose())).map_err(|cause| {
        format!("{cause}; to see every access, code has to be translated; `carom doctor` explains")
    })?;
    let domains = Groups::of_machine(&Machine::here().caches).domains();
    Ok(Settings {
        objects: objects.least(),
        window: program.window.window(),
        reuse: Some(ReuseSettings { method: ReuseMethod::Kept, domains }),
        ..Settings::of(Engine::Translate)
    })
}
