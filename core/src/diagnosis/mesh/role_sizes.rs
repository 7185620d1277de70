//! Numbers of ranks by role, for jobs whose roles may be independent.

use std::collections::HashMap;

use crate::diagnosis::job::Job;
use crate::diagnosis::snapshot::pod::PodRecord;

/// Numbers of the ranks of a job that work at the same time, by role: those in its object, or those that exist.
pub(super) struct RoleSizes<'a>(HashMap<Option<&'a str>, u64>);

impl<'a> RoleSizes<'a> {
    pub(super) fn new(job: &Job<'a>) -> Self {
        let mut sizes: HashMap<Option<&str>, u64> = HashMap::new();
        for pod in job.active().filter(|pod| pod.is_rank()) {
            *sizes.entry(pod.role()).or_default() += 1;
        }
        for (role, size) in &mut sizes {
            *size = (*size).max(Self::expected(job, *role).unwrap_or_default());
        }
        Self(sizes)
    }

    /// Returns true if `pod` is the first one of a role with peers. The fields of others show that they have some.
    pub(super) fn is_first_of_several(&self, pod: &PodRecord) -> bool {
        let is_first = pod.identity.as_ref().is_some_and(|identity| identity.index == Some(0));
        is_first && self.0.get(&pod.role()).is_some_and(|size| *size > 1)
    }

    fn expected(job: &Job<'_>, role: Option<&str>) -> Option<u64> {
        let workload = job.workload?;
        let Some(role) = role else { return workload.pods };
        let role = role.to_lowercase();
        workload.roles.iter().find(|(name, _)| **name == *role).map(|(_, size)| *size)
    }
}
