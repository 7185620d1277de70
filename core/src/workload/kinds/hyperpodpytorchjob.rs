//! `sagemaker.amazonaws.com` `HyperPodPyTorchJob` of the SageMaker HyperPod training operator.
//!
//! The operator's source is not public, so its pods are rendered from what AWS publishes. The API fields and the label
//! `HPJob` follow aws/sagemaker-hyperpod-cli at 011ca92 (2026-06-22: `src/sagemaker/hyperpod/training`). The names of
//! pods follow awslabs/awsome-distributed-ai at 95b939c (2026-07-23: `3.test_cases/pytorch/FSDP/kubernetes/README.md`).

use crate::pod::Pod;
use crate::workload::template::{Draft, Field, Owner};
use crate::workload::{Fidelity, GangTraits, Manifest, PodCreation, PodIdentity, RenderError, RolePod, WorkloadKind};

/// A `HyperPodPyTorchJob`: replica specs whose ranks the operator's agent starts.
pub(super) static KIND: WorkloadKind = WorkloadKind {
    group: "sagemaker.amazonaws.com",
    versions: &["v1"],
    kind: "HyperPodPyTorchJob",
    resource: "hyperpodpytorchjobs",
    fidelity: Fidelity::Documented,
    render,
    identify,
    labels: &[JOB],
    gang: GangTraits { one_group: true, creation: Some(PodCreation::AllAtOnce), ..GangTraits::BY_NAME },
};

/// Label that contains the name of a pod's job.
const JOB: &str = "HPJob";

fn render(manifest: &Manifest<'_>) -> Result<Vec<RolePod>, RenderError> {
    let owner = Owner::from_manifest(manifest, "sagemaker.amazonaws.com/v1", KIND.kind)?;
    let spec = Field::root(manifest.raw).get("spec");
    let replica_specs = spec.get("replicaSpecs").required_items()?;
    replica_specs.iter().map(|replica_spec| role(replica_spec, &owner, manifest.namespace)).collect()
}

fn role(replica_spec: &Field<'_>, owner: &Owner<'_>, namespace: &str) -> Result<RolePod, RenderError> {
    let name = replica_spec.get("name").required_text()?;
    // The API's default is 0.
    let replicas = replica_spec.get("replicas").count()?.unwrap_or(0);
    let mut draft = Draft::new(&replica_spec.get("template"), owner, namespace)?;
    draft.finalizers.clear();
    draft.set_name(format!("{}-{name}-0", owner.name));
    draft.label(JOB, owner.name.as_str());
    if let Some(max) = replica_spec.get("maxReplicas").count()?.filter(|max| *max > replicas) {
        draft.add_note(format!("elastic training may scale the role to {max} pods"));
    }
    Ok(draft.into_role(name, replicas))
}

/// Identifies a pod by its label. The role is unknown, because only the pod's name contains it.
fn identify(pod: Pod<'_>) -> Option<PodIdentity<'_>> {
    let job = pod.label(JOB)?;
    Some(PodIdentity { kind: &KIND, workload: job, role: None, index: None, training: true })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use crate::workload::template::testing::{check, error, render};

    fn job(replica_specs: &Value) -> Value {
        json!({"apiVersion": "sagemaker.amazonaws.com/v1", "kind": "HyperPodPyTorchJob", "metadata": {"name": "fsdp", "uid": "u1"},
            "spec": {"nprocPerNode": "8", "replicaSpecs": replica_specs}})
    }

    #[rstest]
    #[case::pods(json!([{"name": "pods", "replicas": 2, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {}}}]), "pods", 2, json!({
        "/metadata/name": "fsdp-pods-0",
        "/metadata/labels": {"a": "b", "HPJob": "fsdp"},
        "/metadata/ownerReferences/0/kind": "HyperPodPyTorchJob",
        "/metadata/ownerReferences/0/uid": "u1",
    }))]
    #[case::default_replicas(json!([{"name": "pods", "template": {"spec": {}}}]), "pods", 0, json!({}))]
    #[case::second(
        json!([{"name": "a", "template": {"spec": {}}}, {"name": "b", "replicas": 4, "template": {"spec": {}}}]),
        "b", 4, json!({"/metadata/name": "fsdp-b-0"})
    )]
    fn pods_are_named_and_labeled(
        #[case] replica_specs: Value,
        #[case] role: &str,
        #[case] replicas: u64,
        #[case] expected: Value,
    ) {
        check(&job(&replica_specs), role, replicas, &expected);
    }

    #[test]
    fn elastic_roles_have_a_note() {
        let roles =
            render(&job(&json!([{"name": "w", "replicas": 2, "maxReplicas": 4, "template": {"spec": {}}}]))).unwrap();
        assert_eq!(roles[0].notes, ["elastic training may scale the role to 4 pods"]);
    }

    #[rstest]
    #[case::no_replica_specs(json!(null), "spec.replicaSpecs is missing")]
    #[case::no_name(json!([{"template": {"spec": {}}}]), "spec.replicaSpecs[0].name is missing")]
    #[case::no_template(json!([{"name": "a"}]), "spec.replicaSpecs[0].template is missing")]
    fn errors_contain_the_path(#[case] replica_specs: Value, #[case] message: &str) {
        assert_eq!(error(&job(&replica_specs)), message);
    }
}
