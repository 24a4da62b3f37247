.intel_syntax noprefix

# Loops of exactly `length` instructions, of which instruction number `position` accesses a contended word.
# Each is a function of its own in the symbol table and in the unwind table:
#
#     void contended_loop_<length>_at_<position>_<contended>(word: rdi, private: rsi, iterations: rdx)
#
# The loop's own last two instructions count down and jump back, so positions run from 0 to length - 3. The
# other instructions are ordinary: every fourth accesses the private buffer of 64 words, a load and a store
# in turn, the rest computes in registers. Only registers that a caller may not rely on are used, and no stack.

# One function. `name` and `contended` say twice which access it is: in letters for the symbol, as the number
# of the Rust enumeration for the table.
.macro contended_loop length, position, name, contended
    .p2align 6
    .type contended_loop_\length\()_at_\position\()_\name, @function
contended_loop_\length\()_at_\position\()_\name:
    .cfi_startproc
    xor eax, eax
    xor ecx, ecx
    xor r8d, r8d
    xor r9d, r9d
    xor r10d, r10d
    xor r11d, r11d
    .p2align 4
2:
    .set carom_k, 0
    .rept \length - 2
    .if carom_k == \position
3:
        .if \contended == 0
            lock add qword ptr [rdi], 1
        .elseif \contended == 1
            add qword ptr [rdi], 1
        .elseif \contended == 2
            mov qword ptr [rdi], rdx
        .else
            mov rax, qword ptr [rdi]
        .endif
    .elseif carom_k % 8 == 0
        lea r8, [r8 + r9 + 1]
    .elseif carom_k % 8 == 1
        mov r10, qword ptr [rsi + 8 * (carom_k % 64)]
    .elseif carom_k % 8 == 2
        xor r9, r10
    .elseif carom_k % 8 == 3
        add r11, r9
    .elseif carom_k % 8 == 4
        rol r8, 7
    .elseif carom_k % 8 == 5
        mov qword ptr [rsi + 8 * (carom_k % 64)], r8
    .elseif carom_k % 8 == 6
        imul rcx, r8, 31
    .else
        sub r11, rcx
    .endif
    .set carom_k, carom_k + 1
    .endr
    dec rdx
    jnz 2b
    ret
4:
    .cfi_endproc
    .size contended_loop_\length\()_at_\position\()_\name, . - contended_loop_\length\()_at_\position\()_\name

    # The table's row: `Row` in code.rs.
    .pushsection .data.rel.ro.contended_loops, "aw", @progbits
    .quad contended_loop_\length\()_at_\position\()_\name
    .quad \length
    .quad \position
    .quad \contended
    .quad 2b - contended_loop_\length\()_at_\position\()_\name
    .quad 3b - contended_loop_\length\()_at_\position\()_\name
    .quad 4b - contended_loop_\length\()_at_\position\()_\name
    .popsection
.endm

.macro every_access length, position
    contended_loop \length, \position, lock_add, 0
    contended_loop \length, \position, add, 1
    contended_loop \length, \position, store, 2
    contended_loop \length, \position, load, 3
.endm

.macro loops length
    .set carom_position, 0
    .rept \length - 2
        every_access \length, %carom_position
        .set carom_position, carom_position + 1
    .endr
.endm

.pushsection .data.rel.ro.contended_loops, "aw", @progbits
    .p2align 3
    .globl carom_contended_loops
    .hidden carom_contended_loops
carom_contended_loops:
.popsection

.pushsection .text.contended_loops, "ax", @progbits
.altmacro
loops 4
loops 6
loops 8
loops 12
loops 16
loops 24
loops 32
loops 48
loops 64
loops 96
loops 128
loops 160
loops 200
.noaltmacro
.popsection

.pushsection .data.rel.ro.contended_loops, "aw", @progbits
    .globl carom_contended_loops_end
    .hidden carom_contended_loops_end
carom_contended_loops_end:
.popsection

# Nothing here needs an executable stack.
.section .note.GNU-stack, "", @progbits
