//! Journal lines without a heap: for hooks that run in signal handlers of the program and in `vfork` children. They
//! read back as [`carom_base_wire::journal::Line`].

/// One line of at most `N` bytes on the stack. What does not fit is cut off; the newline always fits.
pub struct Text<const N: usize> {
    bytes: [u8; N],
    length: usize,
}

impl<const N: usize> Text<N> {
    /// Nothing yet.
    pub const fn new() -> Self {
        Self { bytes: [0; N], length: 0 }
    }

    /// Starts over with a line of this kind.
    pub fn line(&mut self, kind: &str) -> &mut Self {
        self.length = 0;
        self.push(kind.as_bytes());
        self
    }

    /// A field that is a name: control bytes and `%` are percent-encoded.
    pub fn name(&mut self, name: &[u8]) -> &mut Self {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        self.push(b"\t");
        for &byte in name {
            if byte.is_ascii_control() || byte == b'%' {
                let digit = |value: u8| DIGITS[usize::from(value & 15)];
                self.push(&[b'%', digit(byte >> 4), digit(byte)]);
            } else {
                self.push(&[byte]);
            }
        }
        self
    }

    /// A field that is a number in base `radix`, 10 or 16.
    pub fn number(&mut self, mut value: u64, radix: u64) -> &mut Self {
        // As many as the longest, 2^64 in decimal.
        let mut digits = [0; 20];
        let mut first = digits.len();
        while first == digits.len() || value > 0 && first > 0 {
            first -= 1;
            let digit = (value % radix) as u8;
            digits[first] = if digit < 10 { b'0' + digit } else { b'a' + digit - 10 };
            value /= radix;
        }
        self.push(b"\t");
        self.push(&digits[first..]);
        self
    }

    /// The line with its newline.
    pub fn end(&mut self) -> &[u8] {
        if let Some(place) = self.bytes.get_mut(self.length) {
            *place = b'\n';
            self.length += 1;
        }
        &self.bytes[..self.length]
    }

    /// All or nothing of `bytes`, so that no escape is cut in half.
    fn push(&mut self, bytes: &[u8]) {
        let end = self.length + bytes.len();
        // The last place is the newline's.
        if end < N {
            self.bytes[self.length..end].copy_from_slice(bytes);
            self.length = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use carom_base_wire::journal::Line;

    use super::*;

    fn parsed<const N: usize>(text: &mut Text<N>) -> Option<Line> {
        let bytes = text.end();
        let line = str::from_utf8(bytes).unwrap().strip_suffix('\n').expect("one newline, at the end");
        assert!(!line.contains('\n'));
        Line::parse(line)
    }

    #[test]
    fn the_host_reads_what_is_written() {
        let nasty = "a\tb\nc%41 \u{7}ü";
        let mut text = Text::<256>::new();
        let text = text.line("unprofiled").name(nasty.as_bytes()).name(b"uses 50%");
        let expected = Line::Unprofiled { program: nasty.into(), reason: "uses 50%".into() };
        assert_eq!(parsed(text), Some(expected));
        let text = text.line("map").number(0x7fff_0000, 16).number(u64::MAX, 16).name(b"[heap]");
        let expected = Line::Map { low: 0x7fff_0000, high: u64::MAX, path: "[heap]".into() };
        assert_eq!(parsed(text), Some(expected));
        for time in [0, 9, 10, u64::MAX] {
            assert_eq!(parsed(text.line("end").number(time, 10)), Some(Line::End { time }));
        }
    }

    #[test]
    fn a_long_name_is_cut_and_the_line_stays_whole() {
        // 16 bytes: "map", three tabs, "1", "2", and 7 for the name before the newline.
        let mut text = Text::<16>::new();
        let text = text.line("map").number(1, 16).number(2, 16).name(b"0123456789");
        assert_eq!(parsed(text), Some(Line::Map { low: 1, high: 2, path: "0123456".into() }));
    }
}
