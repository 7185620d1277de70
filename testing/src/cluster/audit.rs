//! The apiserver's audit log.
//!
//! New pods are logged with request and response. The request stands there as the apiserver has read it, with the defaults
//! of its own schema filled in but before any admission; what webhooks did is in the annotations.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Seek as _, SeekFrom};
use std::path::PathBuf;

use serde_json::Value;

/// Whether `event` is the creation of a pod, if only as a dry run.
pub fn creates_pod(event: &Value) -> bool {
    let object = &event["objectRef"];
    event["verb"] == "create" && object["resource"] == "pods" && object["subresource"].is_null()
}

/// The audit log from some moment on.
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

    /// The finished requests, in their order, whose line holds `text` (a cheap first sieve) and that `keep` picks.
    pub fn events(&self, text: &str, keep: impl Fn(&Value) -> bool) -> Vec<Value> {
        self.lines(text, |event| event["stage"] == "ResponseComplete" && keep(event))
    }

    /// As [`AuditLog::events`], those among them that are not finished yet, such as an exec whose command still runs.
    pub fn begun(&self, text: &str, keep: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut events = self.lines(text, keep);
        let mut seen = BTreeSet::new();
        events.retain(|event| seen.insert(event["auditID"].to_string()));
        events
    }

    fn lines(&self, text: &str, keep: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut file = File::open(&self.path).expect("open the audit log");
        let length = file.metadata().expect("the log's length").len();
        assert!(
            length >= self.from,
            "the audit log was rotated during the test: run the cluster's tests in smaller sets"
        );
        file.seek(SeekFrom::Start(self.from)).expect("seek in the audit log");
        let lines = BufReader::new(file).split(b'\n').map(|line| line.expect("read the audit log"));
        lines
            .filter(|line| memchr::memmem::find(line, text.as_bytes()).is_some())
            // The last line may be half written; the next look finds it whole.
            .filter_map(|line| serde_json::from_slice(&line).ok())
            .filter(|event: &Value| keep(event))
            .collect()
    }
}
