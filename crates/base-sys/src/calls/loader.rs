//! Functions of loaded libraries.

use std::{
    ffi::{CStr, c_void},
    ptr::NonNull,
};

/// The function called `name` that the program would find first. Where there is none, the program does not learn that it was
/// looked for: dlerror(3) says nothing. What it would have said before is lost, so call this before the program runs.
pub fn function(name: &CStr) -> Option<NonNull<c_void>> {
    // SAFETY: a valid name.
    let found = NonNull::new(unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) });
    if found.is_none() {
        // SAFETY: has no arguments. To ask for the error is to forget it.
        unsafe { libc::dlerror() };
    }
    found
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
}
