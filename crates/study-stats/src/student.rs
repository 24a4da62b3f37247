use std::f64::consts::SQRT_2;

use statrs::function::{beta::beta_reg, erf::erfc};

use crate::wilson::Z_95;

/// From so many degrees of freedom on, the incomplete beta function loses digits, and the normal distribution is as good.
const MANY: f64 = 1e6;

/// The 97.5% point of Student's t. The normal distribution's for infinite degrees of freedom and for NaN; for fewer than one
/// that of one.
pub fn student_975(degrees: f64) -> f64 {
    if degrees.is_nan() || degrees > MANY {
        // Abramowitz and Stegun 26.7.5, of which the second term is the last that matters.
        return Z_95 + if degrees > MANY { (Z_95.powi(3) + Z_95) / (4.0 * degrees) } else { 0.0 };
    }
    // Between the values of infinite degrees of freedom and of one.
    let (mut low, mut high) = (Z_95, 12.8);
    let degrees = degrees.max(1.0);
    loop {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            return middle;
        }
        *(if student_two_sided(middle, degrees) > 0.05 { &mut low } else { &mut high }) = middle;
    }
}

/// The probability that Student's t is at least as far from 0 as `t`. 1 without degrees of freedom, and for NaN.
///
/// M. Abramowitz and I. A. Stegun, "Handbook of Mathematical Functions", 1964, 26.7.1.
pub fn student_two_sided(t: f64, degrees: f64) -> f64 {
    if t.is_nan() || degrees.is_nan() || degrees <= 0.0 || t == 0.0 {
        return 1.0;
    }
    if t.is_infinite() {
        return 0.0;
    }
    if degrees > MANY {
        // Abramowitz and Stegun 26.7.8.
        return normal_two_sided(t * (1.0 - 0.25 / degrees) / (1.0 + t * t / (2.0 * degrees)).sqrt());
    }
    beta_reg(degrees / 2.0, 0.5, degrees / (degrees + t * t)).clamp(0.0, 1.0)
}

/// The probability that a standard normal variable is at least as far from 0 as `z`. 1 for NaN.
pub fn normal_two_sided(z: f64) -> f64 {
    if z.is_nan() { 1.0 } else { erfc(z.abs() / SQRT_2).clamp(0.0, 1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_match_the_tables() {
        // Abramowitz and Stegun, table 26.10.
        for (degrees, t) in
            [(1.0, 12.706), (2.0, 4.303), (3.0, 3.182), (5.0, 2.571), (10.0, 2.228), (30.0, 2.042)]
        {
            let ours = student_975(degrees);
            assert!((ours - t).abs() < 0.000_6, "{degrees}: {ours}");
            assert!((student_two_sided(ours, degrees) - 0.05).abs() < 1e-10);
        }
        assert_eq!((student_975(0.3), student_975(f64::NAN)), (student_975(1.0), Z_95));
    }

    #[test]
    fn tails_match_the_tables() {
        // The same table at 0.95, 0.99 and 0.999.
        for (degrees, t, p) in [
            (1.0, 12.706, 0.05),
            (1.0, 63.657, 0.01),
            (2.0, 4.303, 0.05),
            (3.0, 5.841, 0.01),
            (4.0, 2.776, 0.05),
            (5.0, 6.869, 0.001),
            (8.0, 3.355, 0.01),
            (30.0, 2.042, 0.05),
        ] {
            let ours = student_two_sided(-t, degrees);
            assert!((ours - p).abs() < 1e-3 * p, "{degrees}, {t}: {ours}");
        }
        for (z, p) in [(0.0, 1.0), (1.959_964, 0.05), (2.575_829, 0.01), (3.290_527, 0.001)] {
            assert!((normal_two_sided(z) - p).abs() < 2e-7, "{z}");
        }
        assert_eq!((student_two_sided(0.0, 7.0), student_two_sided(f64::INFINITY, 3.0)), (1.0, 0.0));
        assert_eq!((student_two_sided(9.0, 0.0), normal_two_sided(f64::NAN)), (1.0, 1.0));
    }

    #[test]
    fn many_degrees_are_normal() {
        let (student, normal) = (student_two_sided(2.0, 1e9), normal_two_sided(2.0));
        assert!((student - normal).abs() < 1e-9, "{student} {normal}");
        // On both sides of where the formula changes.
        let (below, above) = (student_two_sided(2.0, MANY), student_two_sided(2.0, MANY + 1.0));
        assert!((below - above).abs() < 1e-10, "{below} {above}");
        assert!((student_975(MANY) - student_975(MANY + 1.0)).abs() < 1e-9);
        assert_eq!(student_two_sided(2.0, f64::INFINITY), normal);
    }
}
