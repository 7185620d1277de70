//! Logs: one event a line on standard error, as text or as JSON.

use std::fmt::{Debug, Result as FmtResult};
use std::io::IsTerminal as _;
use std::str::FromStr;

use tracing::Subscriber;
use tracing::field::Field;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{ParseError, Targets};
use tracing_subscriber::fmt;
use tracing_subscriber::fmt::format::{Writer, debug_fn};
use tracing_subscriber::fmt::{FormatFields, MakeWriter};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;

use trainmesh_core::printable::Printable;

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
        Format::Text => registry.with(text(layer)).try_init(),
        Format::Json => registry.with(layer.json().flatten_event(true)).try_init(),
    };
    std::panic::set_hook(Box::new(|panic| tracing::error!("{panic}")));
}

/// Writes events as text.
fn text<S, N, W>(layer: fmt::Layer<S, N, fmt::format::Format, W>) -> impl Layer<S>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    W: for<'a> MakeWriter<'a> + 'static,
{
    layer.fmt_fields(debug_fn(write_field))
}

/// Writes a field in one line. Names in it come from pods and peers: they must not forge another event.
fn write_field(writer: &mut Writer<'_>, field: &Field, value: &dyn Debug) -> FmtResult {
    let value = Printable(format_args!("{value:?}"));
    match field.name() {
        "message" => write!(writer, "{value}"),
        // What the `log` crate says of itself stands before the fields already.
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

    /// Keeps what is written.
    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn an_event_is_one_printable_line() {
        let kept = Kept::default();
        let writer = kept.clone();
        let layer = text(fmt::layer().with_writer(move || writer.clone()).with_ansi(false));
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            let hostile = "a\u{1b}[2K\nERROR forged\u{202e}\u{9b}";
            tracing::warn!(pod = %hostile, node = hostile, r#type = 1, "could not read {hostile}");
        });
        let written = String::from_utf8(kept.0.lock().unwrap().clone()).unwrap();
        let escaped = "a\\u{1b}[2K\\nERROR forged\\u{202e}\\u{9b}";
        assert_eq!(written.lines().count(), 1, "{written}");
        let end = format!("could not read {escaped} pod={escaped} node=\"{escaped}\" type=1\n");
        assert!(written.ends_with(&end), "{written}");
    }

    #[test]
    fn an_unknown_level_is_an_error() {
        assert!("trainmesh=loud".parse::<Levels>().is_err());
    }
}
