//! The functions of libpfm4, and what they fill in (`perfmon/pfmlib.h` of version 4).

use std::{
    ffi::{CStr, c_char, c_int, c_void},
    mem,
    ptr::{self, NonNull},
};

use perf_event_open_sys::bindings::{PERF_ATTR_SIZE_VER5, perf_event_attr};

use super::{PfmError, text};

/// `pfm_pmu_info_t`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PmuInfo {
    pub name: *const c_char,
    pub description: *const c_char,
    size: usize,
    pmu: u32,
    kind: u32,
    pub events: c_int,
    pub first_event: c_int,
    max_encoding: c_int,
    counters: c_int,
    fixed_counters: c_int,
    pub flags: u32,
}

/// `pfm_event_info_t`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct EventInfo {
    pub name: *const c_char,
    pub description: *const c_char,
    equivalent: *const c_char,
    size: usize,
    code: u64,
    pmu: u32,
    data: u32,
    index: c_int,
    pub attributes: c_int,
    reserved: c_int,
    flags: u32,
}

/// `pfm_event_attr_info_t`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct AttributeInfo {
    pub name: *const c_char,
    pub description: *const c_char,
    equivalent: *const c_char,
    size: usize,
    code: u64,
    pub kind: u32,
    index: c_int,
    control: u32,
    flags: u32,
    default: u64,
}

/// `pfm_pmu_encode_arg_t`
#[repr(C)]
#[derive(Debug)]
pub struct EncodeArg {
    codes: *mut u64,
    name: *mut *mut c_char,
    size: usize,
    count: c_int,
    index: c_int,
}

/// `pfm_perf_encode_arg_t`
#[repr(C)]
#[derive(Debug)]
struct PerfArg {
    attr: *mut perf_event_attr,
    name: *mut *mut c_char,
    size: usize,
    index: c_int,
    cpu: c_int,
    flags: c_int,
    padding: c_int,
}

type Initialize = unsafe extern "C" fn() -> c_int;
type Text = unsafe extern "C" fn(c_int) -> *const c_char;
type Next = unsafe extern "C" fn(c_int) -> c_int;
type GetPmu = unsafe extern "C" fn(u32, *mut PmuInfo) -> c_int;
type GetEvent = unsafe extern "C" fn(c_int, u32, *mut EventInfo) -> c_int;
type GetAttribute = unsafe extern "C" fn(c_int, c_int, u32, *mut AttributeInfo) -> c_int;
type Encode = unsafe extern "C" fn(*const c_char, c_int, u32, *mut c_void) -> c_int;

/// `PFM_OS_NONE`: encodings of the PMU, not of an operating system.
const NO_SYSTEM: u32 = 0;

/// `PFM_OS_PERF_EVENT`: what `perf_event_open` takes.
const PERF: u32 = 1;

/// The library, which stays open.
#[derive(Debug)]
pub struct Library {
    error: Text,
    next: Next,
    pmu: GetPmu,
    event: GetEvent,
    attribute: GetAttribute,
    encode: Encode,
}

impl Library {
    pub fn open() -> Result<Self, PfmError> {
        // SAFETY: two valid texts. Nothing of carom reads the environment at the same time: events are listed by its only thread.
        unsafe { libc::setenv(c"LIBPFM_ENCODE_INACTIVE".as_ptr(), c"1".as_ptr(), 1) };
        // SAFETY: a valid text; the library's constructors do nothing.
        let handle = unsafe { libc::dlopen(c"libpfm.so.4".as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        let handle = NonNull::new(handle).ok_or(PfmError::Missing)?;
        macro_rules! function {
            ($name:literal) => {
                // SAFETY: it goes into a variable or field of the type that the header declares for it.
                unsafe { function(handle, $name)? }
            };
        }
        let initialize: Initialize = function!(c"pfm_initialize");
        let library = Self {
            error: function!(c"pfm_strerror"),
            next: function!(c"pfm_get_event_next"),
            pmu: function!(c"pfm_get_pmu_info"),
            event: function!(c"pfm_get_event_info"),
            attribute: function!(c"pfm_get_event_attr_info"),
            encode: function!(c"pfm_get_os_event_encoding"),
        };
        // SAFETY: no arguments.
        match unsafe { initialize() } {
            0 => Ok(library),
            error => Err(PfmError::Unusable(library.explain(error))),
        }
    }

    pub fn pmu(&self, number: u32) -> Option<PmuInfo> {
        // SAFETY: zeroes are valid in all its fields.
        let mut info: PmuInfo = unsafe { mem::zeroed() };
        info.size = size_of::<PmuInfo>();
        // SAFETY: a valid place of the size that it states.
        (unsafe { (self.pmu)(number, &raw mut info) } == 0).then_some(info)
    }

    pub fn event(&self, at: i32) -> Option<EventInfo> {
        // SAFETY: zeroes are valid in all its fields.
        let mut info: EventInfo = unsafe { mem::zeroed() };
        info.size = size_of::<EventInfo>();
        // SAFETY: a valid place of the size that it states.
        (unsafe { (self.event)(at, NO_SYSTEM, &raw mut info) } == 0).then_some(info)
    }

    pub fn attribute(&self, event: i32, number: i32) -> Option<AttributeInfo> {
        // SAFETY: zeroes are valid in all its fields.
        let mut info: AttributeInfo = unsafe { mem::zeroed() };
        info.size = size_of::<AttributeInfo>();
        // SAFETY: a valid place of the size that it states.
        (unsafe { (self.attribute)(event, number, NO_SYSTEM, &raw mut info) } == 0).then_some(info)
    }

    /// The event after this one of the same PMU; negative behind the last.
    pub fn next(&self, at: i32) -> i32 {
        // SAFETY: an integer argument, which the library checks.
        unsafe { (self.next)(at) }
    }

    /// The numbers of an event, or why it has none.
    pub fn encode(&self, event: &CStr, modes: i32) -> Result<Vec<u64>, String> {
        // The library allocates the numbers where it is given no room.
        let (codes, name) = (ptr::null_mut(), ptr::null_mut());
        let mut arg = EncodeArg { codes, name, size: size_of::<EncodeArg>(), count: 0, index: 0 };
        // SAFETY: a valid text, and a valid structure of the size that it states.
        let error = unsafe { (self.encode)(event.as_ptr(), modes, NO_SYSTEM, (&raw mut arg).cast()) };
        if error != 0 {
            return Err(self.explain(error));
        }
        // SAFETY: the library has filled in as many numbers as it says.
        let numbers = unsafe { std::slice::from_raw_parts(arg.codes, arg.count.max(0) as usize) }.to_vec();
        // SAFETY: it has allocated them by malloc, for the caller to free.
        unsafe { libc::free(arg.codes.cast()) };
        Ok(numbers)
    }

    /// What the kernel is asked for, or why it cannot be.
    pub fn perf(&self, event: &CStr, modes: i32) -> Result<perf_event_attr, String> {
        // As much of it as every version of the library knows.
        let mut attr = perf_event_attr { size: PERF_ATTR_SIZE_VER5, ..Default::default() };
        let mut arg = PerfArg {
            attr: &raw mut attr,
            name: ptr::null_mut(),
            size: size_of::<PerfArg>(),
            index: 0,
            cpu: -1,
            flags: 0,
            padding: 0,
        };
        // SAFETY: a valid text, and valid structures of the sizes that they state.
        let error = unsafe { (self.encode)(event.as_ptr(), modes, PERF, (&raw mut arg).cast()) };
        if error == 0 { Ok(attr) } else { Err(self.explain(error)) }
    }

    fn explain(&self, error: i32) -> String {
        // SAFETY: an integer argument.
        text(unsafe { (self.error)(error) })
    }
}

/// # Safety
/// `F` is the type of the library's function of this name.
unsafe fn function<F: Copy>(handle: NonNull<c_void>, name: &CStr) -> Result<F, PfmError> {
    // SAFETY: an open library and a valid text.
    let found = unsafe { libc::dlsym(handle.as_ptr(), name.as_ptr()) };
    if found.is_null() {
        return Err(PfmError::Unusable(format!("it has no {}", name.to_string_lossy())));
    }
    // SAFETY: the address of a function of this type, for which the caller answers.
    Ok(unsafe { mem::transmute_copy::<*mut c_void, F>(&found) })
}
