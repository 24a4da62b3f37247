//! Where a signal changes its slope: a line for each segment, with jumps between them.
//!
//! Segmented least squares (R. Bellman, Communications of the ACM 4 (1961) 284; two segments as in Phasenprüfer, thesis 003,
//! section 4.2.2). Long signals are divided at one in so many points first, exactly by dynamic programming, and each
//! boundary is then moved to where the squares are least: so 10^6 points take no more than the sums over them. The number of
//! segments is that with the least criterion of Schwarz (Y.-C. Yao, Statistics and Probability Letters 6 (1988) 181-189).

mod sums;

use sums::Sums;

/// A part of a signal, and the line through it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// Its first point.
    pub begin: usize,
    /// The point behind its last.
    pub end: usize,
    /// The line's value at the first point.
    pub first: f64,
    /// How fast the line rises.
    pub slope: f64,
    /// The root of the mean squared distance of its points from the line.
    pub deviation: f64,
}

/// How many segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// As many as these.
    Exactly(usize),
    /// As many as the data support, up to these.
    AtMost(usize),
}

/// Places at which long signals are divided at first.
const PLACES: usize = 500;

/// At least so many points count as independent: a curve that bends smoothly hardly crosses its line, but is no noise.
const FEW_PLACES: usize = 50;

/// Deviations below this part of the signal's range are none, in the mean: the steps in which memory is taken are no phases.
const IRRELEVANT: f64 = 0.02;

/// The segments of the signal `y` at the times `t`, which ascend. Each has at least `shortest` points, and at least two. Empty
/// without points, where lengths differ or where a number is not finite; one segment where there are too few points for more.
pub fn segments(t: &[f64], y: &[f64], shortest: usize, number: Number) -> Vec<Segment> {
    if t.is_empty() || t.len() != y.len() || t.iter().chain(y).any(|value| !value.is_finite()) {
        return Vec::new();
    }
    let sums = Sums::new(t, y);
    let shortest = shortest.max(2);
    let most = match number {
        Number::Exactly(most) | Number::AtMost(most) => most.clamp(1, (t.len() / shortest).max(1)),
    };
    let divided = Divided::new(&sums, most, shortest);
    let refined = |count: usize| {
        let mut ends = divided.ends(count);
        refine(&sums, &mut ends, shortest, divided.step);
        ends
    };
    let ends = match number {
        Number::Exactly(_) => refined(most),
        Number::AtMost(_) => supported(&sums, t, y, (1..=most).map(refined).collect()),
    };
    parts(&ends).map(|(begin, end)| sums.line(begin, end)).collect()
}

fn range(y: &[f64]) -> f64 {
    let (low, high) =
        y.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), y| (low.min(*y), high.max(*y)));
    high - low
}

/// The best divisions into 1, 2, … segments at a part of all places.
struct Divided {
    /// Points between two places.
    step: usize,
    /// Where a segment may end: ascending, the last is the number of points.
    places: Vec<usize>,
    /// `from[k][p]`: of the best k + 1 segments up to place p, where the last begins: 0 is the beginning, q + 1 is place q.
    from: Vec<Vec<usize>>,
}

impl Divided {
    fn new(sums: &Sums, most: usize, shortest: usize) -> Self {
        let n = sums.points();
        let step = n.div_ceil(PLACES);
        let mut places: Vec<usize> = (1..).map(|index| index * step).take_while(|place| *place < n).collect();
        places.push(n);
        let one: Vec<f64> = places
            .iter()
            .map(|&end| if end >= shortest.min(n) { sums.squares(0, end) } else { f64::INFINITY })
            .collect();
        // The least squares of k segments up to each place.
        let (mut least, mut from) = (one, vec![vec![0; places.len()]]);
        for _ in 1..most {
            let best = |last: usize| {
                let end = places[last];
                let before = least.iter().zip(&places).enumerate().take(last);
                let fits = before.filter(|(_, (_, place))| end - **place >= shortest);
                let squares =
                    fits.map(|(index, (least, place))| (least + sums.squares(*place, end), index + 1));
                squares.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((f64::INFINITY, 0))
            };
            let (row, origin): (Vec<f64>, Vec<usize>) = (0..places.len()).map(best).unzip();
            least = row;
            from.push(origin);
        }
        Self { step, places, from }
    }

    /// Where `count` segments end.
    fn ends(&self, count: usize) -> Vec<usize> {
        let mut ends = Vec::new();
        let mut place = self.places.len() - 1;
        for k in (0..count).rev() {
            ends.push(self.places[place]);
            let from = self.from[k][place];
            if from == 0 {
                break;
            }
            place = from - 1;
        }
        ends.reverse();
        ends
    }
}

/// The division with the least criterion. `divisions` begins with one segment and ends with the most.
fn supported(sums: &Sums, t: &[f64], y: &[f64], divisions: Vec<Vec<usize>>) -> Vec<usize> {
    let n = sums.points() as f64;
    let finest = divisions.last().map_or(0, |ends| crossings(sums, t, y, ends));
    // Neighbouring points are alike. Independent ones cross their line every other time or less often; no more are taken to be
    // independent than there are places.
    let independent = (2.0 * finest as f64).clamp(FEW_PLACES as f64, PLACES as f64).min(n);
    let floor = n * (IRRELEVANT * range(y)).powi(2);
    let criterion = |ends: &Vec<usize>| {
        let squares: f64 = parts(ends).map(|(begin, end)| sums.squares(begin, end)).sum();
        // A slope, a height and a boundary each.
        let parameters = 3.0 * ends.len() as f64;
        independent * (squares.max(floor).max(f64::MIN_POSITIVE) / n).ln() + parameters * independent.ln()
    };
    divisions.into_iter().min_by(|a, b| criterion(a).total_cmp(&criterion(b))).unwrap_or_default()
}

/// Begins and ends of the segments that end there.
fn parts(ends: &[usize]) -> impl Iterator<Item = (usize, usize)> {
    [0].into_iter().chain(ends.iter().copied()).zip(ends.iter().copied())
}

/// How often the signal crosses the lines of a division, by more than half its usual distance from them. Memory that is taken and
/// given back in turns crosses them twice each turn, however often it is read.
fn crossings(sums: &Sums, t: &[f64], y: &[f64], ends: &[usize]) -> usize {
    let squares: f64 = parts(ends).map(|(begin, end)| sums.squares(begin, end)).sum();
    let clear = (squares / sums.points() as f64).sqrt() / 2.0;
    let of = |(begin, end): (usize, usize)| {
        let line = sums.line(begin, end);
        let away = (begin..end).map(|at| y[at] - line.first - line.slope * (t[at] - t[begin]));
        let sides: Vec<bool> = away.filter(|away| away.abs() > clear).map(|away| away > 0.0).collect();
        sides.windows(2).filter(|pair| pair[0] != pair[1]).count()
    };
    parts(ends).map(of).sum()
}

/// Moves each boundary to where the squares of the two segments beside it are least, as far as the places beside it.
fn refine(sums: &Sums, ends: &mut [usize], shortest: usize, step: usize) {
    /// A boundary that moved may move its neighbours.
    const ROUNDS: usize = 3;
    for _ in 0..ROUNDS {
        for index in 0..ends.len().saturating_sub(1) {
            let begin = if index == 0 { 0 } else { ends[index - 1] };
            let (here, end) = (ends[index], ends[index + 1]);
            // Two segments are divided exactly: their boundary is looked for everywhere.
            let reach = if ends.len() == 2 { sums.points() } else { step };
            let low = (begin + shortest).max(here.saturating_sub(reach));
            let high = end.saturating_sub(shortest).min(here + reach);
            let squares = |at: usize| sums.squares(begin, at) + sums.squares(at, end);
            let best = (low..=high).min_by(|a, b| squares(*a).total_cmp(&squares(*b)));
            ends[index] = best.unwrap_or(here);
        }
    }
}

#[cfg(test)]
mod tests;
