//! Signals at any moment, with exact counts.

use std::{arch::naked_asm, sync::atomic::Ordering::Relaxed};

use carom_collect_translate::{Mode, Totals};
use libc::{SA_RESTART, SIGUSR1};

use super::{
    basics::{RAISE_AT_SAMPLES, STREAMED, Timer, install, turn},
    mix::{Buffer, gathers, masked, mix},
};
use crate::support::{Function, counted, executed, sum};

static SIGNALS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

/// A handler of two instructions. It returns to the C library's `mov rax, 15; syscall`.
#[unsafe(naked)]
extern "C" fn counts_itself(_: libc::c_int, _: *mut libc::siginfo_t, _: *mut libc::ucontext_t) {
    naked_asm!("inc qword ptr [rip + {signals}]", "ret", signals = sym SIGNALS)
}

/// What one signal adds, as [`numbers`]: `inc` loads and stores 8 bytes, `ret` loads 8, and the restorer has two
/// instructions, the second of which is a system call.
const OF_A_SIGNAL: [i64; 11] = [4, 2, 1, 16, 8, 1, 1, 0, 1, 0, 1];

fn numbers(totals: &Totals) -> [i64; 11] {
    [
        totals.instructions,
        totals.loads,
        totals.stores,
        totals.loaded_bytes,
        totals.stored_bytes,
        totals.branches,
        totals.branches_taken,
        totals.calls,
        totals.returns,
        totals.atomics,
        totals.system_calls,
    ]
}

/// The counts of a run without signals, and of so many signals.
fn with_signals(quiet: &Totals, signals: i64) -> [i64; 11] {
    let (quiet, each) = (numbers(quiet), OF_A_SIGNAL);
    std::array::from_fn(|n| quiet[n] + signals * each[n])
}

/// Runs `function` for some milliseconds with and without a signal every `period_us`: the result is the same, and the
/// counts differ by those of the handler.
fn check(function: Function, rounds: u64, least: i64) {
    let _turn = turn();
    unsafe extern "C" fn prepare(_: u64, _: u64) -> u64 {
        install(SIGUSR1, counts_itself, SA_RESTART, &[]);
        0
    }
    counted(prepare, 0, 0);
    let mut buffer = Buffer::new();
    let (result, quiet) = counted(function, rounds, buffer.address());
    let mut signals = 0;
    // Every run is interrupted at other moments.
    for period_us in (501..).step_by(7).take(20) {
        SIGNALS.store(0, Relaxed);
        STREAMED.iter().for_each(|count| count.store(0, Relaxed));
        executed();
        let (found, stormy) = {
            let timer = Timer::start(libc::CLOCK_MONOTONIC, SIGUSR1, period_us);
            let run = counted(function, rounds, buffer.address());
            drop(timer);
            run
        };
        assert_eq!(found, result);
        // Those before and after the function ran natively.
        let counted = stormy.system_calls - quiet.system_calls;
        assert!((0..=SIGNALS.load(Relaxed) as i64).contains(&counted));
        assert_eq!(
            numbers(&stormy),
            with_signals(&quiet, counted),
            "{counted} signals, one per {period_us} us"
        );
        assert_eq!(
            sum(&executed()),
            stormy.counts,
            "by instruction, {counted} signals, one per {period_us} us"
        );
        if crate::MODE == Mode::Stream {
            let streamed = [&STREAMED[0], &STREAMED[1]].map(|count| count.load(Relaxed) as i64);
            assert_eq!(streamed, [stormy.loads, stormy.stores], "{counted} signals, one per {period_us} us");
        }
        signals += counted;
    }
    assert!(signals > least, "only {signals} signals");
}

/// A signal in the dispatcher at every sample; there are none in modes without samples.
#[test]
fn samples_are_interrupted() {
    let _turn = turn();
    unsafe extern "C" fn prepare(_: u64, _: u64) -> u64 {
        install(SIGUSR1, counts_itself, SA_RESTART, &[]);
        0
    }
    counted(prepare, 0, 0);
    let mut buffer = Buffer::new();
    let (result, quiet) = counted(mix, 2000, buffer.address());
    SIGNALS.store(0, Relaxed);
    RAISE_AT_SAMPLES.store(SIGUSR1 as u64, Relaxed);
    let (found, raised) = counted(mix, 2000, buffer.address());
    RAISE_AT_SAMPLES.store(0, Relaxed);
    assert_eq!(found, result);
    let signals = SIGNALS.load(Relaxed) as i64;
    assert_eq!(numbers(&raised), with_signals(&quiet, signals), "{signals} signals");
    // In episodes alone there are some.
    let some = matches!(crate::MODE, Mode::Episodes { .. });
    assert!(some || (signals > 1000) == is_sampled(), "{signals} signals");
}

fn is_sampled() -> bool {
    matches!(crate::MODE, Mode::Sample { .. } | Mode::Watch { .. })
}

#[test]
fn every_kind_of_code_is_interrupted() {
    // Samples take time, and so do accesses that are added up individually.
    let rounds = match crate::MODE {
        _ if is_sampled() => 6_000,
        Mode::Stream => 20_000,
        _ => 60_000,
    };
    check(mix, rounds, 100);
}

/// `a` times: loops of 50 rounds over the memory at `b`. One keeps a carry alive, and in one all registers live.
#[unsafe(naked)]
unsafe extern "C" fn short_loops(_a: u64, _b: u64) -> u64 {
    naked_asm!(
        "push rbx",
        "push rbp",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "xor eax, eax",
        "mov [rsi], rax",
        "2:",
        "xor ecx, ecx",
        "mov r8d, 50",
        "3:",
        "mov rdx, [rsi]",
        "add rcx, 1",
        "add rdx, 1",
        "mov [rsi], rdx",
        "cmp r8, rcx",
        "jne 3b",
        "clc",
        "4:",
        "adc rax, [rsi]",
        "lea rcx, [rcx - 1]",
        "mov r9, rcx",
        "inc r9",
        "dec r9",
        "jnz 4b",
        "mov ecx, 50",
        "5:",
        "lea rdx, [rdx + rbx]",
        "lea rbp, [rbp + r9]",
        "lea r10, [r10 + r11]",
        "lea r12, [r12 + r13]",
        "lea r14, [r14 + r15]",
        "lea r8, [r8 + 1]",
        "add rax, [rsi]",
        "sub rax, [rsi + 8]",
        "lea rdi, [rdi + 1]",
        "dec rcx",
        "jnz 5b",
        "lea rdi, [rdi - 50]",
        "dec rdi",
        "jnz 2b",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbp",
        "pop rbx",
        "ret",
    )
}

#[test]
fn short_loops_are_interrupted() {
    let rounds = match crate::MODE {
        _ if is_sampled() => 1_500,
        Mode::Stream => 10_000,
        _ => 60_000,
    };
    check(short_loops, rounds, 100);
}

#[test]
fn masked_moves_are_interrupted() {
    let rounds = match crate::MODE {
        _ if is_sampled() => 200_000,
        Mode::Stream => 200_000,
        _ => 2_000_000,
    };
    if std::is_x86_feature_detected!("avx512vl") && std::is_x86_feature_detected!("avx512bw") {
        check(masked, rounds, 100);
    } else {
        eprintln!("skipped: processor: no AVX-512");
    }
}

#[test]
fn gathers_are_interrupted() {
    // Some modes take a moment for each gather, others leave the cache.
    let rounds = match crate::MODE {
        Mode::Sample { .. } => 60_000,
        Mode::Stream | Mode::Watch { .. } => 3000,
        _ => 2_000_000,
    };
    if std::is_x86_feature_detected!("avx2") {
        check(gathers, rounds, 100);
    } else {
        eprintln!("skipped: processor: no AVX2");
    }
}
