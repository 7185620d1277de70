//! The object on which a finding is published.

use super::snapshot::gang_key::PodGroupRecord;
use super::snapshot::pod::{POD, PodRecord};
use super::{ClusterSnapshot, Diagnosis, WorkloadName};

/// The object with the event about a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishedFinding {
    /// API version of the object.
    pub api_version: Box<str>,
    /// Kind of the object.
    pub kind: &'static str,
    /// Name of the object, in the namespace of the workload.
    pub name: Box<str>,
    /// UID of the object.
    pub uid: Box<str>,
    /// Workload that the object names, if it is a pod: that of the finding, or one that it owns.
    pub workload: Option<WorkloadName>,
}

impl PublishedFinding {
    /// Returns the object for `found`: the first pod of the evidence, else the first pod of the workload, else the `PodGroup`.
    #[must_use]
    pub fn new(found: &Diagnosis, snapshot: &ClusterSnapshot) -> Option<Self> {
        let has_title = |title: &str| found.evidence.iter().any(|evidence| evidence.object == title);
        let namespace = found.workload.namespace.as_str();
        let pods = || snapshot.pods.iter().filter(|pod| *pod.namespace == *namespace);
        let of_workload = || pods().find(|pod| pod.is_of(&found.workload));
        let pod = pods().find(|pod| has_title(&pod.title())).or_else(of_workload);
        let mut groups = snapshot.pod_groups.iter().filter(|group| *group.namespace == *namespace);
        pod.map(Self::on_pod).or_else(|| groups.find(|group| has_title(&group.title())).map(Self::on_group))
    }

    fn on_pod(pod: &PodRecord) -> Self {
        let workload = Some(pod.workload().workload_name());
        Self { api_version: "v1".into(), kind: POD, name: pod.name.clone(), uid: pod.uid.clone(), workload }
    }

    fn on_group(group: &PodGroupRecord) -> Self {
        let PodGroupRecord { api_version, name, uid, .. } = group;
        let (api_version, kind) = (api_version.clone(), "PodGroup");
        Self { api_version, kind, name: name.clone(), uid: uid.clone(), workload: None }
    }
}
