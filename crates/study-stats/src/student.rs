use std::f64::consts::{FRAC_2_PI, PI};

use crate::wilson::Z_95;

/// The 97.5% point of Student's t, by the expansion of Abramowitz and Stegun 26.7.5 around the normal; within
/// 0.005 from 3 degrees of freedom on, and from the closed forms below that.
pub fn student_975(degrees: f64) -> f64 {
    if degrees < 1.5 {
        return 12.706_204_736;
    }
    if degrees < 2.5 {
        return 4.302_652_730;
    }
    let z = Z_95;
    let (z2, v) = (z * z, degrees);
    let g1 = z * (z2 + 1.0) / 4.0;
    let g2 = z * ((5.0 * z2 + 16.0) * z2 + 3.0) / 96.0;
    let g3 = z * (((3.0 * z2 + 19.0) * z2 + 17.0) * z2 - 15.0) / 384.0;
    let g4 = z * ((((79.0 * z2 + 776.0) * z2 + 1482.0) * z2 - 1920.0) * z2 - 945.0) / 92160.0;
    z + g1 / v + g2 / v.powi(2) + g3 / v.powi(3) + g4 / v.powi(4)
}

/// The probability that Student's t is at least as far from 0 as `t`, by the finite series of Abramowitz and Stegun 26.7.3
/// and 26.7.4. 1 without degrees of freedom, and for NaN.
pub fn student_two_sided(t: f64, degrees: u32) -> f64 {
    if degrees == 0 || t.is_nan() {
        return 1.0;
    }
    let angle = (t.abs() / f64::from(degrees).sqrt()).atan();
    let (sine, cosine) = angle.sin_cos();
    let odd = degrees % 2 == 1;
    // Each term is the one before it times cos² and a ratio of neighbouring whole numbers.
    let (mut sum, mut term) = (0.0, if odd { cosine } else { 1.0 });
    let mut power = if odd { 1 } else { 0 };
    while power + 2 <= degrees {
        sum += term;
        power += 2;
        term *= cosine * cosine * f64::from(power - 1) / f64::from(power);
    }
    let inside = if odd { FRAC_2_PI * (angle + sine * sum) } else { sine * sum };
    (1.0 - inside).clamp(0.0, 1.0)
}

/// The probability that a standard normal variable is at least as far from 0 as `z`, by the approximation of Abramowitz and
/// Stegun 26.2.17, whose error is below 1.5e-7. 1 for NaN.
pub fn normal_two_sided(z: f64) -> f64 {
    const P: f64 = 0.231_641_9;
    const B: [f64; 5] = [0.319_381_530, -0.356_563_782, 1.781_477_937, -1.821_255_978, 1.330_274_429];
    if z.is_nan() {
        return 1.0;
    }
    let z = z.abs();
    let t = 1.0 / (1.0 + P * z);
    let polynomial = t * B.iter().rev().fold(0.0, |sum, b| sum * t + b);
    let density = (-z * z / 2.0).exp() / (2.0 * PI).sqrt();
    (2.0 * density * polynomial).clamp(0.0, 1.0)
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
            assert!((ours - t).abs() < 0.005, "{degrees}: {ours}");
        }
    }

    #[test]
    fn tails_match_the_tables() {
        // The same table at 0.95, 0.99 and 0.999.
        for (degrees, t, p) in [
            (1, 12.706, 0.05),
            (1, 63.657, 0.01),
            (2, 4.303, 0.05),
            (3, 5.841, 0.01),
            (4, 2.776, 0.05),
            (5, 6.869, 0.001),
            (8, 3.355, 0.01),
            (30, 2.042, 0.05),
        ] {
            let ours = student_two_sided(-t, degrees);
            assert!((ours - p).abs() < 1e-3 * p, "{degrees}, {t}: {ours}");
        }
        for (z, p) in [(0.0, 1.0), (1.959_964, 0.05), (2.575_829, 0.01), (3.290_527, 0.001)] {
            assert!((normal_two_sided(z) - p).abs() < 2e-7, "{z}");
        }
        assert_eq!((student_two_sided(0.0, 7), student_two_sided(f64::INFINITY, 3)), (1.0, 0.0));
        assert_eq!((student_two_sided(9.0, 0), normal_two_sided(f64::NAN)), (1.0, 1.0));
    }

    #[test]
    fn many_degrees_are_normal() {
        let (student, normal) = (student_two_sided(2.0, 4_000), normal_two_sided(2.0));
        assert!((student - normal).abs() < 1e-4, "{student} {normal}");
    }
}
