//! The vocabulary's newtypes as plain JSON numbers: `carom-base` knows nothing of serialisation.

use carom_base::{Cpu, Nanos, ProcessId, SegmentId, ThreadId};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A newtype and the number inside.
pub trait Plain: Copy {
    /// The number.
    type Number: Serialize + for<'de> Deserialize<'de>;
    fn number(self) -> Self::Number;
    fn from_number(number: Self::Number) -> Self;
}

macro_rules! plain {
    ($($newtype:ident($number:ty)),* $(,)?) => {
        $(impl Plain for $newtype {
            type Number = $number;
            fn number(self) -> $number {
                self.0
            }
            fn from_number(number: $number) -> Self {
                Self(number)
            }
        })*
    };
}

plain!(Cpu(u32), Nanos(u64), ProcessId(u32), SegmentId(u32), ThreadId(u32));

pub fn serialize<T: Plain, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    value.number().serialize(serializer)
}

pub fn deserialize<'de, T: Plain, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    T::Number::deserialize(deserializer).map(T::from_number)
}

/// The same where there may be none.
pub mod option {
    use super::{Deserialize, Deserializer, Plain, Serialize, Serializer};

    pub fn serialize<T: Plain, S: Serializer>(value: &Option<T>, serializer: S) -> Result<S::Ok, S::Error> {
        value.map(T::number).serialize(serializer)
    }

    pub fn deserialize<'de, T: Plain, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
        Ok(Option::<T::Number>::deserialize(deserializer)?.map(T::from_number))
    }
}

/// JSON has no NaN and no infinity: they are written as null, and null is read as NaN, so that a bad number
/// costs one field and not the recording.
pub fn null_is_nan<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NAN))
}
