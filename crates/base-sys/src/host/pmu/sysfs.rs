//! Events by what sysfs says of PMUs: `type`, `format/`, `events/`, `cpumask`.

use std::collections::BTreeMap;

use super::{
    PmuError, PmuEvent,
    event::{Code, Without},
    field::Field,
};
use crate::host::machine::{Root, cpu_list};

/// Where the kernel lists its PMUs.
const DEVICES: &str = "sys/bus/event_source/devices";

/// Names that an error lists at most.
const LISTED: usize = 24;

/// The event of `terms` in a PMU, or in all of one kind: `uncore_imc` stands for `uncore_imc_0`, `uncore_imc_1` and so
/// on.
///
/// # Errors
/// The PMU is not there, or does not know the terms.
pub fn encode(root: &Root, name: &str, pmu: &str, terms: &str, modes: &str) -> Result<PmuEvent, PmuError> {
    let without = without(name, modes)?;
    let all = root.names(DEVICES);
    let same: Vec<&String> = match all.iter().find(|known| *known == pmu) {
        Some(one) => vec![one],
        None => all.iter().filter(|known| kind(known) == kind(pmu)).collect(),
    };
    let mut event = PmuEvent { name: name.to_owned(), scale: 1.0, unit: None, codes: Vec::new() };
    for pmu in same {
        event.codes.push(Unit::read(root, name, pmu)?.code(
            terms,
            without,
            &mut event.scale,
            &mut event.unit,
        )?);
    }
    if event.codes.is_empty() {
        let known = listed(&all, "", "carom count --list");
        return Err(PmuError::NoPmu { name: name.to_owned(), pmu: pmu.to_owned(), known });
    }
    Ok(event)
}

/// The processors on which to count the events of the PMU of this number; none where it counts in threads.
pub fn cpus_of(root: &Root, number: u32) -> Vec<u32> {
    let is_it = |pmu: &&String| root.number(&format!("{DEVICES}/{pmu}/type")) == Some(number);
    root.names(DEVICES).iter().find(is_it).map(|pmu| cpus(root, pmu)).unwrap_or_default()
}

/// PMUs that count by processor say on which to count, so that each part of the machine is counted once.
fn cpus(root: &Root, pmu: &str) -> Vec<u32> {
    root.line(&format!("{DEVICES}/{pmu}/cpumask")).map(|list| cpu_list(&list)).unwrap_or_default()
}

/// `uncore_imc_1` as `uncore_imc`.
pub fn family(pmu: &str) -> &str {
    match pmu.rsplit_once('_') {
        Some((family, number)) if number.parse::<u32>().is_ok() => family,
        _ => pmu,
    }
}

/// `uncore_imc_1` and `imc` as `imc`.
fn kind(pmu: &str) -> &str {
    family(pmu.strip_prefix("uncore_").unwrap_or(pmu))
}

/// Without a letter all modes are counted; else only those that are named.
fn without(name: &str, modes: &str) -> Result<Without, PmuError> {
    let other = |c: &char| !"ukh".contains(*c);
    if let Some(modifier) = modes.chars().find(other) {
        return Err(PmuError::Modifier { name: name.to_owned(), modifier });
    }
    let missing = |mode| !modes.is_empty() && !modes.contains(mode);
    Ok(Without { user: missing('u'), kernel: missing('k'), hypervisor: missing('h') })
}

/// The first names, and where the others are.
fn listed(names: &[String], pattern: &str, list: &str) -> String {
    let shown = names.get(..LISTED).unwrap_or(names).join(", ");
    match names.len() {
        0 => "none".to_owned(),
        few if few <= LISTED => shown,
        all => format!("{shown} and {} more (`{list}{pattern}`)", all - LISTED),
    }
}

/// A PMU.
struct Unit<'a> {
    root: &'a Root,
    /// The event's name, for errors.
    name: &'a str,
    pmu: &'a str,
    kind: u32,
    fields: BTreeMap<String, Field>,
}

impl<'a> Unit<'a> {
    fn read(root: &'a Root, name: &'a str, pmu: &'a str) -> Result<Self, PmuError> {
        let missing = || PmuError::NoPmu {
            name: name.to_owned(),
            pmu: pmu.to_owned(),
            known: "no number for it".into(),
        };
        let kind = root.number(&format!("{DEVICES}/{pmu}/type")).ok_or_else(missing)?;
        let folder = format!("{DEVICES}/{pmu}/format");
        let field = |field: String| {
            let text = root.line(&format!("{folder}/{field}"))?;
            Some((field, Field::parse(&text)?))
        };
        let fields = root.names(&folder).into_iter().filter_map(field).collect();
        Ok(Self { root, name, pmu, kind, fields })
    }

    /// What is to be counted, with the scale and unit of a named event.
    fn code(
        &self,
        terms: &str,
        without: Without,
        scale: &mut f64,
        unit: &mut Option<String>,
    ) -> Result<Code, PmuError> {
        let cpus = cpus(self.root, self.pmu);
        let mut code = Code { kind: self.kind, without, cpus, ..Code::default() };
        // Fields that a named event leaves to the user: `core=?`.
        let (mut open, mut given) = (Vec::new(), Vec::new());
        for term in terms.split(',') {
            let (field, value) =
                term.split_once('=').map_or((term, None), |(field, value)| (field, Some(value)));
            let file = format!("{DEVICES}/{}/events/{field}", self.pmu);
            match self.root.line(&file).filter(|_| value.is_none()) {
                Some(text) => {
                    if self.root.number(&format!("{file}.snapshot")) == Some(1) {
                        return Err(PmuError::Level(self.name.to_owned()));
                    }
                    *scale = self.root.number(&format!("{file}.scale")).unwrap_or(1.0);
                    *unit = self.root.line(&format!("{file}.unit"));
                    for term in text.split(',') {
                        match term.trim().split_once('=') {
                            Some((field, "?")) => open.push(field.to_owned()),
                            Some((field, value)) => self.put(&mut code, field, Some(value))?,
                            None => self.put(&mut code, term.trim(), None)?,
                        }
                    }
                }
                None => {
                    self.put(&mut code, field, value)?;
                    given.push(field);
                }
            }
        }
        match open.iter().find(|field| !given.contains(&field.as_str())) {
            Some(field) => Err(self.bad_value(field, self.field(field)?)),
            None => Ok(code),
        }
    }

    /// Sets a field. One without a value is a flag.
    fn put(&self, code: &mut Code, field: &str, value: Option<&str>) -> Result<(), PmuError> {
        let place = self.field(field)?;
        let value = value.map_or(Some(1), number).filter(|value| *value <= place.most());
        place.put(&mut code.words, value.ok_or_else(|| self.bad_value(field, place))?);
        Ok(())
    }

    fn field(&self, field: &str) -> Result<Field, PmuError> {
        let known = self.fields.get(field).copied().or_else(|| Field::whole(field));
        known.ok_or_else(|| PmuError::NoTerm {
            name: self.name.to_owned(),
            pmu: self.pmu.to_owned(),
            term: field.to_owned(),
            known: self.known(),
        })
    }

    fn bad_value(&self, field: &str, place: Field) -> PmuError {
        PmuError::Value { name: self.name.to_owned(), term: field.to_owned(), most: place.most() }
    }

    /// Fields, then events.
    fn known(&self) -> String {
        let events = self.root.names(&format!("{DEVICES}/{}/events", self.pmu));
        let events = events.into_iter().filter(|name| !name.contains('.'));
        let all: Vec<String> = self.fields.keys().cloned().chain(events).collect();
        listed(&all, &format!(" {}/", self.pmu), "carom count --list")
    }
}

/// `12`, `0xc`
fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}
