//! Whatever the text, reading it as another tool's accesses ends without a panic.
#![no_main]

use carom_base_stream::import::Origin;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let _ = text.lines().find_map(Origin::of);
    for origin in [Origin::Carom, Origin::Lackey, Origin::Drcachesim] {
        let mut importer = origin.importer();
        for line in text.lines() {
            let _ = importer.line(line);
        }
    }
});
