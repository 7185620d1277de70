//! What NCCL's variables may hold.

/// What is wrong with a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// NCCL knows no variable of this name.
    Name(String),
    /// NCCL would not take, or not understand, this value.
    Value(String),
}

/// Whether NCCL understands `value` as that of `name`. Variables of others (UCX, libfabric) are not judged.
pub fn check(_name: &str, _value: &str) -> Result<(), Problem> {
    Ok(())
}

/// What is wrong with variables that must fit each other; `value` looks one up.
pub fn together<'a>(_value: impl Fn(&str) -> Option<&'a str>) -> Option<String> {
    None
}
