//! Enums whose values have names in the manifest.

/// Declares an enum of the manifest with the names of its values there. An unknown name is an error.
macro_rules! named {
    ($(#[$doc:meta])* $type:ident { $($(#[$text:meta])* $value:ident = $name:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub enum $type {
            $($(#[$text])* #[serde(rename = $name)] $value,)*
        }

        impl $type {
            /// The value of this name.
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$value),)*
                    _ => None,
                }
            }

            /// Its name.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $name,)*
                }
            }
        }
    };
}
