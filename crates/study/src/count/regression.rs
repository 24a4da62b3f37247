//! Which quantities follow a parameter of the command line, and by which law.

use carom_store::Manifest;
use carom_study_stats::{Fit, Model, Prediction, fits, holm};

use super::Quantity;
use crate::diff::SIGNIFICANT;

/// How every quantity follows every parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Regression {
    /// The parameters.
    pub parameters: Vec<Parameter>,
    /// Every quantity that the runs know, by each parameter: what changes most comes first.
    pub laws: Vec<Law>,
}

/// A parameter with its values, in ascending order.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its values.
    pub values: Vec<f64>,
}

/// How a quantity follows a parameter, while all others have their first value.
#[derive(Clone, Debug, PartialEq)]
pub struct Law {
    /// Of what.
    pub quantity: Quantity,
    /// By which parameter.
    pub parameter: String,
    /// The parameter and the value of each run.
    pub points: Vec<(f64, f64)>,
    /// The model that fits best; `None` with fewer than three values of the parameter.
    pub fit: Option<Fit>,
    /// How likely data without any dependence fit as well, corrected for the number of models, quantities and parameters.
    pub corrected: f64,
    /// Whether it follows the parameter by more than chance.
    pub depends: bool,
}

/// Of runs whose manifests have parameters.
pub fn regression(runs: &[&Manifest]) -> Regression {
    let parameters = parameters(runs);
    let quantities = Quantity::of_runs(runs.iter().copied());
    let mut laws: Vec<Law> = parameters
        .iter()
        .flat_map(|parameter| {
            let alone = alone(runs, &parameters, &parameter.name);
            quantities.iter().filter_map(move |&quantity| law(quantity, &parameter.name, &alone))
        })
        .collect();
    let probabilities: Vec<f64> = laws.iter().map(|law| law.corrected).collect();
    for (law, corrected) in laws.iter_mut().zip(holm(&probabilities)) {
        law.corrected = corrected;
        let constant = law.fit.as_ref().is_none_or(|fit| fit.model == Model::Constant);
        law.depends = !constant && corrected < SIGNIFICANT;
    }
    laws.sort_by(|a, b| b.weight().total_cmp(&a.weight()));
    Regression { parameters, laws }
}

/// The value of a parameter in a run, as a number.
pub(super) fn value(run: &Manifest, name: &str) -> Option<f64> {
    let all = &run.series.as_ref()?.parameters;
    all.iter().find(|parameter| parameter.name == name)?.value.parse().ok()
}

/// The parameters of the runs, each with its values in ascending order.
pub(super) fn parameters(runs: &[&Manifest]) -> Vec<Parameter> {
    let named = runs.iter().find_map(|run| Some(&run.series.as_ref()?.parameters));
    let parameter = |name: &String| {
        let mut values: Vec<f64> = runs.iter().filter_map(|run| value(run, name)).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        Parameter { name: name.clone(), values }
    };
    named.into_iter().flatten().map(|each| parameter(&each.name)).collect()
}

/// The runs in which every parameter but this one has its first value, with the value of this one.
fn alone<'a>(runs: &[&'a Manifest], parameters: &[Parameter], name: &str) -> Vec<(f64, &'a Manifest)> {
    let first = |run: &Manifest, other: &Parameter| {
        other.name == name || value(run, &other.name) == other.values.first().copied()
    };
    runs.iter()
        .filter(|run| parameters.iter().all(|other| first(run, other)))
        .filter_map(|run| Some((value(run, name)?, *run)))
        .collect()
}

/// `None` where no run knows the quantity.
fn law(quantity: Quantity, parameter: &str, runs: &[(f64, &Manifest)]) -> Option<Law> {
    let points: Vec<(f64, f64)> = runs.iter().filter_map(|(x, run)| Some((*x, quantity.of(run)?))).collect();
    let (x, y): (Vec<f64>, Vec<f64>) = points.iter().copied().unzip();
    let all = fits(&x, &y);
    let models = all.len() as f64;
    let fit = all.into_iter().next();
    // The best of several models fits better by chance than one would.
    let corrected = fit.as_ref().map_or(1.0, |fit| (fit.probability * models).min(1.0));
    (!points.is_empty()).then(|| Law {
        quantity,
        parameter: parameter.to_owned(),
        points,
        fit,
        corrected,
        depends: false,
    })
}

impl Law {
    /// The least and the largest value of the parameter.
    pub fn range(&self) -> (f64, f64) {
        self.points
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), (x, _)| (low.min(*x), high.max(*x)))
    }

    /// The mean of the runs at a value of the parameter.
    pub fn mean_at(&self, x: f64) -> f64 {
        let there: Vec<f64> = self.points.iter().filter(|(at, _)| *at == x).map(|(_, y)| *y).collect();
        there.iter().sum::<f64>() / there.len().max(1) as f64
    }

    /// The model at evenly spaced values of the parameter.
    pub fn curve(&self, points: usize) -> Vec<(f64, Prediction)> {
        let Some(fit) = &self.fit else { return Vec::new() };
        let (low, high) = self.range();
        let at = |index: usize| low + (high - low) * index as f64 / points.saturating_sub(1).max(1) as f64;
        (0..points).map(at).map(|x| (x, fit.predict(x))).collect()
    }

    /// Where it stands in the list: what depends by how much it changes, then the rest.
    fn weight(&self) -> f64 {
        let (low, high) = self.range();
        let (first, last) = (self.mean_at(low), self.mean_at(high));
        let size = if first > 0.0 && last > 0.0 { (last / first).ln().abs() } else { 100.0 };
        if self.depends { 1.0 + size } else { -self.corrected }
    }
}

#[cfg(test)]
mod tests {
    use carom_store::{ParameterInfo, SeriesInfo, ThreadCounts, ThreadInfo};

    use super::*;

    /// A run with these parameters that executes so many instructions and loads.
    fn run(parameters: &[(&str, f64)], instructions: u64, loads: u64) -> Manifest {
        let parameters = parameters
            .iter()
            .map(|(name, value)| ParameterInfo { name: (*name).to_owned(), value: value.to_string() })
            .collect();
        let counts =
            ThreadCounts { instructions: Some(instructions), loads: Some(loads), ..ThreadCounts::default() };
        Manifest {
            series: Some(SeriesInfo { parameters, ..SeriesInfo::default() }),
            threads: vec![ThreadInfo { counts: Some(counts), ..ThreadInfo::default() }],
            ..Manifest::default()
        }
    }

    fn of(runs: &[Manifest]) -> Regression {
        regression(&runs.iter().collect::<Vec<_>>())
    }

    #[test]
    fn what_follows_is_told_from_what_does_not() {
        let sizes = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0];
        let noise = [3, 0, 4, 1, 5, 2];
        let runs: Vec<Manifest> = sizes
            .iter()
            .zip(noise)
            .flat_map(|(n, noise)| {
                let work = 1_000 + (500.0 * n * n) as u64;
                [run(&[("n", *n)], work, 700 + noise), run(&[("n", *n)], work + 1, 705 - noise)]
            })
            .collect();
        let found = of(&runs);
        assert_eq!(found.parameters, [Parameter { name: "n".into(), values: sizes.to_vec() }]);
        let [first, second] = &found.laws[..] else { panic!("two quantities") };
        let fit = first.fit.as_ref().unwrap();
        assert_eq!(
            (first.quantity.name(), fit.model, first.depends),
            ("instructions", Model::Quadratic, true)
        );
        assert!((fit.coefficients[2] - 500.0).abs() < 0.1, "{fit:?}");
        assert_eq!((second.quantity.name(), second.depends), ("loads", false));
        // 64 is within what the law predicts.
        let there = fit.predict(64.0);
        let truth = 1_000.0 + 500.0 * 64.0 * 64.0;
        assert!(there.low <= truth + 1.0 && there.high >= truth, "{there:?}");
    }

    #[test]
    fn other_parameters_stay_where_they_begin() {
        let runs: Vec<Manifest> = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
            .iter()
            .flat_map(|a| [10.0, 20.0, 30.0].map(|b| run(&[("a", *a), ("b", b)], (a * b) as u64, 1)))
            .collect();
        let found = of(&runs);
        let law = |parameter: &str| {
            found.laws.iter().find(|law| law.parameter == parameter && law.quantity.name() == "instructions")
        };
        // a × 10.
        assert_eq!(law("a").unwrap().points.len(), 6);
        assert!((law("a").unwrap().fit.as_ref().unwrap().coefficients[1] - 10.0).abs() < 1e-6);
        assert_eq!(law("b").unwrap().points, [(10.0, 10.0), (20.0, 20.0), (30.0, 30.0)]);
    }
}
