//! Counts by place in the source: what instructions accessed, exactly, and what simulated caches did with it.

use std::{cmp::Reverse, collections::HashMap};

use carom_base::{ProcessId, StackId};
use carom_store::PlaceCounts;

use crate::{
    recording::{Combine, Names, Recordings},
    symbols::Frame,
};

/// Places that are named.
const MOST: usize = 100;

/// What is one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grain {
    /// A line of source in a function.
    Line,
    /// A function.
    Function,
}

/// The places of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Places {
    /// What is one place.
    pub grain: Grain,
    /// The one with the most accesses first.
    pub places: Vec<Place>,
    /// Of all places that are not named.
    pub others: PlaceCounts,
    /// How many these are.
    pub unnamed: usize,
}

/// A place with its counts.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// Of a line the innermost function, which may be inlined; of a function, one of its lines.
    pub frame: Option<Frame>,
    /// The sum over its instructions: process and address are those of one of them.
    pub counts: PlaceCounts,
}

/// What instructions of one place have in common.
type Key = (ProcessId, Option<String>, Option<String>, Option<u32>, Option<u64>);

/// Of the runs whose caches were simulated, added up; `None` where there are none.
pub fn places(recordings: &mut Recordings<'_>, grain: Grain) -> Option<Places> {
    let rows: Vec<PlaceCounts> = recordings.rows().collect();
    if rows.is_empty() {
        return None;
    }
    let (_, mut names) = recordings.merged(Combine::Ranks);
    let mut known: HashMap<Key, usize> = HashMap::new();
    let mut all: Vec<Place> = Vec::new();
    for row in &rows {
        // The path of one address has what was inlined there, innermost first, and then the function itself.
        let mut path = names.call_path(row.process, row.ip, StackId::NONE).into_iter();
        let frame = match grain {
            Grain::Line => path.next(),
            Grain::Function => path.next_back(),
        };
        let at = *known.entry(key(row, frame.as_ref(), grain)).or_insert(all.len());
        match all.get_mut(at) {
            Some(place) => add(&mut place.counts, row),
            None => all.push(Place { frame, counts: *row }),
        }
    }
    all.sort_by_key(|place| Reverse(place.counts.loads + place.counts.stores));
    let unnamed = all.split_off(all.len().min(MOST));
    let mut others = PlaceCounts::default();
    unnamed.iter().for_each(|place| add(&mut others, &place.counts));
    Some(Places { grain, places: all, others, unnamed: unnamed.len() })
}

/// Instructions whose function or line is not known are a place each.
fn key(row: &PlaceCounts, frame: Option<&Frame>, grain: Grain) -> Key {
    let by_address = (row.process, None, None, None, Some(row.ip.0));
    let Some(frame) = frame else { return by_address };
    match (grain, frame) {
        (Grain::Line, Frame { function, file: file @ Some(_), line: line @ Some(_), .. }) => {
            (row.process, function.clone(), file.clone(), *line, None)
        }
        (Grain::Function, Frame { function: function @ Some(_), .. }) => {
            let module = frame.module.as_ref().map(|path| path.display().to_string());
            (row.process, function.clone(), module, None, None)
        }
        _ => by_address,
    }
}

fn add(sum: &mut PlaceCounts, row: &PlaceCounts) {
    sum.loads += row.loads;
    sum.stores += row.stores;
    sum.loaded_bytes += row.loaded_bytes;
    sum.stored_bytes += row.stored_bytes;
    sum.l1_misses += row.l1_misses;
    sum.l2_misses += row.l2_misses;
    sum.llc_misses += row.llc_misses;
    sum.coherence_misses += row.coherence_misses;
    sum.invalidations += row.invalidations;
}

#[cfg(test)]
mod tests {
    use carom_base::Ip;
    use carom_store::{Manifest, ProcessInfo, Recording, Writer, store_places};

    use super::*;

    #[test]
    fn instructions_without_names_are_places_of_their_own() {
        let dir = tempfile::tempdir().unwrap();
        let process = ProcessInfo { id: ProcessId(0), ..ProcessInfo::default() };
        let manifest = Manifest { processes: vec![process], ..Manifest::default() };
        Writer::create(dir.path(), manifest.clone()).unwrap().finish(manifest).unwrap();
        let row = |ip, loads| PlaceCounts { ip: Ip(ip), loads, l1_misses: 1, ..PlaceCounts::default() };
        let rows: Vec<PlaceCounts> = (1..=150).map(|ip| row(ip, ip)).collect();
        store_places(dir.path(), &rows).unwrap();
        let recording = Recording::open(dir.path()).unwrap();
        let found = places(&mut Recordings::new(std::slice::from_ref(&recording)), Grain::Function).unwrap();
        assert_eq!((found.places.len(), found.unnamed), (100, 50));
        assert_eq!(found.places[0].counts, row(150, 150));
        // 1 + 2 + ... + 50.
        assert_eq!((found.others.loads, found.others.l1_misses), (1275, 50));
    }

    #[test]
    fn lines_and_functions_are_told_apart() {
        let frame = |function: &str, line| Frame {
            function: Some(function.into()),
            file: Some("a.c".into()),
            line: Some(line),
            ..Frame::default()
        };
        let row = PlaceCounts::default();
        let of = |grain, frame: &Frame| key(&row, Some(frame), grain);
        let [one, other] = [frame("f", 1), frame("f", 2)];
        assert_ne!(of(Grain::Line, &one), of(Grain::Line, &other));
        assert_eq!(of(Grain::Function, &one), of(Grain::Function, &other));
        assert_ne!(of(Grain::Function, &one), of(Grain::Function, &frame("g", 1)));
    }
}
