//! Counts by line of source or by function.

use carom_store::PlaceCounts;
use carom_study::count::{self, Grain};

use super::model::{CountPlaces, CountedPlace, PlaceGrain, PlaceSums};
use crate::{
    csv::Table,
    text::page::{Page, Style},
    words,
};

const PLACE: usize = 44;
const VALUE: usize = 10;

/// As the model has them.
pub fn places(found: &count::Places) -> CountPlaces {
    let place = |place: &count::Place| {
        let frame = place.frame.as_ref();
        CountedPlace {
            function: frame.and_then(|frame| frame.function.clone()),
            file: frame.and_then(|frame| frame.file.clone()),
            line: frame.filter(|_| found.grain == Grain::Line).and_then(|frame| frame.line),
            address: format!("{:#x}", place.counts.ip.0),
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
    }
}

fn sums(counts: &PlaceCounts) -> PlaceSums {
    PlaceSums {
        loads: counts.loads,
        stores: counts.stores,
        loaded_bytes: counts.loaded_bytes,
        stored_bytes: counts.stored_bytes,
        l1_misses: counts.l1_misses,
        l2_misses: counts.l2_misses,
        llc_misses: counts.llc_misses,
        coherence_misses: counts.coherence_misses,
        invalidations: counts.invalidations,
    }
}

/// `sum (traverse.rs:61)`, `memcpy`, `0x4011f0`
fn name(place: &CountedPlace) -> String {
    let function = place.function.clone();
    let at = place.line.and_then(|line| words::place(place.file.as_deref(), Some(line)));
    match (function, at) {
        (Some(function), Some(at)) => format!("{function} ({at})"),
        (Some(function), None) => function,
        (None, Some(at)) => at,
        (None, None) => place.address.clone(),
    }
}

/// The places with the most accesses.
pub fn print(page: &mut Page, found: &CountPlaces, verbose: bool) {
    /// Without `-v`.
    const ROWS: usize = 10;
    let by = match found.by {
        PlaceGrain::Line => "Lines of source",
        PlaceGrain::Function => "Functions",
    };
    page.heading(&format!(
        "{by} by accesses, in the first run (loads, stores: counted exactly; misses: modelled)"
    ));
    page.plain("  ").cell(Style::Dim, "", PLACE);
    for head in ["loads", "stores", "L1 miss", "L2 miss", "LLC miss", "inval."] {
        page.put(Style::Dim, &format!("{head:>VALUE$}"));
    }
    page.end();
    let rows = if verbose { found.places.len() } else { ROWS };
    for place in found.places.iter().take(rows) {
        row(page, Style::Cyan, &name(place), &place.counts);
    }
    let folded = found.places.len().saturating_sub(rows) as u64 + found.unnamed;
    if folded > 0 {
        page.indented(Style::Dim, 2, "", &format!("and {} more", words::thousands(folded)));
    }
}

fn row(page: &mut Page, style: Style, name: &str, counts: &PlaceSums) {
    page.plain("  ").cell(style, name, PLACE);
    for value in [
        counts.loads,
        counts.stores,
        counts.l1_misses,
        counts.l2_misses,
        counts.llc_misses,
        counts.invalidations,
    ] {
        page.plain(&format!("{:>VALUE$}", words::measure(value)));
    }
    page.end();
}

/// One row per place; the last is of all others.
pub fn table(found: &CountPlaces) -> String {
    let mut table = Table::default();
    table.header(&[
        "function",
        "file",
        "line",
        "address",
        "loads",
        "stores",
        "loaded_bytes",
        "stored_bytes",
        "l1_misses",
        "l2_misses",
        "llc_misses",
        "coherence_misses",
        "invalidations",
    ]);
    let counts = |table: &mut Table, counts: &PlaceSums| {
        for value in [
            counts.loads,
            counts.stores,
            counts.loaded_bytes,
            counts.stored_bytes,
            counts.l1_misses,
            counts.l2_misses,
            counts.llc_misses,
            counts.coherence_misses,
            counts.invalidations,
        ] {
            table.whole(Some(value));
        }
        table.end();
    };
    for place in &found.places {
        table
            .name(place.function.as_deref().unwrap_or_default())
            .name(place.file.as_deref().unwrap_or_default());
        table.whole(place.line.map(u64::from)).name(&place.address);
        counts(&mut table, &place.counts);
    }
    table.name("others").name("").whole(None::<u64>).name("");
    counts(&mut table, &found.others);
    table.text
}

#[cfg(test)]
mod tests {
    use carom_base::Ip;
    use carom_study::symbols::Frame;

    use super::*;

    #[test]
    fn places_are_named_as_far_as_they_are_known() {
        let named = |grain, frame: Option<Frame>| {
            let counts = PlaceCounts { ip: Ip(0x4011f0), loads: 5, llc_misses: 2, ..PlaceCounts::default() };
            let place = count::Place { frame, counts };
            let found =
                count::Places { grain, places: vec![place], others: PlaceCounts::default(), unnamed: 3 };
            let found = places(&found);
            assert_eq!((found.places[0].counts.loads, found.places[0].counts.llc_misses), (5, 2));
            (name(&found.places[0]), table(&found).lines().last().unwrap_or_default().to_owned())
        };
        let frame = Frame {
            function: Some("sum".into()),
            file: Some("/src/walk.c".into()),
            line: Some(7),
            ..Frame::default()
        };
        assert_eq!(named(Grain::Line, Some(frame.clone())).0, "sum (walk.c:7)");
        assert_eq!(named(Grain::Function, Some(frame)).0, "sum");
        let (name, last) = named(Grain::Line, None);
        assert_eq!((name.as_str(), last.as_str()), ("0x4011f0", "others,,,,0,0,0,0,0,0,0,0,0"));
    }
}
