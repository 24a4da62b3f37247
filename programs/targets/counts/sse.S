// SSE loads and stores: one access of the operand's width each.
#include "counts.h"

START:
//@ once
        sub     rsp, 512
        and     rsp, -64
        mov     r15, ITERATIONS
        pxor    xmm0, xmm0
        movaps  [rsp], xmm0                     // store 16
        movaps  [rsp + 16], xmm0                // store 16
        movaps  [rsp + 32], xmm0                // store 16
1:
//@ each
        movaps  xmm1, [rsp]                     // load 16
        movups  xmm2, [rsp + 3]                 // load 16
        movdqu  xmm3, [rsp + 16]                // load 16
        movss   xmm4, [rsp]                     // load 4
        movsd   xmm5, [rsp]                     // load 8
        movq    xmm6, qword ptr [rsp]           // load 8
        movd    xmm7, dword ptr [rsp]           // load 4
        movhps  xmm1, [rsp]                     // load 8
        movlpd  xmm1, [rsp]                     // load 8
        movddup xmm1, [rsp]                     // load 8
        addps   xmm1, [rsp]                     // load 16
        addsd   xmm5, [rsp]                     // load 8
        paddd   xmm3, [rsp + 16]                // load 16
        cvtsi2sd xmm0, dword ptr [rsp]          // load 4
        pinsrw  xmm0, word ptr [rsp], 3         // load 2
        ucomiss xmm0, [rsp]                     // load 4
        movaps  [rsp + 64], xmm1                // store 16
        movups  [rsp + 81], xmm2                // store 16
        movntdq [rsp + 112], xmm3               // store 16
        movss   [rsp + 128], xmm4               // store 4
        movsd   [rsp + 136], xmm5               // store 8
        movq    qword ptr [rsp + 144], xmm6     // store 8
        movhpd  [rsp + 152], xmm1               // store 8
        ldmxcsr [rip + control]                 // load 4
        stmxcsr [rsp + 160]                     // store 4
        // MMX, and bytes chosen by the highest bits of a mask: five of sixteen.
        movq    mm0, [rsp]                      // load 8
        movq    [rsp + 168], mm0                // store 8
        emms
        movdqu  xmm1, [rip + five]              // load 16
        lea     rdi, [rsp + 192]
        maskmovdqu xmm0, xmm1                   // store 1 x5
        dec     r15
        jnz     1b                              // branch, taken but last
//@ once
        mov     eax, SYS_END
        xor     edi, edi
        syscall                                 // system call

.section .rodata
control: .long 0x1f80
five:   .byte 128, 0, 0, 255, 0, 0, 127, 0, 128, 0, 0, 0, 1, 200, 0, 128
