//! Misspelled kinds.

use super::kinds::{group_and_version, nearest_version};
use super::read_kinds::{READ_GROUPS, READ_KINDS, ReadKind};
use super::{KINDS, RenderError, WorkloadKind, kinds_named};
use crate::hint::nearest;

/// Field with the group and version of an object.
const API_VERSION: &str = "apiVersion";
/// API groups of Kubernetes that contain workload kinds, with all their kinds (k8s-openapi, Kubernetes 1.36).
const GROUPS: [(&str, &[&str]); 3] = [
    ("apps", &["ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"]),
    ("batch", &["CronJob", "Job"]),
    (
        "",
        &[
            "Binding",
            "ComponentStatus",
            "ConfigMap",
            "Endpoints",
            "Event",
            "LimitRange",
            "List",
            "Namespace",
            "Node",
            "PersistentVolume",
            "PersistentVolumeClaim",
            "Pod",
            "PodTemplate",
            "ReplicationController",
            "ResourceQuota",
            "Secret",
            "Service",
            "ServiceAccount",
        ],
    ),
];
/// Kinds that are not workloads, but whose names resemble a workload kind of their group.
const NOT_MISSPELLED: [(&str, &str); 1] = [("grove.io", "PodClique")];

/// Groups of an API before the current one, in which the kind has other fields.
const OLD_GROUPS: [&str; 1] = ["cluster.ray.io"];

/// Names of kinds that their own command lines and documents use, but not their API: API group, name, and kind.
const ALIASES: [(&str, &str, &str); 2] =
    [("batch.volcano.sh", "VolcanoJob", "Job"), ("batch.volcano.sh", "VCJob", "Job")];

/// Returns the error for an unknown kind if its name, version or API group is probably a mistake for those of a kind that is
/// supported or read.
pub(crate) fn misnamed(api_version: &str, kind: &str) -> Option<RenderError> {
    let found = format!("{api_version} {kind}");
    let (group, version) = group_and_version(api_version);
    let version_path = || API_VERSION.to_owned();
    if let Some(known) = nearest_version(group, version, kind) {
        if kind == known.kind {
            return Some(RenderError::Version { path: version_path(), found, supported: known.name() });
        }
        let near = if known.versions.contains(&version) { known.kind.to_owned() } else { known.name() };
        return Some(RenderError::Kind { path: "kind".to_owned(), found, near });
    }
    if let Some(near) = nearest_kind(group, kind) {
        return Some(RenderError::Kind { path: "kind".to_owned(), found, near: near.to_owned() });
    }
    if let Some(known) = kind_of_similar_group(group, version, kind) {
        let path = if kind == known.kind { version_path() } else { "kind".to_owned() };
        return Some(RenderError::Kind { path, found, near: known.name() });
    }
    if let Some(known) = kind_of_another_project(group, version, kind) {
        return Some(RenderError::Kind { path: version_path(), found, near: known.name() });
    }
    let known: Vec<&ReadKind> = READ_KINDS.iter().filter(|known| known.kind == kind).collect();
    if let Some(own) = known.iter().find(|known| known.group == group) {
        let error = || RenderError::Version { path: version_path(), found, supported: own.name() };
        return own.lacks_version(version).then(error);
    }
    let groups: Vec<&str> = known.iter().filter(|known| !known.has_namesakes).map(|known| known.group).collect();
    let near =
        similar_group(group, &groups).or_else(|| groups.first().copied().filter(|_| is_group_of_kubernetes(group)));
    let near = known.into_iter().find(|known| Some(known.group) == near)?;
    Some(RenderError::Kind { path: version_path(), found, near: near.name() })
}

/// Returns the kind that a misspelled `kind` of the same API group probably means. Returns `None` if the kind exists, or may
/// exist.
fn nearest_kind(group: &str, kind: &str) -> Option<&'static str> {
    // `kubectl get` never writes kinds such as PodList, but they exist.
    let item = kind.strip_suffix("List").unwrap_or(kind);
    if NOT_MISSPELLED.contains(&(group, item)) {
        return None;
    }
    let listed = GROUPS.iter().chain(&READ_GROUPS).find(|(name, _)| *name == group).map(|(_, kinds)| kinds.to_vec());
    let known =
        listed.unwrap_or_else(|| KINDS.iter().filter(|known| known.group == group).map(|known| known.kind).collect());
    if known.contains(&item) {
        return None;
    }
    let alias = ALIASES.into_iter().find(|(of, alias, _)| *of == group && alias.eq_ignore_ascii_case(kind));
    let alias = alias.map(|(.., known)| known);
    alias.or_else(|| nearest(kind, &known)).or_else(|| known.into_iter().find(|known| is_acronym(kind, known)))
}

/// Returns true if `text` consists of the capitals of `kind`, in any case of letters: `LWS` for `LeaderWorkerSet`.
fn is_acronym(text: &str, kind: &str) -> bool {
    let capitals: String = kind.chars().filter(char::is_ascii_uppercase).collect();
    capitals.len() > 1 && capitals.eq_ignore_ascii_case(text)
}

/// Returns the supported kind that a manifest probably means whose API group does not exist: the kind has another group, and only
/// Kubernetes itself defines kinds in the group of the manifest, or its name is misspelled. Of several versions, it is the most similar.
fn kind_of_similar_group(group: &str, version: &str, kind: &str) -> Option<&'static WorkloadKind> {
    let known = KINDS.iter().filter(|known| known.kind.eq_ignore_ascii_case(kind));
    let groups: Vec<&str> = known.map(|known| known.group).collect();
    let near = if !is_group_of_kubernetes(group) {
        similar_group(group, &groups)
    } else if groups.is_empty() {
        return kind_with_acronym(kind);
    } else {
        groups.iter().find(|known| is_group_of_kubernetes(known)).or(groups.first()).copied()
    };
    nearest_version(near?, version, kind)
}

/// Returns the supported kind whose name, and no other one, `text` abbreviates.
fn kind_with_acronym(text: &str) -> Option<&'static WorkloadKind> {
    let mut known = KINDS.iter().copied().filter(|known| is_acronym(text, known.kind));
    let first = known.next()?;
    known.all(|other| other.kind == first.kind).then_some(first)
}

/// Returns the supported kind of this name that another project defines, if the API group is that of a supported kind: a `JobSet` of
/// Kubeflow does not exist. Projects have kinds with the names of those of Kubernetes, such as a `CronJob`.
fn kind_of_another_project(group: &str, version: &str, kind: &str) -> Option<&'static WorkloadKind> {
    if !KINDS.iter().any(|known| known.group == group) {
        return None;
    }
    let mut groups = kinds_named(kind).map(|known| known.group);
    let owner = groups.next().filter(|owner| *owner != group && groups.all(|other| other == *owner))?;
    if is_group_of_kubernetes(owner) { None } else { nearest_version(owner, version, kind) }
}

/// Returns the group in `known` that `group` probably means. The first label of a group may be missing, added or another one:
/// `volcano.sh` or `scheduling.volcano.sh` instead of `batch.volcano.sh`.
fn similar_group<'a>(group: &str, known: &[&'a str]) -> Option<&'a str> {
    if OLD_GROUPS.contains(&group) {
        return None;
    }
    let is_sibling = |known: &str| {
        let parents = group.split_once('.').zip(known.split_once('.'));
        parents.is_some_and(|((_, own), (_, other))| own == other && own.contains('.'))
    };
    let is_related = |known: &&&str| is_sibling(known) || is_within(known, group) || is_within(group, known);
    nearest(group, known).or_else(|| known.iter().find(is_related).copied())
}

/// Returns true if `group` is a subdomain of the domain `parent`.
fn is_within(group: &str, parent: &str) -> bool {
    parent.contains('.') && group.strip_suffix(parent).is_some_and(|rest| rest.ends_with('.'))
}

/// Returns true if only Kubernetes itself defines kinds of the API group.
pub(crate) fn is_group_of_kubernetes(group: &str) -> bool {
    !group.contains('.') || group.ends_with(".k8s.io") && !group.ends_with(".x-k8s.io")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::plural("batch/v1", "Jobs", Some("Job"))]
    #[case::letters("apps/v1", "Deploymnt", Some("Deployment"))]
    #[case::core("v1", "Pdo", Some("Pod"))]
    #[case::extension("kubeflow.org/v1", "PytorchJobs", Some("PyTorchJob"))]
    #[case::of_istio("security.istio.io/v1", "PeerAuthentification", Some("PeerAuthentication"))]
    #[case::of_kueue("kueue.x-k8s.io/v1beta1", "LocalQueu", Some("LocalQueue"))]
    #[case::exists_in_istio("networking.istio.io/v1", "Sidecar", None)]
    #[case::exists("v1", "Service", None)]
    #[case::list("v1", "PodList", None)]
    #[case::kubeconfig("v1", "Config", None)]
    #[case::of_openshift("v1", "DeploymentConfig", None)]
    #[case::acronym("leaderworkerset.x-k8s.io/v1", "LWS", Some("LeaderWorkerSet"))]
    #[case::acronym_of_a_kind_without_words("v1", "P", None)]
    #[case::new_kind_of_a_group("jobset.x-k8s.io/v1alpha2", "Queue", None)]
    #[case::other_workload("kubeflow.org/v1", "MXJob", None)]
    #[case::no_workload("grove.io/v1alpha1", "PodClique", None)]
    #[case::runtime("trainer.kubeflow.org/v1alpha1", "TrainingRuntime", None)]
    #[case::plural_of_a_runtime(
        "trainer.kubeflow.org/v1alpha1",
        "ClusterTrainingRuntimes",
        Some("ClusterTrainingRuntime")
    )]
    #[case::claim_template("resource.k8s.io/v1", "ResourceClaimtemplate", Some("ResourceClaimTemplate"))]
    #[case::device_classes("resource.k8s.io/v1", "DeviceClasses", Some("DeviceClass"))]
    #[case::compute_domains("resource.nvidia.com/v1beta1", "ComputeDomains", Some("ComputeDomain"))]
    #[case::pod_group_of_volcano("scheduling.volcano.sh/v1beta1", "Podgroup", Some("PodGroup"))]
    #[case::pod_group_of_kubernetes("scheduling.k8s.io/v1beta1", "PodGroups", Some("PodGroup"))]
    #[case::priority_class("scheduling.k8s.io/v1", "PriorityClass", None)]
    #[case::elastic_quota("scheduling.x-k8s.io/v1alpha1", "ElasticQuota", None)]
    #[case::alias("batch.volcano.sh/v1alpha1", "VolcanoJob", Some("Job"))]
    #[case::alias_elsewhere("example.com/v1", "VolcanoJob", None)]
    #[case::another_group("example.com/v1", "Jobs", None)]
    fn similar_kinds_of_the_group_are_found(
        #[case] api_version: &str,
        #[case] kind: &str,
        #[case] expected: Option<&str>,
    ) {
        let (group, _) = group_and_version(api_version);
        assert_eq!(nearest_kind(group, kind), expected);
    }

    #[rstest]
    #[case::core("v1", "Job", Some("batch/v1 Job"))]
    #[case::another_group_of_kubernetes("batch/v1", "PyTorchJob", Some("kubeflow.org/v1 PyTorchJob"))]
    #[case::misspelled("kubflow.org/v1", "PyTorchJob", Some("kubeflow.org/v1 PyTorchJob"))]
    #[case::without_a_letter("app/v1", "Deployment", Some("apps/v1 Deployment"))]
    #[case::removed("extensions/v1beta1", "Deployment", Some("apps/v1 Deployment"))]
    #[case::another_domain("jobset.k8s.io/v1alpha2", "JobSet", Some("jobset.x-k8s.io/v1alpha2 JobSet"))]
    #[case::similar_kinds_of_two_groups("batch.volcano.sh/v1alpha1", "Jobs", None)]
    #[case::without_the_first_label("volcano.sh/v1alpha1", "Job", Some("batch.volcano.sh/v1alpha1 Job"))]
    #[case::with_another_first_label("scheduling.volcano.sh/v1beta1", "Job", Some("batch.volcano.sh/v1alpha1 Job"))]
    #[case::with_one_more_label("training.kubeflow.org/v1", "PyTorchJob", Some("kubeflow.org/v1 PyTorchJob"))]
    #[case::old_group("cluster.ray.io/v1", "RayCluster", None)]
    #[case::similar_version("mpi.kubeflow.org/v2beta1", "MPIJob", Some("kubeflow.org/v2beta1 MPIJob"))]
    #[case::older_version("mpi.kubeflow.org/v1", "MPIJob", Some("kubeflow.org/v1 MPIJob"))]
    #[case::acronym_in_the_core("v1", "LWS", Some("leaderworkerset.x-k8s.io/v1 LeaderWorkerSet"))]
    #[case::acronym_of_two_kinds("v1", "RS", None)]
    #[case::acronym_of_another_project("example.com/v1", "LWS", None)]
    #[case::another_project("example.com/v1", "PyTorchJob", None)]
    #[case::tutorial("batch.tutorial.kubebuilder.io/v1", "CronJob", None)]
    #[case::no_workload("v1", "Config", None)]
    fn similar_groups_are_found(#[case] api_version: &str, #[case] kind: &str, #[case] expected: Option<&str>) {
        let (group, version) = group_and_version(api_version);
        let found = kind_of_similar_group(group, version, kind).map(WorkloadKind::name);
        assert_eq!(found.as_deref(), expected);
    }

    #[rstest]
    #[case::case_of_the_kind("kubeflow.org/v1 PytorchJob", "does not exist: did you mean PyTorchJob?")]
    #[case::case_of_a_core_kind("v1 pod", "does not exist: did you mean Pod?")]
    #[case::case_and_version("kubeflow.org/v2 pytorchjob", "does not exist: did you mean kubeflow.org/v1 PyTorchJob?")]
    #[case::version_alone("kubeflow.org/v2 PyTorchJob", "is not supported: use kubeflow.org/v1 PyTorchJob")]
    #[case::number_of_a_version("kubeflow.org/v1beta1 MPIJob", "is not supported: use kubeflow.org/v2beta1 MPIJob")]
    #[case::start_of_a_version("kubeflow.org/v2 MPIJob", "is not supported: use kubeflow.org/v2beta1 MPIJob")]
    #[case::version_of_a_runtime(
        "trainer.kubeflow.org/v1 ClusterTrainingRuntime",
        "is not supported: use trainer.kubeflow.org/v1alpha1 ClusterTrainingRuntime"
    )]
    #[case::version_of_a_claim(
        "resource.k8s.io/v1alpha3 ResourceClaimTemplate",
        "is not supported: use resource.k8s.io/v1 or resource.k8s.io/v1beta2 or resource.k8s.io/v1beta1 ResourceClaimTemplate"
    )]
    #[case::version_of_a_pod_group(
        "scheduling.volcano.sh/v1alpha1 PodGroup",
        "is not supported: use scheduling.volcano.sh/v1beta1 PodGroup"
    )]
    #[case::version_of_the_core("v2 Service", "is not supported: use v1 Service")]
    #[case::core_as_a_group("core/v1 Namespace", "does not exist: did you mean v1 Namespace?")]
    #[case::another_group("apps/v1 Service", "does not exist: did you mean v1 Service?")]
    #[case::parent_group(
        "istio.io/v1 PeerAuthentication",
        "does not exist: did you mean security.istio.io/v1 or security.istio.io/v1beta1 PeerAuthentication?"
    )]
    #[case::misspelled_group(
        "networkin.istio.io/v1 DestinationRule",
        "does not exist: did you mean networking.istio.io/v1 or networking.istio.io/v1beta1 or networking.istio.io/v1alpha3 DestinationRule?"
    )]
    #[case::of_another_project(
        "kubeflow.org/v1 JobSet",
        "does not exist: did you mean jobset.x-k8s.io/v1alpha2 JobSet?"
    )]
    fn versions_and_groups_of_read_kinds_are_checked(#[case] found: &str, #[case] expected: &str) {
        let (api_version, kind) = found.split_once(' ').unwrap();
        let error = misnamed(api_version, kind).map(|error| error.to_string());
        assert_eq!(error, Some(format!("{found} {expected}")));
    }

    #[rstest]
    #[case::read("v1 Namespace")]
    #[case::older_version("networking.istio.io/v1alpha3 DestinationRule")]
    #[case::newer_version_of_kubernetes("scheduling.k8s.io/v1 PodGroup")]
    #[case::namesake("serving.knative.dev/v1 Service")]
    #[case::pod_group_of_another_project("scheduling.run.ai/v2alpha2 PodGroup")]
    #[case::old_pod_group("scheduling.sigs.k8s.io/v1alpha1 PodGroup")]
    #[case::unknown("example.com/v1 DestinationRule")]
    #[case::job_set_of_an_unknown_project("example.com/v1 JobSet")]
    #[case::cron_job_of_volcano("batch.volcano.sh/v1alpha1 CronJob")]
    fn kinds_of_other_projects_are_accepted(#[case] found: &str) {
        let (api_version, kind) = found.split_once(' ').unwrap();
        assert_eq!(misnamed(api_version, kind), None);
    }

    #[rstest]
    #[case::core("v1", true)]
    #[case::apps("apps/v1", true)]
    #[case::network("networking.k8s.io/v1", true)]
    #[case::extension("jobset.x-k8s.io/v1alpha2", false)]
    #[case::other("argoproj.io/v1alpha1", false)]
    fn groups_of_kubernetes_are_known(#[case] api_version: &str, #[case] expected: bool) {
        let (group, _) = group_and_version(api_version);
        assert_eq!(is_group_of_kubernetes(group), expected);
    }
}
