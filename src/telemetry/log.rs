//! Logs: one event a line on standard error, as text or as JSON.

use std::io::IsTerminal as _;
use std::str::FromStr;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::{ParseError, Targets};
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Target of the event that tells the bound addresses. It is written at every level: machines wait for it.
pub const LISTENING: &str = "trainmesh::listening";

/// How events are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people.
    Text,
    /// For machines: one object a line, its fields at the top.
    Json,
}

/// Which events are written.
#[derive(Clone, Debug, PartialEq)]
pub struct Levels(Targets);

impl FromStr for Levels {
    type Err = ParseError;

    /// A level alone is that of trainmesh, and the libraries below it warn only. `info,kube=debug` gives each its own.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let targets = match text.parse::<LevelFilter>() {
            Ok(level) => Targets::new().with_default(LevelFilter::WARN.min(level)).with_target("trainmesh", level),
            Err(_) => text.parse::<Targets>()?,
        };
        Ok(Self(targets.with_target(LISTENING, LevelFilter::INFO)))
    }
}

/// Sends events and panics to standard error from here on. Does nothing when logs are sent somewhere already.
pub fn start(format: Format, Levels(targets): Levels) {
    let registry = tracing_subscriber::registry().with(targets);
    let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let layer = fmt::layer().with_writer(std::io::stderr).with_ansi(colours);
    // An error here means that there is a subscriber, as in a test that runs two servers.
    let _ = match format {
        Format::Text => registry.with(layer).try_init(),
        Format::Json => registry.with(layer.json().flatten_event(true)).try_init(),
    };
    std::panic::set_hook(Box::new(|panic| tracing::error!("{panic}")));
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use tracing::Level;

    use super::*;

    #[rstest]
    #[case::ours("debug", "trainmesh::webhook", Level::DEBUG, true)]
    #[case::ours_and_no_finer("debug", "trainmesh::webhook", Level::TRACE, false)]
    #[case::libraries_warn("debug", "hyper", Level::INFO, false)]
    #[case::libraries_keep_quiet("error", "hyper", Level::WARN, false)]
    #[case::by_name("warn,kube=debug", "kube::client", Level::DEBUG, true)]
    #[case::by_name_the_others("warn,kube=debug", "trainmesh", Level::INFO, false)]
    #[case::addresses_always("off", LISTENING, Level::INFO, true)]
    fn levels(#[case] text: &str, #[case] target: &str, #[case] level: Level, #[case] expected: bool) {
        let Levels(targets) = text.parse().unwrap();
        assert_eq!(targets.would_enable(target, &level), expected);
    }

    #[test]
    fn an_unknown_level_is_an_error() {
        assert!("trainmesh=loud".parse::<Levels>().is_err());
    }
}
