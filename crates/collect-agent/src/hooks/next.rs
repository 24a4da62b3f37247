//! The functions behind the hooks.

use std::ffi::{CStr, c_void};
#[cfg(not(feature = "static-link"))]
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// One function of the C library: found by `dlsym(RTLD_NEXT)` at first use, or given by `ld --wrap`.
pub struct Next {
    #[cfg(not(feature = "static-link"))]
    name: &'static CStr,
    #[cfg(not(feature = "static-link"))]
    address: AtomicPtr<c_void>,
    #[cfg(feature = "static-link")]
    function: unsafe extern "C" fn(),
}

impl Next {
    /// The function called `name` in the libraries after this one.
    #[cfg(not(feature = "static-link"))]
    pub const fn new(name: &'static CStr) -> Self {
        Self { name, address: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// The function that `ld --wrap` calls `__real_…`.
    #[cfg(feature = "static-link")]
    pub const fn new(_name: &'static CStr, function: unsafe extern "C" fn()) -> Self {
        Self { function }
    }

    /// Its address. The C library has every function that is hooked.
    #[cfg(not(feature = "static-link"))]
    pub fn address(&self) -> *const c_void {
        let known = self.address.load(Relaxed);
        if !known.is_null() {
            return known;
        }
        // SAFETY: a valid name.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        self.address.store(found, Relaxed);
        found
    }

    /// Its address.
    #[cfg(feature = "static-link")]
    pub fn address(&self) -> *const c_void {
        self.function as *const c_void
    }
}

/// Declares `static $place: Next` for the C function `$name`, whose `ld --wrap` name is `$real`, and a function
/// `$call` with its signature where that is wanted. A macro because the declaration differs between the two ways of linking.
macro_rules! next {
    ($place:ident, $name:literal, $real:ident) => {
        static $place: $crate::hooks::next::Next = {
            #[cfg(feature = "static-link")]
            {
                unsafe extern "C" {
                    fn $real();
                }
                $crate::hooks::next::Next::new($name, $real)
            }
            #[cfg(not(feature = "static-link"))]
            {
                $crate::hooks::next::Next::new($name)
            }
        };
    };
    ($place:ident, $name:literal, $real:ident, fn $call:ident($($arg:ident: $type:ty),*) -> $result:ty) => {
        next!($place, $name, $real);

        /// # Safety
        /// As the C function of this name.
        unsafe fn $call($($arg: $type),*) -> $result {
            // SAFETY: the C library's function of this name has this signature.
            let function = unsafe {
                std::mem::transmute::<
                    *const std::ffi::c_void,
                    unsafe extern "C" fn($($type),*) -> $result,
                >($place.address())
            };
            // SAFETY: the caller keeps the contract of the C function.
            unsafe { function($($arg),*) }
        }
    };
}
pub(super) use next;
