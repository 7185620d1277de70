//! Paginated lists.

use std::fmt::Debug;
use std::sync::Arc;

use futures::{Stream, TryStreamExt as _, stream};
use kube::Api;
use kube::api::ListParams;
use kube::core::{ObjectList, PartialObjectMeta};
use serde::de::DeserializeOwned;

use super::request::{RequestError, send};

/// Default page size.
const PAGE: u32 = 500;

/// Lists the objects that `parameters` select. `page` requests one page; `step` describes the request in errors.
pub(crate) fn paginate<T, F>(
    step: impl Into<Arc<str>>,
    parameters: ListParams,
    page: impl Fn(ListParams) -> F,
) -> impl Stream<Item = Result<T, RequestError>>
where
    F: Future<Output = kube::Result<ObjectList<T>>>,
    T: Clone,
{
    let step = step.into();
    let first = ListParams { limit: parameters.limit.or(Some(PAGE)), ..parameters };
    let pages = stream::try_unfold(Some(first), move |parameters| {
        let step = Arc::clone(&step);
        let request = parameters.map(|parameters| (page(parameters.clone()), parameters));
        async move {
            let Some((request, parameters)) = request else { return Ok(None) };
            let page = send(&step, request).await?;
            let next = page.metadata.continue_.filter(|token| !token.is_empty());
            let next = next.map(|token| parameters.continue_token(&token));
            Ok(Some((stream::iter(page.items.into_iter().map(Ok)), next)))
        }
    });
    pages.try_flatten()
}

/// Lists objects of `api`.
pub(crate) async fn list<K>(step: &str, api: &Api<K>, parameters: ListParams) -> Result<Vec<K>, RequestError>
where
    K: Clone + DeserializeOwned + Debug,
{
    paginate(step, parameters, |parameters| async move { api.list(&parameters).await }).try_collect().await
}

/// Lists the metadata of objects of `api`.
pub(crate) async fn list_metadata<K>(
    step: &str,
    api: &Api<K>,
    parameters: ListParams,
) -> Result<Vec<PartialObjectMeta<K>>, RequestError>
where
    K: Clone + DeserializeOwned + Debug,
{
    paginate(step, parameters, |parameters| async move { api.list_metadata(&parameters).await }).try_collect().await
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::future;

    use kube::core::ListMeta;

    use super::*;

    #[tokio::test]
    async fn every_page_is_requested() {
        let requested = RefCell::new(Vec::new());
        let page = |parameters: ListParams| {
            requested.borrow_mut().push((parameters.limit, parameters.continue_token.clone()));
            let (items, next) = match parameters.continue_token.as_deref() {
                None => (vec![1, 2], "b"),
                Some("b") => (Vec::new(), "c"),
                Some(_) => (vec![3], ""),
            };
            let metadata = ListMeta { continue_: Some(next.to_owned()), ..ListMeta::default() };
            future::ready(Ok(ObjectList { types: kube::core::TypeMeta::default(), metadata, items }))
        };
        let found: Vec<u32> = paginate("list them", ListParams::default().limit(2), page).try_collect().await.unwrap();
        assert_eq!(found, [1, 2, 3]);
        let token = |token: &str| Some(token.to_owned());
        assert_eq!(*requested.borrow(), [(Some(2), None), (Some(2), token("b")), (Some(2), token("c"))]);
    }
}
