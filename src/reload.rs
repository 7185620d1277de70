//! The configuration in force, and how another one takes its place.
//!
//! Two sources, a file and the `ConfigMap`, offer texts; one place decides. A bad text is refused and the running
//! configuration kept. Before the first good one there is none: a process that does not know what was switched off
//! must not act.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use futures::{Stream, StreamExt as _, stream};
use thiserror::Error;
use tokio::pin;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::config::Configuration;
use crate::error::chain;
use crate::files::{Files, ReadError};
use crate::lifecycle::Catalogue;
use crate::telemetry::{Metrics, ReloadResult};

/// The configuration in force; shared by all who act on it.
#[derive(Debug)]
pub struct Settings {
    active: ArcSwapOption<Active>,
    /// Tells of every offer that was judged.
    judged: watch::Sender<Option<Arc<Refused>>>,
    metrics: Arc<Metrics>,
}

/// A validated configuration.
#[derive(Debug)]
pub struct Active {
    /// The configuration.
    pub config: Configuration,
    /// Its hash, for the audit log.
    pub hash: String,
    /// The helpers that can be ended under it.
    pub catalogue: Catalogue,
}

/// What a source has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Offer {
    /// No configuration: the embedded one is meant.
    Absent,
    /// The text of a configuration.
    Text(String),
    /// Something that holds no text; why.
    Unreadable(String),
}

/// An offer was not taken: every problem of it, one on a line.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("the configuration of {source_name} is refused{problems}")]
pub struct Refused {
    source_name: String,
    problems: String,
}

impl Settings {
    /// No configuration yet.
    #[must_use]
    pub fn new(metrics: Arc<Metrics>) -> Self {
        Self { active: ArcSwapOption::empty(), judged: watch::Sender::new(None), metrics }
    }

    /// The configuration in force.
    #[must_use]
    pub fn active(&self) -> Option<Arc<Active>> {
        self.active.load_full()
    }

    /// Tells whenever an offer was taken, which is none, or refused, and why.
    #[must_use]
    pub fn judged(&self) -> watch::Receiver<Option<Arc<Refused>>> {
        self.judged.subscribe()
    }

    /// Takes `offer`, made by the source called `source_name`, or refuses it and stays as it is.
    pub fn take(&self, offer: &Offer, source_name: &str) -> Result<(), Refused> {
        let refused = |problems: &[String]| Refused {
            source_name: source_name.to_owned(),
            problems: problems.iter().fold(String::new(), |mut text, problem| {
                // Writing to a String cannot fail.
                let _ = write!(text, "\n  {problem}");
                text
            }),
        };
        let read = match offer {
            Offer::Absent => Ok(Configuration::embedded()),
            Offer::Text(text) => Configuration::parse(text)
                .map_err(|problems| refused(&problems.iter().map(ToString::to_string).collect::<Vec<_>>())),
            Offer::Unreadable(why) => Err(refused(std::slice::from_ref(why))),
        };
        match read {
            Ok(config) => {
                let hash = config.hash();
                tracing::info!(source = source_name, hash, "configuration in force");
                let catalogue = Catalogue::new(&config.termination);
                self.active.store(Some(Arc::new(Active { config, hash, catalogue })));
                self.metrics.config_reload(ReloadResult::Applied);
                self.judged.send_replace(None);
                Ok(())
            }
            Err(refused) => {
                self.metrics.config_reload(ReloadResult::Refused);
                self.judged.send_replace(Some(Arc::new(refused.clone())));
                Err(refused)
            }
        }
    }

    /// Takes what `offers` brings until `stop`, and logs what is refused. Ends early when the source does.
    pub async fn follow(&self, offers: impl Stream<Item = Offer>, source_name: &str, stop: CancellationToken) {
        pin!(offers);
        let mut last = None;
        loop {
            let offer = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                // Cancelled only on the way out: an offer that is lost does not matter any more.
                next = offers.next() => next,
            };
            let Some(offer) = offer else { return };
            // A watch that starts again tells what it told before.
            if last.as_ref() == Some(&offer) {
                continue;
            }
            if let Err(refused) = self.take(&offer, source_name) {
                tracing::error!("{refused}\nthe running configuration is kept");
            }
            last = Some(offer);
        }
    }
}

/// What the file at `path` holds: now, and whenever its bytes change.
pub fn file(path: PathBuf, interval: Duration) -> impl Stream<Item = Offer> {
    let mut ticks = tokio::time::interval(interval);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    stream::unfold((Files::new([path]), ticks), |(mut files, mut ticks)| async move {
        loop {
            ticks.tick().await;
            if let Some(offer) = offer(files.changed().await) {
                return Some((offer, (files, ticks)));
            }
        }
    })
}

fn offer(changed: Result<Option<[Vec<u8>; 1]>, ReadError>) -> Option<Offer> {
    match changed {
        Ok(None) => None,
        Ok(Some([bytes])) => Some(match String::from_utf8(bytes) {
            Ok(text) => Offer::Text(text),
            Err(error) => Offer::Unreadable(error.to_string()),
        }),
        Err(error) => Some(Offer::Unreadable(chain(&error))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        Settings::new(Arc::new(Metrics::default()))
    }

    #[test]
    fn a_bad_configuration_leaves_the_running_one() {
        let settings = settings();
        let judged = settings.judged();
        assert!(settings.active().is_none());
        let refused = settings.take(&Offer::Text("kind: [".to_owned()), "team.yaml").unwrap_err();
        assert!(refused.to_string().starts_with("the configuration of team.yaml is refused\n  "), "{refused}");
        assert!(settings.active().is_none(), "nothing is in force before the first good one");
        assert_eq!(judged.borrow().as_deref(), Some(&refused));

        settings.take(&Offer::Absent, "team.yaml").unwrap();
        assert_eq!(*judged.borrow(), None);
        let hash = settings.active().unwrap().hash.clone();
        assert_eq!(hash, Configuration::embedded().hash());
        settings.take(&Offer::Unreadable("it has no key config.yaml".to_owned()), "team.yaml").unwrap_err();
        assert_eq!(settings.active().unwrap().hash, hash);
    }

    #[tokio::test]
    async fn offers_are_taken_until_the_source_ends() {
        let settings = settings();
        let offers = stream::iter([Offer::Absent, Offer::Absent, Offer::Text("kind: [".to_owned())]);
        settings.follow(offers, "test", CancellationToken::new()).await;
        assert!(settings.active().is_some());
        let text = settings.metrics.encode();
        assert!(text.contains("trainmesh_config_reloads_total{result=\"applied\"} 1\n"), "{text}");
        assert!(text.contains("trainmesh_config_reloads_total{result=\"refused\"} 1\n"), "{text}");
    }

    #[tokio::test]
    async fn a_file_is_offered_again_when_its_bytes_change() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.yaml");
        let mut offers = Box::pin(file(path.clone(), Duration::from_millis(1)));
        let missing = offers.next().await.unwrap();
        assert!(matches!(&missing, Offer::Unreadable(why) if why.starts_with("could not read ")), "{missing:?}");
        std::fs::write(&path, "one").unwrap();
        assert_eq!(offers.next().await, Some(Offer::Text("one".to_owned())));
        std::fs::write(&path, [0xff]).unwrap();
        assert!(matches!(offers.next().await, Some(Offer::Unreadable(_))));
    }
}
