//! Where a thread's own stack lies.

use std::mem::MaybeUninit;

use crate::{mappings, registry};

/// Bytes of a page.
const PAGE: u64 = 4096;

/// What is known of a new thread's stack.
///
/// `pthread_getattr_np` would know it, but it allocates from the program's heap. Many allocators then set aside 100 KiB
/// for a thread that would not allocate natively, and blocks get other addresses than natively.
#[derive(Clone, Copy, Debug)]
pub enum Extent {
    /// Nothing. The main thread's.
    Unknown,
    /// First byte and one past the last, of the only thread of a forked child.
    Known(u64, u64),
    /// The attributes with which it was made.
    Asked {
        /// Bytes of the stack.
        bytes: u64,
        /// One past the highest byte, where the maker chose the place; else the library did.
        high: Option<u64>,
    },
}

impl Extent {
    /// Of a thread made with these attributes; null stands for the defaults.
    pub fn asked(attributes: *const libc::pthread_attr_t) -> Self {
        let mut defaults = MaybeUninit::uninit();
        let attributes = if attributes.is_null() {
            // SAFETY: a valid place.
            if unsafe { libc::pthread_attr_init(defaults.as_mut_ptr()) } != 0 {
                return Self::Unknown;
            }
            defaults.as_ptr()
        } else {
            attributes
        };
        let (mut low, mut bytes, mut default) = (std::ptr::null_mut(), 0, 0);
        // SAFETY: valid attributes and places.
        let placed = unsafe { libc::pthread_attr_getstack(attributes, &raw mut low, &raw mut bytes) } == 0;
        // glibc states a stack that ends at address 0 where no place was chosen.
        if placed && low.addr().wrapping_add(bytes) != 0 {
            return Self::Asked { bytes: bytes as u64, high: Some(low.addr().wrapping_add(bytes) as u64) };
        }
        // SAFETY: as above. The attributes hold nothing that would have to be destroyed.
        match unsafe { libc::pthread_attr_getstacksize(attributes, &raw mut default) } {
            0 => Self::Asked { bytes: default as u64, high: None },
            _ => Self::Unknown,
        }
    }

    /// The calling thread's stack, in which `sp` lies: first byte and one past the last; zeroes where that cannot be
    /// told.
    pub fn bounds(self, sp: u64) -> (u64, u64) {
        let known = match self {
            Self::Unknown => mappings::main_stack(sp),
            Self::Known(low, high) => Some((low, high)).filter(|_| (low..high).contains(&sp)),
            Self::Asked { bytes, high } => {
                // A library that places the stack puts the thread's control block into its last page.
                let high = high.unwrap_or_else(|| registry::thread_pointer().next_multiple_of(PAGE));
                Some((high.saturating_sub(bytes), high)).filter(|(low, high)| (low..high).contains(&&sp))
            }
        };
        known.unwrap_or_else(ask)
    }
}

/// As the C library has it.
fn ask() -> (u64, u64) {
    // SAFETY: all zeroes is a valid place for the answer.
    let mut attributes: libc::pthread_attr_t = unsafe { std::mem::zeroed() };
    // SAFETY: no arguments.
    let this = unsafe { libc::pthread_self() };
    // SAFETY: a valid thread and place.
    if unsafe { libc::pthread_getattr_np(this, &raw mut attributes) } != 0 {
        return (0, 0);
    }
    let (mut low, mut bytes) = (std::ptr::null_mut(), 0);
    // SAFETY: initialised by the call above.
    unsafe { libc::pthread_attr_getstack(&raw const attributes, &raw mut low, &raw mut bytes) };
    // SAFETY: initialised by the call above.
    unsafe { libc::pthread_attr_destroy(&raw mut attributes) };
    (low.addr() as u64, (low.addr() + bytes) as u64)
}

#[cfg(test)]
mod tests {
    use std::ffi::c_void;

    use super::*;

    /// What [`Extent::bounds`] and the C library say in a new thread.
    struct Told {
        extent: Extent,
        bounds: (u64, u64),
        library: (u64, u64),
    }

    extern "C" fn tell(told: *mut c_void) -> *mut c_void {
        // SAFETY: the `Told` of the thread that waits for this one.
        let told = unsafe { &mut *told.cast::<Told>() };
        let here = 0u8;
        told.bounds = told.extent.bounds((&raw const here).addr() as u64);
        told.library = ask();
        std::ptr::null_mut()
    }

    /// In a thread with these attributes.
    fn in_thread(attributes: *const libc::pthread_attr_t) -> Told {
        let mut told = Told { extent: Extent::asked(attributes), bounds: (0, 0), library: (0, 0) };
        let mut thread = 0;
        // SAFETY: valid arguments; the thread is waited for.
        assert_eq!(unsafe { libc::pthread_create(&mut thread, attributes, tell, (&raw mut told).cast()) }, 0);
        // SAFETY: made just now.
        assert_eq!(unsafe { libc::pthread_join(thread, std::ptr::null_mut()) }, 0);
        told
    }

    #[test]
    fn a_threads_stack_is_told_as_the_library_tells_it() {
        // The library leaves out the page that guards the lowest byte.
        let same = |told: &Told| told.bounds.1 == told.library.1 && told.library.0 - told.bounds.0 <= PAGE;
        let told = in_thread(std::ptr::null());
        assert!(same(&told), "{:x?} {:x?}", told.bounds, told.library);

        let mut attributes = MaybeUninit::uninit();
        // SAFETY: a valid place.
        unsafe { libc::pthread_attr_init(attributes.as_mut_ptr()) };
        // SAFETY: initialised by the call above.
        unsafe { libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), 1 << 20) };
        let told = in_thread(attributes.as_ptr());
        assert!(same(&told), "{:x?} {:x?}", told.bounds, told.library);

        let mut own = vec![0u128; 1 << 16];
        let bytes = size_of_val(own.as_slice());
        // SAFETY: memory that outlives the thread, aligned as the library asks.
        unsafe { libc::pthread_attr_setstack(attributes.as_mut_ptr(), own.as_mut_ptr().cast(), bytes) };
        let told = in_thread(attributes.as_ptr());
        assert_eq!(told.bounds, told.library);
        let low = own.as_ptr().addr() as u64;
        assert_eq!(told.bounds, (low, low + bytes as u64));
    }

    #[test]
    fn a_wrong_guess_asks_the_library() {
        let elsewhere = Extent::Asked { bytes: PAGE, high: Some(PAGE) };
        let here = 0u8;
        let sp = (&raw const here).addr() as u64;
        assert_eq!(elsewhere.bounds(sp), ask());
        assert_eq!(Extent::Unknown.bounds(sp), ask());
    }
}
