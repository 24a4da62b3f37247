//! Which few quantities explain a cost, and what one of each costs.

use crate::solve::{dot, least_squares};

/// A cost as a sum of quantities, each by what one of it costs, and of a part that is always there.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    /// The quantities that are used, by their places in the input, with what one of each costs. All costs are above 0.
    pub rates: Vec<(usize, f64)>,
    /// What is always there; 0 where nothing is.
    pub constant: f64,
    /// The mean square of ln(measured / predicted), where each observation is predicted from those before it alone and has the
    /// weight of its cost.
    pub error: f64,
}

/// Quantities in the sum at most: more would explain chance.
const MOST: usize = 3;

/// Observations that are not predicted, because too few stand before them.
const FIRST: usize = 3;

/// Below this mean square, that is deviations of a thousandth, there is nothing left to explain.
const EXPLAINED: f64 = 1e-6;

/// A quantity must make the mean square smaller by this part, or else one before it is used, or none.
const WORTH: f64 = 0.4;

/// Explains `cost` by `quantities`, of which earlier ones are preferred. Observations stand in the order in which they are to be
/// predicted, such as ascending sizes.
///
/// Costs per unit are not negative, and the squares of deviations are the least, each divided by its cost: what a run is held up by
/// adds up while it lasts, so its variance grows with it; and what is far below the size that is asked for may fit into a cache
/// that this does not (C. L. Lawson and R. J. Hanson, "Solving Least Squares
/// Problems", 1974, chapter 23; with so few columns all supports are tried). A quantity is added where it predicts later
/// observations from earlier ones better (L. J. Tashman, "Out-of-sample tests of forecasting accuracy", International Journal of
/// Forecasting 16 (2000) 437-450). `None` with fewer than four observations, without quantities, or where a cost is not above 0.
pub fn explain(quantities: &[Vec<f64>], cost: &[f64]) -> Option<Explained> {
    let sound = |values: &[f64]| values.len() == cost.len() && values.iter().all(|value| value.is_finite());
    let positive = cost.iter().all(|value| *value > 0.0);
    if cost.len() <= FIRST || !positive || !sound(cost) || !quantities.iter().all(|values| sound(values)) {
        return None;
    }
    let mut chosen: Vec<usize> = Vec::new();
    let mut error = f64::INFINITY;
    while chosen.len() < MOST && error > EXPLAINED {
        let mut best = None;
        for index in (0..quantities.len()).filter(|index| !chosen.contains(index)) {
            let set: Vec<usize> = chosen.iter().copied().chain([index]).collect();
            if let Some(less) =
                chained_error(&set, quantities, cost).filter(|less| *less < error * (1.0 - WORTH))
            {
                (error, best) = (less, Some(set));
            }
        }
        let Some(set) = best else { break };
        chosen = set;
    }
    let Solved { rates, constant } = solve(&chosen, quantities, cost, cost.len())?;
    (!rates.is_empty()).then_some(Explained { rates, constant, error })
}

impl Explained {
    /// The cost of these quantities, in the order of the input.
    pub fn of(&self, quantities: &[f64]) -> f64 {
        let of = |(index, rate): &(usize, f64)| quantities.get(*index).map_or(f64::NAN, |value| rate * value);
        self.constant + self.rates.iter().map(of).sum::<f64>()
    }
}

struct Solved {
    rates: Vec<(usize, f64)>,
    constant: f64,
}

/// The costs per unit of these quantities by the first observations alone.
fn solve(chosen: &[usize], quantities: &[Vec<f64>], cost: &[f64], first: usize) -> Option<Solved> {
    let columns: Vec<Option<usize>> = chosen.iter().copied().map(Some).chain([None]).collect();
    let column = |which: Option<usize>| -> Vec<f64> {
        let value = |row: usize| which.map_or(1.0, |index| quantities[index][row]);
        (0..first).map(value).collect()
    };
    let best = (1_u32..1 << columns.len()).filter_map(|support| {
        let used: Vec<Option<usize>> =
            (0..columns.len()).filter(|bit| support >> bit & 1 == 1).map(|bit| columns[bit]).collect();
        let values: Vec<Vec<f64>> = used.iter().map(|which| column(*which)).collect();
        let scales: Vec<f64> = values.iter().map(|each| each.iter().copied().fold(0.0, f64::max)).collect();
        // Divided by the root of the cost, deviations have the same variance.
        let roots: Vec<f64> = cost[..first].iter().map(|cost| cost.sqrt()).collect();
        let row = |at: usize| {
            values.iter().zip(&scales).map(|(each, scale)| each[at] / scale / roots[at]).collect()
        };
        let rows: Vec<Vec<f64>> = (0..first).map(row).collect();
        let (solved, _) = least_squares(&rows, &roots)?;
        let feasible = solved.iter().all(|value| value.is_finite() && *value > 0.0);
        let residues: f64 =
            rows.iter().zip(&roots).map(|(row, root)| (root - dot(row, &solved)).powi(2)).sum();
        let rates = used.into_iter().zip(solved.iter().zip(&scales).map(|(value, scale)| value / scale));
        feasible.then(|| (residues, rates.collect::<Vec<_>>()))
    });
    let (_, rates) = best.min_by(|a, b| a.0.total_cmp(&b.0))?;
    let constant = rates.iter().find(|(which, _)| which.is_none()).map_or(0.0, |(_, rate)| *rate);
    let rates = rates.into_iter().filter_map(|(which, rate)| Some((which?, rate))).collect();
    Some(Solved { rates, constant })
}

/// The mean square of ln(measured / predicted) of every observation by all numbers of observations before it, weighted by its cost.
fn chained_error(chosen: &[usize], quantities: &[Vec<f64>], cost: &[f64]) -> Option<f64> {
    let (mut squares, mut weights) = (0.0, 0.0);
    for first in FIRST..cost.len() {
        let Solved { rates, constant } = solve(chosen, quantities, cost, first)?;
        for at in first..cost.len() {
            let predicted =
                constant + rates.iter().map(|(index, rate)| rate * quantities[*index][at]).sum::<f64>();
            squares += cost[at] * (cost[at] / predicted).ln().powi(2);
            weights += cost[at];
        }
    }
    let mean = squares / weights;
    mean.is_finite().then_some(mean)
}

/// Whether `a` is `b` by a factor and a constant, up to deviations of this part of it: then it tells nothing that `b` does not.
pub fn collinear(a: &[f64], b: &[f64], within: f64) -> bool {
    let rows: Vec<Vec<f64>> = a.iter().zip(b).map(|(a, b)| vec![1.0 / a, b / a]).collect();
    let line = least_squares(&rows, &vec![1.0; a.len()]);
    line.is_some_and(|(solved, _)| rows.iter().all(|row| (1.0 - dot(row, &solved)).abs() <= within))
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: [f64; 7] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];

    /// From 16 on data lies outside of a cache, and an instruction takes 2 ns instead of 1: the largest sizes say what it will take.
    #[test]
    fn the_largest_tell_most() {
        let instructions = N.map(|n| 1e6 * n).to_vec();
        let cost: Vec<f64> =
            instructions.iter().map(|i| if *i >= 16e6 { 2e-9 * i } else { 1e-9 * i }).collect();
        let found = explain(&[instructions], &cost).unwrap();
        assert!(found.of(&[512e6]) > 0.85 * 2e-9 * 512e6, "{found:?}");
    }

    #[test]
    fn costs_per_unit_come_back() {
        // 2 ns an instruction, 500 ns a fault, 1 ms to start; a third quantity is noise.
        let instructions = N.map(|n| 1e6 * n * n).to_vec();
        let faults = N.map(|n| 100.0 + 70.0 * n).to_vec();
        let noise = vec![3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0];
        let cost: Vec<f64> =
            instructions.iter().zip(&faults).map(|(i, f)| 1e-3 + 2e-9 * i + 5e-7 * f).collect();
        let found = explain(&[noise, instructions, faults], &cost).unwrap();
        assert_eq!(found.rates.iter().map(|(index, _)| *index).collect::<Vec<_>>(), [1, 2]);
        assert!(
            (found.rates[0].1 - 2e-9).abs() < 1e-13 && (found.rates[1].1 - 5e-7).abs() < 1e-10,
            "{found:?}"
        );
        assert!((found.constant - 1e-3).abs() < 1e-7 && found.error < 1e-6, "{found:?}");
        assert!((found.of(&[0.0, 1e9, 1e4]) - 2.006).abs() < 1e-6);
    }

    #[test]
    fn nothing_costs_less_than_nothing() {
        // What falls with the cost is not subtracted from it.
        let falling = N.map(|n| 100.0 - n).to_vec();
        let cost = N.map(|n| 5.0 + n);
        let found = explain(&[falling.clone(), N.to_vec()], &cost).unwrap();
        assert_eq!(found.rates.len(), 1);
        assert!(found.rates[0].0 == 1 && (found.constant - 5.0).abs() < 1e-9, "{found:?}");
        assert!(explain(&[falling], &cost).is_none_or(|found| found.constant >= 0.0));
    }

    #[test]
    fn too_little_explains_nothing() {
        assert_eq!(explain(&[], &N), None);
        assert_eq!(explain(&[vec![1.0, 2.0, 3.0]], &[1.0, 2.0, 3.0]), None);
        assert_eq!(explain(&[N.to_vec()], &[0.0; 7]), None);
        assert_eq!(explain(&[vec![f64::NAN; 7]], &N), None);
    }

    #[test]
    fn collinear_is_up_to_a_line() {
        let line = N.map(|n| 3.0 + 2.0 * n);
        assert!(collinear(&line, &N, 0.01) && collinear(&N, &line, 0.01));
        assert!(!collinear(&N.map(|n| n * n), &N, 0.01));
        assert!(!collinear(&N, &[1.0; 7], 0.01));
    }
}
