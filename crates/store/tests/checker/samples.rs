//! Samples.

use carom_base::{Addr, Cpu, ProcessId, SampleOutcome, StackId, ThreadId};
use carom_store::Rule;

use crate::common::{Small, small};
use crate::{LATE, SAMPLES, expect};

#[test]
fn a_sample_of_no_thread() {
    expect(SAMPLES, &[Rule::UnknownThread(ThreadId(2))], |r| r.samples[0].thread = ThreadId(2));
}

#[test]
fn a_sample_on_no_processor() {
    expect(SAMPLES, &[Rule::UnknownCpu(Cpu(2))], |r| r.samples[0].cpu = Cpu(2));
}

#[test]
fn a_sample_after_the_run() {
    expect(SAMPLES, &[Rule::OutsideRun(LATE)], |r| r.samples[0].time = LATE);
}

#[test]
fn a_sample_with_an_unknown_stack() {
    expect(SAMPLES, &[Rule::UnknownStack(StackId(9))], |r| r.samples[0].stack = StackId(9));
}

#[test]
fn a_sample_with_the_stack_of_another_process() {
    // Thread 0 moves to a second process, which has no stacks: its sample refers to nothing.
    let id = small().stacks[0].id;
    expect(SAMPLES, &[Rule::UnknownStack(id)], |r| {
        let other = carom_store::ProcessInfo { id: ProcessId(1), ..Default::default() };
        r.manifest.processes.push(other);
        r.manifest.threads[0].process = ProcessId(1);
        r.reuse.clear();
    });
}

fn sampled(r: &mut Small) -> &mut carom_base::Access {
    match &mut r.samples[0].outcome {
        SampleOutcome::Access(access) => access,
        SampleOutcome::Skipped(..) => unreachable!("the first sample is an access"),
    }
}

#[test]
fn a_sampled_access_of_no_bytes() {
    expect(SAMPLES, &[Rule::ZeroWidth], |r| sampled(r).width = 0);
}

#[test]
fn a_sampled_access_past_the_end_of_memory() {
    expect(SAMPLES, &[Rule::AddressWraps], |r| sampled(r).addr = Addr(u64::MAX));
}
