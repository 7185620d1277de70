//! Reads logs of any size within limits.

use std::collections::BTreeMap;

use super::line::LogLine;
use crate::diagnosis::snapshot::log::{ContainerLog, LogName};

/// Maximum length of a line in bytes; the rest of a longer one is ignored. NCCL's lines have at most 3 KiB.
pub const MAX_LINE: usize = 8 * 1024;
/// Maximum size of a log in bytes: a day of NCCL's log at level INFO of a node. The rest is ignored.
pub const MAX_LOG: usize = 64 * 1024 * 1024;
/// Maximum number of containers in one file, as `kubectl logs --prefix` prints them.
pub const MAX_LOG_CONTAINERS: usize = 4_096;
/// First byte of an escape sequence.
const ESCAPE: u8 = 0x1b;

/// Reads the log of a container, or of several containers if lines have the prefix of `kubectl logs --prefix`.
#[derive(Debug)]
pub struct LogReader {
    /// Container of lines without a prefix.
    default: Option<LogName>,
    /// Position of each container in `logs`.
    positions: BTreeMap<(Box<str>, Box<str>), usize>,
    logs: Vec<ContainerLog>,
    /// Start of a line whose end has not been read.
    line: Vec<u8>,
    remaining: usize,
}

impl LogReader {
    /// Creates a reader. `default` is the container of lines without a prefix; `None` ignores them.
    #[must_use]
    pub fn new(default: Option<LogName>) -> Self {
        Self { default, positions: BTreeMap::new(), logs: Vec::new(), line: Vec::new(), remaining: MAX_LOG }
    }

    /// Adds the next bytes, which may end within a line. Returns false if the limit is reached and the rest is ignored.
    pub fn push(&mut self, bytes: &[u8]) -> bool {
        let bytes = &bytes[..bytes.len().min(self.remaining)];
        self.remaining -= bytes.len();
        let mut lines = bytes.split(|byte| *byte == b'\n');
        // The part after the last line feed is the start of the next line.
        let rest = lines.next_back().unwrap_or_default();
        for line in lines {
            self.extend(line);
            self.finish_line();
        }
        self.extend(rest);
        self.remaining > 0
    }

    /// Records that lines are missing here: those between the start and the end of a long log.
    pub fn mark_gap(&mut self) {
        self.finish_line();
        self.logs.iter_mut().for_each(ContainerLog::mark_gap);
    }

    /// Returns the logs.
    #[must_use]
    pub fn finish(mut self) -> Vec<ContainerLog> {
        self.finish_line();
        self.logs
    }

    fn extend(&mut self, bytes: &[u8]) {
        let free = MAX_LINE.saturating_sub(self.line.len());
        self.line.extend_from_slice(&bytes[..bytes.len().min(free)]);
    }

    fn finish_line(&mut self) {
        let mut bytes = std::mem::take(&mut self.line);
        strip_escapes(&mut bytes);
        let text = String::from_utf8_lossy(&bytes);
        let line = LogLine::parse(&text);
        if !line.text.is_empty()
            && let Some(log) = self.log_of(line.container)
        {
            log.add(line);
        }
        self.line = bytes;
        self.line.clear();
    }

    /// Returns the log to which a line belongs.
    fn log_of(&mut self, container: Option<(&str, &str)>) -> Option<&mut ContainerLog> {
        let (pod, name) = container.unwrap_or_default();
        if let Some(position) = self.positions.get(&(pod.into(), name.into())) {
            return self.logs.get_mut(*position);
        }
        if self.logs.len() >= MAX_LOG_CONTAINERS {
            return None;
        }
        let log = match container {
            Some((pod, container)) => {
                let namespace = self.default.as_ref().and_then(|default| default.namespace.clone());
                LogName { namespace, pod: pod.into(), container: Some(container.into()) }
            }
            None => self.default.clone()?,
        };
        self.positions.insert((pod.into(), name.into()), self.logs.len());
        self.logs.push(ContainerLog::new(log));
        self.logs.last_mut()
    }
}

/// Part of an escape sequence that was read.
#[derive(Clone, Copy)]
enum Escape {
    None,
    Start,
    Parameters,
}

/// Removes the escape sequences with which programs color lines: `ESC [`, parameters and a letter.
fn strip_escapes(line: &mut Vec<u8>) {
    if !line.contains(&ESCAPE) {
        return;
    }
    let mut state = Escape::None;
    line.retain(|byte| {
        let (next, is_text) = match (state, *byte) {
            (_, ESCAPE) => (Escape::Start, false),
            (Escape::Start, b'[') | (Escape::Parameters, b' '..=b'?') => (Escape::Parameters, false),
            (Escape::Parameters, b'@'..=b'~') => (Escape::None, false),
            _ => (Escape::None, true),
        };
        state = next;
        is_text
    });
}
