//! `carom list` and `carom rm`: the profiles that have piled up.

mod args;
mod model;
mod profile;
mod series;
mod table;

use std::path::{Path, PathBuf};

pub use args::{ListArgs, RemoveArgs};

use self::profile::Profile;
use crate::{
    failure::{End, Failure},
    output,
};

/// Lists profiles, the oldest first.
///
/// # Errors
/// A directory cannot be read.
pub fn list(args: &ListArgs) -> Result<End, Failure> {
    let profiles = profile::find(&args.places)?;
    if args.json {
        output::print(
            &(serde_json::to_string_pretty(&model::list(&profiles)).map_err(Failure::new)? + "\n"),
        )?;
    } else if profiles.is_empty() {
        output::print(&format!("No profiles in {}.\n", names(&args.places)))?;
    } else {
        output::print(&table::table(&profiles))?;
    }
    Ok(End::Success)
}

/// Removes profiles. Where one of those that are named is none, or is still being recorded, nothing is removed.
///
/// # Errors
/// That, or a file cannot be removed.
pub fn remove(args: &RemoveArgs) -> Result<End, Failure> {
    let here = [PathBuf::from(".")];
    let profiles = match args.places.as_slice() {
        [] => profile::find(&here)?,
        places if args.all => profile::find(places)?,
        named => {
            named.iter().map(|dir| Profile::open(dir)).collect::<Result<_, _>>().map_err(Failure::new)?
        }
    };
    if let Some(growing) = profiles.iter().find(|profile| profile.is_growing()) {
        return Err(Failure::new(format!(
            "{}: still being recorded; nothing was removed",
            growing.dir.display()
        )));
    }
    if profiles.is_empty() {
        output::print("No profiles.\n")?;
        return Ok(End::Success);
    }
    output::print(&table::table(&profiles))?;
    for profile in &profiles {
        if !carom_store::remove(&profile.dir).map_err(Failure::new)? {
            let text = format!("{} holds other files, so the directory stays.\n", profile.dir.display());
            output::print(&text)?;
        }
    }
    output::print(&format!("Removed {}.\n", table::total(&profiles)))?;
    Ok(End::Success)
}

fn names(places: &[PathBuf]) -> String {
    let name = |place: &PathBuf| match place.as_path() {
        here if here == Path::new(".") => "this directory".to_owned(),
        other => other.display().to_string(),
    };
    places.iter().map(name).collect::<Vec<_>>().join(", ")
}
