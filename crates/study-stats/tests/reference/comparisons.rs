use carom_study_stats::{
    benjamini_hochberg, hedges_g, holm, mann_whitney, ratio_of_means, student_975, student_two_sided, welch,
};
use serde::Deserialize;

use crate::{close, fixture};

#[derive(Deserialize)]
struct Reference {
    sets: Vec<Set>,
    families: Vec<Family>,
    tails: Vec<Tail>,
}

#[derive(Deserialize)]
struct Set {
    before: Vec<f64>,
    after: Vec<f64>,
    t: f64,
    degrees: f64,
    welch: f64,
    u: f64,
    mann_whitney: f64,
    ratio: Option<[f64; 2]>,
    hedges: f64,
}

#[derive(Deserialize)]
struct Family {
    p: Vec<f64>,
    holm: Vec<f64>,
    benjamini_hochberg: Vec<f64>,
}

#[derive(Deserialize)]
struct Tail {
    t: f64,
    degrees: f64,
    p: f64,
    critical: f64,
}

fn reference() -> Reference {
    serde_json::from_str(&fixture("comparisons.json")).expect("JSON of the known form")
}

#[test]
fn samples_compare_as_scipy_compares_them() {
    let sets = reference().sets;
    assert_eq!(sets.len(), 500);
    let mut bounded = 0;
    for Set { before, after, t, degrees, welch: p, u, mann_whitney: rank_p, ratio, hedges } in sets {
        let test = welch(&before, &after).expect("two values on each side");
        close("t", test.t, t);
        close("degrees", test.degrees, degrees);
        close("p", test.probability, p);
        let ranks = mann_whitney(&before, &after).expect("values on each side");
        close("U", ranks.u, u);
        close("p of ranks", ranks.probability, rank_p);
        let interval = ratio_of_means(&before, &after);
        assert_eq!(interval.is_some(), ratio.is_some(), "{before:?} {after:?}");
        if let (Some(interval), Some([low, high])) = (interval, ratio) {
            close("low", interval.low, low);
            close("high", interval.high, high);
            bounded += 1;
        }
        if before.len() + after.len() > 3 {
            close("g", hedges_g(&before, &after).expect("some spread"), hedges);
        }
    }
    assert!(bounded > 400, "{bounded}");
}

#[test]
fn corrections_are_those_of_statsmodels() {
    for Family { p, holm: strict, benjamini_hochberg: mild } in reference().families {
        holm(&p).iter().zip(&strict).for_each(|(ours, theirs)| close("Holm", *ours, *theirs));
        benjamini_hochberg(&p).iter().zip(&mild).for_each(|(ours, theirs)| close("BH", *ours, *theirs));
    }
}

#[test]
fn tails_and_quantiles_are_those_of_scipy() {
    for Tail { t, degrees, p, critical } in reference().tails {
        close("tail", student_two_sided(t, degrees), p);
        close("quantile", student_975(degrees), critical);
    }
}
