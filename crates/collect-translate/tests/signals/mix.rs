//! A function with everything that the translator adds code to.

use std::arch::naked_asm;

/// What [`mix`] works on.
pub struct Buffer(Vec<u64>);

impl Buffer {
    pub fn new() -> Self {
        let mut words = vec![0; 512];
        // The repeated comparison of bytes 64.. and 256.. ends at the seventh.
        words[256 / 8] = 1 << 48;
        Self(words)
    }

    pub fn address(&mut self) -> u64 {
        self.0.as_mut_ptr() as u64
    }
}

#[unsafe(naked)]
unsafe extern "C" fn leaf() {
    naked_asm!("mov eax, 5", "ret")
}

#[unsafe(naked)]
unsafe extern "C" fn drops_an_argument() {
    naked_asm!("mov rax, [rsp + 8]", "ret 8")
}

#[unsafe(naked)]
unsafe extern "C" fn arm() {
    // Flags are dead after a call. The first step comes after the instruction that follows `popfq`.
    naked_asm!("test r14, r14", "pushfq", "or [rsp], r14", "popfq", "nop", "ret")
}

macro_rules! round {
    ($name:ident) => {
        /// One round. RBX: the rounds left; R12: the [`Buffer`]; R13: the sum over everything that is found;
        /// R14: flags to set in front of each part.
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            naked_asm!(
                "lea rax, [rip + {leaf}]",
                "mov [r12 + 8], rax",
                "call {arm}",
                // A call, and a return that drops arguments.
                "push rbx",
                "call {drops}",
                "add r13, rax",
                "call {arm}",
                // Indirect calls.
                "mov r11, r12",
                "call [r11 + 8]",
                "add r13, rax",
                "mov rdx, [r12 + 8]",
                "call rdx",
                "add r13, rax",
                "call {arm}",
                // An indirect jump across which R10 and R11 live.
                "mov r10d, 77",
                "mov r11d, 78",
                "lea rax, [rip + 3f]",
                "jmp rax",
                "ud2",
                "3:",
                "add r13, r10",
                "add r13, r11",
                "call {arm}",
                // Flags that live into a block.
                "stc",
                "jmp 4f",
                "ud2",
                "4:",
                "adc r13, 0",
                "jnc 5f",
                "ud2",
                "5:",
                "setc dl",
                "movzx edx, dl",
                "add r13, rdx",
                "call {arm}",
                // Repeated instructions.
                "lea rsi, [r12 + 64]",
                "lea rdi, [r12 + 128]",
                "mov ecx, 20",
                "rep movsb",
                "lea rsi, [r12 + 64]",
                "lea rdi, [r12 + 256]",
                "mov ecx, 16",
                "cmp ecx, ecx",
                "repe cmpsb",
                "lea r13, [r13 + rcx]",
                "jne 7f",
                "ud2",
                "7:",
                "call {arm}",
                // Loops and jrcxz.
                "mov ecx, 3",
                "8:",
                "inc r13",
                "loop 8b",
                "jrcxz 9f",
                "ud2",
                "9:",
                "call {arm}",
                // Blocks that jump to themselves: over memory; with a carry that goes round; with all registers.
                "mov qword ptr [r12 + 384], 0",
                "mov ecx, 3",
                "6:",
                "add [r12 + 384], rcx",
                "add r13, [r12 + 384]",
                "dec rcx",
                "jnz 6b",
                "call {arm}",
                "mov ecx, 2",
                "stc",
                "2:",
                "adc r13, [r12 + 384]",
                "dec rcx",
                "jnz 2b",
                "call {arm}",
                "mov ecx, 2",
                "4:",
                "lea rax, [rax + rdx]",
                "lea rbx, [rbx]",
                "lea rbp, [rbp]",
                "lea rsi, [rsi + 1]",
                "lea rdi, [rdi + 1]",
                "lea r8, [r8]",
                "lea r9, [r9]",
                "lea r10, [r10 + r11]",
                "lea r14, [r14]",
                "lea r15, [r15]",
                "sub r13, [r12 + 384]",
                "dec rcx",
                "jnz 4b",
                "call {arm}",
                // A system call: getppid. (Stepping natively skips the instruction behind it.)
                "mov eax, 110",
                "syscall",
                "nop",
                "ret",
                arm = sym arm,
                leaf = sym leaf,
                drops = sym drops_an_argument,
            )
        }
    };
}

round!(round);
// For a test that wants to be the first to run it.
round!(fresh_round);

/// `a` rounds in the [`Buffer`] at `b`; the sum.
#[unsafe(naked)]
pub unsafe extern "C" fn mix(_a: u64, _b: u64) -> u64 {
    naked_asm!(
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "mov rbx, rdi",
        "mov r12, rsi",
        "xor r13d, r13d",
        "xor r14d, r14d",
        "2:",
        "call {round}",
        "dec rbx",
        "jnz 2b",
        "mov rax, r13",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "ret",
        round = sym round,
    )
}

/// `a` gathers of the first 8 of the 32-bit words at `b`, all but the last lane active; their sum.
#[unsafe(naked)]
pub unsafe extern "C" fn gathers(_a: u64, _b: u64) -> u64 {
    naked_asm!(
        "xor eax, eax",
        "vpcmpeqd ymm3, ymm3, ymm3",
        "vpslldq xmm4, xmm3, 0",
        "vpsrldq xmm4, xmm3, 4",
        "vinserti128 ymm3, ymm3, xmm4, 1",
        "vpxor ymm1, ymm1, ymm1",
        "2:",
        "vmovdqa ymm2, ymm3",
        "vpxor ymm0, ymm0, ymm0",
        "vpgatherdd ymm0, [rsi + 4*ymm1], ymm2",
        "vmovd edx, xmm0",
        "add rax, rdx",
        "dec rdi",
        "jnz 2b",
        "vzeroupper",
        "ret",
    )
}

/// `a` loads of the bytes at `b`, 11 of 32 lanes active, and stores of the same to where they were; the sum of the first four.
#[unsafe(naked)]
pub unsafe extern "C" fn masked(_a: u64, _b: u64) -> u64 {
    naked_asm!(
        "xor eax, eax",
        "mov ecx, 0x0ff7",
        "kmovd k1, ecx",
        "2:",
        "vmovdqu8 ymm16{{k1}}{{z}}, [rsi]",
        "vmovd edx, xmm16",
        "add rax, rdx",
        "vmovdqu8 [rsi]{{k1}}, ymm16",
        "dec rdi",
        "jnz 2b",
        "vzeroupper",
        "ret",
    )
}
