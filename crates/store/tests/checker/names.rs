//! Names that were stored.

use carom_base::ProcessId;
use carom_store::Rule;

use crate::{NAMES, expect};

#[test]
fn a_name_in_no_process() {
    expect(NAMES, &[Rule::UnknownProcess(ProcessId(7))], |r| r.names[0].question.process = ProcessId(7));
}

#[test]
fn an_answer_that_is_not_json() {
    expect(NAMES, &[Rule::NotJson], |r| r.names[0].answer.truncate(3));
}
