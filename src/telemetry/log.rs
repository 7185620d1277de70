//! Logging: one event per line on standard error, as text or JSON.

use std::fmt::{Debug, Result as FmtResult};
use std::io::IsTerminal as _;
use std::str::FromStr;

use tracing::Subscriber;
use tracing::field::Field;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::fmt::format::{Writer, debug_fn};
use tracing_subscriber::fmt::{FormatFields, MakeWriter};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;

use trainmesh_core::printable::Printable;

/// Target of the event with the bound addresses. It is logged at every level, because scripts wait for it.
pub const LISTENING: &str = "trainmesh::listening";

/// Target of the client's errors about requests. They name neither the request nor its purpose, and trainmesh logs each failure with both.
const REQUESTS: &str = "kube_client::client::builder";

/// Format of log events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// Human-readable text.
    Text,
    /// One JSON object per line.
    Json,
}

/// Log filter.
#[derive(Clone, Debug, PartialEq)]
pub struct LogLevels(Targets);

/// An invalid log filter.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogLevelError {
    /// A word that is no level.
    #[error(
        "unknown level {0:?}: use off, error, warn, info, debug or trace, or levels by target, such as info,kube=debug"
    )]
    UnknownLevel(String),
    /// A target that no module can have.
    #[error(
        "invalid target {0:?}: use the path of a module, such as kube or trainmesh::webhook, with commas in between"
    )]
    InvalidTarget(String),
}

impl FromStr for LogLevels {
    type Err = LogLevelError;

    /// Parses a level or a list of targets. A single level applies to trainmesh, while libraries log warnings and
    /// errors only, without those about requests, which trainmesh logs itself; `info,kube=debug` sets the level of each target.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let targets = match parse_level(text) {
            Ok(level) => Targets::new()
                .with_default(LevelFilter::WARN.min(level))
                .with_target(REQUESTS, LevelFilter::OFF)
                .with_target("trainmesh", level),
            Err(_) => text.split(',').try_fold(Targets::new(), add_directive)?,
        };
        Ok(Self(targets.with_target(LISTENING, LevelFilter::INFO)))
    }
}

/// Initializes logging of events and panics to standard error. Keeps an existing subscriber.
pub fn init_logging(format: LogFormat, LogLevels(targets): LogLevels) {
    let registry = tracing_subscriber::registry().with(targets);
    let colors = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let layer = fmt::layer().with_writer(std::io::stderr).with_ansi(colors);
    // An error means that a subscriber exists already, as in a test with two servers.
    let _ = match format {
        LogFormat::Text => registry.with(text(layer)).try_init(),
        LogFormat::Json => registry.with(layer.json().flatten_event(true)).try_init(),
    };
    std::panic::set_hook(Box::new(|panic| tracing::error!("{panic}")));
}

/// Adds `LEVEL` or `TARGET=LEVEL`. The parser of [`Targets`] also accepts a target alone, so that a misspelled level
/// would be the name of a target, and every other target would be silent.
fn add_directive(targets: Targets, directive: &str) -> Result<Targets, LogLevelError> {
    let Some((target, level)) = directive.split_once('=') else {
        return Ok(targets.with_default(parse_level(directive)?));
    };
    let is_path = |last: char| last.is_ascii_alphanumeric() || matches!(last, '_' | ':' | '-');
    if target.is_empty() || !target.chars().all(is_path) {
        return Err(LogLevelError::InvalidTarget(target.to_owned()));
    }
    Ok(targets.with_target(target, parse_level(level)?))
}

/// Parses the name of a level in any case. [`LevelFilter`] also accepts numbers and an empty text.
fn parse_level(text: &str) -> Result<LevelFilter, LogLevelError> {
    let named = text.starts_with(|first: char| first.is_ascii_alphabetic());
    let level = named.then(|| text.parse().ok()).flatten();
    level.ok_or_else(|| LogLevelError::UnknownLevel(text.to_owned()))
}

/// Configures a layer for text.
fn text<S, N, W>(layer: fmt::Layer<S, N, fmt::format::Format, W>) -> impl Layer<S>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    W: for<'a> MakeWriter<'a> + 'static,
{
    layer.fmt_fields(debug_fn(write_field))
}

/// Writes a field on one line. Values may come from pods and peers, and must not be able to forge another event.
fn write_field(writer: &mut Writer<'_>, field: &Field, value: &dyn Debug) -> FmtResult {
    let value = Printable(format_args!("{value:?}"));
    match field.name() {
        "message" => write!(writer, "{value}"),
        // Metadata of the `log` crate is part of the event's prefix already.
        name if name.starts_with("log.") => Ok(()),
        name => write!(writer, " {}={value}", name.trim_start_matches("r#")),
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use rstest::rstest;
    use tracing::Level;

    use super::*;

    #[rstest]
    #[case::trainmesh("debug", "trainmesh::webhook", Level::DEBUG, true)]
    #[case::trainmesh_not_below_the_level("debug", "trainmesh::webhook", Level::TRACE, false)]
    #[case::libraries_warn("debug", "hyper", Level::INFO, false)]
    #[case::libraries_at_error("error", "hyper", Level::WARN, false)]
    #[case::requests_are_logged_once("debug", REQUESTS, Level::ERROR, false)]
    #[case::requests_by_target("info,kube_client=error", REQUESTS, Level::ERROR, true)]
    #[case::other_errors_of_the_client("info", "kube_client::client", Level::ERROR, true)]
    #[case::by_target("warn,kube=debug", "kube::client", Level::DEBUG, true)]
    #[case::other_targets("warn,kube=debug", "trainmesh", Level::INFO, false)]
    #[case::targets_only("kube=debug", "trainmesh", Level::ERROR, false)]
    #[case::upper_case("WARN", "trainmesh", Level::WARN, true)]
    #[case::addresses_at_every_level("off", LISTENING, Level::INFO, true)]
    fn filters_by_level_and_target(
        #[case] text: &str,
        #[case] target: &str,
        #[case] level: Level,
        #[case] expected: bool,
    ) {
        let LogLevels(targets) = text.parse().unwrap();
        assert_eq!(targets.would_enable(target, &level), expected);
    }

    /// Stores the output.
    #[derive(Clone, Default)]
    struct Buffer(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Buffer {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn an_event_is_one_printable_line() {
        let buffer = Buffer::default();
        let writer = buffer.clone();
        let layer = text(fmt::layer().with_writer(move || writer.clone()).with_ansi(false));
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            let hostile = "a\u{1b}[2K\nERROR forged\u{202e}\u{9b}";
            tracing::warn!(pod = %hostile, node = hostile, r#type = 1, "could not read {hostile}");
        });
        let written = String::from_utf8(buffer.0.lock().unwrap().clone()).unwrap();
        let escaped = "a\\u{1b}[2K\\nERROR forged\\u{202e}\\u{9b}";
        assert_eq!(written.lines().count(), 1, "{written}");
        let end = format!("could not read {escaped} pod={escaped} node=\"{escaped}\" type=1\n");
        assert!(written.ends_with(&end), "{written}");
    }

    #[rstest]
    #[case::another_spelling("warning", "unknown level \"warning\": use off, error, warn, info, debug or trace")]
    #[case::of_a_target("trainmesh=loud", "unknown level \"loud\"")]
    #[case::in_a_list("kube=debug,verbose", "unknown level \"verbose\"")]
    #[case::number("3", "unknown level \"3\"")]
    #[case::empty("", "unknown level \"\"")]
    #[case::separator("info;kube=debug", "invalid target \"info;kube\"")]
    #[case::space("info, kube=debug", "invalid target \" kube\"")]
    #[case::no_target("=debug", "invalid target \"\"")]
    fn rejects(#[case] text: &str, #[case] expected: &str) {
        let error = text.parse::<LogLevels>().unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}
