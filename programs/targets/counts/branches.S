// Jumps, taken and not, direct and indirect, and the loop instructions.
#include "counts.h"

.section .data.rel.ro, "aw"
.balign 8
table:  .quad case_0, case_1, case_2, case_3
.text

START:
//@ once
        lea     rbx, [rip + table]
        mov     r15, ITERATIONS
1:
//@ each
        cmp     r15, r15
        jne     9f                              // branch
        je      2f                              // branch, taken
//@ never
9:      ud2
//@ each
2:      jmp     3f                              // branch, taken
//@ never
        ud2
//@ each
        // A jump that is far enough for the long form.
3:      jmp     far_away                        // branch, taken
back:   xor     ecx, ecx
        jrcxz   4f                              // branch, taken
//@ never
        ud2
//@ each
4:      jecxz   5f                              // branch, taken
//@ never
        ud2
//@ each
5:      mov     ecx, 1
        jrcxz   9b                              // branch
        // Inner loops that end in each of the loop instructions; the last to itself.
        mov     ecx, 10
//@ each x10
6:      lea     rax, [rax + 1]
        loop    6b                              // branch, taken but last
//@ each
        mov     ecx, 4
//@ each x4
6:      cmp     eax, eax
        loope   6b                              // branch, taken but last
//@ each
        // Ends at once, because the comparison says equal, with rcx at 3.
        mov     ecx, 4
        cmp     eax, eax
        loopne  6b                              // branch
        mov     ecx, 5
//@ each x5
6:      loop    6b                              // branch, taken but last
//@ each
        // Each case of a jump table, through memory and through a register.
        xor     r14d, r14d
//@ each x4
7:      jmp     [rbx + r14 * 8]                 // branch, taken, load 8
//@ each
case_0: nop
        jmp     8f                              // branch, taken
case_1: nop
        nop
        jmp     8f                              // branch, taken
case_2: nop
        nop
        nop
        jmp     8f                              // branch, taken
case_3: lea     rax, [rip + 8f]
        jmp     rax                             // branch, taken
//@ each x4
8:      inc     r14d
        cmp     r14d, 4
        jb      7b                              // branch, taken but last
//@ each
        // Not branches: nothing but data moves.
        cmp     r14d, 4
        cmove   rax, rbx
        cmovne  rax, rcx
        sete    al
        dec     r15
        jnz     1b                              // branch, taken but last
//@ once
        mov     eax, SYS_END
        xor     edi, edi
        syscall                                 // system call

.skip 4096, 0x90
far_away:
//@ each
        jmp     back                            // branch, taken
