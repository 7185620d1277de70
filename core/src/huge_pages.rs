//! Resources that are huge pages: the size of a page follows the start of their names.

use serde_json::Value;

use crate::quantity::whole_units;

/// Start of the names.
pub(crate) const PREFIX: &str = "hugepages-";

/// Returns true if `resource` is called like huge pages, whatever their size.
pub(crate) fn is_huge_pages(resource: &str) -> bool {
    resource.starts_with(PREFIX)
}

/// Returns true if `resource` is huge pages of a size that nodes have, such as `hugepages-2Mi`.
pub(crate) fn has_valid_size(resource: &str) -> bool {
    let size = resource.strip_prefix(PREFIX).and_then(|size| size.strip_suffix('i'));
    let digits = size.and_then(|size| size.strip_suffix(['K', 'M', 'G']));
    digits.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns the size of a page of `resource` if `amount` is not a whole number of pages: the apiserver rejects such a pod. `None` for
/// other resources, and for what is no quantity.
pub(crate) fn indivisible_page<'a>(resource: &'a str, amount: &Value) -> Option<&'a str> {
    let size = resource.strip_prefix(PREFIX).filter(|_| has_valid_size(resource))?;
    let page = whole_units(&Value::from(size))?;
    let is_divisible = whole_units(amount)?.checked_rem(page) == Some(0);
    (!is_divisible).then_some(size)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::pages("hugepages-2Mi", json!("5120Mi"), None)]
    #[case::none("hugepages-2Mi", json!(0), None)]
    #[case::decimal_bytes("hugepages-2Mi", json!(4_194_304), None)]
    #[case::half_a_page("hugepages-2Mi", json!("5121Mi"), Some("2Mi"))]
    #[case::no_unit("hugepages-2Mi", json!("5120"), Some("2Mi"))]
    #[case::decimal_unit("hugepages-1Gi", json!("4G"), Some("1Gi"))]
    #[case::pages_without_size("hugepages-0Mi", json!("4Mi"), Some("0Mi"))]
    #[case::no_quantity("hugepages-2Mi", json!("many"), None)]
    #[case::invalid_size("hugepages-2M", json!(1), None)]
    #[case::other_resource("memory", json!(1), None)]
    fn the_apiserver_accepts_whole_pages(
        #[case] resource: &str,
        #[case] amount: Value,
        #[case] expected: Option<&str>,
    ) {
        assert_eq!(indivisible_page(resource, &amount), expected);
    }

    #[rstest]
    #[case("hugepages-2Mi", true, true)]
    #[case("hugepages-1Gi", true, true)]
    #[case("hugepages-1.5Gi", true, false)]
    #[case("hugepages-2M", true, false)]
    #[case("hugepages-", true, false)]
    #[case("hugepages", false, false)]
    #[case("memory", false, false)]
    fn names_end_with_a_size(#[case] resource: &str, #[case] is_named: bool, #[case] is_valid: bool) {
        assert_eq!((is_huge_pages(resource), has_valid_size(resource)), (is_named, is_valid));
    }
}
