/// One term of a law: xⁱ log₂ʲ x.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GrowthTerm {
    /// The exponent i.
    pub power: f64,
    /// The exponent j.
    pub logarithms: i32,
}

impl GrowthTerm {
    /// What a law always may have: c₀.
    pub const CONSTANT: Self = Self { power: 0.0, logarithms: 0 };

    /// The terms besides the constant: what algorithms cost, and what is shared out among x.
    fn all() -> impl Iterator<Item = Self> {
        let term = |power, logarithms| Self { power, logarithms };
        let powers = [0.5, 1.0, 1.5, 2.0, 2.5, 3.0];
        [term(0.0, 1), term(0.0, 2), term(-1.0, 0)]
            .into_iter()
            .chain(powers.into_iter().flat_map(move |power| [term(power, 0), term(power, 1)]))
    }

    /// Its value. `x` is above 0.
    pub fn value(self, x: f64) -> f64 {
        x.powf(self.power) * x.log2().powi(self.logarithms)
    }

    /// The sets of terms that a law of these `x` may have, the small ones first: one or two, each with and without a constant.
    /// Logarithms need `x` of at least 1, or they would be negative.
    pub(super) fn sets(x: &[f64]) -> Vec<Vec<Self>> {
        let logarithms = x.iter().all(|x| *x >= 1.0);
        let terms: Vec<Self> = Self::all().filter(|term| logarithms || term.logarithms == 0).collect();
        let mut sets = vec![vec![Self::CONSTANT]];
        sets.extend(terms.iter().map(|term| vec![*term]));
        for (at, one) in terms.iter().enumerate() {
            sets.push(vec![Self::CONSTANT, *one]);
            sets.extend(terms[at + 1..].iter().map(|other| vec![*one, *other]));
        }
        for (at, one) in terms.iter().enumerate() {
            sets.extend(terms[at + 1..].iter().map(|other| vec![Self::CONSTANT, *one, *other]));
        }
        sets
    }
}
