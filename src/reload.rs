//! The active configuration and its updates.
//!
//! Updates come from a file or from the `ConfigMap`. An invalid update is rejected, and the active configuration is
//! kept. Before the first valid update, no configuration is active: a process must not act before it has read which
//! features are disabled.

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
use trainmesh_core::lifecycle::SidecarCatalog;

/// The active configuration, shared by all its readers.
#[derive(Debug)]
pub struct Settings {
    active: ArcSwapOption<Active>,
    /// Result of the last update.
    outcome: watch::Sender<Option<Arc<RejectedConfiguration>>>,
    metrics: Arc<Metrics>,
}

/// A validated configuration.
#[derive(Debug)]
pub struct Active {
    /// The configuration.
    pub config: Configuration,
    /// Its hash, for audit annotations.
    pub hash: String,
    /// The sidecars that can be terminated under this configuration.
    pub catalog: SidecarCatalog,
}

/// A rejected update with all its problems.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("the configuration of {source_name} is rejected")]
pub struct RejectedConfiguration {
    source_name: String,
    /// Its problems, with field and line.
    pub problems: Vec<String>,
}

impl RejectedConfiguration {
    /// Returns the note about a rejected update of a running server: all problems, one per line.
    #[must_use]
    pub fn note(&self) -> String {
        format!("{self}\n  {}\nthe active configuration is kept", self.problems.join("\n  "))
    }
}

impl Settings {
    /// Creates settings without a configuration.
    #[must_use]
    pub fn new(metrics: Arc<Metrics>) -> Self {
        Self { active: ArcSwapOption::empty(), outcome: watch::Sender::new(None), metrics }
    }

    /// Returns the active configuration.
    #[must_use]
    pub fn active(&self) -> Option<Arc<Active>> {
        self.active.load_full()
    }

    /// Returns a receiver of each update's result: `None` if it was applied, else the rejection.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<Option<Arc<RejectedConfiguration>>> {
        self.outcome.subscribe()
    }

    /// Applies `update` from the source called `source_name`, or rejects it and keeps the active configuration.
    pub fn apply(&self, update: &ConfigUpdate, source_name: &str) -> Result<(), RejectedConfiguration> {
        match update.parse() {
            Ok(config) => {
                let hash = config.hash();
                tracing::info!(source = source_name, hash, "configuration applied");
                let catalog = SidecarCatalog::new(&config.termination);
                self.active.store(Some(Arc::new(Active { config, hash, catalog })));
                self.metrics.record_config_reload(ReloadResult::Applied);
                self.outcome.send_replace(None);
                Ok(())
            }
            Err(problems) => {
                let rejected = RejectedConfiguration {
                    source_name: source_name.to_owned(),
                    problems: problems.iter().map(ToString::to_string).collect(),
                };
                self.metrics.record_config_reload(ReloadResult::Rejected);
                self.outcome.send_replace(Some(Arc::new(rejected.clone())));
                Err(rejected)
            }
        }
    }

    /// Applies `updates` until `stop` or the end of the stream, and logs rejections.
    pub async fn follow(&self, updates: impl Stream<Item = ConfigUpdate>, source_name: &str, stop: CancellationToken) {
        pin!(updates);
        let mut last = None;
        loop {
            let update = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                // Cancelled only on shutdown, when a lost update no longer matters.
                next = updates.next() => next,
            };
            let Some(update) = update else { return };
            // A restarted watch delivers the same content again.
            if last.as_ref() == Some(&update) {
                continue;
            }
            if let Err(rejected) = self.apply(&update, source_name) {
                tracing::error!("{}", rejected.note());
            }
            last = Some(update);
        }
    }
}

/// Yields the content of the file at `path`: now, and whenever it changes.
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
    fn an_invalid_configuration_leaves_the_active_one() {
        let settings = settings();
        let outcome = settings.subscribe();
        assert!(settings.active().is_none());
        let rejected = settings.apply(&ConfigUpdate::Text("kind: [".to_owned()), "team.yaml").unwrap_err();
        assert_eq!(rejected.to_string(), "the configuration of team.yaml is rejected");
        assert_eq!(rejected.problems.len(), 1, "{rejected:?}");
        assert!(settings.active().is_none(), "no configuration is active before the first valid one");
        assert_eq!(outcome.borrow().as_deref(), Some(&rejected));

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
    async fn a_changed_file_is_read_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("config.yaml");
        let mut updates = Box::pin(file(path.clone(), Duration::from_millis(1)));
        let missing = updates.next().await.unwrap();
        assert!(matches!(&missing, ConfigUpdate::Unreadable(why) if why.starts_with("could not read ")), "{missing:?}");
        std::fs::write(&path, "one").unwrap();
        assert_eq!(updates.next().await, Some(ConfigUpdate::Text("one".to_owned())));
        std::fs::write(&path, [0xff]).unwrap();
        assert!(matches!(updates.next().await, Some(ConfigUpdate::Unreadable(_))));
    }
}
