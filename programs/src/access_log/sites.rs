//! Functions that begin with one access each, in many forms.

use std::arch::naked_asm;

use serde::Serialize;

/// The kind of an access, in the words of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Reads.
    Load,
    /// Writes.
    Store,
    /// Both.
    ReadModifyWrite,
}

impl Kind {
    /// As in the log.
    pub fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Store => "store",
            Self::ReadModifyWrite => "read-modify-write",
        }
    }
}

/// A function whose first instruction accesses memory at `base + scale * index + displacement`.
#[derive(Clone, Copy)]
pub struct Site {
    /// Called with a base and an index.
    pub function: unsafe extern "sysv64" fn(base: u64, index: u64),
    /// 0 where the index is not used.
    pub scale: u64,
    /// Bytes.
    pub displacement: i64,
    /// Bytes.
    pub width: u64,
    /// What it does.
    pub kind: Kind,
}

impl Site {
    /// The base with which the access is to `address`, for any `index`.
    pub fn base(&self, address: u64, index: u64) -> u64 {
        address.wrapping_sub(self.scale.wrapping_mul(index)).wrapping_add_signed(-self.displacement)
    }

    /// The address of the access's instruction.
    pub fn ip(&self) -> u64 {
        self.function as usize as u64
    }
}

macro_rules! sites {
    ($($name:ident: $instruction:literal, $scale:literal, $displacement:literal, $width:literal, $kind:ident;)*) => {
        $(
            /// # Safety
            /// The bytes that the instruction accesses, given RDI and RSI, are readable and writable.
            #[unsafe(naked)]
            unsafe extern "sysv64" fn $name(base: u64, index: u64) {
                naked_asm!($instruction, "ret")
            }
        )*

        /// All of them.
        pub const SITES: &[Site] = &[$(Site {
            function: $name,
            scale: $scale,
            displacement: $displacement,
            width: $width,
            kind: Kind::$kind,
        }),*];
    };
}

sites! {
    load_byte: "mov al, [rdi]", 0, 0, 1, Load;
    load_half: "movzx eax, word ptr [rdi + 2]", 0, 2, 2, Load;
    load_word: "mov eax, [rdi + 4 * rsi - 64]", 4, -64, 4, Load;
    load_long: "mov rax, [rdi + 8 * rsi + 0x1000]", 8, 0x1000, 8, Load;
    load_vector: "movdqu xmm0, [rdi]", 0, 0, 16, Load;
    load_over_its_base: "mov rdi, [rdi]", 0, 0, 8, Load;
    compare_byte: "cmp byte ptr [rdi + 16], 0", 0, 16, 1, Load;
    store_byte: "mov [rdi], al", 0, 0, 1, Store;
    store_half: "mov [rdi + 2 * rsi], ax", 2, 0, 2, Store;
    store_word: "mov [rdi - 8], eax", 0, -8, 4, Store;
    store_long: "mov [rdi + rsi], rax", 1, 0, 8, Store;
    store_past_the_cache: "movnti [rdi], rax", 0, 0, 8, Store;
    store_vector: "movdqu [rdi], xmm0", 0, 0, 16, Store;
    add_word: "add dword ptr [rdi], eax", 0, 0, 4, ReadModifyWrite;
    invert_long: "not qword ptr [rdi]", 0, 0, 8, ReadModifyWrite;
    exchange_and_add: "lock xadd [rdi + 8 * rsi], rax", 8, 0, 8, ReadModifyWrite;
    exchange: "xchg [rdi], eax", 0, 0, 4, ReadModifyWrite;
    compare_and_exchange: "lock cmpxchg [rdi], rcx", 0, 0, 8, ReadModifyWrite;
}
