//! Dumps of a namespace, as a person would write them.

use std::{fmt, fs};

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tempfile::TempDir;
use trainmesh_testing::cli::trainmesh;
use trainmesh_testing::cluster::Namespace;

/// Types of objects in a namespace.
const TYPES: &str = "pods,events,services,pytorchjobs";
/// Time in minutes after the dump that is longer than each finding needs.
const LATER: i64 = 6;

/// Objects and logs of a namespace in files.
pub struct Dump<'a> {
    namespace: &'a Namespace,
    files: TempDir,
    time: Timestamp,
}

/// Code of the first finding, and whether the problem disappears by itself.
#[derive(Debug, PartialEq, Eq)]
pub struct FirstFinding {
    pub id: String,
    pub recovers: String,
}

impl<'a> Dump<'a> {
    pub fn read(namespace: &'a Namespace) -> Self {
        let files = TempDir::new().expect("create a directory");
        for (name, types) in [("objects.yaml", TYPES), ("nodes.yaml", "nodes")] {
            let objects = namespace.kubectl(&["get", types, "-o", "json"], "").success().stdout;
            fs::write(files.path().join(name), objects).expect("write a dump");
        }
        Self { namespace, files, time: Timestamp::now() }
    }

    /// Adds the logs of pods.
    pub fn with_logs(self, pods: &[&str]) -> Self {
        for pod in pods {
            let log = self.namespace.kubectl(&["logs", pod, "--timestamps"], "").success().stdout;
            fs::write(self.files.path().join(format!("{pod}.log")), log).expect("write a log");
        }
        self
    }

    /// Lets some minutes pass without a change.
    pub fn later(self) -> Self {
        Self { time: self.time + SignedDuration::from_mins(LATER), ..self }
    }

    /// Returns the finding that `diagnose` prints first.
    pub fn first_finding(&self) -> Option<FirstFinding> {
        let path = self.files.path().to_str().expect("the path is UTF-8");
        let run = trainmesh(&["diagnose", "-o", "json", "--now", &self.time.to_string(), "-f", path], "");
        assert_ne!(run.code, Some(2), "{run:#?}");
        first_finding(&run.stdout)
    }
}

impl FirstFinding {
    pub fn new(id: &str, recovers: &str) -> Self {
        Self { id: id.to_owned(), recovers: recovers.to_owned() }
    }
}

impl fmt::Display for FirstFinding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}, {}", self.id, self.recovers)
    }
}

/// Returns the first finding of a report as JSON.
pub fn first_finding(report: &str) -> Option<FirstFinding> {
    let report: Value = serde_json::from_str(report).ok()?;
    let field = |name: &str| report["findings"][0][name].as_str().map(str::to_owned);
    Some(FirstFinding { id: field("id")?, recovers: field("recovers")? })
}
