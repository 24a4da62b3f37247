//! The loops in the file: what a profiler finds there must agree with what the workload prints. (That each
//! loop has its length and its contended access in place is tested beside the code, on the decoded bytes.)

// clippy.toml allows it in test functions, but not in their helpers.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::{HashMap, HashSet};
use std::fs;

use common::{WORKLOADS, json};
use gimli::{BaseAddresses, CieOrFde, EhFrame, EndianSlice, LittleEndian, UnwindSection};
use iced_x86::{Decoder, DecoderOptions, Register};
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};
use serde_json::Value;

fn hexadecimal(value: &Value) -> u64 {
    u64::from_str_radix(value.as_str().unwrap().trim_start_matches("0x"), 16).unwrap()
}

/// All lengths and positions that the workload offers.
fn offered() -> Vec<(u64, u64)> {
    let list = json("contended-loop --list");
    let loops = list["expected"]["loops"].as_array().unwrap();
    let positions = |of: &Value| of["positions"].as_array().unwrap().clone();
    loops
        .iter()
        .flat_map(|of| {
            positions(of).into_iter().map(|at| (of["length"].as_u64().unwrap(), at.as_u64().unwrap()))
        })
        .collect()
}

#[test]
fn each_loop_is_a_function_in_the_symbol_table_and_the_unwind_table() {
    let file = fs::read(WORKLOADS).unwrap();
    let elf = object::File::parse(&*file).unwrap();
    let functions: HashMap<&str, (u64, u64)> = elf
        .symbols()
        .filter(|symbol| symbol.kind() == SymbolKind::Text)
        .filter_map(|symbol| Some((symbol.name().ok()?, (symbol.address(), symbol.size()))))
        .collect();

    let section = elf.section_by_name(".eh_frame").unwrap();
    let data = section.data().unwrap();
    let frames = EhFrame::new(data, LittleEndian);
    let bases = BaseAddresses::default().set_eh_frame(section.address());
    let mut unwound: HashSet<(u64, u64)> = HashSet::new();
    let mut entries = frames.entries(&bases);
    while let Some(entry) = entries.next().unwrap() {
        if let CieOrFde::Fde(partial) = entry {
            let cie = EhFrame::<EndianSlice<'_, LittleEndian>>::cie_from_offset;
            let fde = partial.parse(cie).unwrap();
            unwound.insert((fde.initial_address(), fde.len()));
        }
    }

    for (length, position) in offered() {
        for contended in ["lock_add", "add", "store", "load"] {
            let name = format!("contended_loop_{length}_at_{position}_{contended}");
            let function = functions.get(&*name).unwrap_or_else(|| panic!("no symbol {name}"));
            assert!(unwound.contains(function), "{name} is not covered by the unwind table");
        }
    }
}

#[test]
fn the_printed_instruction_is_the_one_in_the_file() {
    let file = fs::read(WORKLOADS).unwrap();
    let elf = object::File::parse(&*file).unwrap();
    let text = elf.section_by_name(".text").unwrap();
    let (start, code) = (text.address(), text.data().unwrap());
    for (arguments, loops) in [
        ("--length 4 --position first", 1),
        ("--length 64 --position middle --contended add", 1),
        ("--length 200 --position 17 --contended store", 1),
        ("--length 96 --position last --contended load", 2),
    ] {
        let object = json(&format!("contended-loop {arguments} --iterations 10"));
        let expected = &object["expected"];
        assert_eq!(expected["loops"].as_array().unwrap().len(), loops, "{arguments}");
        for one in expected["loops"].as_array().unwrap() {
            let symbol =
                elf.symbols().find(|symbol| symbol.name() == Ok(one["function"].as_str().unwrap())).unwrap();
            let offset = one["contended_offset_bytes"].as_u64().unwrap();
            assert_eq!(symbol.size(), one["function_bytes"].as_u64().unwrap());
            assert_eq!(
                hexadecimal(&one["contended_address"]),
                hexadecimal(&one["function_address"]) + offset,
                "{arguments}"
            );
            // The program is loaded at a whole number of pages: an address keeps its last twelve bits.
            assert_eq!(hexadecimal(&one["function_address"]) % 4096, symbol.address() % 4096);

            // Decoded where the offset says, the instruction goes through rdi, which holds the word.
            let at = symbol.address() + offset;
            let bytes = &code[(at - start) as usize..];
            let instruction = Decoder::with_ip(64, bytes, at, DecoderOptions::NONE).decode();
            assert_eq!(instruction.memory_base(), Register::RDI, "{arguments}");
        }
        assert_eq!(hexadecimal(&expected["line"]) % 64, 0);
        assert_eq!(hexadecimal(&expected["line"]), hexadecimal(&expected["word"]) / 64 * 64);
    }
}

/// Two threads of 5,000 locked additions of 1 leave 10,000; readers leave one storing thread, worker-0.
#[test]
fn the_word_is_the_one_that_all_threads_write() {
    let object = json("contended-loop --length 32 --position 7 --iterations 5000");
    assert_eq!(object["measured"]["final_value"], 10_000);
    let object = json("contended-loop --contended load --threads 3 --iterations 10");
    let loops = object["expected"]["loops"].as_array().unwrap();
    assert_eq!((&loops[0]["contended"], &loops[0]["threads"]), (&"load".into(), &serde_json::json!([1, 2])));
    assert_eq!((&loops[1]["contended"], &loops[1]["threads"]), (&"store".into(), &serde_json::json!([0])));
}
