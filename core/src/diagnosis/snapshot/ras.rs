//! Reports of RAS, the subsystem of NCCL for its state, about jobs.

mod report;

use super::reference::WorkloadName;

pub use report::{Communicator, MAX_RAS_RESPONSE, MissingRank, RankState, RasError, RasReport};

/// Answer of RAS about a job.
#[derive(Clone, Debug)]
pub enum RasResult {
    /// Two reports, the older one first.
    Polled(Box<[RasReport; 2]>),
    /// A process answered, and nothing proves that it belongs to the job.
    Unidentified,
}

/// The result of a job.
#[derive(Clone, Debug)]
pub struct RasRecord {
    pub(in crate::diagnosis) workload: WorkloadName,
    /// Pod through which RAS was reached.
    pub(in crate::diagnosis) pod: String,
    pub(in crate::diagnosis) result: RasResult,
}
