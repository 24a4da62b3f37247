use statrs::function::{beta::beta_reg, gamma::ln_gamma};

/// From so many events on, counting them one by one adds nothing to the distribution of the rates.
const MANY: f64 = 1e5;

/// Events of some runs of a program, whose rate differs from run to run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dispersed {
    /// Events of all runs.
    pub events: f64,
    /// What they were seen in: time, or samples. Above 0.
    pub exposure: f64,
    /// How many runs.
    pub runs: usize,
}

/// How likely chance makes the rates of `a` and `b` differ as much, in either direction, where the rates of runs of one
/// program follow a gamma distribution with the coefficient of variation `variation` (above 0).
///
/// The exact test of negative binomial counts given their sum (M. D. Robinson and G. K. Smyth, Biostatistics 9 (2008)
/// 321-332), which is a Pólya distribution: twice the smaller tail. The events of the side that was looked at longer are
/// first scaled to the other's exposure. Events may have a fraction. 1 where there are none, and for NaN.
pub fn dispersed_two_sided(a: Dispersed, b: Dispersed, variation: f64) -> f64 {
    let exposure = a.exposure.min(b.exposure);
    let scaled = |side: Dispersed| side.events.max(0.0) * exposure / side.exposure;
    let shape = |side: Dispersed| side.runs.max(1) as f64 / (variation * variation);
    let (events_a, events_b) = (scaled(a), scaled(b));
    let sum = events_a + events_b;
    if !(sum > 0.0 && sum.is_finite() && variation > 0.0 && variation.is_finite()) {
        return 1.0;
    }
    let tail = |few: f64, of_few: f64, of_others: f64| {
        if sum > MANY { beta_reg(of_few, of_others, few / sum) } else { polya(few, sum, of_few, of_others) }
    };
    let (shape_a, shape_b) = (shape(a), shape(b));
    (2.0 * tail(events_a, shape_a, shape_b).min(tail(events_b, shape_b, shape_a))).min(1.0)
}

/// That at most `few` of `sum` events fall to the side with the shape `a`, in the Pólya (beta-binomial) distribution.
fn polya(few: f64, sum: f64, a: f64, b: f64) -> f64 {
    let (few, sum) = (few.round(), sum.round());
    let beta = |x: f64, y: f64| ln_gamma(x) + ln_gamma(y) - ln_gamma(x + y);
    // Of no event, then of one more each time.
    let mut one = (beta(a, sum + b) - beta(a, b)).exp();
    let mut below = one;
    let mut events = 0.0;
    while events < few.min(sum) {
        one *= (sum - events) / (events + 1.0) * (events + a) / (sum - events - 1.0 + b);
        below += one;
        events += 1.0;
    }
    below.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(events: [f64; 2], exposures: [f64; 2], runs: usize) -> f64 {
        let side = |k: usize| Dispersed { events: events[k], exposure: exposures[k], runs };
        dispersed_two_sided(side(0), side(1), 0.5)
    }

    fn same(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-9, "{value} is not {expected}");
    }

    #[test]
    fn none_of_four_may_be_chance() {
        // Γ(8)² / (Γ(12) Γ(4)), twice.
        let part = 5_040.0 * 5_040.0 / (39_916_800.0 * 6.0);
        same(of([4.0, 0.0], [1.0, 1.0], 1), 2.0 * part);
        same(of([0.0, 4.0], [1.0, 1.0], 1), 2.0 * part);
    }

    #[test]
    fn all_ways_together_are_certain() {
        same(polya(9.0, 9.0, 4.0, 8.0), 1.0);
        same(polya(3.0, 9.0, 4.0, 8.0) + polya(5.0, 9.0, 8.0, 4.0), 1.0);
        // With two shapes of 1, each number is as likely.
        same(polya(2.0, 9.0, 1.0, 1.0), 0.3);
    }

    #[test]
    fn more_runs_tell_more() {
        assert!(of([10.0, 1.0], [1.0, 1.0], 3) < of([10.0, 1.0], [1.0, 1.0], 1));
    }

    #[test]
    fn twice_the_time_has_twice_the_events() {
        same(of([20.0, 10.0], [2.0, 1.0], 2), of([10.0, 10.0], [1.0, 1.0], 2));
        same(of([5.0, 5.0], [1.0, 1.0], 2), 1.0);
    }

    #[test]
    fn many_are_as_few_by_proportion() {
        // The variation between runs decides alone: about as likely as among 90,000.
        let (below, above) = (of([30_000.0, 60_000.0], [1.0, 1.0], 2), of([3e6, 6e6], [1.0, 1.0], 2));
        assert!((below - above).abs() < 1e-4, "{below} {above}");
    }

    #[test]
    fn nothing_is_certain_of_nothing() {
        same(of([0.0, 0.0], [1.0, 1.0], 1), 1.0);
        same(of([f64::NAN, 1.0], [1.0, 1.0], 1), of([0.0, 1.0], [1.0, 1.0], 1));
        same(of([1.0, 1.0], [0.0, 1.0], 1), 1.0);
    }
}
