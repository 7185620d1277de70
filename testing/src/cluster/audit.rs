//! Reader of the apiserver's audit log.
//!
//! Pod creations are logged with request and response. The request has the defaults of the schema but precedes
//! admission; annotations record the calls of webhooks and their patches.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Seek as _, SeekFrom};
use std::path::PathBuf;

use serde_json::Value;

/// Returns true if `event` is the creation of a pod, including dry runs.
pub fn creates_pod(event: &Value) -> bool {
    let object = &event["objectRef"];
    event["verb"] == "create" && object["resource"] == "pods" && object["subresource"].is_null()
}

/// The part of the audit log after a position.
#[derive(Debug)]
pub struct AuditLog {
    path: PathBuf,
    from: u64,
}

impl AuditLog {
    pub(super) fn from_now(path: PathBuf) -> Self {
        let from = path.metadata().expect("the apiserver writes an audit log").len();
        Self { path, from }
    }

    /// Returns the completed requests, in order, that `keep` accepts. `text` is a cheap prefilter: lines without it are
    /// not parsed.
    pub fn events(&self, text: &str, keep: impl Fn(&Value) -> bool) -> Vec<Value> {
        self.lines(text, |event| event["stage"] == "ResponseComplete" && keep(event))
    }

    /// As [`AuditLog::events`], including requests in progress, such as an exec whose command is running.
    pub fn started_events(&self, text: &str, keep: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut events = self.lines(text, keep);
        let mut seen = BTreeSet::new();
        events.retain(|event| seen.insert(event["auditID"].to_string()));
        events
    }

    fn lines(&self, text: &str, keep: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut file = File::open(&self.path).expect("open the audit log");
        let length = file.metadata().expect("the log's length").len();
        assert!(length >= self.from, "the audit log was rotated during the test: run fewer cluster tests at once");
        file.seek(SeekFrom::Start(self.from)).expect("seek in the audit log");
        let lines = BufReader::new(file).split(b'\n').map(|line| line.expect("read the audit log"));
        lines
            .filter(|line| memchr::memmem::find(line, text.as_bytes()).is_some())
            // The last line may be incomplete; the next call reads all of it.
            .filter_map(|line| serde_json::from_slice(&line).ok())
            .filter(|event: &Value| keep(event))
            .collect()
    }
}
