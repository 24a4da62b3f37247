//! What to do about a pair of instructions whose reuses miss: told by where the two are, and by how their distances spread.

use std::ops::Range;

use crate::{
    model::{Object, ObjectKind, Reuse, ReusePair},
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
    let missing = pair.missing_bytes.filter(|_| telling)?.0;
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
        Walk::Across => format!(
            "One instruction comes to the next bytes of a line only after {holds}: it walks across the lines. Let the inner \
             loop walk along them (swap the loops, or transpose {data})."
        ),
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

/// How the program comes back to a line.
enum Walk {
    /// At distances from here to there.
    Random(String, String),
    /// By one instruction, at the next bytes of the line, each time from afar.
    Across,
    /// At the same place of the source, pass by pass.
    Again,
    /// At another place.
    Apart,
}

fn walk(pair: &ReusePair) -> Walk {
    let far = pair.miss_ratio.0 > 0.5;
    if let Some(stack) = pair.stack_bytes
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
        Some(temporal) if far && temporal.0 < 0.5 => Walk::Across,
        _ => Walk::Again,
    }
}

#[cfg(test)]
mod tests;
