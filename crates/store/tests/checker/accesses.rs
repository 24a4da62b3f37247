//! Accesses that were kept.

use carom_base_stream::frame::FrameError;
use carom_store::{Rule, StreamFrame};

use crate::common::frame;
use crate::{ACCESSES, expect};
use carom_base::ThreadId;

#[test]
fn accesses_of_no_thread() {
    expect(ACCESSES, &[Rule::UnknownThread(ThreadId(5))], |r| r.accesses[0] = frame(5, 0, false));
}

#[test]
fn a_frame_that_is_none() {
    let rule = Rule::BadFrame(FrameError::UnknownFrame(9));
    expect(ACCESSES, &[rule], |r| r.accesses[0] = StreamFrame::new(vec![0, 0, 9]));
}
