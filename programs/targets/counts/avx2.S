// AVX and AVX2: whole vectors are one access, gathers and masked moves one per active lane.
#include "counts.h"
//@ needs avx2

START:
//@ once
        sub     rsp, 512
        and     rsp, -64
        mov     r15, ITERATIONS
        vpxor   ymm0, ymm0, ymm0
        vmovdqa [rsp], ymm0                     // store 32
        vmovdqa [rsp + 32], ymm0                // store 32
        vmovdqa [rsp + 64], ymm0                // store 32
        // Indices 0, 2, 4, 6, 1, 3, 5, 7; as 64-bit numbers 0, 1, 2, 3.
        vmovdqu ymm8, [rip + indices]           // load 32
        vmovdqu ymm9, [rip + wide_indices]      // load 32
        // Three of eight lanes, and one of four.
        vmovdqu ymm10, [rip + three]            // load 32
        vmovdqu ymm11, [rip + one]              // load 32
1:
//@ each
        vmovaps ymm1, [rsp]                     // load 32
        vmovdqu xmm2, [rsp + 8]                 // load 16
        vmovups [rsp + 128], ymm1               // store 32
        vpaddd  ymm3, ymm1, [rsp + 32]          // load 32
        vaddsd  xmm3, xmm3, [rsp]               // load 8
        vbroadcastss ymm4, [rsp]                // load 4
        vpbroadcastb xmm4, [rsp]                // load 1
        vbroadcasti128 ymm4, [rsp]              // load 16
        vinserti128 ymm4, ymm4, [rsp], 1        // load 16
        vextracti128 [rsp + 160], ymm4, 1       // store 16
        vpmovzxbd ymm4, qword ptr [rsp]         // load 8
        vmovntdq [rsp + 192], ymm1              // store 32
        // Gathers clear their mask, so it is copied before each.
        vmovdqa ymm5, ymm10
        vpgatherdd ymm6, [rsp + ymm8 * 4], ymm5 // load 4 x3
        vpcmpeqd ymm5, ymm5, ymm5
        vpgatherdd ymm6, [rsp + ymm8 * 4], ymm5 // load 4 x8
        vmovdqa ymm5, ymm11
        vpgatherqq ymm6, [rsp + ymm9 * 8], ymm5 // load 8
        // Four 64-bit indices, four 32-bit elements; then four 32-bit indices, four 64-bit elements.
        vpcmpeqd xmm5, xmm5, xmm5
        vgatherqps xmm6, [rsp + ymm9 * 4], xmm5 // load 4 x4
        vpcmpeqd ymm5, ymm5, ymm5
        vgatherdpd ymm6, [rsp + xmm8 * 8], ymm5 // load 8 x4
        vpxor   ymm5, ymm5, ymm5
        vpgatherdd ymm6, [rsp + ymm8 * 4], ymm5
        vmaskmovps ymm6, ymm10, [rsp]           // load 4 x3
        vpmaskmovd [rsp + 256], ymm10, ymm6     // store 4 x3
        vpmaskmovq ymm6, ymm11, [rsp]           // load 8
        vmaskmovpd [rsp + 288], ymm11, ymm6     // store 8
        dec     r15
        jnz     1b                              // branch, taken but last
//@ once
        mov     eax, SYS_END
        xor     edi, edi
        syscall                                 // system call

.section .rodata
indices: .long 0, 2, 4, 6, 1, 3, 5, 7
wide_indices: .quad 0, 1, 2, 3
// The highest bit of an element chooses its lane.
three:  .long -1, 0, 0, 0x80000000, 0x7fffffff, 0, 0, -1
one:    .quad 0x7fffffffffffffff, 0, -1, 0
