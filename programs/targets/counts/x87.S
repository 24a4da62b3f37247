// The x87's loads and stores, and instructions that save or restore a whole state: one access of its size.
#include "counts.h"

START:
//@ once
        sub     rsp, 2048
        and     rsp, -64
        mov     r15, ITERATIONS
        fninit
        mov     qword ptr [rsp], 5              // store 8
        mov     qword ptr [rsp + 8], 0          // store 8
1:
//@ each
        fld     qword ptr [rsp]                 // load 8
        fstp    tbyte ptr [rsp + 16]            // store 10
        fld     tbyte ptr [rsp + 16]            // load 10
        fst     dword ptr [rsp + 32]            // store 4
        fadd    qword ptr [rsp]                 // load 8
        fiadd   word ptr [rsp]                  // load 2
        fcom    dword ptr [rsp + 32]            // load 4
        fstp    st(0)
        fild    qword ptr [rsp]                 // load 8
        fist    dword ptr [rsp + 36]            // store 4
        fistp   word ptr [rsp + 40]             // store 2
        fild    dword ptr [rsp]                 // load 4
        fbstp   tbyte ptr [rsp + 48]            // store 10
        fld1
        fxch
        fstp    st(0)
        fnstcw  [rsp + 64]                      // store 2
        fldcw   [rsp + 64]                      // load 2
        fnstsw  [rsp + 66]                      // store 2
        fnstsw  ax
        fnstenv [rsp + 128]                     // store 28
        fldenv  [rsp + 128]                     // load 28
        fnsave  [rsp + 256]                     // store 108
        frstor  [rsp + 256]                     // load 108
        fxsave  [rsp + 512]                     // store 512
        fxrstor [rsp + 512]                     // load 512
        fninit
        dec     r15
        jnz     1b                              // branch, taken but last
//@ once
        mov     eax, SYS_END
        xor     edi, edi
        syscall                                 // system call
