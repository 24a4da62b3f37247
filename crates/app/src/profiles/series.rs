//! The command of a series, out of its runs.

use carom_store::Manifest;

/// The command that all runs have in common, and the one that it is compared with.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Commands {
    /// The program and its arguments. `{NAME}` stands for the value of a parameter.
    pub argv: Vec<String>,
    /// The command before, of `--vs`.
    pub against: Option<Vec<String>>,
}

/// Of these runs.
pub fn commands(runs: &[Manifest]) -> Commands {
    let side = |wanted: Option<u32>| {
        runs.iter().find(|run| run.series.as_ref().and_then(|series| series.side) == wanted)
    };
    if let (Some(before), Some(after)) = (side(Some(0)), side(Some(1))) {
        return Commands { argv: after.argv.clone(), against: Some(before.argv.clone()) };
    }
    let Some((first, others)) = runs.split_first() else { return Commands::default() };
    let varies = |at: usize| others.iter().any(|run| run.argv.get(at) != first.argv.get(at));
    let word = |(at, word): (usize, &String)| if varies(at) { with_names(word, first) } else { word.clone() };
    Commands { argv: first.argv.iter().enumerate().map(word).collect(), against: None }
}

/// A word with the names of parameters in place of their values in this run.
fn with_names(word: &str, run: &Manifest) -> String {
    let parameters = run.series.iter().flat_map(|series| &series.parameters);
    parameters.fold(word.to_owned(), |word, given| word.replace(&given.value, &format!("{{{}}}", given.name)))
}

#[cfg(test)]
mod tests {
    use carom_store::{ParameterInfo, SeriesInfo};

    use super::*;

    fn run(command: &str, side: Option<u32>, parameters: &[(&str, &str)]) -> Manifest {
        let parameters = parameters
            .iter()
            .map(|(name, value)| ParameterInfo { name: (*name).into(), value: (*value).into() })
            .collect();
        Manifest {
            argv: command.split(' ').map(str::to_owned).collect(),
            series: Some(SeriesInfo { side, parameters, ..SeriesInfo::default() }),
            ..Manifest::default()
        }
    }

    #[test]
    fn values_become_names_where_they_vary() {
        let runs = [run("./app8 -n8 8", None, &[("n", "8")]), run("./app8 -n16 8", None, &[("n", "16")])];
        assert_eq!(commands(&runs).argv.join(" "), "./app8 -n{n} 8");
        let same = [run("./app 5", None, &[]), run("./app 5", None, &[])];
        assert_eq!(commands(&same).argv.join(" "), "./app 5");
        assert_eq!(commands(&[]), Commands::default());
    }

    #[test]
    fn two_commands_are_both_named() {
        let runs = [run("./new", Some(1), &[]), run("./old x", Some(0), &[]), run("./new", Some(1), &[])];
        let found = commands(&runs);
        assert_eq!(
            (found.argv.join(" "), found.against.unwrap().join(" ")),
            ("./new".into(), "./old x".into())
        );
    }
}
