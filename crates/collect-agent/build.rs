//! Has the memory functions of the agent lead to the translator's own, and links the unwinder that the standard library
//! needs into the agent, instead of having it loaded with the agent.
//!
//! A C program without the agent has no libgcc_s. With it, that costs 100 KiB of resident memory, and what loads the
//! library later in its own way (cancelling a thread does) would find it there already. The agent uses it for
//! nothing but a backtrace of its own panic.

#![expect(clippy::disallowed_macros, reason = "Cargo reads what this prints")]

use std::{env, fs, io, path::Path, process::Command};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=RUSTC_LINKER");
    // Samples of translated code are taken without saving the registers that the C library's functions may use
    // (`memory::functions` of the translator).
    for name in ["memcpy", "memmove", "memset", "memcmp", "bcmp"] {
        println!("cargo::rustc-link-arg-cdylib=-Wl,--wrap={name}");
    }
    if !has_archive() {
        // Then it is loaded, which works as well.
        return Ok(());
    }
    let out = env::var("OUT_DIR").map_err(io::Error::other)?;
    // Found before the library that it stands for, because this folder is searched first.
    fs::write(Path::new(&out).join("libgcc_s.so"), "INPUT(-lgcc_eh -lgcc)\n")?;
    println!("cargo::rustc-link-arg-cdylib=-L{out}");
    Ok(())
}

/// Does the compiler that links come with the unwinder as an archive?
fn has_archive() -> bool {
    let linker = env::var_os("RUSTC_LINKER").unwrap_or_else(|| "cc".into());
    let asked = Command::new(linker).arg("-print-file-name=libgcc_eh.a").output();
    // Where there is none, the compiler answers with the bare name.
    asked.is_ok_and(|answer| answer.status.success() && answer.stdout.contains(&b'/'))
}
