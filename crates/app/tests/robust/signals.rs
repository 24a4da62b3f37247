//! Handlers, masks and alternate stacks.

use std::process::Command;

use crate::support::{DENSE, Recorded, compare, compile, keeps, run, same, same_with};

const SIGTRAP: i32 = 5;

#[test]
fn its_own_sigtrap_handlers_get_its_own_traps() {
    keeps("trap_handlers.c", &[]);
}

#[test]
fn a_sigtrap_handler_may_be_interrupted_and_nest() {
    keeps("trap_on_stack.c", &[]);
    keeps("trap_on_stack.c", &["own"]);
}

#[test]
fn many_handlers_leave_vector_registers_as_they_were() {
    let program = compile("robust/pending.c", &[]);
    for options in [&DENSE[..], &["--engine", "translate", "--period", "1000"], &["--engine", "translate"]] {
        let (ending, _) = same_with(options, &program, &[]);
        assert_eq!(ending.code(), Some(0), "{options:?}: {}", ending.complaint());
    }
}

#[test]
fn a_handler_from_before_main_finds_its_program() {
    keeps("early_handler.c", &[]);
}

#[test]
fn errno_stays_as_it_was() {
    keeps("errno.c", &[]);
}

#[test]
fn its_own_profiling_timer_ticks() {
    keeps("prof_timer.c", &[]);
}

#[test]
fn alternate_stacks_are_its_own_however_small() {
    keeps("alt_stack.c", &[]);
}

/// A runtime that begins without the C library's start-up code sees no stack of ours. (Under `burst` it would: the kernel has it.)
#[test]
fn a_thread_that_never_begins_in_the_cache_sees_its_own_alternate_stack() {
    let program = compile("robust/own_start.c", &["-nostartfiles"]);
    let alone = run(&mut Command::new(&program));
    assert_eq!(alone.code(), Some(0), "{}", alone.complaint());
    let commands: [(&str, &[&str]); 3] =
        [("count", &[]), ("share", &["--engine", "translate"]), ("reuse", &[])];
    for (command, options) in commands {
        let mut recorded = Recorded::by(command, options, &program, &[]);
        let observed = recorded.run();
        compare(&recorded.command, &alone, &observed);
    }
}

#[test]
fn handlers_run_where_the_kernel_would_run_them() {
    keeps("handler_stacks.c", &[]);
    keeps("preempted.c", &[]);
}

#[test]
fn a_page_between_coroutine_and_thread_stays_unread() {
    keeps("guarded_coroutine.c", &[]);
}

#[test]
fn faults_of_stepped_instructions_end_the_steps() {
    let program = compile("robust/guarded_coroutine.c", &[]);
    // One run of eight was killed by a step that nobody owned.
    for _ in 0..10 {
        same_with(&["--engine", "burst", "--period", "60us", "--budget", "90"], &program, &[]);
    }
}

#[test]
fn instructions_that_fault_are_named() {
    keeps("fault_address.c", &[]);
}

#[test]
fn it_steps_through_its_own_instructions() {
    // Samples meet the steps in two runs of five.
    for _ in 0..6 {
        keeps("single_steps.c", &[]);
    }
}

/// A sample that comes while the program's own signal is put back would take its place: so it did in one of some 100 threads.
#[test]
fn traps_that_are_held_back_arrive() {
    keeps("held_traps.c", &[]);
    let program = compile("robust/held_traps.c", &[]);
    for delivery in ["setsig", "posix-timer"] {
        let options = [&DENSE[..], &["--delivery", delivery]].concat();
        let (ending, _) = same_with(&options, &program, &[]);
        assert_eq!(ending.code(), Some(0), "{delivery}: {}", ending.complaint());
    }
}

#[test]
fn older_names_do_what_they_did() {
    let (ending, _) = same("old_names.c", &[]);
    assert_eq!(ending.signal(), Some(SIGTRAP), "{}", ending.complaint());
}

#[test]
fn programs_begin_with_the_mask_of_their_makers() {
    keeps("trap_blocked.c", &[]);
}

#[test]
fn masks_read_back_as_they_were_set() {
    keeps("masks.c", &[]);
}

#[test]
fn waiting_with_all_signals_blocked_waits() {
    keeps("waits.c", &[]);
}

#[test]
fn jumps_go_where_they_went() {
    keeps("jumps.c", &[]);
}
