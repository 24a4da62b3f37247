//! The study's comparisons as the model has them.

use carom_study::{
    Estimate,
    diff::{self, ObjectChange, PairChange, Trend},
    share::Unit,
    symbols,
};

use super::model::{Change, Fate, ObjectDiff, PairDiff, ReuseDiff, ShareDiff, Volumes};
use crate::{
    model::{Frame, Interval, MatrixUnit, Real},
    named::{frame, object},
};

pub fn share(found: &diff::ShareDiff) -> ShareDiff {
    ShareDiff {
        unit: match found.unit {
            Unit::Samples => MatrixUnit::Samples,
            Unit::Accesses => MatrixUnit::Accesses,
        },
        contended_share: change(&found.contended),
        false_fraction: found.false_fraction.as_ref().map(change),
        findings: found.objects.iter().map(object_diff).collect(),
        too_small: found.too_small,
        smallest: Real(found.smallest),
    }
}

pub fn reuse(found: &diff::ReuseDiff) -> ReuseDiff {
    ReuseDiff {
        cache_bytes: found.cache_bytes,
        miss_ratio: change(&found.miss_ratio),
        findings: found.pairs.iter().map(pair).collect(),
        too_small: found.too_small,
    }
}

fn object_diff(found: &ObjectChange) -> ObjectDiff {
    ObjectDiff {
        fate: fate(found.fate),
        false_sharing_fate: found.false_fate.map(fate),
        object: object(&found.object),
        share: change(&found.share),
        before: volumes(found.before),
        after: volumes(found.after),
    }
}

fn pair(found: &PairChange) -> PairDiff {
    let path = |frames: &[symbols::Frame]| -> Vec<Frame> { frames.iter().map(frame).collect() };
    PairDiff {
        fate: fate(found.fate),
        earlier: path(&found.earlier),
        reuse: path(&found.later),
        object: found.object.as_ref().map(object),
        misses: change(&found.misses),
    }
}

fn volumes(found: diff::Volumes) -> Volumes {
    Volumes { true_sharing: Real(found.true_sharing), false_sharing: Real(found.false_sharing) }
}

fn change(found: &diff::Change) -> Change {
    let interval = |found: Estimate| Interval {
        estimate: Real(found.value),
        low: Real(found.low),
        high: Real(found.high),
    };
    Change {
        before: interval(found.before),
        after: interval(found.after),
        difference: interval(found.difference),
        probability: Real(found.test.corrected),
        significant: found.trend() != Trend::Steady,
    }
}

const fn fate(found: diff::Fate) -> Fate {
    match found {
        diff::Fate::Gone => Fate::Gone,
        diff::Fate::New => Fate::New,
        diff::Fate::Smaller => Fate::Smaller,
        diff::Fate::Larger => Fate::Larger,
        diff::Fate::Left => Fate::Left,
        diff::Fate::Undecided => Fate::Undecided,
    }
}
