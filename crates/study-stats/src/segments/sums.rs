use super::Segment;

/// Sums over the points before each one, from which the line through any range of them follows at once.
pub struct Sums {
    /// Of t, y, t², t y, y², around the middle of all.
    before: Vec<[f64; 5]>,
    t: Vec<f64>,
    middle: (f64, f64),
}

impl Sums {
    /// `t` and `y` have one length, which is not 0.
    pub fn new(t: &[f64], y: &[f64]) -> Self {
        let n = t.len() as f64;
        let middle = (t.iter().sum::<f64>() / n, y.iter().sum::<f64>() / n);
        let mut before = vec![[0.0; 5]];
        let mut sum = [0.0; 5];
        for (t, y) in t.iter().zip(y) {
            let (t, y) = (t - middle.0, y - middle.1);
            for (sum, value) in sum.iter_mut().zip([t, y, t * t, t * y, y * y]) {
                *sum += value;
            }
            before.push(sum);
        }
        Self { before, t: t.to_vec(), middle }
    }

    pub fn points(&self) -> usize {
        self.t.len()
    }

    /// Of the points from `begin` to before `end` the means of t and y, and the sums of squares and products around them.
    fn moments(&self, begin: usize, end: usize) -> ([f64; 2], [f64; 3]) {
        let n = (end - begin) as f64;
        let [low, high] = [self.before[begin], self.before[end]];
        let sum = |index: usize| high[index] - low[index];
        let (t, y) = (sum(0) / n, sum(1) / n);
        ([t, y], [sum(2) - n * t * t, sum(3) - n * t * y, sum(4) - n * y * y])
    }

    /// The squared distances of these points from their line.
    pub fn squares(&self, begin: usize, end: usize) -> f64 {
        if end <= begin + 1 {
            return 0.0;
        }
        let (_, [tt, ty, yy]) = self.moments(begin, end);
        let explained = if tt > 0.0 { ty * ty / tt } else { 0.0 };
        (yy - explained).max(0.0)
    }

    /// The line through these points, of which there is at least one.
    pub fn line(&self, begin: usize, end: usize) -> Segment {
        let ([t, y], [tt, ty, _]) = self.moments(begin, end);
        let slope = if tt > 0.0 { ty / tt } else { 0.0 };
        let first = self.middle.1 + y + slope * (self.t[begin] - self.middle.0 - t);
        let deviation = (self.squares(begin, end) / (end - begin) as f64).sqrt();
        Segment { begin, end, first, slope, deviation }
    }
}
