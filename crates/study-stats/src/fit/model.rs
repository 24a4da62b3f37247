use crate::solve::{against, invert, least_squares, products, times};

/// How a quantity may follow a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// y = a
    Constant,
    /// y = a + b x
    Linear,
    /// y = a + b ln x
    Logarithmic,
    /// y = a xᵇ
    Power,
    /// y = a exp(b x)
    Exponential,
    /// y = a + b x + c x²
    Quadratic,
}

impl Model {
    /// All, by the number of their coefficients.
    pub const ALL: [Self; 6] =
        [Self::Constant, Self::Linear, Self::Logarithmic, Self::Power, Self::Exponential, Self::Quadratic];

    /// How many coefficients it has.
    pub const fn coefficients(self) -> usize {
        match self {
            Self::Constant => 1,
            Self::Quadratic => 3,
            _ => 2,
        }
    }

    /// Its value; NaN where it has none.
    pub fn value(self, c: &[f64], x: f64) -> f64 {
        match (self, c) {
            (Self::Constant, [a, ..]) => *a,
            (Self::Linear, [a, b, ..]) => a + b * x,
            (Self::Logarithmic, [a, b, ..]) => a + b * x.ln(),
            (Self::Power, [a, b, ..]) => a * x.powf(*b),
            (Self::Exponential, [a, b, ..]) => a * (b * x).exp(),
            (Self::Quadratic, [a, b, c, ..]) => a + b * x + c * x * x,
            _ => f64::NAN,
        }
    }

    /// Its derivatives by the coefficients.
    pub(super) fn gradient(self, c: &[f64], x: f64) -> Vec<f64> {
        match (self, c) {
            (Self::Linear, _) => vec![1.0, x],
            (Self::Logarithmic, _) => vec![1.0, x.ln()],
            (Self::Power, [a, b, ..]) => vec![x.powf(*b), a * x.powf(*b) * x.ln()],
            (Self::Exponential, [a, b, ..]) => vec![(b * x).exp(), a * x * (b * x).exp()],
            (Self::Quadratic, _) => vec![1.0, x, x * x],
            _ => vec![1.0],
        }
    }

    /// The same for `x` by `scale`, and for `b` in units of `a` where it multiplies: leverages do not depend on the units of
    /// coefficients, and the numbers are of one order.
    pub(super) fn gradient_scaled(self, c: &[f64], x: f64, scale: f64) -> Vec<f64> {
        let u = x / scale;
        match (self, c) {
            (Self::Power, [_, b, ..]) => vec![u.powf(*b), u.powf(*b) * u.ln()],
            (Self::Exponential, [_, b, ..]) => {
                let b = b * scale;
                vec![(b * u).exp(), u * (b * u).exp()]
            }
            _ => self.gradient(c, u),
        }
    }

    /// The coefficients for `x` and `y` from those for x / scale and y / height.
    pub(super) fn unscaled(self, c: &[f64], scale: f64, height: f64) -> Vec<f64> {
        match (self, c) {
            (Self::Linear, [a, b, ..]) => vec![a * height, b * height / scale],
            (Self::Logarithmic, [a, b, ..]) => vec![(a - b * scale.ln()) * height, b * height],
            (Self::Power, [a, b, ..]) => vec![a * height * scale.powf(-b), *b],
            (Self::Exponential, [a, b, ..]) => vec![a * height, b / scale],
            (Self::Quadratic, [a, b, c, ..]) => {
                vec![a * height, b * height / scale, c * height / (scale * scale)]
            }
            (_, c) => c.iter().map(|a| a * height).collect(),
        }
    }

    /// The coefficients of least squares.
    pub(super) fn solve(self, x: &[f64], y: &[f64]) -> Option<Vec<f64>> {
        let of_logarithm = matches!(self, Self::Logarithmic | Self::Power);
        if of_logarithm && x.iter().any(|x| *x <= 0.0) {
            return None;
        }
        let solved = match self {
            Self::Power | Self::Exponential => self.curved(x, y)?,
            _ => self.straight(x, y)?,
        };
        solved.iter().all(|value| value.is_finite()).then_some(solved)
    }

    /// Of a model that is linear in its coefficients.
    fn straight(self, x: &[f64], y: &[f64]) -> Option<Vec<f64>> {
        let rows: Vec<Vec<f64>> = x.iter().map(|x| self.gradient(&[], *x)).collect();
        least_squares(&rows, y).map(|(solved, _)| solved)
    }

    /// By Gauss and Newton's steps from the line through the logarithms, each halved until it helps. Where the sum of squares is least
    /// it is flat, so that it tells half of the digits only: the last steps go on while they get shorter.
    fn curved(self, x: &[f64], y: &[f64]) -> Option<Vec<f64>> {
        const STEPS: u32 = 200;
        const HALVINGS: u32 = 40;
        const LAST_STEPS: u32 = 20;
        const ROUNDING: f64 = 1e-12;
        // Values of one sign have logarithms.
        let sign = y.iter().sum::<f64>().signum();
        let logarithms: Option<Vec<(f64, f64)>> = x
            .iter()
            .zip(y)
            .map(|(x, y)| {
                let x = if self == Self::Power { x.ln() } else { *x };
                (y * sign > 0.0).then(|| (x, (y * sign).ln()))
            })
            .collect();
        let (u, v): (Vec<f64>, Vec<f64>) = logarithms?.into_iter().unzip();
        let line = Self::Linear.straight(&u, &v)?;
        let (first, exponent) = (line.first()?, line.get(1)?);
        let mut solved = vec![sign * first.exp(), *exponent];
        let squares =
            |c: &[f64]| -> f64 { x.iter().zip(y).map(|(x, y)| (y - self.value(c, *x)).powi(2)).sum() };
        let mut least = squares(&solved);
        let step_from = |c: &[f64]| {
            let rows: Vec<Vec<f64>> = x.iter().map(|x| self.gradient(c, *x)).collect();
            let residue: Vec<f64> = x.iter().zip(y).map(|(x, y)| y - self.value(c, *x)).collect();
            Some(times(&invert(&products(&rows))?, &against(&rows, &residue)))
        };
        for _ in 0..STEPS {
            let step = step_from(&solved)?;
            let tried = (0..HALVINGS).map(|halvings| {
                let part = 0.5_f64.powi(halvings as i32);
                solved.iter().zip(&step).map(|(value, step)| value + part * step).collect::<Vec<f64>>()
            });
            let better = tried.map(|c| (squares(&c), c)).find(|(found, _)| *found < least);
            let Some((found, c)) = better else { break };
            (least, solved) = (found, c);
        }
        let mut longest = f64::INFINITY;
        for _ in 0..LAST_STEPS {
            let step = step_from(&solved)?;
            let relative = solved.iter().zip(&step).map(|(value, step)| (step / value).abs());
            let length = relative.fold(0.0, f64::max);
            let next: Vec<f64> = solved.iter().zip(&step).map(|(value, step)| value + step).collect();
            // No more than errors of rounding make it worse.
            if length.is_nan() || length >= longest || squares(&next) > least * (1.0 + ROUNDING) {
                break;
            }
            (longest, solved) = (length, next);
        }
        Some(solved)
    }
}
