//! Counts by line of source or by function.

use carom_study::count::{self, Event, Grain};

use super::model::{CountPlaces, CountedPlace, PlaceGrain, PlaceSums};
use crate::{
    csv::Table,
    text::page::{Page, Style},
    words,
};

const PLACE: usize = 40;
const VALUE: usize = 10;

/// A column of the tables: its head in the text and in CSV, and its value.
type Column = (&'static str, &'static str, fn(&PlaceSums) -> Option<u64>);

/// What is counted exactly, in the order of the text.
const COUNTED: [Column; 11] = [
    ("instr.", "instructions", |counts| counts.instructions),
    ("loads", "loads", |counts| counts.loads),
    ("stores", "stores", |counts| counts.stores),
    ("branches", "branches", |counts| counts.branches),
    ("calls", "calls", |counts| counts.calls),
    ("atomics", "atomics", |counts| counts.atomics),
    ("loaded B", "loaded_bytes", |counts| counts.loaded_bytes),
    ("stored B", "stored_bytes", |counts| counts.stored_bytes),
    ("taken", "branches_taken", |counts| counts.branches_taken),
    ("returns", "returns", |counts| counts.returns),
    ("sys. calls", "system_calls", |counts| counts.system_calls),
];

/// What is modelled.
const SIMULATED: [Column; 5] = [
    ("L1 miss", "l1_misses", |counts| counts.l1_misses),
    ("L2 miss", "l2_misses", |counts| counts.l2_misses),
    ("LLC miss", "llc_misses", |counts| counts.llc_misses),
    ("inval.", "invalidations", |counts| counts.invalidations),
    ("coh. miss", "coherence_misses", |counts| counts.coherence_misses),
];

/// As the model has them.
pub fn places(found: &count::Places) -> CountPlaces {
    let place = |place: &count::Place| {
        let frame = place.frame.as_ref();
        CountedPlace {
            function: frame.and_then(|frame| frame.function.clone()),
            file: frame.and_then(|frame| frame.file.clone()),
            line: frame.filter(|_| found.grain == Grain::Line).and_then(|frame| frame.line),
            address: format!("{:#x}", place.ip.0),
            module: frame.and_then(|frame| frame.module.as_ref()).map(|path| path.display().to_string()),
            counts: sums(&place.counts),
        }
    };
    CountPlaces {
        by: match found.grain {
            Grain::Line => PlaceGrain::Line,
            Grain::Function => PlaceGrain::Function,
        },
        places: found.places.iter().map(place).collect(),
        unnamed: found.unnamed as u64,
        others: sums(&found.others),
        unmapped: sums(&found.unmapped),
    }
}

fn sums(counts: &count::PlaceSums) -> PlaceSums {
    let simulated = counts.simulated.as_ref();
    PlaceSums {
        instructions: counts.of(Event::Instructions),
        loads: counts.of(Event::Loads),
        stores: counts.of(Event::Stores),
        loaded_bytes: counts.of(Event::LoadedBytes),
        stored_bytes: counts.of(Event::StoredBytes),
        branches: counts.of(Event::Branches),
        branches_taken: counts.of(Event::BranchesTaken),
        calls: counts.of(Event::Calls),
        returns: counts.of(Event::Returns),
        atomics: counts.of(Event::Atomics),
        system_calls: counts.of(Event::SystemCalls),
        l1_misses: simulated.map(|counts| counts.l1_misses),
        l2_misses: simulated.map(|counts| counts.l2_misses),
        llc_misses: simulated.map(|counts| counts.llc_misses),
        coherence_misses: simulated.map(|counts| counts.coherence_misses),
        invalidations: simulated.map(|counts| counts.invalidations),
    }
}

/// `sum (traverse.rs:61)`, `memcpy`, `no function in libz.so.1`, `0x4011f0`
fn name(place: &CountedPlace) -> String {
    let function = place.function.clone();
    let at = place.line.and_then(|line| words::place(place.file.as_deref(), Some(line)));
    let module = place.module.as_deref().and_then(|path| path.rsplit('/').next());
    match (function, at, module) {
        (Some(function), Some(at), _) => format!("{function} ({at})"),
        (Some(function), None, _) => function,
        (None, Some(at), _) => at,
        (None, None, Some(module)) => format!("no function in {module}"),
        (None, None, None) => place.address.clone(),
    }
}

/// The columns that any place knows: of what is counted exactly beside simulated caches only what they were given, unless all of it fits.
fn columns(found: &CountPlaces, room: usize) -> Vec<Column> {
    let known = |(.., of): &Column| found.places.iter().any(|place| of(&place.counts).is_some());
    let simulated: Vec<Column> = SIMULATED.into_iter().filter(known).collect();
    let counted = COUNTED.into_iter().filter(known);
    let room_for_counts = room.saturating_sub(simulated.len()).max(room.min(3));
    counted.take(room_for_counts).chain(simulated).take(room).collect()
}

/// The places with the most of the first event.
pub fn print(page: &mut Page, found: &CountPlaces, verbose: bool) {
    /// Without `-v`.
    const ROWS: usize = 10;
    let by = match found.by {
        PlaceGrain::Line => "Lines of source",
        PlaceGrain::Function => "Functions",
    };
    let columns = columns(found, page.width().saturating_sub(PLACE + 2) / VALUE);
    let is_modelled = SIMULATED.iter().any(|(head, ..)| columns.iter().any(|(shown, ..)| shown == head));
    let trust = if is_modelled { "misses and invalidations are modelled" } else { "counted exactly" };
    page.heading(&format!("{by}, in the first run ({trust})"));
    page.plain("  ").cell(Style::Dim, "", PLACE);
    for (head, ..) in &columns {
        page.put(Style::Dim, &format!("{head:>VALUE$}"));
    }
    page.end();
    let rows = if verbose { found.places.len() } else { ROWS };
    for place in found.places.iter().take(rows) {
        row(page, Style::Cyan, &name(place), &place.counts, &columns);
    }
    let folded = found.places.len().saturating_sub(rows) as u64 + found.unnamed;
    if folded > 0 {
        page.indented(Style::Dim, 2, "", &format!("and {} more", words::thousands(folded)));
    }
    if COUNTED.iter().any(|(.., of)| of(&found.unmapped).is_some_and(|count| count > 0)) {
        row(page, Style::Dim, "of no place", &found.unmapped, &columns);
    }
}

fn row(page: &mut Page, style: Style, name: &str, counts: &PlaceSums, columns: &[Column]) {
    page.plain("  ").cell(style, name, PLACE);
    for (.., of) in columns {
        let value = of(counts).map_or_else(String::new, words::measure);
        page.plain(&format!("{value:>VALUE$}"));
    }
    page.end();
}

/// One row per place; the last two are of all others, and of what has no place.
pub fn table(found: &CountPlaces) -> String {
    let columns: Vec<Column> = COUNTED.into_iter().chain(SIMULATED).collect();
    let mut table = Table::default();
    let heads: Vec<&str> = columns.iter().map(|(_, head, _)| *head).collect();
    table.header(&[&["function", "file", "line", "address", "module"], &heads[..]].concat());
    let counts = |table: &mut Table, counts: &PlaceSums| {
        for (.., of) in &columns {
            table.whole(of(counts));
        }
        table.end();
    };
    for place in &found.places {
        table
            .name(place.function.as_deref().unwrap_or_default())
            .name(place.file.as_deref().unwrap_or_default());
        table.whole(place.line.map(u64::from)).name(&place.address);
        table.name(place.module.as_deref().unwrap_or_default());
        counts(&mut table, &place.counts);
    }
    for (name, sums) in [("others", &found.others), ("of no place", &found.unmapped)] {
        table.name(name).name("").whole(None::<u64>).name("").name("");
        counts(&mut table, sums);
    }
    table.text
}

#[cfg(test)]
mod tests {
    use carom_base::Ip;
    use carom_store::PlaceCounts;
    use carom_study::symbols::Frame;

    use super::*;

    fn found(grain: Grain, frame: Option<Frame>, simulated: bool) -> CountPlaces {
        let mut counts = count::PlaceSums::default();
        for (place, event) in counts.counted.iter_mut().zip(Event::ALL) {
            *place = match event {
                Event::Instructions => Some(7),
                Event::Loads => Some(5),
                _ => None,
            };
        }
        counts.simulated = simulated.then(|| PlaceCounts { llc_misses: 2, ..PlaceCounts::default() });
        let place = count::Place { frame, ip: Ip(0x4011f0), counts };
        places(&count::Places {
            grain,
            places: vec![place],
            others: count::PlaceSums::default(),
            unnamed: 3,
            unmapped: count::PlaceSums::default(),
        })
    }

    #[test]
    fn places_are_named_as_far_as_they_are_known() {
        let frame = Frame {
            function: Some("sum".into()),
            file: Some("/src/walk.c".into()),
            line: Some(7),
            ..Frame::default()
        };
        let named = |grain, frame| name(&found(grain, frame, true).places[0]);
        assert_eq!(named(Grain::Line, Some(frame.clone())), "sum (walk.c:7)");
        assert_eq!(named(Grain::Function, Some(frame)), "sum");
        assert_eq!(named(Grain::Line, None), "0x4011f0");
        let stripped = Frame { module: Some("/lib/libz.so.1".into()), ..Frame::default() };
        assert_eq!(named(Grain::Line, Some(stripped)), "no function in libz.so.1");
    }

    #[test]
    fn what_is_not_known_has_no_column_and_no_value() {
        let all = found(Grain::Function, None, true);
        let heads = |found, room| columns(found, room).iter().map(|(_, head, _)| *head).collect::<Vec<_>>();
        let [l1, l2, llc] = ["l1_misses", "l2_misses", "llc_misses"];
        assert_eq!(
            heads(&all, 9),
            ["instructions", "loads", l1, l2, llc, "invalidations", "coherence_misses"]
        );
        assert_eq!(heads(&all, 5), ["instructions", "loads", l1, l2, llc]);
        let counted = found(Grain::Function, None, false);
        assert_eq!(heads(&counted, 9), ["instructions", "loads"]);
        let table = table(&counted);
        assert!(table.contains("\n,,,0x4011f0,,7,5,,"), "{table}");
        assert!(table.lines().last().is_some_and(|line| line.starts_with("of no place,")), "{table}");
    }
}
