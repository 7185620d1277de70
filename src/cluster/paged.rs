//! Lists whose objects are read one at a time, in pages of limited size.
//!
//! Users decide how large their objects are. The text of a page is the largest part of the memory that a list takes, so a page
//! that exceeds its limit is not read to its end, but requested again with fewer objects.

use futures::io::AsyncReadExt as _;
use kube::Client;
use kube::api::ListParams;
use kube::core::Request;
use serde_json::Value;

use super::page::read_page;
use super::request::{RequestError, send};

/// Maximum size of a page in bytes: three of the largest pods, of some 9 MiB of JSON each. Less than a power of two, because
/// the buffer doubles.
const MAX_PAGE_BYTES: usize = (32 << 20) - 2;
/// Number of objects on the first page: those of usual size take some hundred kilobytes.
const FIRST_PAGE: u32 = 100;
/// Maximum number of objects on a page.
const MAX_PAGE: u32 = 500;
/// Divisor of the number of objects after a page that is too large.
const SHRINK: u32 = 4;
/// Divisor of the number of objects by which the largest page grows again.
const GROWTH: u32 = 8;

/// Number of objects on the next page.
#[derive(Clone, Copy, Debug)]
struct PageSize {
    next: u32,
    maximum: u32,
}

/// Lists the objects at `path` that `parameters` select, and passes them to `read` until it fails. `step` describes the request
/// in errors.
pub(crate) async fn read_list<E: From<RequestError>>(
    client: &Client,
    path: &str,
    step: &str,
    parameters: ListParams,
    read: impl FnMut(Value) -> Result<(), E>,
) -> Result<(), E> {
    read_pages(client, path, step, parameters, MAX_PAGE_BYTES, read).await
}

async fn read_pages<E: From<RequestError>>(
    client: &Client,
    path: &str,
    step: &str,
    mut parameters: ListParams,
    max_bytes: usize,
    mut read: impl FnMut(Value) -> Result<(), E>,
) -> Result<(), E> {
    let mut size = PageSize { next: FIRST_PAGE, maximum: MAX_PAGE };
    loop {
        parameters.limit = Some(size.next);
        let request = Request::new(path).list(&parameters).map_err(kube::Error::BuildRequest);
        let page = send(step, async {
            let stream = client.request_stream(request?).await?;
            let mut text = Vec::new();
            let limit = max_bytes as u64 + 1;
            stream.take(limit).read_to_end(&mut text).await.map_err(kube::Error::ReadEvents)?;
            Ok(text)
        });
        let text = page.await?;
        if text.len() > max_bytes {
            if !size.shrink() {
                return Err(RequestError::TooLarge(step.to_owned()).into());
            }
            continue;
        }
        let mut result = Ok(());
        let pass = |object| {
            if result.is_ok() {
                result = read(object);
            }
        };
        let token = read_page(&text, pass).map_err(|_| RequestError::Malformed(step.to_owned()))?;
        result?;
        size.grow();
        match token {
            Some(token) => parameters = parameters.continue_token(&token),
            None => return Ok(()),
        }
    }
}

impl PageSize {
    /// Reduces the size after a page that was too large. Returns false if it had one object.
    fn shrink(&mut self) -> bool {
        let before = self.next;
        // Objects of similar size follow.
        self.maximum = (before / 2).max(1);
        self.next = (before / SHRINK).max(1);
        before > 1
    }

    /// Increases the size after a page that was not. Smaller objects may follow: each of the largest pages makes the next one
    /// larger by an eighth.
    fn grow(&mut self) {
        if self.next == self.maximum {
            self.maximum = (self.maximum + self.maximum / GROWTH + 1).min(MAX_PAGE);
        }
        self.next = (self.next * 2).min(self.maximum);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use trainmesh_testing::apiserver::Apiserver;

    use super::*;

    const PATH: &str = "/api/v1/namespaces/team-a/pods";

    fn client(server: &Apiserver) -> Client {
        let _ = rustls::crypto::ring::default_provider().install_default();
        Client::try_from(kube::Config::new(server.url().parse().unwrap())).unwrap()
    }

    fn page(items: &[&str], next: &str) -> Value {
        json!({"metadata": {"continue": next}, "items": items})
    }

    /// Returns the objects that are read with a limit of 100 bytes for a page, and the error.
    async fn read(pages: Vec<(&'static str, Value)>) -> (Vec<String>, Result<(), RequestError>) {
        let server = Apiserver::start(pages);
        let mut found = Vec::new();
        let add = |object: Value| {
            found.push(object.as_str().unwrap_or_default().to_owned());
            Ok(())
        };
        let result = read_pages(&client(&server), PATH, "list pods", ListParams::default(), 100, add).await;
        (found, result)
    }

    #[tokio::test]
    async fn pages_grow_while_they_are_small() {
        let (found, result) = read(vec![
            ("/api/v1/namespaces/team-a/pods?&limit=100", page(&["a"], "1")),
            ("/api/v1/namespaces/team-a/pods?&limit=200&continue=1", page(&["b"], "2")),
            ("/api/v1/namespaces/team-a/pods?&limit=400&continue=2", page(&["c"], "3")),
            ("/api/v1/namespaces/team-a/pods?&limit=500&continue=3", page(&["d"], "")),
        ])
        .await;
        result.unwrap();
        assert_eq!(found, ["a", "b", "c", "d"]);
    }

    #[tokio::test]
    async fn a_page_that_is_too_large_is_requested_with_fewer_objects() {
        let large = "x".repeat(100);
        let (found, result) = read(vec![
            ("/api/v1/namespaces/team-a/pods?&limit=100", page(&[&large], "1")),
            ("/api/v1/namespaces/team-a/pods?&limit=25", page(&["a"], "1")),
            ("/api/v1/namespaces/team-a/pods?&limit=50&continue=1", page(&["b"], "2")),
            ("/api/v1/namespaces/team-a/pods?&limit=57&continue=2", page(&["c"], "")),
        ])
        .await;
        result.unwrap();
        assert_eq!(found, ["a", "b", "c"], "each object once");
    }

    /// A few large objects at the start of a list.
    #[test]
    fn pages_grow_again() {
        let mut size = PageSize { next: FIRST_PAGE, maximum: MAX_PAGE };
        while size.shrink() {}
        let pages = (1..1_000).find(|_| {
            size.grow();
            size.next == MAX_PAGE
        });
        assert_eq!(pages, Some(38));
        size.grow();
        assert_eq!(size.next, MAX_PAGE);
    }

    #[tokio::test]
    async fn an_object_that_is_too_large_is_an_error() {
        let large = "x".repeat(100);
        let (found, result) = read(vec![(PATH, page(&[&large], ""))]).await;
        assert!(found.is_empty());
        assert_eq!(result.unwrap_err().to_string(), "could not list pods: an object exceeds 32 MiB");
    }

    #[tokio::test]
    async fn the_reader_can_stop() {
        let server = Apiserver::start(vec![(PATH, page(&["a", "b"], "1"))]);
        let mut count = 0;
        let stop = |_| {
            count += 1;
            Err(RequestError::Malformed("stop".to_owned()))
        };
        read_list(&client(&server), PATH, "list pods", ListParams::default(), stop).await.unwrap_err();
        assert_eq!((count, server.requests().len()), (1, 1));
    }
}
