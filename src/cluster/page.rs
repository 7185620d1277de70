//! A page of a list whose items are read one at a time.
//!
//! Users decide how large their objects are. As values, those of a page may take many times the memory of its text, so that only
//! one of them exists at a time.

use std::borrow::Cow;
use std::fmt;

use kube::core::ListMeta;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// Passes the items in the text of a page to `read`, and returns the token of the next page.
pub(super) fn read_page(text: &[u8], read: impl FnMut(Value)) -> serde_json::Result<Option<String>> {
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let token = deserializer.deserialize_map(Page(read))?;
    deserializer.end()?;
    Ok(token.filter(|token| !token.is_empty()))
}

/// The fields of a list.
struct Page<F>(F);

/// The items of a list.
struct Items<'read, F>(&'read mut F);

impl<'de, F: FnMut(Value)> Visitor<'de> for Page<F> {
    type Value = Option<String>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut token = None;
        while let Some(field) = map.next_key::<Cow<'de, str>>()? {
            match &*field {
                "metadata" => token = map.next_value::<ListMeta>()?.continue_,
                "items" => map.next_value_seed(Items(&mut self.0))?,
                _ => _ = map.next_value::<IgnoredAny>()?,
            }
        }
        Ok(token)
    }
}

impl<'de, F: FnMut(Value)> DeserializeSeed<'de> for Items<'_, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, F: FnMut(Value)> Visitor<'de> for Items<'_, F> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the items of a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while let Some(item) = items.next_element()? {
            (self.0)(item);
        }
        Ok(())
    }

    /// Go writes an empty list as null.
    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::last(r#"{"kind": "PodList", "metadata": {"resourceVersion": "1"}, "items": [{"a": 1}, 2]}"#, &[json!({"a": 1}), json!(2)], None)]
    #[case::with_a_next_one(r#"{"metadata": {"continue": "b"}, "items": [1]}"#, &[json!(1)], Some("b"))]
    #[case::items_first(r#"{"items": [1], "metadata": {"continue": "b", "remainingItemCount": 7}}"#, &[json!(1)], Some("b"))]
    #[case::empty_token(r#"{"metadata": {"continue": ""}, "items": []}"#, &[], None)]
    #[case::no_items(r#"{"metadata": {}, "items": null}"#, &[], None)]
    #[case::escaped_field(r#"{"it\u0065ms": [1]}"#, &[json!(1)], None)]
    fn items_and_token(#[case] text: &str, #[case] expected: &[Value], #[case] token: Option<&str>) {
        let mut items = Vec::new();
        assert_eq!(read_page(text.as_bytes(), |item| items.push(item)).unwrap().as_deref(), token);
        assert_eq!(items, expected);
    }

    #[rstest]
    #[case::truncated(r#"{"items": [1"#)]
    #[case::followed_by_text(r#"{"items": []} {}"#)]
    #[case::another_type(r#"{"items": 1}"#)]
    #[case::not_a_list("[]")]
    fn other_texts_are_rejected(#[case] text: &str) {
        assert!(read_page(text.as_bytes(), |_| {}).is_err());
    }
}
