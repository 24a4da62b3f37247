//! Parameters of a command line, and the command lines that they make.

use carom_store::{ParameterInfo, SeriesInfo};

use super::plan::Subject;

/// A parameter with its values, as they stand in the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    name: String,
    values: Vec<String>,
}

impl Parameter {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many different values it has.
    pub fn different(&self) -> usize {
        let mut all: Vec<f64> = self.values.iter().filter_map(|value| value.parse().ok()).collect();
        all.sort_by(f64::total_cmp);
        all.dedup();
        all.len()
    }
}

/// Values that one parameter may have at most.
const MOST: usize = 1000;

/// `NAME=1,2,4`, `NAME=1..8`, `NAME=0..100:20`, `NAME=1..1024*2`
///
/// # Errors
/// It is none of these, or has fewer than three different values, which no law could be told from.
pub fn parameter(text: &str) -> Result<Parameter, String> {
    let (name, values) = text.split_once('=').ok_or("a parameter is NAME=VALUES, such as threads=1,2,4,8")?;
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-') {
        return Err(format!("{name:?} is no name"));
    }
    let values = match values.split_once("..") {
        Some((low, rest)) => range(low, rest)?,
        None => values
            .split(',')
            .map(|value| number(value).map(|_| value.to_owned()))
            .collect::<Result<_, _>>()?,
    };
    let parameter = Parameter { name: name.to_owned(), values };
    if parameter.different() < 3 {
        return Err("three different values are the least from which a law can be told".into());
    }
    Ok(parameter)
}

fn number(text: &str) -> Result<f64, String> {
    text.parse::<f64>().ok().filter(|value| value.is_finite()).ok_or_else(|| format!("{text:?} is no number"))
}

/// `8`, `100:20` (in steps), `1024*2` (each so many times the one before)
fn range(low: &str, rest: &str) -> Result<Vec<String>, String> {
    let (high, step, times) = match (rest.split_once(':'), rest.split_once('*')) {
        (Some((high, step)), _) => (high, number(step)?, 1.0),
        (None, Some((high, times))) => (high, 0.0, number(times)?),
        (None, None) => (rest, 1.0, 1.0),
    };
    let (low, high) = (number(low)?, number(high)?);
    let grows = step > 0.0 && times == 1.0 || step == 0.0 && times > 1.0 && low > 0.0;
    if !grows || low > high {
        return Err("a range goes up: 1..8, 0..100:20, 1..1024*2".into());
    }
    // A step that was added up would miss the end by an error of rounding.
    let at =
        |index: usize| if times > 1.0 { low * times.powi(index as i32) } else { low + step * index as f64 };
    let values: Vec<f64> = (0..=MOST).map(at).take_while(|value| *value <= high * (1.0 + 1e-12)).collect();
    if values.len() > MOST {
        return Err(format!("more than {MOST} values"));
    }
    Ok(values.iter().map(f64::to_string).collect())
}

/// Every command line that the parameters make of `argv`, in which `{NAME}` stands for a value.
///
/// # Errors
/// A parameter stands nowhere in it.
pub fn commands(argv: &[String], parameters: &[Parameter]) -> Result<Vec<Subject>, String> {
    let mut all = vec![Subject { argv: argv.to_vec(), info: SeriesInfo::default() }];
    for Parameter { name, values } in parameters {
        let place = format!("{{{name}}}");
        if !argv.iter().any(|word| word.contains(&place)) {
            return Err(format!("{place} stands nowhere in the command"));
        }
        let with = |subject: &Subject, value: &String| {
            let mut subject = subject.clone();
            subject.argv.iter_mut().for_each(|word| *word = word.replace(&place, value));
            subject.info.parameters.push(ParameterInfo { name: name.clone(), value: value.clone() });
            subject
        };
        all = all.iter().flat_map(|one| values.iter().map(move |value| with(one, value))).collect();
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_lists_and_ranges() {
        let values = |text: &str| parameter(text).map(|parameter| parameter.values.join(" "));
        assert_eq!(values("n=1,2,4,8"), Ok("1 2 4 8".into()));
        assert_eq!(values("n=1..4"), Ok("1 2 3 4".into()));
        assert_eq!(values("n=0..1:0.25"), Ok("0 0.25 0.5 0.75 1".into()));
        assert_eq!(values("n=1..1000*10"), Ok("1 10 100 1000".into()));
        for bad in [
            "n",
            "n=1,2",
            "n=1,1,1",
            "n=a,b,c",
            "=1,2,3",
            "n=4..1",
            "n=0..8*2",
            "n=1..9:0",
            "n=1..1e9",
            "{n}=1,2,3",
        ] {
            assert!(parameter(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn all_combinations_become_commands() {
        let argv = ["./app", "-n{n}", "{t}"].map(str::to_owned);
        let [n, t] = ["n=1,2,3", "t=4,5,6"].map(|text| parameter(text).unwrap());
        let all = commands(&argv, &[n.clone(), t]).unwrap();
        assert_eq!(all.len(), 9);
        assert_eq!(all[1].argv, ["./app", "-n1", "5"]);
        assert_eq!(
            all[8].info.parameters.iter().map(|given| given.value.as_str()).collect::<Vec<_>>(),
            ["3", "6"]
        );
        assert!(commands(&argv[..1], &[n]).unwrap_err().contains("{n}"));
    }
}
