use std::{fmt, str::FromStr};

use carom_base::Addr;
use thiserror::Error;

/// A change of the layout of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// What is changed, as it was asked for.
    pub object: Target,
    /// How.
    pub how: How,
    /// What addresses become multiples of: a power of two, in bytes.
    pub alignment: u64,
}

/// What is changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// The objects that the report calls so, or a field of one.
    Named(String),
    /// The object that holds this byte.
    At(Addr),
}

/// How a layout is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// The object is aligned, and so is what begins at this offset of it, in bytes.
    Pad(u64),
    /// The object is aligned, and each of its elements. They have this many bytes; `None`: as many as the type says.
    Align(Option<u64>),
}

/// Why a text is no [`Change`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ChangeError {
    /// Neither of the two forms.
    #[error("a change is pad:OBJECT+OFFSET:BYTES or align:OBJECT:BYTES, such as pad:stats+8:64")]
    Form,
    /// An alignment that no type has.
    #[error("bytes to align to are a power of two, 2 to 4096")]
    Alignment,
    /// Elements without bytes.
    #[error("an element has at least one byte")]
    Element,
}

/// A page: what is aligned to more is rare.
const MOST_ALIGNMENT: u64 = 4096;

impl FromStr for Change {
    type Err = ChangeError;

    /// `pad:OBJECT+OFFSET:BYTES`, `pad:FIELD:BYTES`, `align:OBJECT:BYTES` or `align:OBJECT/ELEMENT:BYTES`.
    fn from_str(text: &str) -> Result<Self, ChangeError> {
        let (kind, rest) = text.split_once(':').ok_or(ChangeError::Form)?;
        // Names have colons too.
        let (object, alignment) = rest.rsplit_once(':').ok_or(ChangeError::Form)?;
        let alignment = number(alignment).ok_or(ChangeError::Form)?;
        if !alignment.is_power_of_two() || !(2..=MOST_ALIGNMENT).contains(&alignment) {
            return Err(ChangeError::Alignment);
        }
        let counted = |mark| object.rsplit_once(mark).and_then(|(name, text)| Some((name, number(text)?)));
        let (object, how) = match kind {
            "pad" => {
                let (object, offset) = counted('+').unwrap_or((object, 0));
                (object, How::Pad(offset))
            }
            "align" => match counted('/') {
                Some((_, 0)) => return Err(ChangeError::Element),
                Some((object, bytes)) => (object, How::Align(Some(bytes))),
                None => (object, How::Align(None)),
            },
            _ => return Err(ChangeError::Form),
        };
        let address = || number(object.strip_prefix("0x").map(|_| object)?);
        let object = match address() {
            _ if object.is_empty() => return Err(ChangeError::Form),
            Some(address) => Target::At(Addr(address)),
            None => Target::Named(object.to_owned()),
        };
        Ok(Self { object, how, alignment })
    }
}

/// Decimal, or hexadecimal with `0x`.
fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { object, how, alignment } = self;
        match how {
            How::Pad(0) => write!(f, "pad:{object}:{alignment}"),
            How::Pad(offset) => write!(f, "pad:{object}+{offset}:{alignment}"),
            How::Align(None) => write!(f, "align:{object}:{alignment}"),
            How::Align(Some(bytes)) => write!(f, "align:{object}/{bytes}:{alignment}"),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name) => f.write_str(name),
            Self::At(address) => write!(f, "{:#x}", address.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_read_as_they_are_printed() {
        let named = |name: &str| Target::Named(name.into());
        let pad = |object, offset| Change { object, how: How::Pad(offset), alignment: 64 };
        let align = |object, bytes| Change { object, how: How::Align(bytes), alignment: 128 };
        for (text, change) in [
            ("pad:stats+8:64", pad(named("stats"), 8)),
            ("pad:stats.misses:64", pad(named("stats.misses"), 0)),
            ("pad:0x1000+16:64", pad(Target::At(Addr(0x1000)), 16)),
            ("align:pool::slots:128", align(named("pool::slots"), None)),
            (
                "align:640-byte block allocated in make/24:128",
                align(named("640-byte block allocated in make"), Some(24)),
            ),
        ] {
            assert_eq!(text.parse(), Ok(change.clone()));
            assert_eq!(change.to_string(), text);
        }
        assert_eq!("pad:stats+0x10:64".parse(), Ok(pad(named("stats"), 16)));
    }

    #[test]
    fn other_texts_are_refused() {
        let refused = |text: &str| text.parse::<Change>().unwrap_err();
        for text in ["", "pad", "pad:stats+8", "move:stats:64", "pad::64", "align:stats:line"] {
            assert_eq!(refused(text), ChangeError::Form, "{text}");
        }
        assert_eq!(refused("pad:stats+8:48"), ChangeError::Alignment);
        assert_eq!(refused("align:stats:8192"), ChangeError::Alignment);
        assert_eq!(refused("align:stats/0:64"), ChangeError::Element);
    }
}
