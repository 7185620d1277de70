//! Reports of a watch, pauses, and lists for objects that were left out.

use std::cell::{Cell, RefCell};
use std::future;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt as _;
use kube::core::{ObjectMeta, Status};
use rstest::rstest;
use tokio::time::sleep;

use super::*;
use crate::cluster::index::{Amount, Limit, Objects};

const DEBOUNCE: Duration = Duration::from_millis(2);
/// Much longer than [`DEBOUNCE`].
const PAUSE: Duration = Duration::from_millis(50);

fn named(name: &str) -> ConfigMap {
    let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
    ConfigMap { metadata, ..ConfigMap::default() }
}

fn rejected(code: u16) -> watcher::Result<Event<ConfigMap>> {
    let status = Status { code, ..Status::default() };
    Err(watcher::Error::InitialListFailed(kube::Error::Api(Box::new(status))))
}

fn options(forbidden_retry_delay: Option<Duration>) -> Options {
    Options { resource: "maps".to_owned(), debounce: DEBOUNCE, forbidden_retry_delay, relist_delay: PAUSE }
}

/// Returns the known objects at each report, `-` if they are unknown. Each event arrives after the previous change
/// has been reported.
async fn reported(events: Vec<watcher::Result<Event<ConfigMap>>>, pause: Option<Duration>) -> Vec<String> {
    let events = events.into_iter().chain([Ok(Event::Init)]);
    let events = Cell::new(Some(events));
    let start = || {
        Box::pin(stream::iter(events.take().unwrap()).then(|event| async {
            sleep(2 * DEBOUNCE).await;
            event
        }))
    };
    let index = Arc::new(Index::default());
    let reduce = |map: &ConfigMap, _: Option<&String>| Some(map.name_any());
    let feed = Feed::new(start, Arc::clone(&index), options(pause), reduce);
    let known = |()| {
        let names = |names: Option<&Objects<String>>| {
            names.map_or("-".to_owned(), |names| names.keys().map(String::as_str).collect())
        };
        future::ready(index.read(names))
    };
    changes(feed).then(known).collect().await
}

#[rstest]
#[case::incomplete_list(vec![Ok(Event::Init), Ok(Event::InitApply(named("x")))], &[])]
#[case::list(vec![Ok(Event::Init), Ok(Event::InitApply(named("x"))), Ok(Event::InitDone)], &["x"])]
#[case::changes(
    vec![Ok(Event::Init), Ok(Event::InitDone), Ok(Event::Apply(named("x"))), Ok(Event::Delete(named("x")))],
    &["", "x", ""]
)]
#[case::not_permitted(vec![rejected(403), Ok(Event::Init), Ok(Event::InitDone)], &["-", ""])]
#[case::no_such_kind(vec![rejected(404), Ok(Event::Init), Ok(Event::InitDone)], &["-", ""])]
#[case::overloaded(vec![Ok(Event::Init), Ok(Event::InitDone), rejected(503)], &[""])]
#[case::another_error(vec![Ok(Event::Init), Ok(Event::InitDone), Err(watcher::Error::NoResourceVersion)], &[""])]
#[tokio::test]
async fn reports_changes(#[case] events: Vec<watcher::Result<Event<ConfigMap>>>, #[case] expected: &[&str]) {
    assert_eq!(reported(events, Some(PAUSE)).await, expected);
}

#[tokio::test]
async fn a_forbidden_resource_is_retried_after_a_pause() {
    let started = Instant::now();
    assert_eq!(reported(vec![rejected(403), Ok(Event::Init), Ok(Event::InitDone)], Some(PAUSE)).await, ["-", ""]);
    assert!(started.elapsed() > PAUSE);
}

/// A watch never sends again what did not fit: it is found by a list after a deletion.
#[tokio::test]
async fn objects_that_were_left_out_are_listed_after_a_deletion() {
    let apply = |name: &str| Ok(Event::InitApply(named(name)));
    let lists = [
        vec![Ok(Event::Init), apply("x"), apply("y"), Ok(Event::InitDone), Ok(Event::Delete(named("x")))],
        vec![Ok(Event::Init), apply("y"), Ok(Event::InitDone)],
    ];
    let lists = RefCell::new(lists.into_iter());
    let start = || {
        let events = lists.borrow_mut().next().unwrap();
        let events = stream::iter(events).then(|event| async {
            sleep(2 * DEBOUNCE).await;
            event
        });
        Box::pin(events.chain(stream::pending()))
    };
    let (of_namespace, of_all) = (Amount { objects: 1, size: 9 }, Amount { objects: 9, size: 99 });
    let index = Arc::new(Index::with_limit(Limit { of_namespace, of_all, size_of: String::len }));
    let reduce = |map: &ConfigMap, _: Option<&String>| Some(map.name_any());
    let feed = Feed::new(start, Arc::clone(&index), options(None), reduce);
    let known = |()| {
        future::ready(index.read_known(|known| {
            let known = known.unwrap();
            (known.objects.keys().cloned().collect::<String>(), known.truncated.len())
        }))
    };
    let reports: Vec<_> = changes(feed).then(known).take(3).collect().await;
    assert_eq!(reports, [("x".to_owned(), 1), (String::new(), 1), ("y".to_owned(), 0)]);
    assert!(!index.is_outdated());
}

#[tokio::test]
async fn a_required_resource_stays_known() {
    let events = vec![Ok(Event::Init), Ok(Event::InitApply(named("x"))), Ok(Event::InitDone), rejected(403)];
    assert_eq!(reported(events, None).await, ["x"]);
}
