//! The expected result of a run, as JSON.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::bins::{Bins, similarity};
use super::outcomes::{Outcomes, outcomes, table_6_4};
use super::parameters::Parameters;

/// Why there is no expectation for threads that store to the shared array as they come.
const UNKNOWN: &str = "without --barrier it is left to chance which thread stores to a byte of the shared array next: \
     whether its uses are reused or invalidated, and how often, does not follow from the parameters";

/// The whole expectation. `in_turns`: the threads take turns at the shared array.
pub fn expected(parameters: &Parameters, threads: u64, in_turns: bool, bins: Bins) -> Value {
    let known = threads == 1 || parameters.inv == 0 || in_turns;
    let outcomes = known.then(|| outcomes(parameters, threads));
    let table = table_6_4(parameters, threads);
    let mut object = json!({
        "scope": "private",
        "distance": "time",
        "unit": "accesses",
        "granularity_bytes": 1,
        "bins": { "start": bins.start, "ratio": bins.ratio },
        "uses": parameters.accesses(threads),
        "histogram": outcomes.as_ref().map(|outcomes| histogram(&outcomes.reuses, bins)),
        "histogram_is_null_because": if known { Value::Null } else { json!(UNKNOWN) },
        "table_6_4": { "histogram": histogram_of_table(&table, bins) },
        "functions": { "private": "ribench_sweep", "shared": "ribench_store" },
    });
    if let Some(outcomes) = outcomes {
        object["reused"] = part(outcomes.reused(), parameters, threads);
        object["invalidated"] = invalidated(&outcomes, parameters, threads);
        object["last"] = part(outcomes.last, parameters, threads);
        object["table_6_4"]["similarity"] =
            json!(similarity(&bins.fill(&outcomes.reuses), &bins.fill(&table)));
    }
    object
}

/// A number of uses and which fraction of all it is.
fn part(count: u64, parameters: &Parameters, threads: u64) -> Value {
    json!({ "count": count, "fraction": fraction(count, parameters.accesses(threads)) })
}

fn invalidated(outcomes: &Outcomes, parameters: &Parameters, threads: u64) -> Value {
    let mut object = part(outcomes.invalidated, parameters, threads);
    object["found_by_an_access"] = json!(outcomes.found_invalidated);
    object
}

/// Null if the whole is 0.
fn fraction(count: u64, of: u64) -> Value {
    if of == 0 { Value::Null } else { json!(count as f64 / of as f64) }
}

/// One object for each bin that is hit: the distances `low <= d < high` that occur, and their fraction of all reuses.
fn histogram(reuses: &BTreeMap<u64, u64>, bins: Bins) -> Vec<Value> {
    by_bin(
        reuses,
        bins,
        |distance, count| json!({ "distance": distance, "thesis_distance": distance + 1, "count": count }),
    )
}

/// The same of table 6.4, whose distances are the thesis'.
fn histogram_of_table(reuses: &BTreeMap<u64, u64>, bins: Bins) -> Vec<Value> {
    by_bin(
        reuses,
        bins,
        |distance, count| json!({ "distance": distance - 1, "thesis_distance": distance, "count": count }),
    )
}

fn by_bin(reuses: &BTreeMap<u64, u64>, bins: Bins, row: impl Fn(u64, u64) -> Value) -> Vec<Value> {
    let all: u64 = reuses.values().sum();
    let mut rows: BTreeMap<(u64, u64), (u64, Vec<Value>)> = BTreeMap::new();
    for (&distance, &count) in reuses {
        let (total, distances) = rows.entry(bins.of(distance)).or_default();
        *total += count;
        distances.push(row(distance, count));
    }
    rows.into_iter()
        .map(|((low, high), (count, distances))| {
            json!({
                "low": low, "high": high, "fraction": fraction(count, all), "count": count,
                "distances": distances,
            })
        })
        .collect()
}

/// What a reader must know for a comparison.
pub fn notes(parameters: &Parameters, threads: u64, in_turns: bool) -> Vec<String> {
    let mut notes = vec![
        "distances are accesses of the thread strictly between a use and its reuse, thesis_distance is one more; \
         a bin holds low <= distance < high; fractions of the histogram are of reuses, all others of uses"
            .to_owned(),
        "the histogram is of the two loops' accesses alone, all threads together; each pass makes a few more around \
         them (four for the calls, some 25 with --barrier), and the process before and after"
            .to_owned(),
        "table_6_4 leaves out what the histogram holds: the last pass of an outer iteration is followed by the first \
         of the next, at a longer distance, or by nothing"
            .to_owned(),
    ];
    if threads > 1 && in_turns && parameters.inv > 0 {
        notes.push(
            "the threads store to the shared array one after the other, always in the same order, so every use of \
             it is invalidated by another thread before the own next access; those of the last pass are invalidated \
             by the threads that come later and found so by no access (found_by_an_access leaves them out)"
                .to_owned(),
        );
    }
    if threads == 1 && parameters.inv > 0 {
        notes.push("alone, the thread reuses the shared array, too: the histogram has it".to_owned());
    }
    notes
}
