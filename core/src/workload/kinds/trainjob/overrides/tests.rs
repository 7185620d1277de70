use rstest::rstest;
use serde_json::{Value, json};

use super::super::{ANCESTOR, TRAINER, dropped_fields};
use crate::manifest::Document;
use crate::workload::template::testing::render_with;
use crate::workload::{RenderError, RolePod, RuntimeReference, Runtimes, StockRuntimes, TrainerVersion};

/// A runtime with a training step and a data set step.
fn two_steps() -> Value {
    let step = |name: &str, ancestor: &str, container: &str| {
        let pod = json!({"metadata": {"labels": {"of": "runtime"}}, "spec": {"nodeSelector": {"a": "1"},
            "initContainers": [{"name": "setup"}], "containers": [{"name": container}, {"name": "logs", "env": [{"name": "A", "value": "1"}]}]}});
        json!({"name": name, "template": {"metadata": {"labels": {ANCESTOR: ancestor}}, "spec": {"template": pod}}})
    };
    let steps =
        [step("dataset-initializer", "dataset-initializer", "dataset-initializer"), step("node", TRAINER, "node")];
    json!({"mlPolicy": {}, "template": {"spec": {"replicatedJobs": steps}}})
}

const V2_0: StockRuntimes = StockRuntimes::Version(TrainerVersion::V2_0);
const V2_1: StockRuntimes = StockRuntimes::Version(TrainerVersion::V2_1);
const V2_3: StockRuntimes = StockRuntimes::Version(TrainerVersion::V2_3);

fn change(spec: &Value, stock: StockRuntimes) -> Result<Vec<RolePod>, RenderError> {
    let mut spec = spec.clone();
    spec["runtimeRef"] = json!({"name": "r"});
    let job = json!({
        "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": "j"}, "spec": spec,
    });
    let reference = RuntimeReference { namespace: None, name: "r".to_owned() };
    let by_name = [(reference, Document::generated("runtime", json!({"spec": two_steps()})).into())].into();
    render_with(&job, &Runtimes { by_name, stock })
}

fn pod_template_overrides(changes: &Value) -> Value {
    let mut change = json!({"targetJobs": [{"name": "node"}]});
    change.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    json!({"podTemplateOverrides": [change]})
}

fn runtime_patches(changes: &Value) -> Value {
    let replicated = json!([{"name": "node", "template": {"spec": {"template": changes}}}]);
    json!({"runtimePatches": [{"manager": "a.example/b", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": replicated}}}}]})
}

#[rstest]
#[case::label(pod_template_overrides(&json!({"metadata": {"labels": {"b": "2"}}})), "/metadata/labels/b", json!("2"))]
#[case::label_of_the_runtime(pod_template_overrides(&json!({"metadata": {"labels": {"b": "2"}}})), "/metadata/labels/of", json!("runtime"))]
#[case::annotation(pod_template_overrides(&json!({"metadata": {"annotations": {"b": "2"}}})), "/metadata/annotations/b", json!("2"))]
#[case::node_selector(
    pod_template_overrides(&json!({"spec": {"nodeSelector": {"b": "2"}}})), "/spec/nodeSelector", json!({"a": "1", "b": "2"})
)]
#[case::variable(
    pod_template_overrides(&json!({"spec": {"containers": [{"name": "logs", "env": [{"name": "A", "value": "2"}]}]}})),
    "/spec/containers/1/env/0", json!({"name": "A", "value": "2"})
)]
#[case::dropped_field(pod_template_overrides(&json!({"spec": {"hostNetwork": true}})), "/spec/hostNetwork", json!(null))]
#[case::absent_value(pod_template_overrides(&json!({"spec": {"nodeSelector": null}})), "/spec/nodeSelector", json!({"a": "1"}))]
#[case::another_target(
    json!({"podTemplateOverrides": [{"targetJobs": [{"name": "dataset-initializer"}], "spec": {"serviceAccountName": "x"}}]}),
    "/spec/serviceAccountName", json!(null)
)]
#[case::no_target(json!({"podTemplateOverrides": [{"spec": {"serviceAccountName": "x"}}]}), "/spec/serviceAccountName", json!(null))]
#[case::later_changes_win(
    json!({"podTemplateOverrides": [
        {"targetJobs": [{"name": "node"}], "spec": {"serviceAccountName": "x"}},
        {"targetJobs": [{"name": "dataset-initializer"}, {"name": "node"}], "spec": {"serviceAccountName": "y"}}]}),
    "/spec/serviceAccountName", json!("y")
)]
#[case::pod_spec(
    json!({"podSpecOverrides": [{"targetJobs": [{"name": "node"}], "tolerations": [{"key": "x"}], "affinity": {}}]}),
    "/spec/tolerations", json!([{"key": "x"}])
)]
#[case::pod_spec_without_a_later_field(
    json!({"podSpecOverrides": [{"targetJobs": [{"name": "node"}], "affinity": {"nodeAffinity": {}}}]}), "/spec/affinity", json!(null)
)]
#[case::runtime_patch(runtime_patches(&json!({"metadata": {"labels": {"b": "2"}}})), "/metadata/labels/b", json!("2"))]
#[case::newest_field(runtime_patches(&json!({"spec": {"terminationGracePeriodSeconds": 5}})), "/spec/terminationGracePeriodSeconds", json!(5))]
fn changes_of_the_job_are_merged_into_the_pods_of_their_targets(
    #[case] spec: Value,
    #[case] pointer: &str,
    #[case] expected: Value,
) {
    let roles = change(&spec, StockRuntimes::default()).unwrap();
    let node = roles.iter().find(|role| role.name == "node").unwrap();
    assert_eq!(node.pod.pointer(pointer).unwrap_or(&Value::Null), &expected);
}

#[rstest]
#[case::target(
    json!({"podTemplateOverrides": [{"targetJobs": [{"name": "trainer"}]}]}),
    "spec.podTemplateOverrides[0].targetJobs[0].name is \"trainer\": expected the name of a replicated job of the runtime: dataset-initializer, \
     node"
)]
#[case::second_target(
    json!({"podSpecOverrides": [{"targetJobs": [{"name": "node"}, {"name": "nodes"}]}]}),
    "spec.podSpecOverrides[0].targetJobs[1].name is \"nodes\": expected the name of a replicated job of the runtime: dataset-initializer, node"
)]
#[case::patched_target(
    json!({"runtimePatches": [{"manager": "a", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [{"name": "nodes"}]}}}}]}),
    "spec.runtimePatches[0].trainingRuntimeSpec.template.spec.replicatedJobs[0].name is \"nodes\": expected the name of a replicated job of \
     the runtime: dataset-initializer, node"
)]
#[case::container(
    json!({"podSpecOverrides": [{"targetJobs": [{"name": "node"}], "containers": [{"name": "log"}]}]}),
    "spec.podSpecOverrides[0].containers[0].name is \"log\": expected the name of a container of the replicated job: setup, node, logs"
)]
#[case::reserved_variables(
    pod_template_overrides(&json!({"spec": {"containers": [{"name": "node", "env": [{"name": "A"}]}]}})),
    "spec.podTemplateOverrides[0].spec.containers[0].env is [{\"name\":\"A\"}]: expected no variables: for this container, set them in \
     spec.trainer or spec.initializer"
)]
#[case::patched_container(
    runtime_patches(&json!({"spec": {"containers": [{"name": "log"}]}})),
    "spec.runtimePatches[0].trainingRuntimeSpec.template.spec.replicatedJobs[0].template.spec.template.spec.containers[0].name is \
     \"log\": expected the name of a container of the replicated job: setup, node, logs"
)]
#[case::patch_without_a_manager(json!({"runtimePatches": [{"trainingRuntimeSpec": {}}]}), "spec.runtimePatches[0].manager is missing")]
#[case::empty_manager(json!({"runtimePatches": [{"manager": "a"}, {"manager": ""}]}), "spec.runtimePatches[1].manager is missing")]
#[case::manager_of_another_type(json!({"runtimePatches": [{"manager": 5}]}), "spec.runtimePatches[0].manager is 5: expected a string; quote it")]
#[case::repeated_manager(
    json!({"runtimePatches": [{"manager": "a"}, {"manager": "b"}, {"manager": "a"}]}),
    "spec.runtimePatches[2].manager is \"a\": expected a manager that no other patch has"
)]
#[case::repeated_job(
    json!({"runtimePatches": [{"manager": "a", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [{"name": "node"}, {"name": "node"}]}}}}]}),
    "spec.runtimePatches[0].trainingRuntimeSpec.template.spec.replicatedJobs[1].name is \"node\": expected a name that no other item has"
)]
fn changes_that_trainer_rejects_are_errors(#[case] spec: Value, #[case] expected: &str) {
    assert_eq!(change(&spec, StockRuntimes::default()).unwrap_err().to_string(), expected);
}

#[rstest]
#[case::misspelled(
    json!({"trainer": {"numNodez": 2}}), StockRuntimes::Newest,
    &["spec.trainer.numNodez has no effect: TrainJob in Kubeflow Trainer v2.3 (assumed) has no such field: did you mean numNodes?"]
)]
#[case::misspelled_limits(
    json!({"trainer": {"resourcesPerNode": {"limts": {"nvidia.com/gpu": 8}, "Requests": {}}}}), StockRuntimes::Newest,
    &[
        "spec.trainer.resourcesPerNode.limts has no effect: TrainJob in Kubeflow Trainer v2.3 (assumed) has no such field: did you mean limits?",
        "spec.trainer.resourcesPerNode.Requests has no effect: TrainJob in Kubeflow Trainer v2.3 (assumed) has no such field: did you mean requests?",
    ]
)]
#[case::quantities_outside_the_limits(
    json!({"trainer": {"resourcesPerNode": {"nvidia.com/gpu": 8}}}), StockRuntimes::Newest,
    &["spec.trainer.resourcesPerNode.nvidia.com/gpu has no effect: TrainJob in Kubeflow Trainer v2.3 (assumed) has no such field"]
)]
#[case::known_resources(
    json!({"trainer": {"resourcesPerNode": {"limits": {"nvidia.com/gpu": 8}, "requests": {"a.com/b": 1}, "claims": []}}}), StockRuntimes::Newest,
    &[]
)]
#[case::no_similar_field(
    json!({"trainer": {"color": 2}}), StockRuntimes::Newest,
    &["spec.trainer.color has no effect: TrainJob in Kubeflow Trainer v2.3 (assumed) has no such field"]
)]
#[case::of_pods(
    json!({"trainer": {"nodeSelector": {}}}), StockRuntimes::Newest,
    &["spec.trainer.nodeSelector has no effect: TrainJob in Kubeflow Trainer v2.3 (assumed) has no such field: set it for the pods in \
       spec.runtimePatches"]
)]
#[case::of_pods_in_the_spec(
    json!({"tolerations": []}), V2_1,
    &["spec.tolerations has no effect: TrainJob in Kubeflow Trainer v2.1 has no such field: set it for the pods in spec.podTemplateOverrides"]
)]
#[case::of_pods_in_the_oldest_version(
    json!({"trainer": {"volumes": []}}), V2_0,
    &["spec.trainer.volumes has no effect: TrainJob in Kubeflow Trainer v2.0 has no such field: set it for the pods in spec.podSpecOverrides"]
)]
#[case::of_the_cluster(
    json!({"color": 2}), StockRuntimes::None, &["spec.color has no effect: TrainJob in Kubeflow Trainer v2.3 (assumed) has no such field"]
)]
#[case::in_a_patch(
    runtime_patches(&json!({"spec": {"hostNetwork": true, "containers": [{"name": "node", "resources": {}}]}})), StockRuntimes::Newest,
    &[
        "spec.runtimePatches[0].trainingRuntimeSpec.template.spec.replicatedJobs[0].template.spec.template.spec.hostNetwork has no \
         effect: TrainJob in Kubeflow Trainer v2.3 (assumed) has no such field",
        "spec.runtimePatches[0].trainingRuntimeSpec.template.spec.replicatedJobs[0].template.spec.template.spec.containers[0].resources \
         has no effect: TrainJob in Kubeflow Trainer v2.3 (assumed) has no such field",
    ]
)]
#[case::in_a_step_of_the_data(
    json!({"initializer": {"dataset": {"image": "a"}}}), StockRuntimes::Newest,
    &["spec.initializer.dataset.image has no effect: TrainJob in Kubeflow Trainer v2.3 (assumed) has no such field"]
)]
#[case::labels_of_an_older_version(
    json!({"labels": {}}), StockRuntimes::Newest,
    &["spec.labels has no effect: TrainJob in Kubeflow Trainer v2.3 (assumed) has no such field: v2.1 has it, which --runtime v2.1 selects"]
)]
#[case::newer_field_of_a_patch(
    runtime_patches(&json!({"spec": {"terminationGracePeriodSeconds": 5}})), StockRuntimes::Version(TrainerVersion::V2_2),
    &["spec.runtimePatches[0].trainingRuntimeSpec.template.spec.replicatedJobs[0].template.spec.template.spec.terminationGracePeriodSeconds \
       has no effect: TrainJob in Kubeflow Trainer v2.2 has no such field: v2.3 has it, which --runtime v2.3 selects"]
)]
#[case::no_similar_field_of_a_version(
    json!({"trainer": {"color": 2}}), V2_1,
    &["spec.trainer.color has no effect: TrainJob in Kubeflow Trainer v2.1 has no such field"]
)]
#[case::of_an_older_version(
    json!({"podSpecOverrides": []}), V2_3,
    &["spec.podSpecOverrides has no effect: TrainJob in Kubeflow Trainer v2.3 has no such field: use spec.runtimePatches"]
)]
#[case::of_a_newer_version(
    runtime_patches(&json!({})), V2_0,
    &["spec.runtimePatches has no effect: TrainJob in Kubeflow Trainer v2.0 has no such field: use spec.podSpecOverrides"]
)]
#[case::two_versions(
    json!({"podTemplateOverrides": [], "podSpecOverrides": []}), StockRuntimes::Newest,
    &["spec.podSpecOverrides has no effect: TrainJob in Kubeflow Trainer v2.1 (assumed) has no such field: use spec.podTemplateOverrides"]
)]
#[case::of_the_version(pod_template_overrides(&json!({"metadata": {"labels": {"a": "b"}}})), StockRuntimes::Newest, &[])]
#[case::no_spec(json!(null), StockRuntimes::Newest, &[])]
fn dropped_fields_are_reported(#[case] spec: Value, #[case] stock: StockRuntimes, #[case] expected: &[&str]) {
    let found = dropped_fields(&json!({"spec": spec}), stock);
    assert_eq!(found.iter().map(|(_, message)| message.as_str()).collect::<Vec<_>>(), expected);
}

#[test]
fn a_dropped_change_is_not_merged() {
    let spec = json!({"podSpecOverrides": [{"targetJobs": [{"name": "node"}], "serviceAccountName": "x"}]});
    let is_merged = |stock| change(&spec, stock).unwrap()[1].pod["spec"]["serviceAccountName"] == "x";
    assert_eq!((is_merged(V2_0), is_merged(V2_3)), (true, false));
}
