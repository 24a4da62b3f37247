//! What tells the chunks of one table from those of another.

/// A kind of row: the code in the headers of its chunks, and the file that holds them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind {
    code: u8,
    file_name: &'static str,
    may_be_missing: bool,
}

impl Kind {
    /// A kind that recordings of earlier versions do not have: where its file is missing, there are no rows.
    pub(crate) const fn new(code: u8, file_name: &'static str) -> Self {
        Self { code, file_name, may_be_missing: true }
    }

    /// A kind that every recording has had since the first version.
    pub(crate) const fn original(code: u8, file_name: &'static str) -> Self {
        Self { code, file_name, may_be_missing: false }
    }

    /// The code in the headers of its chunks.
    pub const fn code(self) -> u8 {
        self.code
    }

    /// The name of its file in the recording's directory.
    pub const fn file_name(self) -> &'static str {
        self.file_name
    }

    /// Whether a recording without its file is in order.
    pub const fn may_be_missing(self) -> bool {
        self.may_be_missing
    }
}
