//! Counts by place in the source: what instructions executed, exactly, and what simulated caches did with their accesses.

use std::{cmp::Reverse, collections::HashMap};

use carom_base::{Ip, ProcessId, StackId};
use carom_store::{InstructionCounts, Manifest, PlaceCounts};

use super::{Event, analyse};
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
    /// The one with the most of the first event first.
    pub places: Vec<Place>,
    /// Of all places that are not named.
    pub others: PlaceSums,
    /// How many these are.
    pub unnamed: usize,
    /// What the run's totals have beyond all places: of processes that were killed, and of threads that ran on while their process
    /// ended.
    pub unmapped: PlaceSums,
}

/// A place with its counts.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// Of a line the innermost function, which may be inlined; of a function, one of its lines.
    pub frame: Option<Frame>,
    /// One of its instructions.
    pub ip: Ip,
    /// The sum over its instructions.
    pub counts: PlaceSums,
}

/// Counts of places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlaceSums {
    /// Counted exactly, in the order of [`Event::ALL`]; `None` where the run does not tell, or was not asked.
    pub counted: [Option<u64>; Event::ALL.len()],
    /// What simulated caches did, where there were some. Its loads, stores and bytes are exact, too.
    pub simulated: Option<PlaceCounts>,
}

impl PlaceSums {
    /// What was counted of an event.
    pub fn of(&self, event: Event) -> Option<u64> {
        self.counted.iter().zip(Event::ALL).find(|(_, known)| *known == event).and_then(|(count, _)| *count)
    }

    /// Adds `count` to what was counted of the events that are wanted.
    fn count(&mut self, wanted: &[Event], count: impl Fn(Event) -> Option<u64>) {
        for (sum, event) in self.counted.iter_mut().zip(Event::ALL) {
            if let Some(count) = count(event).filter(|_| wanted.contains(&event)) {
                *sum = Some(sum.unwrap_or_default().saturating_add(count));
            }
        }
    }

    fn simulate(&mut self, row: &PlaceCounts) {
        add(self.simulated.get_or_insert_default(), row);
    }
}

/// What instructions of one place have in common.
type Key = (ProcessId, Option<String>, Option<String>, Option<u32>, Option<u64>);

/// Of the runs that have counts by instruction, or whose caches were simulated, added up; `None` where there are none.
pub fn places(recordings: &mut Recordings<'_>, grain: Grain) -> Option<Places> {
    let exact: Vec<InstructionCounts> = recordings.rows().collect();
    let simulated: Vec<PlaceCounts> = recordings.rows().collect();
    if exact.is_empty() && simulated.is_empty() {
        return None;
    }
    let wanted = wanted(&recordings.manifests().iter().map(|(manifest, _)| *manifest).collect::<Vec<_>>());
    let totals = analyse(recordings.manifests());
    let (_, mut names) = recordings.merged(Combine::Ranks);
    let mut found = Finder { names: &mut names, grain, known: HashMap::new(), places: Vec::new() };
    for row in &exact {
        found.at(row.process, row.ip).count(&wanted, |event| Some(event.of_instruction(row)));
    }
    for row in &simulated {
        let sums = found.at(row.process, row.ip);
        sums.simulate(row);
        if exact.is_empty() {
            sums.count(&wanted, |event| accessed(event, row));
        }
    }
    let mut all = found.places;
    let weight = |place: &Place| wanted.iter().find_map(|event| place.counts.of(*event));
    all.sort_by_key(|place| Reverse(weight(place)));
    let mapped = sum(&all);
    let mut unmapped = PlaceSums::default();
    unmapped.count(&wanted, |event| {
        let total = totals.events.iter().find(|counts| counts.event == event)?.total?;
        Some(total.saturating_sub(mapped.of(event)?))
    });
    let unnamed = all.split_off(all.len().min(MOST));
    Some(Places { grain, places: all, others: sum(&unnamed), unnamed: unnamed.len(), unmapped })
}

/// The events that the runs were asked for, in the order in which they were; all where they were asked for none of these.
fn wanted(runs: &[&Manifest]) -> Vec<Event> {
    let asked = runs.iter().filter_map(|run| run.series.as_ref()).flat_map(|series| &series.events);
    let mut wanted: Vec<Event> = Vec::new();
    for event in asked.filter_map(|name| Event::ALL.into_iter().find(|event| event.name() == name)) {
        if !wanted.contains(&event) {
            wanted.push(event);
        }
    }
    if wanted.is_empty() { Event::ALL.into() } else { wanted }
}

/// What simulated caches know of an event.
const fn accessed(event: Event, row: &PlaceCounts) -> Option<u64> {
    match event {
        Event::Loads => Some(row.loads),
        Event::Stores => Some(row.stores),
        Event::LoadedBytes => Some(row.loaded_bytes),
        Event::StoredBytes => Some(row.stored_bytes),
        _ => None,
    }
}

fn sum(places: &[Place]) -> PlaceSums {
    let mut all = PlaceSums::default();
    for Place { counts, .. } in places {
        all.count(&Event::ALL, |event| counts.of(event));
        counts.simulated.iter().for_each(|row| all.simulate(row));
    }
    all
}

/// Finds the places of instructions.
struct Finder<'n, N> {
    names: &'n mut N,
    grain: Grain,
    known: HashMap<Key, usize>,
    places: Vec<Place>,
}

impl<N: Names> Finder<'_, N> {
    /// The counts of the place of this instruction.
    fn at(&mut self, process: ProcessId, ip: Ip) -> &mut PlaceSums {
        // The path of one address has what was inlined there, innermost first, and then the function itself.
        let mut path = self.names.call_path(process, ip, StackId::NONE).into_iter();
        let frame = match self.grain {
            Grain::Line => path.next(),
            Grain::Function => path.next_back(),
        };
        let index = *self.known.entry(key(process, ip, frame.as_ref(), self.grain)).or_insert_with(|| {
            self.places.push(Place { frame, ip, counts: PlaceSums::default() });
            self.places.len() - 1
        });
        &mut self.places[index].counts
    }
}

/// Where the line is not known, a place is the function; where that is not known, all such code of the module; else the instruction.
fn key(process: ProcessId, ip: Ip, frame: Option<&Frame>, grain: Grain) -> Key {
    let by_address = (process, None, None, None, Some(ip.0));
    let Some(Frame { function, file, line, module, .. }) = frame else { return by_address };
    if grain == Grain::Line && file.is_some() && line.is_some() {
        return (process, function.clone(), file.clone(), *line, None);
    }
    let module = module.as_ref().map(|path| path.display().to_string());
    match (function, module) {
        (None, None) => by_address,
        (function, module) => (process, function.clone(), module, None, None),
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
    use std::slice;

    use carom_store::{
        ProcessInfo, Recording, SeriesInfo, ThreadCounts, ThreadInfo, Writer, store_instructions,
        store_places,
    };

    use super::*;

    /// Of a run of one process with this manifest and these rows.
    fn found(manifest: Manifest, exact: &[InstructionCounts], simulated: &[PlaceCounts]) -> Option<Places> {
        let dir = tempfile::tempdir().unwrap();
        let process = ProcessInfo { id: ProcessId(0), ..ProcessInfo::default() };
        let manifest = Manifest { processes: vec![process], ..manifest };
        Writer::create(dir.path(), manifest.clone()).unwrap().finish(manifest).unwrap();
        store_places(dir.path(), simulated).unwrap();
        store_instructions(dir.path(), exact).unwrap();
        let recording = Recording::open(dir.path()).unwrap();
        places(&mut Recordings::new(slice::from_ref(&recording)), Grain::Function)
    }

    fn simulated(ip: u64, loads: u64) -> PlaceCounts {
        PlaceCounts { ip: Ip(ip), loads, l1_misses: 1, ..PlaceCounts::default() }
    }

    fn counted(ip: u64, instructions: u64, calls: u64) -> InstructionCounts {
        InstructionCounts { ip: Ip(ip), instructions, calls, ..InstructionCounts::default() }
    }

    #[test]
    fn instructions_without_names_are_places_of_their_own() {
        let rows: Vec<PlaceCounts> = (1..=150).map(|ip| simulated(ip, ip)).collect();
        let all = found(Manifest::default(), &[], &rows).unwrap();
        assert_eq!((all.places.len(), all.unnamed), (100, 50));
        assert_eq!(all.places[0].counts.simulated, Some(PlaceCounts { ip: Ip(0), ..simulated(0, 150) }));
        // Older runs know of accesses alone.
        let of = |event| all.places[0].counts.of(event);
        assert_eq!((of(Event::Loads), of(Event::Instructions)), (Some(150), None));
        // 1 + 2 + ... + 50.
        assert_eq!(all.others.of(Event::Loads), Some(1275));
        assert_eq!(all.others.simulated.map(|counts| counts.l1_misses), Some(50));
        assert_eq!(found(Manifest::default(), &[], &[]), None);
    }

    #[test]
    fn what_is_asked_for_decides_the_order_and_adds_up() {
        let counts = ThreadCounts { instructions: Some(30), calls: Some(9), ..ThreadCounts::default() };
        let thread = ThreadInfo { counts: Some(counts), ..ThreadInfo::default() };
        let series =
            SeriesInfo { events: ["time", "calls"].map(str::to_owned).into(), ..SeriesInfo::default() };
        let manifest = Manifest { threads: vec![thread], series: Some(series), ..Manifest::default() };
        let rows = [counted(1, 20, 2), counted(2, 9, 5)];
        let asked = found(manifest.clone(), &rows, &[simulated(2, 7)]).unwrap();
        let ips: Vec<u64> = asked.places.iter().map(|place| place.ip.0).collect();
        assert_eq!(ips, [2, 1], "more calls");
        let of = |place: &Place| (place.counts.of(Event::Calls), place.counts.of(Event::Instructions));
        assert_eq!(asked.places.iter().map(of).collect::<Vec<_>>(), [(Some(5), None), (Some(2), None)]);
        assert_eq!(asked.places[0].counts.simulated.map(|counts| counts.l1_misses), Some(1));
        // 9 calls, of which 7 are mapped.
        assert_eq!(asked.unmapped.of(Event::Calls), Some(2));
        let all = found(Manifest { series: None, ..manifest }, &rows, &[]).unwrap();
        assert_eq!(all.places.iter().map(|place| place.ip.0).collect::<Vec<_>>(), [1, 2]);
        assert_eq!((all.unmapped.of(Event::Instructions), all.unmapped.of(Event::Loads)), (Some(1), None));
    }

    #[test]
    fn lines_and_functions_are_told_apart() {
        let frame = |function: &str, line| Frame {
            function: Some(function.into()),
            file: Some("a.c".into()),
            line: Some(line),
            ..Frame::default()
        };
        let of = |grain, frame: &Frame| key(ProcessId(0), Ip(0), Some(frame), grain);
        let [one, other] = [frame("f", 1), frame("f", 2)];
        assert_ne!(of(Grain::Line, &one), of(Grain::Line, &other));
        assert_eq!(of(Grain::Function, &one), of(Grain::Function, &other));
        assert_ne!(of(Grain::Function, &one), of(Grain::Function, &frame("g", 1)));
    }

    #[test]
    fn code_without_names_is_that_of_its_module() {
        let of = |ip, frame: &Frame, grain| key(ProcessId(0), Ip(ip), Some(frame), grain);
        let stripped = Frame { module: Some("/lib/a.so".into()), ..Frame::default() };
        assert_eq!(of(1, &stripped, Grain::Function), of(2, &stripped, Grain::Line));
        let other = Frame { module: Some("/lib/b.so".into()), ..Frame::default() };
        assert_ne!(of(1, &stripped, Grain::Function), of(1, &other, Grain::Function));
        // Without lines a function is one.
        let function = Frame { function: Some("f".into()), ..stripped.clone() };
        assert_eq!(of(1, &function, Grain::Line), of(2, &function, Grain::Line));
        assert_ne!(of(1, &function, Grain::Line), of(1, &stripped, Grain::Line));
        assert_ne!(of(1, &Frame::default(), Grain::Line), of(2, &Frame::default(), Grain::Line));
    }
}
