//! Resource quantities in whole units.

use serde_json::Value;

/// Returns the quantity in whole units, rounded up as Go's `Quantity.Value` does; `None` if the value is not a
/// quantity.
#[must_use]
pub fn whole_units(quantity: &Value) -> Option<u64> {
    format!("{:.0}", units(quantity)?.ceil()).parse().ok()
}

/// Returns true if the quantity is a whole number of units; `None` if it is not a quantity.
#[must_use]
pub fn is_whole(quantity: &Value) -> Option<bool> {
    units(quantity).map(|units| units.fract() == 0.0)
}

fn units(quantity: &Value) -> Option<f64> {
    let text = match quantity {
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        _ => return None,
    };
    let end = text.find(|symbol: char| !symbol.is_ascii_digit() && symbol != '.').unwrap_or(text.len());
    let (digits, suffix) = text.split_at_checked(end)?;
    let number: f64 = digits.parse().ok()?;
    Some(match suffix {
        "" => number,
        // Division, because 0.001 itself has no exact double.
        "n" => number / 1e9,
        "u" => number / 1e6,
        "m" => number / 1e3,
        "k" => number * 1e3,
        "M" => number * 1e6,
        "G" => number * 1e9,
        "T" => number * 1e12,
        "P" => number * 1e15,
        "E" => number * 1e18,
        "Ki" => number * 1024.0,
        "Mi" => number * 1024.0 * 1024.0,
        "Gi" => number * 1024.0 * 1024.0 * 1024.0,
        "Ti" => number * 1024.0 * 1024.0 * 1024.0 * 1024.0,
        "Pi" => number * 1024.0 * 1024.0 * 1024.0 * 1024.0 * 1024.0,
        "Ei" => number * 1024.0 * 1024.0 * 1024.0 * 1024.0 * 1024.0 * 1024.0,
        exponent if exponent.starts_with(['e', 'E']) => text.parse().ok()?,
        _ => return None,
    })
}

/// Returns true if the apiserver accepts `text` as a quantity and it is not negative.
#[must_use]
pub fn is_quantity(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_digit()) && whole_units(&Value::String(text.to_owned())).is_some()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::number(json!(8), Some(8))]
    #[case::text(json!("8"), Some(8))]
    #[case::thousandths(json!("7000m"), Some(7))]
    #[case::rounded_up(json!("1500m"), Some(2))]
    #[case::fraction(json!("0.5"), Some(1))]
    #[case::exponent(json!("1e3"), Some(1000))]
    #[case::binary(json!("2Ki"), Some(2048))]
    #[case::negative(json!("-1"), None)]
    #[case::no_quantity(json!("many"), None)]
    #[case::unknown_suffix(json!("3x"), None)]
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
}
