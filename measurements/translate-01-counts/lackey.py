"""Counts by Valgrind's lackey, converted to carom's definition as far as they can be.

Lackey counts accesses of Valgrind's intermediate code, by type, and instructions of the program. What it makes of
single instructions was found by experiment and can be found again: `python3 lackey.py`.
"""

import functools
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from counting import FIXED_ADDRESSES, preload
from lib.paths import scratch

COMMAND = ["valgrind", "--tool=lackey", "--basic-counts=yes", "--detailed-counts=yes", "--log-file={log}"]
BY_INSTRUCTION = ["valgrind", "--tool=callgrind", "--dump-instr=yes", "--cache-sim=yes", "--compress-strings=no",
                  "--compress-pos=no", "--callgrind-out-file={log}"]
# Bytes of the types in lackey's table; those of I1 are no accesses.
WIDTHS = {"I8": 1, "I16": 2, "I32": 4, "I64": 8, "I128": 16, "F32": 4, "F64": 8, "F128": 16, "V128": 16, "V256": 32}
ROW = re.compile(r"==\d+==\s+([IFV]\d+)\s+([\d,]+)\s+([\d,]+)\s+[\d,]+\s*")
# A line of a disassembly with an atomic instruction: its address.
ATOMIC = re.compile(r"\s*([0-9a-f]+):\s+(?:lock |xchg .*\()")
INSTRUCTIONS = re.compile(r"guest instrs:\s+([\d,]+)")
EVENTS = ["instructions", "loads", "stores", "loaded_bytes", "stored_bytes"]
# What before_main.c runs in the place of `main`: three instructions, without an access.
INSTEAD_OF_MAIN = {"instructions": 3}
# Iterations of an experiment; enough that nothing else matters once it is divided.
ITERATIONS = 1000

# Instructions with a load, a store or neither, each tried alone. `setup` stands before the loop.
EXPERIMENTS = {
    "mov load": "mov rax, [rsp]",
    "mov store": "mov [rsp], rax",
    "add to memory": "add [rsp], rax",
    "push, pop": "push rax; pop rax",
    "call, ret": "call 5f; jmp 6f; 5: ret; 6:",
    "leave": "push rbp; mov rbp, rsp; leave",
    "lock add": "lock add [rsp], rax",
    "xchg": "xchg [rsp], rax",
    "lock xadd": "lock xadd [rsp], rcx",
    "lock cmpxchg, equal": "mov rax, [rsp]; lock cmpxchg [rsp], rax",
    "lock cmpxchg, not equal": "mov rax, [rsp]; inc rax; lock cmpxchg [rsp], rax",
    "cmpxchg, not equal": "mov rax, [rsp]; inc rax; cmpxchg [rsp], rax",
    "lock cmpxchg16b": "lock cmpxchg16b [rsp]",
    "cmov, condition false": "cmp eax, eax; cmovne rax, [rsp]",
    "bt in memory": "bt [rsp], rcx",
    "bts in memory": "bts [rsp], rcx",
    "rep movsb, 10": "mov rsi, rsp; lea rdi, [rsp + 64]; mov ecx, 10; rep movsb",
    "rep stosq, 10": "mov rdi, rsp; mov ecx, 10; rep stosq",
    "rep stosb, 0": "mov rdi, rsp; xor ecx, ecx; rep stosb",
    "repne scasb, 10": "mov rdi, rsp; mov ecx, 10; mov al, 99; repne scasb",
    "prefetch": "prefetcht0 [rsp]",
    "fld, fstp of 8 bytes": "fld qword ptr [rsp]; fstp qword ptr [rsp]",
    "fld, fstp of 10 bytes": "fld tbyte ptr [rsp]; fstp tbyte ptr [rsp]",
    "fnstenv": "fnstenv [rsp]",
    "fxsave": "fxsave [rsp]",
    "movaps load, store": "movaps xmm0, [rsp]; movaps [rsp], xmm0",
    "vmovaps of 32 bytes load, store": "vmovaps ymm0, [rsp]; vmovaps [rsp], ymm0",
    "vpgatherdd, 8 of 8": "vpcmpeqd ymm1, ymm1, ymm1; vpxor ymm2, ymm2, ymm2; vpgatherdd ymm0, [rsp + ymm2 * 4], ymm1",
    "vpgatherdd, 0 of 8": "vpxor ymm1, ymm1, ymm1; vpxor ymm2, ymm2, ymm2; vpgatherdd ymm0, [rsp + ymm2 * 4], ymm1",
    "vpmaskmovd load, 8 of 8": "vpcmpeqd ymm1, ymm1, ymm1; vpmaskmovd ymm0, ymm1, [rsp]",
    "vpmaskmovd load, 0 of 8": "vpxor ymm1, ymm1, ymm1; vpmaskmovd ymm0, ymm1, [rsp]",
}


def available():
    return shutil.which("valgrind") is not None


def count(argv, env=None):
    """Everything from the program's first instruction to its end, the dynamic loader included: {event: count}."""
    return parse(valgrind(COMMAND, argv, env))


def valgrind(command, argv, env, timeout_s=600):
    """Runs a program under one of Valgrind's tools; returns what the tool wrote."""
    log = scratch("lackey") / "log"
    words = [*FIXED_ADDRESSES, *(word.format(log=log) for word in command), *map(str, argv)]
    subprocess.run(words, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   timeout=timeout_s, check=True)
    return log.read_text(encoding="utf-8")


def counted_twice(argv, env):
    """How many loads lackey counts twice: those of atomics other than comparisons. Callgrind, which tells accesses by
    instruction, counts none for a comparison and one for the others."""
    loads, file, inclusive = {}, None, False
    for line in valgrind(BY_INSTRUCTION, argv, env).splitlines():
        if line.startswith("ob="):
            file = line[len("ob="):]
        elif line.startswith("calls="):
            # The next line has what the called function did.
            inclusive = True
        elif line.startswith("0x"):
            address, _, _, *reads = line.split()
            if not inclusive and reads:
                place = file, int(address, 16)
                loads[place] = loads.get(place, 0) + int(reads[0])
            inclusive = False
    files = {file for file, _ in loads if file and file.startswith("/")}
    return sum(loads.get((file, address), 0) for file in files for address in atomics(file))


@functools.cache
def atomics(file):
    """Addresses of the instructions with a lock prefix, and of exchanges with memory, in an executable file."""
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", file], capture_output=True, text=True, check=True).stdout
    return [int(found[1], 16) for line in text.splitlines() if (found := ATOMIC.match(line))]


def from_main(argv, env):
    """What the program does from `main` on: all of it, less a run that ends where `main` would begin.

    Both runs preload the same library, so what comes before `main` is the same in both.
    """
    library = str(preload("before_main"))
    # As long as the program's name, and another.
    another = "#" + argv[0][1:]
    environments = [{**env, "LD_PRELOAD": library, "CAROM_COUNTS_BEFORE_MAIN": name} for name in (another, argv[0])]
    whole, before = (count(argv, environment) for environment in environments)
    twice, twice_before = (counted_twice(argv, environment) for environment in environments)
    counts = {event: whole[event] - before[event] + INSTEAD_OF_MAIN.get(event, 0) for event in EVENTS}
    counts["loads"] -= twice - twice_before
    return counts


def parse(log):
    number = lambda text: int(text.replace(",", ""))
    counts = dict.fromkeys(EVENTS, 0)
    counts["instructions"] = number(INSTRUCTIONS.search(log)[1])
    for kind, loads, stores in ROW.findall(log):
        if kind in WIDTHS:
            counts["loads"] += number(loads)
            counts["stores"] += number(stores)
            counts["loaded_bytes"] += number(loads) * WIDTHS[kind]
            counts["stored_bytes"] += number(stores) * WIDTHS[kind]
    return counts


def experiment(code):
    """What lackey counts for `code`: a loop around it, with twice as many iterations less with so many, divided."""
    source = scratch("lackey") / "experiment.S"
    source.write_text(f"""
        .intel_syntax noprefix
        .globl main
        .text
        main: sub rsp, 4096; and rsp, -64; mov r15, ITERATIONS; xor ecx, ecx
        1: {code}
        dec r15; jnz 1b
        mov eax, 231; xor edi, edi; syscall
        .section .note.GNU-stack, "", @progbits
        """, encoding="utf-8")
    runs = []
    for iterations in (ITERATIONS, 2 * ITERATIONS):
        program = scratch("lackey") / f"experiment-{iterations}"
        subprocess.run(["gcc", f"-DITERATIONS={iterations}", str(source), "-o", str(program)], check=True)
        runs.append(count([program]))
    once = {event: (runs[1][event] - runs[0][event]) / ITERATIONS for event in EVENTS}
    # The two instructions of the loop itself.
    once["instructions"] -= 2
    return once


def main():
    print("| code | " + " | ".join(EVENTS) + " |\n|" + " --- |" * (1 + len(EVENTS)))
    for name, code in EXPERIMENTS.items():
        found = experiment(code)
        print(f"| {name}: `{code}` | " + " | ".join(f"{found[event]:g}" for event in EVENTS) + " |", flush=True)


if __name__ == "__main__":
    main()
