use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};

/// A number in the report. Non-finite values are written as null, whole numbers without a fraction (a matrix
/// of a thousand threads has a million zeros).
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Real(pub f64);

/// An estimate with its 95% confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Interval {
    /// The point estimate.
    pub estimate: Real,
    /// Lower end of the interval.
    pub low: Real,
    /// Upper end of the interval.
    pub high: Real,
}

/// Whole numbers up to here are exact in a double.
const EXACT_WHOLE: f64 = 9_007_199_254_740_992.0;

impl From<f64> for Real {
    fn from(value: f64) -> Self {
        Self(value)
    }
}

impl Serialize for Real {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !self.0.is_finite() {
            serializer.serialize_none()
        } else if self.0.fract() == 0.0 && self.0.abs() < EXACT_WHOLE {
            serializer.serialize_i64(self.0 as i64)
        } else {
            serializer.serialize_f64(self.0)
        }
    }
}

impl JsonSchema for Real {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Real".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Option::<f64>::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn non_finite_is_null_and_whole_is_short() {
        let row = [0.0, 2.5, -3.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300].map(Real);
        assert_eq!(serde_json::to_string(&row).unwrap(), "[0,2.5,-3,null,null,null,1e+300]");
    }
}
