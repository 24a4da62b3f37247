//! Sampled uses, and counts of the exact mode.

use carom_base::{
    AccessKind, Addr, CellClass, Cpu, LogBin, Nanos, ReuseCell, ReuseOutcome, Scope, StackId, ThreadId,
};
use carom_store::Rule;

use crate::common::{Small, small};
use crate::{CELLS, LATE, REUSE, expect};

fn later(r: &mut Small) -> &mut carom_base::Touch {
    r.reuse[0].later.as_mut().unwrap()
}

#[test]
fn a_use_by_no_thread() {
    expect(REUSE, &[Rule::UnknownThread(ThreadId(5))], |r| r.reuse[0].earlier.thread = ThreadId(5));
    expect(REUSE, &[Rule::UnknownThread(ThreadId(5))], |r| later(r).thread = ThreadId(5));
}

#[test]
fn a_reuse_outside_the_run_on_no_processor_with_an_unknown_stack_of_no_bytes() {
    expect(REUSE, &[Rule::OutsideRun(LATE)], |r| later(r).time = LATE);
    expect(REUSE, &[Rule::UnknownCpu(Cpu(9))], |r| later(r).cpu = Cpu(9));
    expect(REUSE, &[Rule::UnknownStack(StackId(9))], |r| r.reuse[0].earlier.stack = StackId(9));
    expect(REUSE, &[Rule::ZeroWidth], |r| later(r).access.width = 0);
}

#[test]
fn a_use_of_no_weight() {
    expect(REUSE, &[Rule::BadWeight(0.0)], |r| r.reuse[0].weight = 0.0);
    expect(REUSE, &[], |r| {
        r.reuse[0] = carom_base::ReuseEvent {
            outcome: ReuseOutcome::Replaced,
            later: None,
            weight: 0.0,
            ..r.reuse[0]
        };
    });
}

#[test]
fn a_reuse_without_the_access_that_reused() {
    expect(REUSE, &[Rule::OutcomeAndAccess(ReuseOutcome::Reused)], |r| r.reuse[0].later = None);
    expect(REUSE, &[Rule::OutcomeAndAccess(ReuseOutcome::Invalidated)], |r| {
        r.reuse[0].outcome = ReuseOutcome::Invalidated;
        r.reuse[0].later = None;
    });
}

#[test]
fn a_reuse_before_the_use_or_elsewhere() {
    expect(REUSE, &[Rule::EarlierIsLater], |r| later(r).time = Nanos(r.manifest.started.0 + 50));
    expect(REUSE, &[Rule::DifferentLines], |r| later(r).access.addr = Addr(0x5040));
}

#[test]
fn a_thread_reuses_in_its_own_cache_what_it_used_itself() {
    expect(REUSE, &[Rule::OtherThread(ThreadId(1))], |r| r.reuse[0].scope = Scope::Private);
    expect(CELLS, &[Rule::OtherThread(ThreadId(1))], |r| r.cells[0].scope = Scope::Private);
    // What the threads of a domain share, either may reuse.
    expect(REUSE, &[], |r| later(r).thread = ThreadId(0));
}

#[test]
fn only_another_threads_write_invalidates() {
    expect(REUSE, &[Rule::InvalidatedByLoad], |r| r.reuse[0].outcome = ReuseOutcome::Invalidated);
    expect(REUSE, &[Rule::SameThread(ThreadId(0))], |r| {
        r.reuse[0].outcome = ReuseOutcome::Invalidated;
        later(r).access.kind = AccessKind::Store;
        later(r).thread = ThreadId(0);
    });
    expect(REUSE, &[], |r| {
        r.reuse[0].outcome = ReuseOutcome::Invalidated;
        later(r).access.kind = AccessKind::ReadModifyWrite;
    });
}

#[test]
fn a_count_of_no_thread_or_of_nothing() {
    expect(CELLS, &[Rule::UnknownThread(ThreadId(5))], |r| r.cells[0].thread = ThreadId(5));
    expect(CELLS, &[Rule::EmptyCell], |r| r.cells[0].count = 0);
}

#[test]
fn pairs_counted_together_have_no_address() {
    let at = small().cells[0].at;
    expect(CELLS, &[Rule::AddressOfRest(at)], |r| r.cells[0].pair = Some(ReuseCell::REST));
    expect(CELLS, &[], |r| {
        r.cells[0].pair = Some(ReuseCell::REST);
        r.cells[0].at = Addr(0);
    });
}

#[test]
fn places_are_powers_of_two() {
    for granularity in [0, 48] {
        expect(CELLS, &[Rule::BadGranularity(granularity)], |r| r.cells[0].granularity = granularity);
    }
}

#[test]
fn bins_exist_and_only_reuses_have_one() {
    // 60 bits behind the five that are kept, 32 bins each, and the first 64: there is no bin 1920.
    expect(CELLS, &[Rule::BadBin(LogBin(1920))], |r| r.cells[0].bin = LogBin(1920));
    expect(CELLS, &[], |r| r.cells[0].bin = LogBin(1919));
    expect(CELLS, &[Rule::BadBin(LogBin(1))], |r| r.cells[0].class = CellClass::First);
}
