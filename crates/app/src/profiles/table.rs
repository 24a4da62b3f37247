//! The list as text.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use carom_view::{command_line, size};

use super::profile::Profile;

/// Columns before the program, which comes last and is not cut.
const COLUMNS: usize = 4;

/// A row for each profile, and one of headings.
pub fn table(profiles: &[Profile]) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let heads = ["PROFILE", "WHEN", "COMMAND", "SIZE", "PROGRAM"].map(str::to_owned);
    let rows: Vec<[String; COLUMNS + 1]> =
        std::iter::once(heads).chain(profiles.iter().map(|profile| row(profile, now))).collect();
    let mut longest = [0; COLUMNS];
    for row in &rows {
        for (most, text) in longest.iter_mut().zip(row) {
            *most = (*most).max(text.chars().count());
        }
    }
    let mut out = String::new();
    for [dir, when, command, bytes, program] in rows {
        let [first, second, third, fourth] = longest;
        let line = format!("{dir:first$}  {when:>second$}  {command:third$}  {bytes:>fourth$}  {program}\n");
        // Names come from whoever made them: no control character reaches the terminal.
        out.extend(line.chars().map(|c| if c.is_control() && c != '\n' { '?' } else { c }));
    }
    out
}

fn row(profile: &Profile, now: Duration) -> [String; COLUMNS + 1] {
    let manifest = &profile.manifest;
    [
        profile.dir.display().to_string(),
        age(now.as_secs_f64() - manifest.started_unix_s),
        manifest.command.clone(),
        size(profile.bytes),
        program(profile),
    ]
}

/// ``./app {n} (24 runs)``, ``./app (28 runs, against ./app-old)``
fn program(profile: &Profile) -> String {
    let command = command_line(&profile.commands.argv);
    let against = profile.commands.against.as_deref().map(|argv| format!(", against {}", command_line(argv)));
    match profile.runs {
        1 => command,
        runs => format!("{command} ({runs} runs{})", against.unwrap_or_default()),
    }
}

/// `3 profiles, 1.2 MiB`
pub fn total(profiles: &[Profile]) -> String {
    let bytes = profiles.iter().map(|profile| profile.bytes).sum();
    let profiles = match profiles.len() {
        1 => "1 profile".to_owned(),
        many => format!("{many} profiles"),
    };
    format!("{profiles}, {}", size(bytes))
}

/// `5 min ago`
fn age(seconds: f64) -> String {
    const UNITS: [(f64, &str); 3] = [(86_400.0, "days"), (3_600.0, "h"), (60.0, "min")];
    let largest = UNITS.into_iter().find(|(unit, _)| seconds >= 2.0 * unit);
    let (unit, name) = largest.unwrap_or((1.0, "s"));
    format!("{:.0} {name} ago", (seconds / unit).floor().max(0.0))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use carom_store::Manifest;

    use super::*;
    use crate::profiles::series::Commands;

    #[test]
    fn ages_have_one_unit() {
        let ages = [-3.0, 0.4, 119.0, 121.0, 7_100.0, 7_300.0, 200_000.0].map(age);
        assert_eq!(
            ages.join(", "),
            "0 s ago, 0 s ago, 119 s ago, 2 min ago, 118 min ago, 2 h ago, 2 days ago"
        );
    }

    #[test]
    fn columns_line_up_and_names_stay_names() {
        let profile = |dir: &str, argv: &[&str], runs, bytes| Profile {
            dir: PathBuf::from(dir),
            commands: Commands {
                argv: argv.iter().map(|&word| word.into()).collect(),
                against: (runs > 1).then(|| vec!["./old".into()]),
            },
            runs,
            manifest: Manifest { command: "share".into(), started_unix_s: f64::MAX, ..Manifest::default() },
            bytes,
        };
        let profiles = [
            profile("a.1.carom", &["./a", "", "b c"], 14, 2048),
            profile("ab.10.carom", &["x\x1b[2J"], 1, 7),
        ];
        assert_eq!(
            table(&profiles),
            "PROFILE         WHEN  COMMAND     SIZE  PROGRAM\n\
             a.1.carom    0 s ago  share      2 KiB  ./a '' 'b c' (14 runs, against ./old)\n\
             ab.10.carom  0 s ago  share    7 bytes  'x?[2J'\n"
        );
        assert_eq!(total(&profiles), "2 profiles, 2 KiB");
    }
}
