//! Whatever the bytes, reading them as frames of a stream ends without a panic and in bounded memory, and what is read is
//! written and read again.
#![no_main]

use carom_base_stream::frame::{BatchHead, Content, Encoder, Frame, split};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = Frame::decode(bytes);
    let mut rest = bytes;
    while let Ok(Some((frame, behind))) = split(rest) {
        if let Ok(Frame { thread, at, content: Content::Batch { domain, pauses, stamps, marks, accesses } }) =
            Frame::decode(frame)
        {
            let mut out = Vec::new();
            let head = BatchHead { thread, domain, at, pauses, stamps: &stamps, marks: &marks };
            Encoder::default().batch(&head, accesses.iter().copied(), &mut out);
            let (again, _) = split(&out).expect("a frame").expect("whole");
            let content = Content::Batch { domain, pauses, stamps: stamps.clone(), marks: marks.clone(), accesses };
            assert_eq!(Frame::decode(again), Ok(Frame { thread, at, content }));
        }
        rest = behind;
    }
});
