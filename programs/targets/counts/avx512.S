// AVX-512: moves under a mask are one access per active lane, everything else one of the operand's width.
#include "counts.h"
//@ needs avx512f
//@ needs avx512bw
//@ needs avx512vl

START:
//@ once
        sub     rsp, 1024
        and     rsp, -64
        mov     r15, ITERATIONS
        vpxord  zmm0, zmm0, zmm0
        vmovdqa64 [rsp], zmm0                   // store 64
        vmovdqa64 [rsp + 64], zmm0              // store 64
        vmovdqu32 zmm8, [rip + indices]         // load 64
        // 7 of 64 bits: two of the lower 8 (0 and 5), four of the lower 16 (and 9, 15).
        mov     rax, 0x8000010000108221
        kmovq   k1, rax
        kxorq   k2, k2, k2
1:
//@ each
        vmovdqu8 zmm1, [rsp]                    // load 64
        vmovups ymm16, [rsp + 4]                // load 32
        vmovdqa64 [rsp + 128], zmm1             // store 64
        vpaddd  zmm2, zmm1, [rsp]               // load 64
        // One element, broadcast to all lanes.
        vpaddd  zmm2, zmm1, dword ptr [rsp]{1to16} // load 4
        vmovdqu8 zmm3{k1}{z}, [rsp]             // load 1 x7
        vmovdqu8 [rsp + 192]{k1}, zmm3          // store 1 x7
        vmovdqu8 [rsp + 192]{k2}, zmm3
        vmovdqu32 zmm3{k1}, [rsp]               // load 4 x4
        vmovdqu64 [rsp + 256]{k1}, zmm3         // store 8 x2
        vmovups ymm3{k1}{z}, [rsp]              // load 4 x2
        vmovss  xmm3{k1}{z}, [rsp]              // load 4
        vmovss  [rsp + 320]{k2}, xmm3
        // Not a move: the comparison under a mask reads the whole vector.
        vpcmpeqb k3{k1}, zmm1, [rsp]            // load 64
        vpaddd  zmm2{k1}, zmm1, [rsp]           // load 64
        // Gathers and scatters clear their mask.
        kmovq   k4, k1
        vpgatherdd zmm4{k4}, [rsp + zmm8 * 4]   // load 4 x4
        kmovq   k4, k1
        vpscatterdd [rsp + 384 + zmm8 * 4]{k4}, zmm4 // store 4 x4
        kmovq   k4, k1
        vpscatterdq [rsp + 384 + ymm8 * 8]{k4}, zmm4 // store 8 x2
        kmovq   [rsp + 512], k1                 // store 8
        kmovw   k5, [rsp + 512]                 // load 2
        vpcompressd [rsp + 576]{k1}, zmm4       // store 4 x4
        vpexpandd zmm4{k1}{z}, [rsp + 576]      // load 4 x4
        dec     r15
        jnz     1b                              // branch, taken but last
//@ once
        mov     eax, SYS_END
        xor     edi, edi
        syscall                                 // system call

.section .rodata
indices: .long 0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15
