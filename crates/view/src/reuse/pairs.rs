//! Pairs of instructions and shared lines, laid out.

use carom_base::{LINE_BYTES, Scope, ThreadId};
use carom_study::{
    reuse::{FalseSharing, Pair, Quantiles},
    symbols,
};

use crate::{
    model::{
        Real, ReuseFalseSharing, ReuseLoop, ReusePair, ReusePart, ReuseQuantiles, ReuseScope, ReuseSite,
    },
    named::{frame, hexadecimal, object},
};

/// One pair.
pub fn pair(pair: &Pair) -> ReusePair {
    ReusePair {
        process: pair.process.0,
        scope: match pair.scope {
            Scope::Private => ReuseScope::Thread,
            Scope::Shared => ReuseScope::Shared,
        },
        earlier: site(&pair.earlier),
        reuse: site(&pair.later),
        threads: ids(&pair.threads),
        object: pair.object.as_ref().map(object),
        around: pair.around.as_ref().map(|around| ReuseLoop {
            file: around.at.file.clone(),
            line: around.at.line,
            step_bytes: around.step,
        }),
        by_kind: pair.by_kind.map(Real),
        temporal: pair.temporal.map(Real),
        share: Real(pair.share),
        share_of_misses: Real(pair.share_of_misses),
        miss_ratio: Real(pair.miss_ratio),
        time: pair.time.map(quantiles),
        time_unit: super::unit(pair.unit),
        stack_bytes: pair.stack_bytes.map(quantiles),
        missing_bytes: pair.missing_bytes.map(Real),
        basis: super::basis(pair.basis),
        seen: pair.seen,
        remedy: None,
    }
}

/// One object with false sharing.
pub fn false_sharing(found: &FalseSharing) -> ReuseFalseSharing {
    let [use_bytes, reuse_bytes] = found.parts.each_ref().map(|part| ReusePart {
        offset_bytes: part.offset,
        width_bytes: part.width,
        field: part.field.clone(),
    });
    ReuseFalseSharing {
        process: found.process.0,
        address: hexadecimal(found.line.0 - found.line.0 % LINE_BYTES),
        object: object(&found.object),
        raw: Real(found.read_after_write),
        waw: Real(found.write_after_write),
        share: Real(found.share),
        share_of_accesses: Real(found.share_of_accesses),
        distance: Real(found.distance),
        threads: ids(&found.threads),
        earlier: site(&found.earlier),
        reuse: site(&found.later),
        use_bytes,
        reuse_bytes,
        seen: found.seen,
    }
}

fn ids(threads: &[ThreadId]) -> Vec<u32> {
    threads.iter().map(|thread| thread.0).collect()
}

fn site(path: &[symbols::Frame]) -> ReuseSite {
    let innermost = path.first();
    ReuseSite {
        function: innermost.and_then(|frame| frame.function.clone()),
        file: innermost.and_then(|frame| frame.file.clone()),
        line: innermost.and_then(|frame| frame.line),
        call_path: path.iter().map(frame).collect(),
    }
}

fn quantiles(found: Quantiles) -> ReuseQuantiles {
    ReuseQuantiles { p10: Real(found.low), median: Real(found.median), p90: Real(found.high) }
}
