//! The parser of profile names: shell completion offers the built-in ones, and custom ones are accepted, too.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command, Error};

use trainmesh_core::config::builtin_profiles;

/// Parses a profile name. The configuration decides later if a profile has it.
#[derive(Clone, Copy, Debug)]
pub(in crate::cli) struct ProfileNameParser;

impl TypedValueParser for ProfileNameParser {
    type Value = String;

    fn parse_ref(&self, command: &Command, argument: Option<&Arg>, value: &OsStr) -> Result<String, Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let names = builtin_profiles().all();
        Some(Box::new(names.into_keys().map(PossibleValue::new)))
    }
}
