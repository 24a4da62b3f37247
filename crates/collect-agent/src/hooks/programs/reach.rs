//! Whether a new program can open carom's files. A process that has changed its root directory, its user, or its view
//! of the file system may not. The loader would then print an error about the library.

use std::{
    ffi::{CStr, CString, c_int},
    os::unix::ffi::OsStrExt,
    path::Path,
    sync::OnceLock,
};

use carom_base_sys::{file, process};
use carom_base_wire::CONTROL_FILE;

/// What a program needs to join the session.
struct Files {
    library: Option<CString>,
    control: CString,
}

static FILES: OnceLock<Files> = OnceLock::new();

/// New programs are to join the session in `dir`, with this library.
pub fn prepare(library: Option<&[u8]>, dir: &Path) {
    let control = dir.join(CONTROL_FILE);
    // Neither holds a null.
    let Ok(control) = CString::new(control.as_os_str().as_bytes()) else { return };
    let library = library.and_then(|library| CString::new(library).ok());
    FILES.get_or_init(|| Files { library, control });
}

/// The error number because of which a program that is executed now could not join; `None` where it could.
pub fn lost() -> Option<c_int> {
    let files = FILES.get()?;
    let library = files.library.as_ref().and_then(|library| file::try_open(library, libc::O_RDONLY).err());
    library
        .or_else(|| file::try_open(&files.control, libc::O_RDWR).err())
        .or_else(|| another_user(&files.control))
}

/// The calling process may open files by its capabilities. The program has none unless its user is root
/// (capabilities(7)), and only their owner may open the files.
fn another_user(path: &CStr) -> Option<c_int> {
    let user = process::effective_user();
    let owner = file::status(libc::AT_FDCWD, path)?.st_uid;
    (user != 0 && user != owner).then_some(libc::EACCES)
}
