//! Whatever a process wrote about the code that it made, reading it ends without a panic, and so does asking for names.
#![no_main]

use std::{path::Path, rc::Rc};

use carom_study::symbols::GeneratedCode;

libfuzzer_sys::fuzz_target!(|input: (u64, &[u8])| {
    let (address, bytes) = input;
    let module = Rc::from(Path::new("/tmp/jit-1.dump"));
    let mut code = GeneratedCode::default();
    // Errors end the reading; what came before counts.
    let _ = code.read_dump(&mut &*bytes, &module);
    let _ = code.read_map(&mut &*bytes, &module);
    let _ = code.frame(address);
});
