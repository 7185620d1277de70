//! The response of RAS to `STATUS`.

mod text;

use std::collections::BTreeMap;

use serde::Deserialize;
use thiserror::Error;

use text::parse_text;

/// Maximum size of a response in bytes: some ten thousand ranks, in all of their communicators.
pub const MAX_RAS_RESPONSE: usize = 8 * 1024 * 1024;
/// Maximum number of communicators.
const MAX_COMMUNICATORS: usize = 4_096;
/// Maximum number of ranks in all communicators.
const MAX_RANKS: usize = 65_536;
/// Maximum number of kinds of collective operations; NCCL has fewer than ten.
const MAX_OPERATIONS: usize = 32;
/// Maximum length of a name in bytes.
const MAX_NAME: usize = 128;
/// State of a rank that is initialized, and of a rank without errors.
const SUCCESS: i64 = 0;
/// State of a rank that is being initialized, and of an operation that NCCL has not finished.
const IN_PROGRESS: i64 = 7;

/// A report of RAS about all communicators of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct RasReport {
    /// Version of NCCL.
    #[serde(default, rename = "nccl_version")]
    pub version: String,
    /// Communicators.
    #[serde(default)]
    pub communicators: Vec<Communicator>,
    /// Lines that report problems, of a version without JSON (before 2.28.7).
    #[serde(skip)]
    pub problems: Vec<String>,
    /// Processes that a report without JSON names: host and process.
    #[serde(skip)]
    pub processes: Vec<(String, i64)>,
}

/// A communicator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Communicator {
    /// Hash, which NCCL's log also contains.
    #[serde(default)]
    pub hash: String,
    /// Makes the hash unique.
    #[serde(default)]
    pub secondary_hash: String,
    /// Number of ranks.
    #[serde(default)]
    pub size: u64,
    /// Ranks that responded.
    #[serde(default)]
    pub ranks: Vec<RankState>,
    /// Ranks that did not respond.
    #[serde(default)]
    pub missing_ranks: Vec<MissingRank>,
}

/// A rank that responded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct RankState {
    /// Rank in the communicator.
    pub rank: i64,
    /// Address of its node or pod.
    #[serde(default)]
    pub host: String,
    /// Process, as its container numbers it.
    #[serde(default)]
    pub pid: i64,
    /// State.
    #[serde(default)]
    pub status: RankStatus,
    /// Number of operations that were launched, by kind.
    #[serde(default, rename = "collective_counts")]
    pub counts: BTreeMap<String, u64>,
}

/// State of a rank.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct RankStatus {
    /// Result of the initialization.
    #[serde(default)]
    pub init_state: i64,
    /// Result of the operations.
    #[serde(default)]
    pub async_error: i64,
}

/// A rank that did not respond.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct MissingRank {
    /// Rank in the communicator.
    pub rank: i64,
    /// Address of its node or pod.
    #[serde(default)]
    pub host: String,
    /// Process, as its container numbers it.
    #[serde(default)]
    pub pid: i64,
    /// Reason.
    #[serde(default)]
    pub status: MissingStatus,
}

/// Reason of a missing response.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct MissingStatus {
    /// True if RAS could not reach the process.
    #[serde(default)]
    pub unresponsive: bool,
    /// True if RAS has not reached it for 60 s.
    #[serde(default)]
    pub considered_dead: bool,
}

/// Error of a response that is not used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RasError {
    /// The response is too long.
    #[error("the response exceeds the limit of {MAX_RAS_RESPONSE} bytes")]
    TooLong,
    /// The response has too many elements.
    #[error("the response has more than {MAX_COMMUNICATORS} communicators or {MAX_RANKS} ranks")]
    TooMany,
    /// The response has an unknown format.
    #[error("the response is not a report of RAS")]
    Malformed,
}

impl RasReport {
    /// Parses a response in JSON or text.
    pub fn parse(response: &str) -> Result<Self, RasError> {
        if response.len() > MAX_RAS_RESPONSE {
            return Err(RasError::TooLong);
        }
        if !response.trim_start().starts_with('{') {
            return parse_text(response);
        }
        let mut report: Self = serde_json::from_str(response).map_err(|_| RasError::Malformed)?;
        let ranks = |communicator: &Communicator| communicator.ranks.len() + communicator.missing_ranks.len();
        let total: usize = report.communicators.iter().map(ranks).sum();
        if report.communicators.len() > MAX_COMMUNICATORS || total > MAX_RANKS {
            return Err(RasError::TooMany);
        }
        report.truncate();
        Ok(report)
    }

    /// Returns hosts and processes of all ranks, and those that a text names.
    pub(in crate::diagnosis) fn members(&self) -> impl Iterator<Item = (&str, i64)> {
        let of_communicators = self.communicators.iter().flat_map(|communicator| {
            let missing = communicator.missing_ranks.iter().map(|rank| (rank.host.as_str(), rank.pid));
            communicator.ranks.iter().map(|rank| (rank.host.as_str(), rank.pid)).chain(missing)
        });
        of_communicators.chain(self.processes.iter().map(|(host, process)| (host.as_str(), *process)))
    }

    /// Returns the communicator with the same identity.
    pub(in crate::diagnosis) fn find(&self, other: &Communicator) -> Option<&Communicator> {
        let is_same = |known: &&Communicator| known.hash == other.hash && known.secondary_hash == other.secondary_hash;
        self.communicators.iter().find(is_same)
    }

    fn truncate(&mut self) {
        let bound = |name: &mut String| name.truncate(name.floor_char_boundary(MAX_NAME));
        bound(&mut self.version);
        for communicator in &mut self.communicators {
            bound(&mut communicator.hash);
            bound(&mut communicator.secondary_hash);
            for rank in &mut communicator.ranks {
                bound(&mut rank.host);
                rank.counts = std::mem::take(&mut rank.counts).into_iter().take(MAX_OPERATIONS).collect();
            }
            communicator.missing_ranks.iter_mut().for_each(|rank| bound(&mut rank.host));
        }
    }
}

impl RankStatus {
    /// Returns the code of an error.
    pub(in crate::diagnosis) fn error(&self) -> Option<i64> {
        [self.init_state, self.async_error].into_iter().find(|state| !matches!(*state, SUCCESS | IN_PROGRESS))
    }
}
