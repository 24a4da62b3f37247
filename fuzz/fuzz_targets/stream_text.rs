//! Whatever the text, reading it as a stream ends without a panic, and what is read is written and read again.
#![no_main]

use carom_base_stream::text;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(records) = text::parse(&String::from_utf8_lossy(bytes)) {
        assert_eq!(text::parse(&text::write(&records)), Ok(records));
    }
});
