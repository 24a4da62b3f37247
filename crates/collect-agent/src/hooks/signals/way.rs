//! Where a hook for signals goes on. In the code cache: in the C library's function, whose system calls the translator
//! sees. Natively: in ours.

use std::ffi::c_void;

use super::super::next::Next;

/// A function, and how to run it.
#[repr(C)]
pub struct Way {
    function: *const c_void,
    /// 1 where it is to run from the code cache, else 0.
    in_cache: u64,
}

/// The way of a hook that returns to `back`.
pub fn way(back: u64, ours: *const c_void, library: &Next) -> Way {
    // A handler that runs natively may have interrupted code of ours, which does not bear the engine.
    let in_cache = carom_collect_translate::is_called_from_cache(back);
    Way { function: if in_cache { library.address() } else { ours }, in_cache: u64::from(in_cache) }
}

/// Declares the hook `$name` with up to three arguments: `$ours`, or `$library` in the cache.
macro_rules! choosing_hook {
    ($name:ident, $wrap:literal, $choose:ident, $ours:ident, $library:ident) => {
        extern "C" fn $choose(back: u64) -> $crate::hooks::signals::Way {
            $crate::hooks::signals::way(back, $ours as *const std::ffi::c_void, &$library)
        }

        /// # Safety
        /// As the C function of this name.
        #[cfg_attr(feature = "static-link", unsafe(export_name = $wrap))]
        #[cfg_attr(not(feature = "static-link"), unsafe(no_mangle))]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            std::arch::naked_asm!(
                "push rdi",
                "push rsi",
                "push rdx",
                "mov rdi, [rsp + 24]",
                "call {choose}",
                "mov rcx, rdx",
                "pop rdx",
                "pop rsi",
                "pop rdi",
                "test rcx, rcx",
                "jnz {enter}",
                "jmp rax",
                choose = sym $choose,
                enter = sym carom_collect_translate::enter,
            )
        }
    };
}
pub(crate) use choosing_hook;
