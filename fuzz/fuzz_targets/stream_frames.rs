//! Whatever the bytes, reading them as frames of a stream ends without a panic and in bounded memory, and what is read is
//! written and read again.
#![no_main]

use carom_base_stream::frame::{BatchHead, Content, Encoder, Frame, Head, split};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = Frame::decode(bytes);
    let mut rest = bytes;
    while let Ok(Some((frame, behind))) = split(rest) {
        if let Ok(Frame { thread, at, content: Content::Batch { domain, pauses, stamps, marks, accesses } }) =
            Frame::decode(frame)
        {
            let (mut encoder, mut out) = (Encoder::default(), Vec::new());
            let head = BatchHead { thread, domain, at, pauses, stamps: &stamps, marks: &marks };
            accesses.iter().for_each(|access| encoder.accesses().push(access));
            encoder.batch(&head, &mut out);
            assert_eq!(Head::decode(frame).expect("a head").accesses, Some(accesses.len()));
            let (again, _) = split(&out).expect("a frame").expect("whole");
            let content = Content::Batch { domain, pauses, stamps: stamps.clone(), marks: marks.clone(), accesses };
            assert_eq!(Frame::decode(again), Ok(Frame { thread, at, content }));
        }
        rest = behind;
    }
});
