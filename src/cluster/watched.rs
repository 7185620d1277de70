//! Events of a watch, decoded one object at a time. The code of kube's watcher then exists once instead of once for each
//! kind, which would take 0.4 MB of the binary.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::time::Duration;

use futures::{Stream, StreamExt as _, future, stream};
use kube::core::{DynamicResourceScope, ObjectMeta};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Resource};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use tokio::time::sleep;

use super::partial::PartialMeta;

/// Delay before objects are listed again after a list with one that cannot be decoded: only its author can correct it.
const RELIST_DELAY: Duration = Duration::from_mins(1);

/// An object with the metadata that the watcher needs, and its text.
#[derive(Clone, Debug)]
struct Undecoded {
    metadata: ObjectMeta,
    text: Box<RawValue>,
}

#[derive(Deserialize)]
struct Raw {
    metadata: PartialMeta,
}

/// Watches the objects of `api` that `config` selects, with an increasing delay after errors. The stream never ends.
///
/// An object that cannot be decoded is an error. A list that contains one does not complete, and is repeated after a minute.
pub(crate) fn events<K>(
    api: Api<K>,
    config: watcher::Config,
) -> impl Stream<Item = watcher::Result<Event<K>>> + Send + use<K>
where
    K: Resource + DeserializeOwned + Send + 'static,
{
    let url = api.resource_url().to_owned();
    let api: Api<Undecoded> = Api::all_with(api.into_client(), &url);
    let watches = stream::iter(0_u64..).then(move |attempt| {
        let events = watcher(api.clone(), config.clone()).default_backoff();
        async move {
            if attempt > 0 {
                sleep(RELIST_DELAY).await;
            }
            // Ends at the end of a list with an object that cannot be decoded.
            events.scan(true, |is_complete, event| future::ready(decode(event, is_complete)))
        }
    });
    watches.flatten()
}

fn decode<K: DeserializeOwned>(
    event: watcher::Result<Event<Undecoded>>,
    is_complete: &mut bool,
) -> Option<watcher::Result<Event<K>>> {
    Some(match event {
        Ok(Event::Init) => {
            *is_complete = true;
            Ok(Event::Init)
        }
        Ok(Event::InitApply(object)) => {
            let object = object.decode();
            *is_complete &= object.is_ok();
            object.map(Event::InitApply)
        }
        Ok(Event::InitDone) => return is_complete.then_some(Ok(Event::InitDone)),
        Ok(Event::Apply(object)) => object.decode().map(Event::Apply),
        Ok(Event::Delete(object)) => object.decode().map(Event::Delete),
        Err(error) => Err(error),
    })
}

impl Undecoded {
    fn decode<K: DeserializeOwned>(&self) -> watcher::Result<K> {
        serde_json::from_str(self.text.get())
            .map_err(|error| watcher::Error::WatchFailed(kube::Error::SerdeError(error)))
    }
}

impl<'de> Deserialize<'de> for Undecoded {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        let Raw { metadata } = serde_json::from_str(text.get()).map_err(D::Error::custom)?;
        Ok(Self { metadata: metadata.into(), text })
    }
}

/// Its dynamic type is the path of the objects, which identifies their kind.
impl Resource for Undecoded {
    type DynamicType = String;
    type Scope = DynamicResourceScope;

    fn kind(_: &String) -> Cow<'_, str> {
        Cow::default()
    }

    fn group(_: &String) -> Cow<'_, str> {
        Cow::default()
    }

    fn version(_: &String) -> Cow<'_, str> {
        Cow::default()
    }

    fn plural(_: &String) -> Cow<'_, str> {
        Cow::default()
    }

    fn url_path(url: &String, _: Option<&str>) -> String {
        url.clone()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}
