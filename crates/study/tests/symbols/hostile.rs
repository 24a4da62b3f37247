//! Damaged files cost names, never the report.

use carom_base::{Addr, Ip};

use crate::c::SOURCE;
use crate::toolchain::{Program, compile};

/// Asks for everything at places all over the program.
fn ask_all(program: &Program, places: &[u64]) {
    let symbols = program.symbols();
    for place in places {
        for offset in [0, 9, 64] {
            let address = place.wrapping_add(offset);
            assert!(!symbols.frames(Ip(address), false).is_empty());
            assert!(!symbols.object(Addr(address)).name.is_empty());
            symbols.field(Addr(address), 8);
            symbols.layout(Addr(address), Addr(address + 64));
            // The size of `struct stats`.
            if let Some(of) = symbols.heap_type(&[Ip(address), Ip(address)], Addr(0), 104) {
                symbols.heap_field(&of, 88..96);
                symbols.heap_layout(&of, 104, 64..128);
            }
        }
    }
}

/// A linear congruential generator (Knuth's MMIX constants): the same damage in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % bound
    }
}

fn victim() -> Option<(Program, Vec<u8>, Vec<u64>)> {
    let program = compile("cc", "stats.c", SOURCE, &["-g", "-O1", "-gz=none"])?;
    let bytes = std::fs::read(&program.path).expect("just compiled");
    let mut places: Vec<u64> = program.nm().values().map(|(address, _)| *address).collect();
    places.extend([program.bias, program.bias + 0xfff_ffff]);
    Some((program, bytes, places))
}

#[test]
fn every_prefix_of_a_program_is_survived() {
    const PREFIXES: usize = 150;
    let Some((program, bytes, places)) = victim() else { return };
    for part in 0..=PREFIXES {
        std::fs::write(&program.path, &bytes[..bytes.len() * part / PREFIXES]).expect("written");
        ask_all(&program, &places);
    }
}

#[test]
fn random_damage_is_survived() {
    const VARIANTS: u64 = 200;
    let Some((program, bytes, places)) = victim() else { return };
    for seed in 0..VARIANTS {
        let mut random = Random(seed);
        let mut damaged = bytes.clone();
        for _ in 0..1 << random.below(12) {
            let at = random.below(damaged.len());
            // Not the first 64 bytes: a file without an ELF header tests nothing further.
            if at >= 64 {
                damaged[at] = random.below(256).try_into().expect("a byte");
            }
        }
        std::fs::write(&program.path, &damaged).expect("written");
        ask_all(&program, &places);
    }
}

#[test]
fn noise_a_directory_and_nothing_are_survived() {
    let Some((program, _, places)) = victim() else { return };
    let mut random = Random(7);
    let noise: Vec<u8> = (0..4096).map(|_| random.below(256).try_into().expect("a byte")).collect();
    std::fs::write(&program.path, &noise).expect("written");
    ask_all(&program, &places);
    std::fs::remove_file(&program.path).expect("removed");
    ask_all(&program, &places);
    std::fs::create_dir(&program.path).expect("made");
    ask_all(&program, &places);
}
