//! How to begin something on a cache line of its own, in the language of the source.

use carom_base::LINE_BYTES;
use carom_study::share::LineFinding;

/// A programming language, as far as remedies depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    C,
    Cpp,
    Rust,
    Fortran,
    Unknown,
}

impl Language {
    /// That of the first of the line's accesses whose source is known; else that of the declaration.
    pub fn of(finding: &LineFinding) -> Self {
        let sites = finding.sites.iter().flat_map(|site| &site.frames);
        let files = sites.chain(&finding.object.declared).filter_map(|frame| frame.file.as_deref());
        files.map(Self::of_file).find(|language| *language != Self::Unknown).unwrap_or(Self::Unknown)
    }

    fn of_file(file: &str) -> Self {
        let extension = file.rsplit_once('.').map_or("", |(_, extension)| extension);
        match extension.to_ascii_lowercase().as_str() {
            "c" => Self::C,
            "cc" | "cpp" | "cxx" | "c++" | "hpp" | "hh" | "hxx" => Self::Cpp,
            "rs" => Self::Rust,
            "f" | "f90" | "f95" | "f03" | "f08" | "for" => Self::Fortran,
            // A header may be of C or of C++.
            _ => Self::Unknown,
        }
    }

    /// What to write at a field or variable, after a colon.
    pub fn align_field(self) -> String {
        match self {
            Self::C => format!("`_Alignas({LINE_BYTES})`"),
            Self::Cpp => format!("`alignas({LINE_BYTES})`"),
            Self::Rust => "wrap it in `CachePadded`, or in a type with `#[repr(align(64))]`".into(),
            Self::Fortran => format!("declare {LINE_BYTES} unused bytes before it"),
            Self::Unknown => format!("align it to {LINE_BYTES} bytes"),
        }
    }

    /// What to write at a type, after a colon.
    pub fn align_type(self) -> String {
        match self {
            Self::C => format!("`_Alignas({LINE_BYTES})` at its first member"),
            Self::Cpp => format!("`alignas({LINE_BYTES})` after the keyword"),
            Self::Rust => format!("`#[repr(align({LINE_BYTES}))]`"),
            Self::Fortran => format!("unused bytes at its end, up to a multiple of {LINE_BYTES}"),
            Self::Unknown => format!("a size and an alignment that are multiples of {LINE_BYTES}"),
        }
    }

    /// How to allocate a block that begins with a cache line.
    pub fn allocate(self) -> String {
        match self {
            Self::C => format!("`aligned_alloc({LINE_BYTES}, …)`"),
            Self::Cpp => {
                format!("`new` of a type with `alignas({LINE_BYTES})`, or `aligned_alloc({LINE_BYTES}, …)`")
            }
            Self::Rust => format!("a type with `#[repr(align({LINE_BYTES}))]`"),
            Self::Fortran | Self::Unknown => "aligned allocation".into(),
        }
    }

    /// How to give each element of an array of numbers a line.
    pub fn spread_elements(self) -> String {
        match self {
            Self::Rust => "`CachePadded`, or a type with `#[repr(align(64))]`".into(),
            Self::Fortran => "a first dimension that fills it".into(),
            Self::C | Self::Cpp | Self::Unknown => {
                format!("an array of structs that are aligned to {LINE_BYTES} bytes")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_tells_the_language() {
        assert_eq!(Language::of_file("/src/ring.c"), Language::C);
        assert_eq!(Language::of_file("a/b.rs"), Language::Rust);
        assert_eq!(Language::of_file("SOLVER.F90"), Language::Fortran);
        assert_eq!(Language::of_file("queue.h"), Language::Unknown);
        assert_eq!(Language::of_file("c"), Language::Unknown);
    }
}
