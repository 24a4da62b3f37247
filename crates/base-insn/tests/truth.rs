//! Predictions about real programs against what the processor then does, one hardware single-step at a time.

#[path = "support/functions.rs"]
mod functions;
#[path = "support/tracee.rs"]
mod tracee;

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

use carom_base::{Access, Skip};
use carom_base_insn::{Decoder, MAX_INSTRUCTION_BYTES, Memory, Operands, Registers, Walk};
use iced_x86::{DecoderOptions, FlowControl, Instruction};

use functions::Functions;
use tracee::{Progress, Stop, Tracee};

/// Steps from one random point.
const WINDOW: u32 = 64;

#[derive(Default)]
struct Tally {
    walks: u64,
    steps: u64,
    stuck: BTreeMap<String, u64>,
    arrived: u64,
    known_registers: u64,
    accesses: u64,
    skips: BTreeMap<Skip, u64>,
    recovered: u64,
    lost: BTreeMap<Skip, u64>,
    predecessors: u64,
    unknown_predecessors: u64,
    jumps_refused: u64,
    jumps_misread: u64,
    stores_seen: u64,
}

#[test]
fn integer_strings_and_every_operand_class() {
    let program = compile();
    check(&program, &[], 120, true);
}

#[test]
fn a_compressor() {
    check("/usr/bin/gzip", &["-c", "-9", "/usr/bin/gzip", "/bin/bash", "/usr/bin/perl"], 120, false);
}

#[test]
fn a_database() {
    let sql = "with recursive c(x) as (select 1 union all select x+1 from c where x<900000) \
               select count(*), group_concat(x%7, '') from c group by x%11 order by x*7%13;";
    check("/usr/bin/sqlite3", &[":memory:", sql], 120, false);
}

/// `diff_memory`: read all writable memory around every step, and see that no byte changes but those that
/// were predicted to be stored to.
fn check(program: &str, args: &[&str], windows: u32, diff_memory: bool) {
    let Ok(tracee) = Tracee::start(program, args) else {
        eprintln!("skipped: tool: {program} cannot be traced");
        return;
    };
    let mut random = Random(0x1234_5678_9abc_def1);
    let mut tally = Tally::default();
    let mut decoder = Decoder::new();
    // The dynamic loader first: steps from the very first instruction.
    let mut alive = window(&tracee, &mut decoder, &mut tally, &mut random, &Functions::default(), false);
    let mut functions = None;
    for _ in 0..windows {
        let time = Duration::from_micros(300 + random.below(1500));
        if !alive || tracee.run(time) == Progress::Ended {
            break;
        }
        let functions = functions.get_or_insert_with(|| Functions::of(&tracee));
        alive = window(&tracee, &mut decoder, &mut tally, &mut random, functions, diff_memory);
    }
    report(program, &tally);
    assert!(tally.steps > 1000, "too little of {program} was seen: {} steps", tally.steps);
}

fn window(
    tracee: &Tracee,
    decoder: &mut Decoder,
    tally: &mut Tally,
    random: &mut Random,
    functions: &Functions,
    diff_memory: bool,
) -> bool {
    // False when the program has ended.
    let origin = tracee.stop();
    if origin.restarts() {
        return true;
    }
    let mut walks = BTreeMap::new();
    for _ in 0..12 {
        let k = 1 + random.below(u64::from(WINDOW)) as u32;
        walks.insert(k, decoder.walk(&origin.registers(), k, tracee));
    }
    let mut before = tracee.stop();
    for step in 1..=WINDOW {
        for walk in walks.values() {
            if let Walk::Stuck { after, at, .. } = walk
                && *after == step - 1
            {
                assert_eq!(*at, before.registers().rip, "stuck elsewhere, after {after} steps");
            }
        }
        let operands = decoder.operands_before(&before.registers(), tracee);
        let one = decoder.walk(&before.registers(), 1, tracee);
        let image = diff_memory.then(|| Image::of(tracee));
        let instruction = instruction_at(before.registers().rip, tracee);
        match tracee.step() {
            Progress::Done => {}
            Progress::Signal => return true,
            Progress::Ended => return false,
        }
        let after = tracee.stop();
        tally.steps += 1;
        compare_walk(&one, &before, &after, 1, &format!("{:?}", instruction.map(|i| i.code())), tally);
        if let Some(walk) = walks.get(&step) {
            compare_walk(walk, &origin, &after, step, "", tally);
        }
        let Some(instruction) = instruction else { return true };
        if let Some(image) = image {
            compare_stores(&instruction, &operands, &image, tracee, tally);
        }
        compare_operands(decoder, &instruction, &operands, &after.registers(), tracee, tally);
        compare_predecessor(decoder, &instruction, &after.registers(), functions, tracee, tally);
        before = after;
    }
    for walk in walks.values() {
        tally.walks += 1;
        match walk {
            Walk::Arrived(_) => tally.arrived += 1,
            Walk::Stuck { why, .. } => *tally.stuck.entry(format!("{why:?}")).or_default() += 1,
        }
    }
    true
}

fn compare_walk(walk: &Walk, origin: &Stop, truth: &Stop, k: u32, over: &str, tally: &mut Tally) {
    let Walk::Arrived(predicted) = walk else { return };
    let (start, truth) = (origin.registers(), truth.registers());
    let context = format!("walk of {k} from {:#x} {over}", start.rip);
    assert_eq!(predicted.rip, truth.rip, "{context}: instruction pointer");
    for (number, (guess, value)) in predicted.gpr.iter().zip(truth.gpr).enumerate() {
        if predicted.known.gpr >> number & 1 == 1 {
            assert_eq!(*guess, value, "{context}: register {number} at {:#x}", truth.rip);
            tally.known_registers += 1;
        }
    }
    // The trap flag and the resume flag belong to the single-stepping, not to the program.
    let visible = predicted.known.rflags & 0xcd5;
    let wrong = (predicted.rflags ^ truth.rflags) & visible;
    assert_eq!(wrong, 0, "{context}: flags {wrong:#x} at {:#x}", truth.rip);
    assert_eq!(predicted.fs_base, truth.fs_base, "{context}: FS base");
    for number in (0..16).filter(|number| predicted.known.vectors >> number & 1 == 1) {
        let xmm = 160 + 16 * number..176 + 16 * number;
        assert_eq!(start.xsave[xmm.clone()], truth.xsave[xmm], "{context}: xmm{number} was not changed");
    }
}

/// Every byte of memory that the step has changed lies in a predicted store.
fn compare_stores(i: &Instruction, operands: &Operands, image: &Image, mem: &Tracee, tally: &mut Tally) {
    // The kernel's stores are nobody's operands; a skipped operand is no prediction.
    if matches!(operands.skip(), Some(skip) if skip != Skip::NotAnAccess && skip != Skip::Masked)
        || i.mnemonic() == iced_x86::Mnemonic::Syscall
    {
        return;
    }
    let stores = |addr: u64| {
        operands
            .accesses()
            .iter()
            .any(|access| access.kind.writes() && (access.addr.0..access.end().0).contains(&addr))
    };
    for addr in image.changed(mem) {
        tally.stores_seen += 1;
        assert!(stores(addr), "{:#x} {:?} changed {addr:#x}: {:x?}", i.ip(), i.code(), operands.accesses());
    }
}

/// What is told afterwards is what was told before, or a reason.
fn compare_operands(
    decoder: &mut Decoder,
    i: &Instruction,
    before: &Operands,
    regs: &Registers,
    mem: &Tracee,
    tally: &mut Tally,
) {
    if let Some(skip) = before.skip() {
        *tally.skips.entry(skip).or_default() += 1;
    }
    tally.accesses += before.accesses().len() as u64;
    let after = decoder.operands_after(regs, i.ip(), mem);
    match after.skip() {
        Some(skip) if before.skip() != Some(skip) => *tally.lost.entry(skip).or_default() += 1,
        // A repeated string instruction that had no iteration at all: not visible afterwards.
        _ if i.is_string_instruction() && before.accesses().is_empty() => {}
        _ => {
            let (told, truth) = (after.accesses(), before.accesses());
            assert_eq!(told, truth, "after {:#x} {:?}", i.ip(), i.code());
            assert!(truth.iter().all(is_sound), "{:#x} {:?}: {truth:x?}", i.ip(), i.code());
            tally.recovered += truth.len() as u64;
        }
    }
}

fn is_sound(access: &Access) -> bool {
    access.width > 0 && access.width <= 4096
}

fn compare_predecessor(
    decoder: &mut Decoder,
    last: &Instruction,
    regs: &Registers,
    functions: &Functions,
    mem: &Tracee,
    tally: &mut Tally,
) {
    let ip = regs.rip;
    let told = decoder.predecessor(ip, functions.start_of(ip), mem);
    assert_eq!(told, decoder.predecessor(ip, functions.start_of(ip), mem), "the cached answer differs");
    let repeats = instruction_at(ip, mem).is_some_and(|here| {
        here.is_string_instruction() && (here.has_rep_prefix() || here.has_repne_prefix())
    });
    let falls = matches!(last.flow_control(), FlowControl::Next | FlowControl::ConditionalBranch);
    let fell_through = falls && last.next_ip() == ip;
    match told {
        Ok(told) if repeats => assert_eq!(told, ip),
        Ok(told) if fell_through => {
            assert_eq!(told, last.ip(), "in front of {ip:#x}");
            tally.predecessors += 1;
        }
        Ok(_) => tally.jumps_misread += 1,
        Err(Skip::NotFallThrough) => {
            let fine = !fell_through || functions.start_of(ip) == Some(ip);
            assert!(fine, "{ip:#x} was fallen into from {:#x} {:?}", last.ip(), last.code());
            tally.jumps_refused += 1;
        }
        Err(_) => tally.unknown_predecessors += 1,
    }
}

fn instruction_at(ip: u64, mem: &Tracee) -> Option<Instruction> {
    let mut bytes = [0; MAX_INSTRUCTION_BYTES];
    let length = mem.read(ip, &mut bytes);
    let i = iced_x86::Decoder::with_ip(64, &bytes[..length], ip, DecoderOptions::NONE).decode();
    (!i.is_invalid()).then_some(i)
}

/// All writable memory of a small program.
struct Image(Vec<(u64, Vec<u8>)>);

impl Image {
    fn of(tracee: &Tracee) -> Self {
        let writable = tracee.mappings(|permissions, bytes| permissions.starts_with("rw") && bytes < 1 << 20);
        let read = |(start, end, _, _): (u64, u64, u64, String)| {
            let mut bytes = vec![0; (end - start) as usize];
            let length = tracee.read(start, &mut bytes);
            bytes.truncate(length);
            (start, bytes)
        };
        Self(writable.into_iter().map(read).collect())
    }

    fn changed(&self, mem: &Tracee) -> Vec<u64> {
        let mut changed = Vec::new();
        for (start, old) in &self.0 {
            let mut new = vec![0; old.len()];
            let length = mem.read(*start, &mut new);
            if new[..length] == old[..length] {
                continue;
            }
            let pairs = old.iter().zip(&new[..length]).enumerate();
            changed.extend(pairs.filter(|(_, (a, b))| a != b).map(|(offset, _)| start + offset as u64));
        }
        changed
    }
}

fn compile() -> String {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/walkee.c");
    let program = concat!(env!("CARGO_TARGET_TMPDIR"), "/walkee").to_owned();
    let status = Command::new("cc").args(["-O2", "-o", &program, source]).status().expect("a C compiler");
    assert!(status.success(), "{source} does not compile");
    program
}

fn report(program: &str, t: &Tally) {
    let percent = |part: u64, whole: u64| 100.0 * part as f64 / whole.max(1) as f64;
    println!(
        "{program}: {} steps; {} walks, {:.1}% arrived, stuck {:?}, {} registers compared; \
         {} accesses, skipped {:?}, {} store bytes seen; after: {} recovered, lost {:?}; \
         predecessors: {} right, {} unknown, {} jumps refused, {} jumped to but fallen into by the code",
        t.steps,
        t.walks,
        percent(t.arrived, t.walks),
        t.stuck,
        t.known_registers,
        t.accesses,
        t.skips,
        t.stores_seen,
        t.recovered,
        t.lost,
        t.predecessors,
        t.unknown_predecessors,
        t.jumps_refused,
        t.jumps_misread,
    );
}

/// xorshift64: the same points in every run, as far as the machine lets them be.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}
