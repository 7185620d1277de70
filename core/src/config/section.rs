//! Macros that declare sections of the configuration: type, serialized form, defaults and parser.

/// Declares a mapping of optional fields. `= value` sets a field's default; otherwise it is that of the type. Field
/// names in the file are in camelCase unless set with `as "name"`. `=> valid` validates a field, `check` the whole mapping.
macro_rules! section {
    (
        $(#[$meta:meta])*
        pub struct $type:ident {
            $($(#[$field_meta:meta])* pub $field:ident $(as $name:literal)?: $of:ty $(= $default:expr)? $(=> $valid:expr)?,)+
        }
        $(check: $check:expr)?
    ) => {
        #[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(rename_all = "camelCase", deny_unknown_fields, default)]
        $(#[$meta])*
        pub struct $type { $($(#[$field_meta])* $(#[serde(rename = $name)])? pub $field: $of,)+ }

        impl Default for $type {
            fn default() -> Self {
                Self { $($field: $crate::config::section::section!(@default $($default)?),)+ }
            }
        }

        impl $crate::config::fields::Section for $type {
            fn read(fields: &mut $crate::config::fields::Fields<'_>) -> Option<Self> {
                let Self { $($field),+ } = Self::default();
                $(
                    let name = $crate::config::section::section!(@name $field $($name)?);
                    let $field: $of = fields.get_or(&name, $field);
                    $(if let Err(message) = $valid(&$field) {
                        fields.report_problem(&name, message);
                    })?
                )+
                let read = Self { $($field),+ };
                $($check(&read, fields);)?
                Some(read)
            }
        }

        $crate::config::section::mappings!($type);
    };
    (@name $field:ident) => { $crate::config::section::camel_case(stringify!($field)) };
    (@name $field:ident $name:literal) => { $name };
    (@default) => { Default::default() };
    (@default $default:expr) => { $default };
}

/// Declares a mapping with required fields, marked by `=> "description"`. The other fields have the default of their
/// type, and need `#[serde(default)]` for the schema. Field names in the file are in camelCase unless set with `as
/// "name"`. `partial` validates the parsed fields even if required ones are missing; `check` validates the complete
/// mapping.
macro_rules! item {
    (
        $(#[$meta:meta])*
        pub struct $type:ident {
            $($(#[$field_meta:meta])* pub $field:ident $(as $name:literal)?: $of:ty $(=> $expected:literal)?,)+
        }
        $(partial: $partial:expr,)?
        $(check: $check:expr)?
    ) => {
        #[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        $(#[$meta])*
        pub struct $type { $($(#[$field_meta])* $(#[serde(rename = $name)])? pub $field: $of,)+ }

        impl $crate::config::fields::Section for $type {
            fn read(fields: &mut $crate::config::fields::Fields<'_>) -> Option<Self> {
                $(
                    let name = $crate::config::section::item!(@name $field $($name)?);
                    let $field = $crate::config::section::item!(@read fields, &name, $of $(, $expected)?);
                )+
                $($partial(fields);)?
                let read = Self { $($field: $crate::config::section::item!(@complete $field $(, $expected)?),)+ };
                $($check(&read, fields);)?
                Some(read)
            }
        }

        $crate::config::section::mappings!($type);
    };
    (@name $field:ident) => { $crate::config::section::camel_case(stringify!($field)) };
    (@name $field:ident $name:literal) => { $name };
    (@read $fields:ident, $name:expr, $of:ty) => { $fields.get_or::<$of>($name, Default::default()) };
    (@read $fields:ident, $name:expr, $of:ty, $expected:literal) => { $fields.require::<$of>($name, $expected) };
    (@complete $field:ident) => { $field };
    (@complete $field:ident, $expected:literal) => { $field? };
}

/// Implements `Field` for types that are parsed from a mapping.
macro_rules! mappings {
    ($($type:ty),+) => {$(
        impl $crate::config::fields::Field for $type {
            fn read_at(
                fields: &mut $crate::config::fields::Fields<'_>,
                name: &str,
                node: $crate::yaml::Node<'_>,
            ) -> Option<Self> {
                fields.mapping(name, node, <Self as $crate::config::fields::Section>::read).flatten()
            }
        }
    )+};
}

pub(crate) use {item, mappings, section};

/// Converts a field name to camelCase in the same way as serde.
pub(crate) fn camel_case(field: &str) -> String {
    let mut words = field.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| {
        let (initial, rest) = word.split_at(word.len().min(1));
        name + &initial.to_ascii_uppercase() + rest
    })
}
