//! Assembles the loops of `contended-loop`. They could be `global_asm!`, but LLVM takes half a minute for their
//! 400,000 instructions in every optimised build, and the assembler two seconds, once.

fn main() {
    let source = "src/contended_loop/loops.s";
    println!("cargo::rerun-if-changed={source}");
    cc::Build::new().file(source).compile("contended_loops");
}
