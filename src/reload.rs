//! The configuration in force, and how another one takes its place.
//!
//! Two sources, a file and the `ConfigMap`, deliver updates; one place decides. A bad text is refused and the running
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

use crate::files::{Files, ReadError};
use crate::telemetry::{Metrics, ReloadResult};
use trainmesh_core::config::{ConfigUpdate, Configuration};
use trainmesh_core::error::chain;
use trainmesh_core::lifecycle::Catalogue;

/// The configuration in force; shared by all who act on it.
#[derive(Debug)]
pub struct Settings {
    active: ArcSwapOption<Active>,
    /// What became of the last update.
    outcome: watch::Sender<Option<Arc<Refused>>>,
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

/// An update was rejected: every problem of it, one on a line.
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
        Self { active: ArcSwapOption::empty(), outcome: watch::Sender::new(None), metrics }
    }

    /// The configuration in force.
    #[must_use]
    pub fn active(&self) -> Option<Arc<Active>> {
        self.active.load_full()
    }

    /// Reports every update: `None` for one that was applied, else why it was rejected.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<Option<Arc<Refused>>> {
        self.outcome.subscribe()
    }

    /// Applies `update` of the source called `source_name`, or rejects it and stays as it is.
    pub fn apply(&self, update: &ConfigUpdate, source_name: &str) -> Result<(), Refused> {
        match update.configuration() {
            Ok(config) => {
                let hash = config.hash();
                tracing::info!(source = source_name, hash, "configuration in force");
                let catalogue = Catalogue::new(&config.termination);
                self.active.store(Some(Arc::new(Active { config, hash, catalogue })));
                self.metrics.config_reload(ReloadResult::Applied);
                self.outcome.send_replace(None);
                Ok(())
            }
            Err(problems) => {
                let refused = Refused {
                    source_name: source_name.to_owned(),
                    problems: problems.iter().fold(String::new(), |mut text, problem| {
                        // Writing to a String cannot fail.
                        let _ = write!(text, "\n  {problem}");
                        text
                    }),
                };
                self.metrics.config_reload(ReloadResult::Refused);
                self.outcome.send_replace(Some(Arc::new(refused.clone())));
                Err(refused)
            }
        }
    }

    /// Applies `updates` until `stop`, and logs what is rejected. Ends early when the source does.
    pub async fn follow(&self, updates: impl Stream<Item = ConfigUpdate>, source_name: &str, stop: CancellationToken) {
        pin!(updates);
        let mut last = None;
        loop {
            let update = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                // Cancelled only on the way out: an update that is lost does not matter any more.
                next = updates.next() => next,
            };
            let Some(update) = update else { return };
            // A watch that starts again delivers what it has delivered before.
            if last.as_ref() == Some(&update) {
                continue;
            }
            if let Err(refused) = self.apply(&update, source_name) {
                tracing::error!("{refused}\nthe running configuration is kept");
            }
            last = Some(update);
        }
    }
}

/// What the file at `path` holds: now, and whenever its bytes change.
pub fn file(path: PathBuf, interval: Duration) -> impl Stream<Item = ConfigUpdate> {
    let mut ticks = tokio::time::interval(interval);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    stream::unfold((Files::new([path]), ticks), |(mut files, mut ticks)| async move {
        loop {
            ticks.tick().await;
            if let Some(update) = update(files.changed().await) {
                return Some((update, (files, ticks)));
            }
        }
    })
}

fn update(changed: Result<Option<[Vec<u8>; 1]>, ReadError>) -> Option<ConfigUpdate> {
    match changed {
        Ok(None) => None,
        Ok(Some([bytes])) => Some(match String::from_utf8(bytes) {
            Ok(text) => ConfigUpdate::Text(text),
            Err(error) => ConfigUpdate::Unreadable(error.to_string()),
        }),
        Err(error) => Some(ConfigUpdate::Unreadable(chain(&error))),
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
        let outcome = settings.subscribe();
        assert!(settings.active().is_none());
        let refused = settings.apply(&ConfigUpdate::Text("kind: [".to_owned()), "team.yaml").unwrap_err();
        assert!(refused.to_string().starts_with("the configuration of team.yaml is refused\n  "), "{refused}");
        assert!(settings.active().is_none(), "nothing is in force before the first good one");
        assert_eq!(outcome.borrow().as_deref(), Some(&refused));

        settings.apply(&ConfigUpdate::Absent, "team.yaml").unwrap();
        assert_eq!(*outcome.borrow(), None);
        let hash = settings.active().unwrap().hash.clone();
        assert_eq!(hash, Configuration::embedded().hash());
        settings.apply(&ConfigUpdate::Unreadable("it has no key config.yaml".to_owned()), "team.yaml").unwrap_err();
        assert_eq!(settings.active().unwrap().hash, hash);
    }

    #[tokio::test]
    async fn updates_are_applied_until_the_source_ends() {
        let settings = settings();
        let updates =
            stream::iter([ConfigUpdate::Absent, ConfigUpdate::Absent, ConfigUpdate::Text("kind: [".to_owned())]);
        settings.follow(updates, "test", CancellationToken::new()).await;
        assert!(settings.active().is_some());
        let text = settings.metrics.encode();
        assert!(text.contains("trainmesh_config_reloads_total{result=\"applied\"} 1\n"), "{text}");
        assert!(text.contains("trainmesh_config_reloads_total{result=\"refused\"} 1\n"), "{text}");
    }

    #[tokio::test]
    async fn a_file_is_read_again_when_its_bytes_change() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.yaml");
        let mut updates = Box::pin(file(path.clone(), Duration::from_millis(1)));
        let missing = updates.next().await.unwrap();
        assert!(matches!(&missing, ConfigUpdate::Unreadable(why) if why.starts_with("could not read ")), "{missing:?}");
        std::fs::write(&path, "one").unwrap();
        assert_eq!(updates.next().await, Some(ConfigUpdate::Text("one".to_owned())));
        std::fs::write(&path, [0xff]).unwrap();
        assert!(matches!(updates.next().await, Some(ConfigUpdate::Unreadable(_))));
    }
}
