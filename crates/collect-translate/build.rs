//! Has the memory functions of tests that run the engine lead to its own (`memory::functions`), as in the agent.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    for name in ["memcpy", "memmove", "memset", "memcmp", "bcmp"] {
        println!("cargo::rustc-link-arg-tests=-Wl,--wrap={name}");
    }
}
