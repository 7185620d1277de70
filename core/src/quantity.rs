//! Resource quantities, in the grammar of the apiserver (kubernetes/apimachinery, `pkg/api/resource/quantity.go` and
//! `suffix.go`).

use serde_json::Value;

/// Suffixes that multiply a number.
const MULTIPLES: [(&str, f64); 12] = [
    ("k", 1e3),
    ("M", 1e6),
    ("G", 1e9),
    ("T", 1e12),
    ("P", 1e15),
    ("E", 1e18),
    ("Ki", 1024.0),
    ("Mi", 1024.0 * 1024.0),
    ("Gi", 1024.0 * 1024.0 * 1024.0),
    ("Ti", 1024.0 * 1024.0 * 1024.0 * 1024.0),
    ("Pi", 1024.0 * 1024.0 * 1024.0 * 1024.0 * 1024.0),
    ("Ei", 1024.0 * 1024.0 * 1024.0 * 1024.0 * 1024.0 * 1024.0),
];

/// Suffixes that divide a number: 0.001 has no exact double.
const FRACTIONS: [(&str, f64); 3] = [("n", 1e9), ("u", 1e6), ("m", 1e3)];

/// Returns the quantity in whole units, rounded up as Go's `Quantity.Value` does; `None` if the value is not a
/// quantity, or negative.
#[must_use]
pub fn whole_units(quantity: &Value) -> Option<u64> {
    format!("{:.0}", units(quantity)?.ceil()).parse().ok()
}

/// Returns the quantity in thousandths, rounded up as Go's `Quantity.MilliValue` does; `None` if the value is not a
/// quantity, or negative.
#[must_use]
pub fn milli_units(quantity: &Value) -> Option<u64> {
    // Thousandths have no exact double: the product is rounded before it is rounded up.
    let milli = (units(quantity)? * 1e6).round() / 1e3;
    format!("{:.0}", milli.ceil()).parse().ok()
}

/// Returns true if the quantity is a whole number of units; `None` if it is not a quantity.
#[must_use]
pub fn is_whole(quantity: &Value) -> Option<bool> {
    units(quantity).map(|units| units.fract() == 0.0)
}

/// Returns true if the quantity is less than 0; `None` if it is not a quantity.
#[must_use]
pub fn is_negative(quantity: &Value) -> Option<bool> {
    units(quantity).map(|units| units < 0.0)
}

/// Returns true if the apiserver accepts `text` as a quantity and it is not negative.
#[must_use]
pub fn is_quantity(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_digit()) && whole_units(&Value::String(text.to_owned())).is_some()
}

fn units(quantity: &Value) -> Option<f64> {
    match quantity {
        Value::Number(number) => parse(&number.to_string()),
        // The apiserver removes blanks around the text.
        Value::String(text) => parse(text.trim()),
        _ => None,
    }
}

/// Parses a quantity: a sign, digits with an optional fraction, and a suffix. No digits are 0.
fn parse(text: &str) -> Option<f64> {
    if text.is_empty() {
        return None;
    }
    let (sign, unsigned) = match text.strip_prefix('-') {
        Some(unsigned) => (-1.0, unsigned),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    let (integer, rest) = digits(unsigned);
    let (fraction, suffix) = rest.strip_prefix('.').map_or(("", rest), digits);
    let number = format!("0{integer}.{fraction}0");
    let factor = |known: &[(&str, f64)]| known.iter().find(|(name, _)| *name == suffix).map(|(_, factor)| *factor);
    let value: f64 = if suffix.is_empty() {
        number.parse().ok()?
    } else if let Some(factor) = factor(&MULTIPLES) {
        number.parse::<f64>().ok()? * factor
    } else if let Some(divisor) = factor(&FRACTIONS) {
        number.parse::<f64>().ok()? / divisor
    } else {
        let exponent: i64 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
        format!("{number}e{exponent}").parse().ok()?
    };
    Some(sign * value)
}

/// Splits `text` after its digits.
fn digits(text: &str) -> (&str, &str) {
    let end = text.find(|symbol: char| !symbol.is_ascii_digit()).unwrap_or(text.len());
    text.split_at(end)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::whole(json!(2), Some(2000))]
    #[case::thousandths(json!("1001m"), Some(1001))]
    #[case::fraction(json!("0.29"), Some(290))]
    #[case::rounded_up(json!("1u"), Some(1))]
    #[case::negative(json!("-1"), None)]
    #[case::text(json!("many"), None)]
    fn thousandths(#[case] quantity: Value, #[case] expected: Option<u64>) {
        assert_eq!(milli_units(&quantity), expected);
    }

    #[rstest]
    #[case::number(json!(8), Some(8))]
    #[case::text(json!("8"), Some(8))]
    #[case::thousandths(json!("7000m"), Some(7))]
    #[case::rounded_up(json!("1500m"), Some(2))]
    #[case::fraction(json!("0.5"), Some(1))]
    #[case::no_integer(json!(".5Gi"), Some(1 << 29))]
    #[case::exponent(json!("1e3"), Some(1000))]
    #[case::negative_exponent(json!("1E-1"), Some(1))]
    #[case::binary(json!("2Ki"), Some(2048))]
    #[case::sign(json!("+2"), Some(2))]
    #[case::blanks(json!(" 2 "), Some(2))]
    #[case::largest_exponent(json!("1E"), Some(1_000_000_000_000_000_000))]
    #[case::negative(json!("-1"), None)]
    #[case::no_quantity(json!("many"), None)]
    #[case::unknown_suffix(json!("3x"), None)]
    #[case::bytes(json!("64GB"), None)]
    #[case::bits(json!("512Gib"), None)]
    #[case::separator(json!("1,000Gi"), None)]
    #[case::word(json!("eight"), None)]
    #[case::no_exponent(json!("1e"), None)]
    #[case::number_after_the_suffix(json!("1Ki3"), None)]
    #[case::two_points(json!("1.2.3"), None)]
    #[case::two_signs(json!("--1"), None)]
    #[case::blank_inside(json!("64 Gi"), None)]
    #[case::empty(json!(""), None)]
    #[case::list(json!([1]), None)]
    fn quantities_are_counted_in_whole_units(#[case] quantity: Value, #[case] expected: Option<u64>) {
        assert_eq!(whole_units(&quantity), expected);
    }

    #[rstest]
    #[case::number(json!(8), Some(true))]
    #[case::thousandths(json!("7000m"), Some(true))]
    #[case::half(json!("500m"), Some(false))]
    #[case::fraction(json!(1.5), Some(false))]
    #[case::no_quantity(json!("many"), None)]
    fn devices_are_whole(#[case] quantity: Value, #[case] expected: Option<bool>) {
        assert_eq!(is_whole(&quantity), expected);
    }

    #[rstest]
    #[case::number(json!(-8), Some(true))]
    #[case::text(json!("-8Gi"), Some(true))]
    #[case::zero(json!("-0"), Some(false))]
    #[case::positive(json!("8"), Some(false))]
    #[case::no_quantity(json!("eight"), None)]
    fn negative_quantities_are_recognized(#[case] quantity: Value, #[case] expected: Option<bool>) {
        assert_eq!(is_negative(&quantity), expected);
    }
}
