//! What the runs tell: for each size the median of each quantity.

use carom_store::{CacheInfo, Manifest};
use carom_study_stats::median;

use super::{COLLINEAR, LEAST_SIZES, PredictError};
use crate::count::{
    Event, Quantity, Use,
    regression::{self, Parameter},
};

pub struct Measured {
    pub parameter: String,
    pub at: f64,
    pub fixed: Vec<(String, f64)>,
    /// Ascending.
    pub sizes: Vec<f64>,
    pub times: Vec<(f64, f64)>,
    /// The median at each size.
    pub time: Vec<f64>,
    /// The standard deviation of runs of one size, as a part of their median.
    pub noise: f64,
    pub indicators: Vec<Varying>,
    pub zero: Vec<Quantity>,
    pub left_out: Vec<Quantity>,
    pub caches: Vec<CacheInfo>,
    /// Memory that is touched at each size, in bytes.
    pub memory: Vec<Option<f64>>,
}

/// An indicator that varies with the size.
pub struct Varying {
    pub quantity: Quantity,
    /// Size and value of each run.
    pub points: Vec<(f64, f64)>,
    /// The median at each size.
    pub medians: Vec<f64>,
}

/// Indicators, in the order in which one stands for others that tell the same. Times are costs, and switches depend on who else
/// runs.
const INDICATORS: [Quantity; 16] = [
    Quantity::Counted(Event::Instructions),
    Quantity::Used(Use::MinorFaults),
    Quantity::Used(Use::PeakMemory),
    Quantity::Counted(Event::SystemCalls),
    Quantity::Counted(Event::Loads),
    Quantity::Counted(Event::Stores),
    Quantity::Counted(Event::LoadedBytes),
    Quantity::Counted(Event::StoredBytes),
    Quantity::Counted(Event::Branches),
    Quantity::Counted(Event::BranchesTaken),
    Quantity::Counted(Event::Calls),
    Quantity::Counted(Event::Returns),
    Quantity::Counted(Event::Atomics),
    Quantity::Used(Use::MajorFaults),
    Quantity::Used(Use::BytesRead),
    Quantity::Used(Use::BytesWritten),
];

/// Bytes that one page fault brings in at least.
const PAGE: f64 = 4096.0;

pub fn measured(
    runs: &[&Manifest],
    at: &[(String, f64)],
    wanted: &[Quantity],
) -> Result<Measured, PredictError> {
    let parameters = regression::parameters(runs);
    let Chosen { parameter, at, fixed } = choose(&parameters, at)?;
    let stays =
        |run: &Manifest| fixed.iter().all(|(name, value)| regression::value(run, name) == Some(*value));
    let runs: Vec<(f64, &Manifest)> = runs
        .iter()
        .filter(|run| stays(run))
        .filter_map(|run| Some((regression::value(run, &parameter)?, *run)))
        .collect();
    let points = |quantity: Quantity| -> Vec<(f64, f64)> {
        runs.iter().filter_map(|(x, run)| Some((*x, quantity.of(run)?))).collect()
    };
    let times = points(Quantity::Used(Use::Time));
    if times.is_empty() {
        return Err(PredictError::NoTime);
    }
    let mut sizes: Vec<f64> = times.iter().map(|(x, _)| *x).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    if sizes[0] <= 0.0 || at <= 0.0 {
        return Err(PredictError::NotPositive(parameter));
    }
    if sizes.len() < LEAST_SIZES {
        return Err(PredictError::FewSizes { parameter, sizes: sizes.len() });
    }
    let medians =
        |points: &[(f64, f64)]| -> Vec<Option<f64>> { sizes.iter().map(|x| median_at(points, *x)).collect() };
    let time: Vec<f64> = medians(&times).into_iter().flatten().collect();
    let (mut indicators, mut zero, mut left_out) = (Vec::new(), Vec::new(), Vec::new());
    for quantity in INDICATORS.into_iter().filter(|each| wanted.is_empty() || wanted.contains(each)) {
        let points = points(quantity);
        let known: Vec<f64> = medians(&points).into_iter().flatten().collect();
        if !points.is_empty() && points.iter().all(|(_, value)| *value == 0.0) {
            zero.push(quantity);
        } else if known.len() == sizes.len() && varies(&known) {
            indicators.push(Varying { quantity, points, medians: known });
        } else if !points.is_empty() {
            left_out.push(quantity);
        }
    }
    // The peak is not known where it is less than carom's own; then pages that were touched tell of it.
    let peaks = medians(&points(Quantity::Used(Use::PeakMemory)));
    let faults = medians(&points(Quantity::Used(Use::MinorFaults)));
    let memory = if peaks.iter().all(Option::is_some) {
        peaks
    } else {
        faults.into_iter().map(|faults| faults.map(|faults| faults * PAGE)).collect()
    };
    let noise = noise(&times, &sizes, &time);
    let caches = runs.first().map(|(_, run)| run.machine.caches.clone()).unwrap_or_default();
    Ok(Measured {
        parameter,
        at,
        fixed,
        sizes,
        times,
        time,
        noise,
        indicators,
        zero,
        left_out,
        caches,
        memory,
    })
}

struct Chosen {
    parameter: String,
    at: f64,
    fixed: Vec<(String, f64)>,
}

/// Which parameter is the size. All others stay at the value that is asked for, or at their first.
fn choose(parameters: &[Parameter], at: &[(String, f64)]) -> Result<Chosen, PredictError> {
    if parameters.is_empty() {
        return Err(PredictError::NoParameter);
    }
    let names = || parameters.iter().map(|each| each.name.as_str()).collect::<Vec<_>>().join(", ");
    if let Some((name, _)) = at.iter().find(|(name, _)| parameters.iter().all(|each| each.name != *name)) {
        return Err(PredictError::Unknown { name: name.clone(), known: names() });
    }
    let ran = |name: &str, value: f64| {
        parameters.iter().any(|each| each.name == name && each.values.contains(&value))
    };
    let outside: Vec<_> = at.iter().filter(|(name, value)| !ran(name, *value)).cloned().collect();
    let size = match (outside.as_slice(), at) {
        // What has run may be predicted as well, to see how well that works.
        ([one], _) | ([], [one]) => one.clone(),
        _ => {
            let given: Vec<String> = at.iter().map(|(name, value)| format!("{name}={value}")).collect();
            return Err(PredictError::OneSize { given: given.join(","), outside: outside.len() });
        }
    };
    let stays = |each: &Parameter| {
        let given = at.iter().find(|(name, _)| *name == each.name).map(|(_, value)| *value);
        Some((each.name.clone(), given.or(each.values.first().copied())?))
    };
    let others = parameters.iter().filter(|each| each.name != size.0);
    let fixed = others.filter_map(stays).collect();
    Ok(Chosen { parameter: size.0, at: size.1, fixed })
}

fn median_at(points: &[(f64, f64)], x: f64) -> Option<f64> {
    let there: Vec<f64> = points.iter().filter(|(at, _)| *at == x).map(|(_, value)| *value).collect();
    median(&there)
}

/// Whether values are all above 0 and differ by more than a line without slope would.
fn varies(values: &[f64]) -> bool {
    let (least, most) = values
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(*value), high.max(*value)));
    least > 0.0 && most > least * (1.0 + COLLINEAR)
}

/// The standard deviation of runs of one size as a part of their median, from the median of deviations: a run that something held
/// up says nothing of the others (P. J. Rousseeuw and C. Croux, Journal of the American Statistical Association 88 (1993)
/// 1273-1283). The run in the middle deviates by nothing, and is left out.
fn noise(times: &[(f64, f64)], sizes: &[f64], medians: &[f64]) -> f64 {
    /// Of the median deviation of normal variables.
    const TO_STANDARD: f64 = 1.4826;
    let deviation = |(x, seconds): &(f64, f64)| {
        let median = sizes.iter().zip(medians).find(|(size, _)| *size == x).map(|(_, median)| *median)?;
        Some((seconds / median - 1.0).abs()).filter(|deviation| *deviation > 0.0)
    };
    let deviations: Vec<f64> = times.iter().filter_map(deviation).collect();
    let runs = times.len() as f64 / sizes.len() as f64;
    if runs <= 1.0 {
        return 0.0;
    }
    median(&deviations).unwrap_or_default() * TO_STANDARD * (runs / (runs - 1.0)).sqrt()
}
