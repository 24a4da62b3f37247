//! Functions of loaded libraries.

use std::{
    ffi::{CStr, c_void},
    mem::MaybeUninit,
    ptr::NonNull,
};

use super::symbols::is_defined;

/// The function called `name` that the program would find first. Where there is none, the program does not learn that it was
/// looked for: nothing is allocated, and dlerror(3) says what it would have said, unless a library is too old to
/// [tell](is_defined).
pub fn function(name: &CStr) -> Option<NonNull<c_void>> {
    if !is_defined(name) {
        return None;
    }
    // SAFETY: a valid name.
    let found = NonNull::new(unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) });
    if found.is_none() {
        forget_error();
    }
    found
}

/// The function called `name` in a library and those that it was loaded with. As above, dlerror(3) says nothing: call this where
/// it had nothing to say, as after a dlopen(3) that has succeeded.
///
/// # Safety
/// `handle` is that of a library that is loaded.
pub unsafe fn function_in(handle: NonNull<c_void>, name: &CStr) -> Option<NonNull<c_void>> {
    if !is_defined(name) {
        return None;
    }
    // SAFETY: as above, and a valid name.
    let found = NonNull::new(unsafe { libc::dlsym(handle.as_ptr(), name.as_ptr()) });
    if found.is_none() {
        forget_error();
    }
    found
}

/// The path of the library that has the code at `address`, as the loader knows it. The library must stay.
pub fn path_of(address: NonNull<c_void>) -> Option<&'static CStr> {
    let mut about = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: any address will do, and the result has its place.
    let is_known = unsafe { libc::dladdr(address.as_ptr(), about.as_mut_ptr()) } != 0;
    // SAFETY: zeroes are a value of it, too.
    let path = unsafe { about.assume_init() }.dli_fname;
    // SAFETY: a string that is there as long as the library is.
    (is_known && !path.is_null()).then(|| unsafe { CStr::from_ptr(path) })
}

fn forget_error() {
    // SAFETY: has no arguments. To ask for the error is to forget it.
    unsafe { libc::dlerror() };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_leaves_no_error() {
        assert!(function(c"pthread_mutex_lock").is_some());
        assert_eq!(function(c"carom_has_no_such_function"), None);
        // SAFETY: has no arguments.
        assert!(unsafe { libc::dlerror() }.is_null());
    }

    #[test]
    fn a_library_has_its_functions_and_a_path() {
        // SAFETY: a valid name; the C library runs nothing more.
        let handle = NonNull::new(unsafe { libc::dlopen(c"libc.so.6".as_ptr(), libc::RTLD_LAZY) });
        let handle = handle.expect("the C library");
        // SAFETY: it is loaded.
        let find = |name| unsafe { function_in(handle, name) };
        let found = find(c"pthread_mutex_lock").expect("a function of the C library");
        assert_eq!(find(c"carom_has_no_such_function"), None);
        // SAFETY: has no arguments.
        assert!(unsafe { libc::dlerror() }.is_null());
        assert!(path_of(found).is_some_and(|path| path.to_bytes().ends_with(b"/libc.so.6")));
    }
}
