//! The type of a plain scalar, by the rules of go-yaml v2, its quirks included, because Kubernetes uses it.

use serde_json::{Number, Value};

/// A scalar with its type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scalar {
    Null,
    Bool(bool),
    Integer(i64),
    /// An integer that exceeds `i64`.
    Unsigned(u64),
    Float(f64),
    /// Any other text.
    Text,
}

/// Returns the JSON number for a float, as Kubernetes converts YAML: `1.0` becomes `1`. `None` for an infinite float
/// and NaN.
#[must_use]
pub fn json_number(float: f64) -> Option<Number> {
    let integral = float.fract() == 0.0 && !(float == 0.0 && float.is_sign_negative());
    if integral {
        // The shortest decimal digits that identify the float, padded with zeros, as in Go.
        let digits = float.to_string();
        if let Ok(integer) = digits.parse::<i64>() {
            return Some(integer.into());
        }
        if let Ok(integer) = digits.parse::<u64>() {
            return Some(integer.into());
        }
    }
    Number::from_f64(float)
}

impl Scalar {
    /// Determines the type of an unquoted scalar without a tag.
    pub(super) fn from_plain(text: &str) -> Self {
        match text.as_bytes().first() {
            None => Self::Null,
            Some(b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~') => parse_word(text),
            Some(b'.') => parse_dotted(text),
            Some(b'0'..=b'9' | b'+' | b'-') => parse_numeric(text),
            Some(_) => Self::Text,
        }
    }

    /// Applies a core tag such as `int`. The error is the type that the tag requires.
    pub(super) fn with_tag(self, tag: &str) -> Result<Self, &'static str> {
        match (tag, self) {
            ("null", Self::Null)
            | ("bool", Self::Bool(_))
            | ("int", Self::Integer(_) | Self::Unsigned(_))
            | ("float", Self::Float(_)) => Ok(self),
            #[expect(clippy::cast_precision_loss, reason = "the tag requires a float")]
            ("float", Self::Integer(integer)) => Ok(Self::Float(integer as f64)),
            ("null", _) => Err("null"),
            ("bool", _) => Err("a boolean"),
            ("int", _) => Err("an integer"),
            ("float", _) => Err("a float"),
            // `str`, and tags without a rule of their own.
            _ => Ok(Self::Text),
        }
    }

    /// Returns the JSON value; `None` if JSON cannot represent it.
    pub(super) fn into_value(self, text: impl Into<String>) -> Option<Value> {
        Some(match self {
            Self::Null => Value::Null,
            Self::Bool(value) => value.into(),
            Self::Integer(value) => value.into(),
            Self::Unsigned(value) => value.into(),
            Self::Float(value) => Value::Number(json_number(value)?),
            Self::Text => Value::String(text.into()),
        })
    }

    /// Returns the key of a JSON object. The error is the reason why the scalar cannot be one.
    pub(super) fn into_key(self, text: impl Into<String>) -> Result<String, &'static str> {
        match self {
            Self::Null => Err("null cannot be a key: quote it"),
            Self::Unsigned(_) => Err("this number is too large for a key: quote it"),
            Self::Bool(value) => Ok(value.to_string()),
            Self::Integer(value) => Ok(value.to_string()),
            Self::Float(value) => Ok(float_key(value)),
            Self::Text => Ok(text.into()),
        }
    }
}

fn parse_word(text: &str) -> Scalar {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Scalar::Bool(true),
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => Scalar::Bool(false),
        "~" | "null" | "Null" | "NULL" => Scalar::Null,
        _ => Scalar::Text,
    }
}

fn parse_dotted(text: &str) -> Scalar {
    if let Some(special) = non_finite(text) {
        return special;
    }
    let bytes = text.as_bytes();
    let digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    let separated =
        (0..bytes.len()).all(|at| bytes[at] != b'_' || digit(at.checked_sub(1)) && digit(at.checked_add(1)));
    if separated { float(&text.replace('_', "")) } else { Scalar::Text }
}

fn non_finite(text: &str) -> Option<Scalar> {
    let float = match text {
        ".nan" | ".NaN" | ".NAN" => f64::NAN,
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => f64::INFINITY,
        "-.inf" | "-.Inf" | "-.INF" => f64::NEG_INFINITY,
        _ => return None,
    };
    Some(Scalar::Float(float))
}

fn parse_numeric(text: &str) -> Scalar {
    if let Some(special) = non_finite(text) {
        return special;
    }
    if text.contains('_') {
        return parse_without_underscores(&text.replace('_', ""));
    }
    parse_without_underscores(text)
}

fn parse_without_underscores(text: &str) -> Scalar {
    let (negative, digits) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let integer = magnitude(digits).and_then(|magnitude| signed(magnitude, negative));
    if let Some(integer) = integer {
        return Scalar::Integer(integer);
    }
    // Only a number without a sign may exceed the range of `i64`.
    let has_sign = digits.len() < text.len();
    if !has_sign && let Some(magnitude) = magnitude(digits) {
        return Scalar::Unsigned(magnitude);
    }
    match float(text) {
        Scalar::Text => binary_with_inner_sign(text),
        float => float,
    }
}

/// Parses digits with the prefixes of Go: `0x`, `0o`, `0b`, and a bare `0` for octal.
fn magnitude(digits: &str) -> Option<u64> {
    let (radix, digits) = match digits.as_bytes() {
        [b'0'] => return Some(0),
        [b'0', b'x' | b'X', _, ..] => (16, &digits[2..]),
        [b'0', b'o' | b'O', _, ..] => (8, &digits[2..]),
        [b'0', b'b' | b'B', _, ..] => (2, &digits[2..]),
        [b'0', ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    // `from_str_radix` accepts a sign here; Go does not.
    digits.as_bytes().first().is_some_and(u8::is_ascii_alphanumeric).then_some(())?;
    u64::from_str_radix(digits, radix).ok()
}

fn signed(magnitude: u64, negative: bool) -> Option<i64> {
    if negative { 0_i64.checked_sub_unsigned(magnitude) } else { i64::try_from(magnitude).ok() }
}

/// Parses `0b-1`: go-yaml parses binary numbers twice, the second time with a sign after the prefix.
fn binary_with_inner_sign(text: &str) -> Scalar {
    let digits = text.strip_prefix("0b").filter(|digits| digits.starts_with(['+', '-']));
    let value = digits.and_then(|digits| i64::from_str_radix(digits, 2).ok());
    value.map_or(Scalar::Text, Scalar::Integer)
}

/// Parses `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`. A value that overflows remains text.
fn float(text: &str) -> Scalar {
    let plausible = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'+' | b'-' | b'e' | b'E'));
    match text.parse::<f64>() {
        Ok(value) if plausible && value.is_finite() => Scalar::Float(value),
        _ => Scalar::Text,
    }
}

/// Formats a float as `sigs.k8s.io/yaml` does in a key: the shortest digits in single precision, in Go's format `g`.
fn float_key(value: f64) -> String {
    if value.is_nan() {
        return ".nan".to_owned();
    }
    #[expect(clippy::cast_possible_truncation, reason = "single precision is the rule")]
    let single = value as f32;
    if single.is_infinite() {
        return if single > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    let scientific = format!("{single:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    match exponent.parse::<i32>() {
        // Go uses scientific notation for these exponents.
        Ok(exponent) if !(-4..6).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.abs())
        }
        _ => single.to_string(),
    }
}
