//! Functions and lines for instruction addresses.

use carom_base::Ip;

use super::demangle::{demangle, is_mangled};
use super::elf;
use super::process::Place;
use super::{Frame, Symbols};

impl Symbols {
    /// The functions at an instruction, innermost inlined one first; never empty.
    ///
    /// A return address may already belong to the next line or even function, so the byte before it is looked
    /// up. Names come from DWARF, else the symbol table, else the dynamic one; a function that has only unwind
    /// information is called by its address.
    pub fn frames(&self, ip: Ip, is_return_address: bool) -> Vec<Frame> {
        let back = u64::from(is_return_address);
        let Some(place) = self.place(ip.0) else {
            let generated = self.generated().frame(ip.0.wrapping_sub(back));
            let frame = generated.map(|frame| Frame { address: ip.0, ..frame });
            return vec![frame.unwrap_or_else(|| self.foreign_frame(ip))];
        };
        let probe = place.stated.wrapping_sub(back);
        let mut frames = dwarf_frames(&place, probe);
        if frames.is_empty() {
            frames.push(Frame::default());
        }
        if let Some(outermost) = frames.last_mut() {
            outermost.function = real_function(&place, probe, outermost.function.take());
        }
        let inlined = frames.len() - 1;
        for (index, frame) in frames.iter_mut().enumerate() {
            frame.inlined = index < inlined;
            if frame.inlined {
                frame.function = frame.function.as_deref().map(demangle);
            }
            frame.module = Some(place.module.path.clone());
            frame.address = place.stated;
        }
        frames
    }

    /// The functions on a call path, innermost first: the first address is exact, the others are return
    /// addresses.
    pub fn call_path(&self, path: &[Ip]) -> Vec<Frame> {
        path.iter().enumerate().flat_map(|(index, ip)| self.frames(*ip, index > 0)).collect()
    }

    /// Code outside of modules: generated at run time, or the kernel's `[vdso]`.
    fn foreign_frame(&self, ip: Ip) -> Frame {
        match self.mapping(ip.0).filter(|mapping| !mapping.path.is_empty()) {
            Some(mapping) => Frame {
                module: Some(mapping.path.clone().into()),
                address: ip.0 - mapping.low,
                ..Frame::default()
            },
            None => Frame { address: ip.0, ..Frame::default() },
        }
    }
}

/// What DWARF says, as far as it can be read, with mangled names.
fn dwarf_frames(place: &Place<'_>, probe: u64) -> Vec<Frame> {
    let mut frames = Vec::new();
    let Some(context) = place.image.debug.as_ref().and_then(|debug| debug.context()) else { return frames };
    // Split DWARF (`.dwo`) is not loaded: such units have lines, but no functions.
    let Ok(mut found) = context.find_frames(probe).skip_all_loads() else { return frames };
    while let Ok(Some(frame)) = found.next() {
        let function = frame.function.as_ref().and_then(|name| Some(name.raw_name().ok()?.into_owned()));
        let location = frame.location.as_ref();
        frames.push(Frame {
            function,
            file: location.and_then(|location| location.file).map(str::to_owned),
            line: location.and_then(|location| location.line).filter(|line| *line > 0),
            ..Frame::default()
        });
    }
    frames
}

/// How functions without names are called: by where they are.
const STUB: &str = "stub in ";
const PLACE: &str = "function at ";

/// Whether this says only where a function is.
pub(crate) fn is_only_placed(function: &str) -> bool {
    function.starts_with(STUB) || function.starts_with(PLACE)
}

/// The name of a function that was not inlined, of which DWARF says `known`.
///
/// DWARF has the one name that the function was compiled under, in libc `__GI___libc_malloc`; the symbol table
/// also has those that programs call it by. C++ and Rust have one mangled name, and DWARF's lacks the suffixes
/// of clones.
fn real_function(place: &Place<'_>, probe: u64, known: Option<String>) -> Option<String> {
    let image = place.image;
    match (known, image.functions.smallest(probe)) {
        (Some(name), _) if is_mangled(&name) => Some(demangle(&name)),
        (Some(name), Some((_, symbol))) if !is_mangled(symbol) => {
            // `work.cold`, `work.part.0`
            let symbol = symbol.split('.').next().filter(|base| !base.is_empty());
            Some(demangle(symbol.unwrap_or(&name)))
        }
        (Some(name), _) => Some(name),
        (None, Some((_, symbol))) => Some(demangle(symbol)),
        (None, None) => match elf::section_at(&image.sections, probe) {
            // One unwind entry covers all stubs of a jump table.
            Some(section) if section.name.starts_with(".plt") => Some(format!("{STUB}`{}`", section.name)),
            _ => image.unwind.smallest(probe).map(|(range, ())| format!("{PLACE}{:#x}", range.start)),
        },
    }
}
