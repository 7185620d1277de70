//! `leaderworkerset.x-k8s.io` LeaderWorkerSet: groups of a leader and its workers.
//!
//! Follows the controllers of LeaderWorkerSet 0.10, which create one `StatefulSet` for all leaders and one for the
//! workers of each group. Changes by its *pod* webhook are omitted, because the apiserver calls it after
//! trainmesh's webhook: webhook configurations are called in the order of their names.

use std::borrow::Cow;

use super::statefulset::{self, Identity, POD_INDEX};
use crate::pod::Pod;
use crate::workload::identity::numeric_label;
use crate::workload::template::{Draft, Field, Owner, ZERO_HASH, name_hash};
use crate::workload::{
    Fidelity, GangRole, GangShape, GangTraits, Manifest, PodIdentity, RenderError, RolePod, SizeSource, WorkloadKind,
};

/// A LeaderWorkerSet.
pub(super) static KIND: WorkloadKind = WorkloadKind {
    group: "leaderworkerset.x-k8s.io",
    versions: &["v1"],
    kind: "LeaderWorkerSet",
    resource: "leaderworkersets",
    fidelity: Fidelity::Documented,
    render,
    identify,
    labels: &[NAME, GROUP_INDEX, WORKER_INDEX, POD_INDEX],
    gang: GangTraits {
        // Every replica of the set is a separate gang.
        id: |pod, member| {
            group_index(pod).map(|index| Cow::Owned(format!("{}/{}/{index}", member.kind.kind, member.workload)))
        },
        size_sources: &[SizeSource::Env("LWS_GROUP_SIZE"), SizeSource::Metadata(SIZE)],
        portless_service: true,
        shape: Some(gang_shape),
        position: |pod| Some((0, group_index(pod)?.parse().ok()?)),
        ..GangTraits::NONE
    },
};

const NAME: &str = "leaderworkerset.sigs.k8s.io/name";
const GROUP_INDEX: &str = "leaderworkerset.sigs.k8s.io/group-index";
const WORKER_INDEX: &str = "leaderworkerset.sigs.k8s.io/worker-index";
const SIZE: &str = "leaderworkerset.sigs.k8s.io/size";
const REVISION: &str = "leaderworkerset.sigs.k8s.io/template-revision-hash";
const EXCLUSIVE_TOPOLOGY: &str = "leaderworkerset.sigs.k8s.io/exclusive-topology";
const SUBGROUP_EXCLUSIVE_TOPOLOGY: &str = "leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology";
const UNIQUE_PER_REPLICA: &str = "UniquePerReplica";

/// A LeaderWorkerSet, from which its pods are rendered.
struct LeaderWorkerSet<'a> {
    owner: Owner<'a>,
    namespace: &'a str,
    annotations: Field<'a>,
    group: Field<'a>,
    size: u64,
    subdomain_policy: Option<&'a str>,
}

fn render(manifest: &Manifest<'_>) -> Result<Vec<RolePod>, RenderError> {
    let root = Field::root(manifest.raw);
    let spec = root.get("spec");
    let group = spec.get("leaderWorkerTemplate");
    let groups = spec.get("replicas").count()?.unwrap_or(1);
    let set = LeaderWorkerSet {
        owner: Owner::from_manifest(manifest, "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet")?,
        namespace: manifest.namespace,
        annotations: root.get("metadata").get("annotations"),
        size: group.get("size").count()?.unwrap_or(1),
        group,
        subdomain_policy: spec.get("networkConfig").get("subdomainPolicy").text()?,
    };
    Ok(vec![
        set.leader()?.into_role("leader", groups),
        set.worker()?.into_role("worker", groups * set.size.saturating_sub(1)),
    ])
}

/// Reads the gang of one group. With the startup policy `LeaderReady`, the workers start after their leader; with
/// exclusive placement, they are created only when it has a node.
fn gang_shape(manifest: &Manifest<'_>) -> Result<GangShape, RenderError> {
    let root = Field::root(manifest.raw);
    let spec = root.get("spec");
    let group = spec.get("leaderWorkerTemplate");
    let is_exclusive = root.get("metadata").get("annotations").get(EXCLUSIVE_TOPOLOGY).is_present();
    let workers_wait = is_exclusive || spec.get("startupPolicy").text()? == Some("LeaderReady");
    let size = group.get("size").count()?.unwrap_or(1);
    let worker_template = group.get("workerTemplate");
    let leader_template = group.get("leaderTemplate");
    let leader_template = if leader_template.is_present() { &leader_template } else { &worker_template };
    let mut shape = GangShape::new(vec![
        GangRole::new("leader", 1, leader_template),
        GangRole::new("worker", size.saturating_sub(1), &worker_template).in_stage(usize::from(workers_wait)),
    ]);
    shape.groups = spec.get("replicas").count()?.unwrap_or(1);
    Ok(shape)
}

/// Identifies a pod by its labels. A webhook that runs after trainmesh's adds the worker index label. Before that, the
/// pod index of the `StatefulSet` has the same value, because workers start at 1.
fn identify(pod: Pod<'_>) -> Option<PodIdentity<'_>> {
    let job = pod.label(NAME)?;
    let (role, index) = match pod.label(WORKER_INDEX) {
        Some("0") => ("leader", Some(0)),
        Some(index) => ("worker", index.parse().ok()),
        None => ("worker", numeric_label(pod, POD_INDEX)),
    };
    // Groups are used for both serving and training, and the pods do not indicate which.
    Some(PodIdentity { kind: &KIND, workload: job, role: Some(role), index, training: false })
}

/// Returns the index of the group that a pod belongs to. A leader receives the label only after admission, but its name
/// ends with the index.
fn group_index(pod: Pod<'_>) -> Option<&str> {
    let by_name = || pod.name()?.strip_prefix(pod.label(NAME)?)?.strip_prefix('-');
    let index = pod.label(GROUP_INDEX).or_else(by_name)?;
    index.bytes().all(|byte| byte.is_ascii_digit()).then_some(index)
}

impl LeaderWorkerSet<'_> {
    fn leader(&self) -> Result<Draft, RenderError> {
        let leader_template = self.group.get("leaderTemplate");
        let template = if leader_template.is_present() { leader_template } else { self.group.get("workerTemplate") };
        let mut draft = self.pod(&template, self.owner.name.clone(), &self.owner.name, 0)?;
        draft.label(WORKER_INDEX, "0");
        if self.subdomain_policy == Some(UNIQUE_PER_REPLICA) {
            draft.annotate("leaderworkerset.sigs.k8s.io/subdomainPolicy", UNIQUE_PER_REPLICA);
        }
        Ok(draft)
    }

    /// Renders the first worker of the first group; the leader has index 0.
    fn worker(&self) -> Result<Draft, RenderError> {
        let leader = format!("{}-0", self.owner.name);
        let unique = self.subdomain_policy == Some(UNIQUE_PER_REPLICA);
        let service = if unique { &leader } else { &self.owner.name };
        let mut draft = self.pod(&self.group.get("workerTemplate"), leader.clone(), service, 1)?;
        draft.label(GROUP_INDEX, "0");
        let key = name_hash(self.namespace, &leader);
        draft.label("leaderworkerset.sigs.k8s.io/group-key", key);
        draft.annotate("leaderworkerset.sigs.k8s.io/leader-name", leader);
        Ok(draft)
    }

    /// Renders the pod `ordinal` of the `StatefulSet` `set`.
    fn pod(&self, template: &Field<'_>, set: String, service: &str, ordinal: u64) -> Result<Draft, RenderError> {
        let owner = self.owner.child("apps/v1", "StatefulSet", set);
        let mut draft = Draft::new(template, &owner, self.namespace)?;
        draft.label(NAME, self.owner.name.as_str());
        draft.label(REVISION, ZERO_HASH);
        draft.annotate(SIZE, self.size.to_string());
        self.copy_annotation(&mut draft, EXCLUSIVE_TOPOLOGY)?;
        let subgroup = self.group.get("subGroupPolicy");
        if subgroup.is_present() {
            let policy = subgroup.get("subGroupPolicyType").text()?.unwrap_or("LeaderWorker");
            draft.annotate("leaderworkerset.sigs.k8s.io/subgroup-policy-type", policy);
            if let Some(size) = subgroup.get("subGroupSize").count()? {
                draft.annotate("leaderworkerset.sigs.k8s.io/subgroup-size", size.to_string());
            }
            self.copy_annotation(&mut draft, SUBGROUP_EXCLUSIVE_TOPOLOGY)?;
        }
        let claims = self.group.get("volumeClaimTemplates");
        statefulset::apply_identity(
            &mut draft,
            &Identity { set: &owner.name, service: Some(service), ordinal, claims },
        )?;
        draft.add_note(format!("{REVISION} is generated in the cluster, shown as {ZERO_HASH}"));
        draft.add_note(
            "LeaderWorkerSet's pod webhook, which runs after trainmesh's, adds LWS_LEADER_ADDRESS, LWS_GROUP_SIZE, \
            LWS_WORKER_INDEX and the labels that contain the pod's position",
        );
        Ok(draft)
    }

    fn copy_annotation(&self, draft: &mut Draft, annotation: &str) -> Result<(), RenderError> {
        if let Some(value) = self.annotations.get(annotation).text()? {
            draft.annotate(annotation, value);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;
    use crate::workload::template::testing::{check, error};

    fn set(group: &Value) -> Value {
        json!({"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "metadata": {"name": "vllm"},
            "spec": {"replicas": 2, "leaderWorkerTemplate": group}})
    }

    fn groups_of_four() -> Value {
        json!({
            "size": 4,
            "leaderTemplate": {"metadata": {"labels": {"role": "leader"}}, "spec": {}},
            "workerTemplate": {"spec": {}},
            "subGroupPolicy": {"subGroupSize": 2},
        })
    }

    #[rstest]
    #[case::leader("leader", 2, json!({
        "/metadata/name": "vllm-0",
        "/metadata/generateName": "vllm-",
        "/metadata/ownerReferences/0/kind": "StatefulSet",
        "/metadata/ownerReferences/0/name": "vllm",
        "/metadata/labels": {
            "role": "leader",
            "leaderworkerset.sigs.k8s.io/name": "vllm",
            "leaderworkerset.sigs.k8s.io/worker-index": "0",
            "leaderworkerset.sigs.k8s.io/template-revision-hash": "0000000000",
            "statefulset.kubernetes.io/pod-name": "vllm-0",
            "apps.kubernetes.io/pod-index": "0",
            "controller-revision-hash": "vllm-0000000000",
        },
        "/metadata/annotations": {
            "leaderworkerset.sigs.k8s.io/size": "4",
            "leaderworkerset.sigs.k8s.io/subgroup-policy-type": "LeaderWorker",
            "leaderworkerset.sigs.k8s.io/subgroup-size": "2",
        },
        "/spec": {"hostname": "vllm-0", "subdomain": "vllm"},
    }))]
    #[case::worker("worker", 6, json!({
        "/metadata/name": "vllm-0-1",
        "/metadata/ownerReferences/0/name": "vllm-0",
        "/metadata/labels": {
            "leaderworkerset.sigs.k8s.io/name": "vllm",
            "leaderworkerset.sigs.k8s.io/group-index": "0",
            // printf team/vllm-0 | sha1sum
            "leaderworkerset.sigs.k8s.io/group-key": "9981e96332f5a29f1bc8f3b17ed228273fd1b476",
            "leaderworkerset.sigs.k8s.io/template-revision-hash": "0000000000",
            "statefulset.kubernetes.io/pod-name": "vllm-0-1",
            "apps.kubernetes.io/pod-index": "1",
            "controller-revision-hash": "vllm-0-0000000000",
        },
        "/metadata/annotations/leaderworkerset.sigs.k8s.io~1leader-name": "vllm-0",
        "/spec": {"hostname": "vllm-0-1", "subdomain": "vllm"},
    }))]
    fn leaders_and_workers_are_as_the_controllers_create_them(
        #[case] role: &str,
        #[case] replicas: u64,
        #[case] expected: Value,
    ) {
        check(&set(&groups_of_four()), role, replicas, &expected);
    }

    #[test]
    fn a_subdomain_can_be_unique_per_group() {
        let mut raw = set(&groups_of_four());
        raw["spec"]["networkConfig"] = json!({"subdomainPolicy": "UniquePerReplica"});
        check(&raw, "worker", 6, &json!({"/spec/subdomain": "vllm-0"}));
        let annotation = "/metadata/annotations/leaderworkerset.sigs.k8s.io~1subdomainPolicy";
        check(&raw, "leader", 2, &json!({"/spec/subdomain": "vllm", annotation: "UniquePerReplica"}));
    }

    #[test]
    fn the_worker_template_is_the_default_for_leaders() {
        let raw = set(&json!({"workerTemplate": {"metadata": {"labels": {"role": "any"}}, "spec": {}}}));
        check(&raw, "leader", 2, &json!({"/metadata/labels/role": "any"}));
        check(&raw, "worker", 0, &json!({"/metadata/labels/role": "any"}));
        let raw = set(&json!({"leaderTemplate": {"spec": {}}}));
        assert_eq!(error(&raw), "spec.leaderWorkerTemplate.workerTemplate is missing");
    }

    #[rstest]
    #[case::leader(json!({"leaderworkerset.sigs.k8s.io/worker-index": "0", "apps.kubernetes.io/pod-index": "7"}), "leader", Some(0))]
    #[case::before_the_pod_webhook(json!({"apps.kubernetes.io/pod-index": "2"}), "worker", Some(2))]
    #[case::after_the_pod_webhook(json!({"leaderworkerset.sigs.k8s.io/worker-index": "3"}), "worker", Some(3))]
    fn pods_are_identified_by_labels(#[case] mut labels: Value, #[case] role: &str, #[case] index: Option<u64>) {
        labels[NAME] = "vllm".into();
        let owner = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "vllm-0", "controller": true});
        let raw = json!({"metadata": {"labels": labels, "ownerReferences": [owner]}});
        let expected = PodIdentity { kind: &KIND, workload: "vllm", role: Some(role), index, training: false };
        assert_eq!(crate::workload::identify(Pod::new(&raw)), Some(expected));
    }
}
