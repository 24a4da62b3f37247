//! What to do about a pair of instructions whose reuses miss: told by where the two are, and by how their distances spread.

use std::ops::Range;

use carom_base::LINE_BYTES;

use crate::{
    model::{Object, ObjectKind, Reuse, ReusePair, ReuseSite},
    reuse::verdict,
    words,
};

/// Stack distances of accesses to N lines in no order spread evenly from 0 to N: their median is 5 times the first tenth, and
/// the last tenth begins at 1.8 times the median. These ratios are taken for even. Two kinds of distances, those to the next
/// bytes of a line and those to the next pass, have their median with one of them.
const EVEN_BELOW: Range<f64> = 2.5..10.0;
const EVEN_ABOVE: Range<f64> = 1.3..3.0;

/// What makes the reuses of a pair hit, where something is known to. Sentences.
pub fn remedy(reuse: &Reuse, pair: &ReusePair) -> Option<String> {
    let telling = pair.share_of_misses.0 >= verdict::TELLING && pair.seen >= verdict::TELLING_SEEN;
    let missing = pair.missing_bytes.filter(|_| telling && !is_foreign(&pair.reuse))?.0;
    let factor = missing / reuse.cache_bytes.max(1) as f64;
    if factor <= 1.0 {
        return None;
    }
    let holds = format!("{factor:.1} times what {} holds", verdict::cache(reuse, reuse.cache_bytes));
    let part = format!("1/{:.0}", factor.ceil());
    // A heap block without its allocation has no name to say.
    let named = |object: &&Object| object.kind != ObjectKind::Heap || object.declared.is_some();
    let data =
        pair.object.as_ref().filter(named).map_or("the data".into(), |object| format!("`{}`", object.name));
    Some(match walk(pair) {
        Walk::Random(low, high) => {
            let size = words::size(reuse.cache_bytes);
            format!(
                "Distances from {low} to {high} are those of accesses in no order. Sort or partition them so that accesses to \
                 one part of at most {size} follow each other, or make {data} smaller."
            )
        }
        Walk::Across(step) => {
            let walks = step
                .map_or_else(|| "One instruction walks across the lines".into(), |step| in_steps(pair, step));
            format!(
                "{walks} and comes to the next bytes of a line only after {holds}. Let the inner loop walk along the lines \
                 (swap the loops, or transpose {data})."
            )
        }
        Walk::Again => format!(
            "Each pass goes over {holds}. Cut {data} into blocks of at most {part} of that, and make all passes over one \
             block before the next."
        ),
        Walk::Apart => format!(
            "Between the two lies {holds}. Do both to a block of at most {part} of that before the next block, or in one \
             loop."
        ),
    })
}

/// Whether the code lies in a library whose source is not known here: whoever reads this cannot change its loops.
fn is_foreign(site: &ReuseSite) -> bool {
    let frame = words::own(&site.call_path).first();
    frame.is_some_and(|frame| {
        let file = frame.module.as_deref().and_then(|path| path.rsplit('/').next());
        frame.file.is_none() && file.is_some_and(|name| name.ends_with(".so") || name.contains(".so."))
    })
}

/// How the program comes back to a line.
enum Walk {
    /// At distances from here to there.
    Random(String, String),
    /// By one instruction, at the next bytes of the line, each time from afar. In steps of so many bytes, where the code tells.
    Across(Option<i64>),
    /// At the same place of the source, pass by pass.
    Again,
    /// At another place.
    Apart,
}

/// Whether an operand that moves by so many bytes is in another line each time.
fn skips_lines(step: i64) -> bool {
    step.unsigned_abs() >= LINE_BYTES
}

/// `The loop at mm.c:17 walks across the lines in steps of 4,096 bytes`.
fn in_steps(pair: &ReusePair, step: i64) -> String {
    let around = pair.around.as_ref();
    let place = around.and_then(|around| words::place(around.file.as_deref(), around.line));
    let the_loop = place.map_or_else(|| "The loop".into(), |place| format!("The loop at {place}"));
    let bytes = words::thousands(step.unsigned_abs());
    format!("{the_loop} walks across the lines in steps of {bytes} bytes")
}

fn walk(pair: &ReusePair) -> Walk {
    let step = pair.around.as_ref().and_then(|around| around.step_bytes);
    let far = pair.miss_ratio.0 > 0.5 || step.is_some_and(skips_lines);
    if step.is_none()
        && let Some(stack) = pair.stack_bytes
        && EVEN_BELOW.contains(&(stack.median.0 / stack.p10.0))
        && EVEN_ABOVE.contains(&(stack.p90.0 / stack.median.0))
    {
        let [low, high] = [stack.p10, stack.p90].map(|bytes| words::approximate_size(bytes.0));
        return Walk::Random(low, high);
    }
    if verdict::place(&pair.earlier) != verdict::place(&pair.reuse) {
        return Walk::Apart;
    }
    match pair.temporal {
        Some(temporal) if far && temporal.0 < 0.5 => Walk::Across(step.filter(|step| skips_lines(*step))),
        _ => Walk::Again,
    }
}

#[cfg(test)]
mod tests;
