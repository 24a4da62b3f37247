//! A file that an agent appends to.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::Path,
};

/// How far a file has been read, and the bytes of it that nobody has taken yet.
#[derive(Default)]
pub struct Tail {
    offset: u64,
    pub bytes: Vec<u8>,
}

impl Tail {
    /// Reads what is new in the file, up to `most` bytes. What cannot be read now is read at the next visit.
    pub fn read(&mut self, path: &Path, most: u64) {
        let _ = self.try_read(path, most);
    }

    fn try_read(&mut self, path: &Path, most: u64) -> io::Result<()> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(self.offset))?;
        self.offset += file.take(most).read_to_end(&mut self.bytes)? as u64;
        Ok(())
    }
}
