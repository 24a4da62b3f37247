//! Small commands for packagers and linkers.

use std::{fs, path::Path};

use clap::{Command, CommandFactory};

use crate::{
    cli::Cli,
    doctor,
    failure::{End, Failure},
    output,
};

/// Examines the machine and says what it can do.
///
/// # Errors
/// The JSON file cannot be written.
pub fn doctor(args: &doctor::Args) -> Result<End, Failure> {
    let report = doctor::run();
    match &args.json {
        Some(file) if file.as_os_str() != "-" => {
            fs::write(file, report.to_json().map_err(Failure::new)?).map_err(Failure::new)?;
        }
        Some(_) => output::print(&report.to_json().map_err(Failure::new)?)?,
        None => output::print(&doctor::text::render(&report))?,
    }
    Ok(if report.engine.is_some() { End::Success } else { End::NoEngine })
}

/// Prints the flags that link the agent into a static program.
///
/// # Errors
/// The archive is not installed.
pub fn link_flags() -> Result<End, Failure> {
    let archive = carom_collect::find_archive().map_err(Failure::new)?;
    println!("{}", carom_collect::link_flags(&archive).join(" "));
    Ok(End::Success)
}

/// Prints the JSON Schema of reports.
///
/// # Errors
/// It cannot be written.
pub fn schema(diff: bool) -> Result<End, Failure> {
    let schema = if diff { carom_view::diff::model::schema() } else { carom_view::model::schema() };
    output::print(&format!("{:#}\n", schema.as_value()))?;
    Ok(End::Success)
}

/// Prints a shell's completions.
///
/// # Errors
/// Never.
pub fn completions(shell: clap_complete::Shell) -> Result<End, Failure> {
    clap_complete::generate(shell, &mut offered(), "carom", &mut std::io::stdout());
    Ok(End::Success)
}

/// The command line without its hidden subcommands, which completions would offer.
fn offered() -> Command {
    let whole = Cli::command();
    let offered = whole.get_subcommands().filter(|each| !each.is_hide_set()).cloned();
    Command::new("carom").version(env!("CARGO_PKG_VERSION")).subcommands(offered)
}

/// Writes `carom.1` and one page per subcommand into `dir`.
///
/// # Errors
/// The directory cannot be written.
pub fn man(dir: &Path) -> Result<End, Failure> {
    fs::create_dir_all(dir)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), dir))
        .map_err(Failure::new)?;
    Ok(End::Success)
}
