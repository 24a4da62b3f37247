//! Instructions, added up by source line.

use std::collections::HashMap;

use carom_base::{ProcessId, StackId};
use carom_base_sim::{Counts, Results};

use super::{MOST_SITES, Site, cost::cycles, instructions::Instruction};
use crate::{
    recording::Names,
    symbols::{DataObject, Frame},
};

/// Instructions whose names are looked up.
const LOOKED_UP: usize = 8 * MOST_SITES;

/// What instructions have in common that are one site.
type Key = (ProcessId, Option<String>, Option<String>, Option<u32>, Option<u64>);

/// The sites that cost most, each with the numbers of its instructions.
pub(super) fn sites(
    results: &Results,
    instructions: &[Instruction],
    names: &mut dyn Names,
) -> (Vec<Site>, Vec<Vec<usize>>) {
    let mut ranked: Vec<(usize, &Instruction, Counts)> = instructions
        .iter()
        .zip(results.references.iter().copied())
        .enumerate()
        .map(|(number, (instruction, counts))| (number, instruction, counts))
        .collect();
    ranked.sort_by(|(.., a), (.., b)| rank(a, b));
    let mut sites: Vec<(Site, Vec<usize>, &Instruction)> = Vec::new();
    let mut known: HashMap<Key, usize> = HashMap::new();
    for (number, instruction, counts) in ranked.iter().take(LOOKED_UP) {
        let path = names.call_path(instruction.process, instruction.ip, StackId::NONE);
        let at = *known.entry(key(instruction, path.first())).or_insert(sites.len());
        match sites.get_mut(at) {
            Some((site, members, _)) => {
                site.counts += *counts;
                members.push(*number);
            }
            None => {
                let site = Site { process: instruction.process, path, object: None, counts: *counts };
                sites.push((site, vec![*number], instruction));
            }
        }
    }
    sites.sort_by(|(a, ..), (b, ..)| rank(&a.counts, &b.counts));
    sites.truncate(MOST_SITES);
    let named = sites.into_iter().map(|(site, members, instruction)| {
        // The data of the instruction that costs most.
        (Site { object: object(instruction, names), ..site }, members)
    });
    named.unzip()
}

/// The most cycles first, and the most accesses first where these are equal.
fn rank(a: &Counts, b: &Counts) -> std::cmp::Ordering {
    cycles(b).total_cmp(&cycles(a)).then(b.accesses().cmp(&a.accesses()))
}

fn key(instruction: &Instruction, frame: Option<&Frame>) -> Key {
    let process = instruction.process;
    match frame {
        Some(Frame { function, file: file @ Some(_), line: line @ Some(_), .. }) => {
            (process, function.clone(), file.clone(), *line, None)
        }
        _ => (process, None, None, None, Some(instruction.ip.0)),
    }
}

/// The object that most of the lines belong to which the instruction was seen to access.
fn object(instruction: &Instruction, names: &mut dyn Names) -> Option<DataObject> {
    let mut found: Vec<(DataObject, usize)> = Vec::new();
    for at in &instruction.data {
        let object = names.object(instruction.process, *at);
        match found.iter_mut().find(|(known, _)| same(known, &object)) {
            Some((_, lines)) => *lines += 1,
            None => found.push((object, 1)),
        }
    }
    // Of several with as many lines, the first.
    found.into_iter().rev().max_by_key(|(_, lines)| *lines).map(|(object, _)| object)
}

/// The same variable, or a block of the same allocation.
fn same(one: &DataObject, other: &DataObject) -> bool {
    one.kind == other.kind && one.name == other.name && one.declared == other.declared
}
