//! Whatever the bytes, reading them as a stream of chunks ends without a panic and in bounded memory.
#![no_main]

use carom_store::fuzzing::decode_chunks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    decode_chunks(bytes);
});
