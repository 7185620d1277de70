//! Enums whose variants have a stable code and a text.

/// Declares an enum, its list `ALL`, `code()` and `text()`. The code is the variant's name.
macro_rules! codes {
    (
        $(#[$meta:meta])*
        pub enum $type:ident { $($(#[doc = $doc:literal])+ $name:ident => $text:literal,)+ }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $type { $($(#[doc = $doc])+ $name,)+ }

        impl $type {
            /// Every variant, in the order of the reference.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// Returns the stable code in CamelCase, which is also a label value of metrics.
            #[must_use]
            pub fn code(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)+ }
            }

            /// Returns the text, a lowercase fragment.
            #[must_use]
            pub fn text(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }
        }
    };
}

pub(crate) use codes;
