/// The `q` quantile, 0 to 1, with linear interpolation between the two nearest values.
///
/// Definition 7 of R. J. Hyndman and Y. Fan, "Sample quantiles in statistical packages", The American
/// Statistician 50 (1996) 361-365: position (n - 1) q from the smallest. `None` without values, with a NaN
/// among them, or for `q` outside 0..=1.
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    if values.iter().any(|v| v.is_nan()) || !(0.0..=1.0).contains(&q) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let position = sorted.len().checked_sub(1)? as f64 * q;
    let below = *sorted.get(position.floor() as usize)?;
    let above = *sorted.get(position.ceil() as usize)?;
    // Equal neighbours are returned as they are: infinities have no difference.
    Some(if below == above { below } else { below + (above - below) * position.fract() })
}

/// The middle value, or the mean of the two in the middle. `None` without values or with a NaN among them.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[7.0]), Some(7.0));
    }

    #[test]
    fn quartiles_interpolate() {
        // Position 3 · 0.25 = 0.75 from the smallest: three quarters of the way from 10 to 20.
        assert_eq!(quantile(&[10.0, 20.0, 30.0, 40.0], 0.25), Some(17.5));
        assert_eq!(quantile(&[10.0, 20.0], 0.0), Some(10.0));
        assert_eq!(quantile(&[10.0, 20.0], 1.0), Some(20.0));
    }

    #[test]
    fn what_has_no_middle() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[1.0, f64::NAN]), None);
        assert_eq!(quantile(&[1.0], 1.5), None);
        assert_eq!(quantile(&[1.0], f64::NAN), None);
        assert_eq!(median(&[f64::INFINITY, f64::INFINITY]), Some(f64::INFINITY));
    }
}
