// Moves and read-modify-writes of every width, every kind of address, and what looks like an access but is none.
#include "counts.h"

.data
.balign 64
shared: .quad 7, 11
.text

START:
//@ once
        endbr64
        sub     rsp, 512
        and     rsp, -64
        lea     rbx, [rip + shared]
        mov     r15, ITERATIONS
        mov     qword ptr [rsp], 3              // store 8
        mov     qword ptr [rsp + 64], 5         // store 8
        mov     qword ptr [rsp + 128], 9        // store 8
1:
//@ each
        // Moves of each width.
        mov     rax, [rsp]                      // load 8
        mov     ecx, [rsp + 64]                 // load 4
        mov     dx, [rsp + 128]                 // load 2
        mov     sil, [rsp + 1]                  // load 1
        mov     [rsp + 192], rax                // store 8
        mov     [rsp + 200], ecx                // store 4
        mov     [rsp + 204], dx                 // store 2
        mov     [rsp + 206], sil                // store 1
        movzx   eax, byte ptr [rsp + 192]       // load 1
        movsx   rcx, word ptr [rsp + 200]       // load 2
        movsxd  rdx, dword ptr [rsp + 200]      // load 4
        mov     dword ptr [rsp + 208], 77       // store 4
        movnti  [rsp + 216], rax                // store 8
        // Every kind of address: base and index, relative to the instruction pointer, the thread's segment, code.
        mov     ecx, 2
        mov     rax, [rsp + rcx * 8 + 48]       // load 8
        mov     rax, [rip + shared]             // load 8
        mov     rdx, [rbx + rcx * 4]            // load 8
        mov     rax, fs:[0]                     // load 8
        mov     rax, [rip + START]              // load 8
        // Operands read, not written.
        add     rax, [rsp]                      // load 8
        cmp     rax, [rsp + 64]                 // load 8
        cmp     dword ptr [rsp], 4              // load 4
        test    byte ptr [rsp], 1               // load 1
        imul    rax, [rsp]                      // load 8
        mul     qword ptr [rsp]                 // load 8
        bt      qword ptr [rsp], 5              // load 8
        mov     ecx, 200
        bt      [rsp], rcx                      // load 8
        cmove   rax, [rsp]                      // load 8
        cmovne  rax, [rsp]                      // load 8
        // Read-modify-writes are one load and one store.
        add     [rsp + 64], rax                 // load 8, store 8
        inc     dword ptr [rsp + 72]            // load 4, store 4
        not     word ptr [rsp + 76]             // load 2, store 2
        neg     byte ptr [rsp + 78]             // load 1, store 1
        shl     qword ptr [rsp + 80], 1         // load 8, store 8
        sar     qword ptr [rsp + 80], cl        // load 8, store 8
        adc     qword ptr [rsp + 88], 0         // load 8, store 8
        bts     qword ptr [rsp + 88], 3         // load 8, store 8
        btr     [rsp], rcx                      // load 8, store 8
        shld    [rsp + 96], rax, 3              // load 8, store 8
        add     dword ptr [rip + shared + 8], 5 // load 4, store 4
        // Written without being read, and a table looked up by `al`.
        sete    byte ptr [rsp + 104]            // store 1
        mov     eax, 1
        xlatb                                   // load 1
        // No accesses, whatever their operands look like.
        lea     rax, [rsp + 8]
        nop
        nop     dword ptr [rsp + 8]
        prefetcht0 [rsp + 64]
        prefetchw [rsp + 64]
        sfence
        dec     r15
        jnz     1b                              // branch, taken but last
//@ once
        mov     eax, SYS_END
        xor     edi, edi
        syscall                                 // system call
