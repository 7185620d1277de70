//! Settings: by the environment or by the file that NCCL reads, never over what the user set.

use rstest::rstest;
use serde_json::{Value, json};

use super::{World, fabric, patched, pod, said, with};

const SETTINGS: &str =
    "transport: ib\nenv: [{name: NCCL_IB_HCA, value: \"=mlx5_0\"}, {name: UCX_TLS, value: tcp, via: env}]";
const CONF: &str = "NCCL_IB_HCA==mlx5_0\n";

/// What the container `train` is given: the names in its environment, the file and where it is mounted.
fn given(pod: &Value) -> (Vec<String>, Option<&str>, Option<&str>) {
    let container = &pod["spec"]["containers"][0];
    let env = container["env"].as_array().into_iter().flatten();
    let env =
        env.map(|entry| format!("{}={}", entry["name"].as_str().unwrap(), entry["value"].as_str().unwrap_or("?")));
    let mounts = container["volumeMounts"].as_array().into_iter().flatten();
    let ours = mounts.rev().find(|mount| mount["name"] == "trainmesh-nccl-conf");
    (
        env.collect(),
        pod["metadata"]["annotations"]["trainmesh.dev/nccl-conf"].as_str(),
        ours.and_then(|mount| mount["mountPath"].as_str()),
    )
}

#[rstest]
#[case::environment("", &[], &["NCCL_IB_HCA==mlx5_0", "UCX_TLS=tcp"], None, None, "added NCCL_IB_HCA==mlx5_0")]
#[case::a_value_of_theirs("", &[("/spec/containers/0/env/-", json!({"name": "NCCL_IB_HCA", "value": "x"}))], &["NCCL_IB_HCA=x", "UCX_TLS=tcp"], None, None, "kept NCCL_IB_HCA, which the pod sets itself")]
#[case::a_reference_of_theirs("", &[("/spec/containers/0/env/-", json!({"name": "NCCL_IB_HCA", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}))], &["NCCL_IB_HCA=?", "UCX_TLS=tcp"], None, None, "kept NCCL_IB_HCA")]
#[case::the_same("", &[("/spec/containers/0/env/-", json!({"name": "NCCL_IB_HCA", "value": "=mlx5_0"}))], &["NCCL_IB_HCA==mlx5_0", "UCX_TLS=tcp"], None, None, "found NCCL_IB_HCA")]
#[case::from_elsewhere("", &[("/spec/containers/0/envFrom/-", json!({"configMapRef": {"name": "c"}}))], &[], Some(CONF), Some("/etc/nccl.conf"), "kept UCX_TLS to what envFrom")]
#[case::a_file_by_name("", &[("/spec/containers/0/env/-", json!({"name": "NCCL_CONF_FILE", "value": "/f"}))], &["NCCL_CONF_FILE=/f", "UCX_TLS=tcp"], Some(CONF), Some("/etc/nccl.conf"), "in the file of NCCL")]
#[case::behind_sshd("", &[("/spec/containers/0/command", json!(["bash", "-c", "mkdir x && /usr/sbin/sshd -D"]))], &["UCX_TLS=tcp"], Some(CONF), Some("/etc/nccl.conf"), "added /etc/nccl.conf")]
#[case::a_rank_of_mpi("", &[("/metadata/labels", json!({"training.kubeflow.org/job-name": "a", "training.kubeflow.org/operator-name": "mpi-operator", "training.kubeflow.org/job-role": "worker"})), ("/metadata/ownerReferences", json!([{"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "name": "a", "uid": "u", "controller": true}]))], &["UCX_TLS=tcp"], Some(CONF), Some("/etc/nccl.conf"), "")]
#[case::of_amd("match: {gpuResources: [amd.com/gpu]}\ndelivery: {nccl: confFile}", &[("/spec/containers/0/resources/limits", json!({"amd.com/gpu": 8}))], &["UCX_TLS=tcp"], Some(CONF), Some("/etc/rccl.conf"), "added /etc/rccl.conf")]
#[case::file("delivery: {nccl: confFile}", &[], &["UCX_TLS=tcp"], Some(CONF), Some("/etc/nccl.conf"), "")]
#[case::file_elsewhere("delivery: {nccl: confFile, confPath: /root/.nccl.conf}", &[], &["UCX_TLS=tcp"], Some(CONF), Some("/root/.nccl.conf"), "")]
#[case::both("delivery: {nccl: both}", &[], &["NCCL_IB_HCA==mlx5_0", "UCX_TLS=tcp"], Some(CONF), Some("/etc/nccl.conf"), "")]
#[case::both_with_a_value_of_theirs("delivery: {nccl: both}", &[("/spec/containers/0/env/-", json!({"name": "NCCL_IB_HCA", "value": "x"}))], &["NCCL_IB_HCA=x", "UCX_TLS=tcp"], None, None, "kept NCCL_IB_HCA")]
#[case::both_from_elsewhere("delivery: {nccl: both}", &[("/spec/containers/0/envFrom/-", json!({"configMapRef": {"name": "c"}}))], &[], Some(CONF), Some("/etc/nccl.conf"), "")]
#[case::environment_over_envfrom("delivery: {nccl: env}", &[("/spec/containers/0/envFrom/-", json!({"configMapRef": {"name": "c"}}))], &[], None, None, "kept NCCL_IB_HCA to what envFrom")]
#[case::a_file_of_theirs("delivery: {nccl: confFile}", &[("/spec/containers/0/volumeMounts/-", json!({"name": "own", "mountPath": "/etc/nccl.conf", "subPath": "c"}))], &["UCX_TLS=tcp"], None, None, "the pod's own file")]
#[case::a_folder_of_theirs("", &[("/spec/containers/0/volumeMounts/-", json!({"name": "own", "mountPath": "/etc/"}))], &["UCX_TLS=tcp"], None, None, "the pod's own file")]
#[case::a_copied_annotation("delivery: {nccl: confFile}", &[("/metadata/annotations/trainmesh.dev~1nccl-conf", json!("NCCL_NET=Socket\n"))], &["UCX_TLS=tcp"], Some(CONF), Some("/etc/nccl.conf"), "")]
#[case::a_copied_annotation_that_is_not_mounted("", &[("/metadata/annotations/trainmesh.dev~1nccl-conf", json!("x"))], &["NCCL_IB_HCA==mlx5_0", "UCX_TLS=tcp"], Some("x"), None, "")]
fn settings(
    #[case] profile: &str,
    #[case] edits: &[(&str, Value)],
    #[case] env: &[&str],
    #[case] conf: Option<&str>,
    #[case] at: Option<&str>,
    #[case] part: &str,
) {
    let world = World::new(&format!("{SETTINGS}\n{profile}"));
    let pod = edits.iter().fold(pod(), |pod, (pointer, value)| with(pod, pointer, value.clone()));
    let outcome = world.run(&pod);
    assert_eq!(said(&outcome), "applied FabricAdded", "{:#?}", outcome.failure);
    let after = patched(&outcome, &pod);
    let expected: Vec<String> = env.iter().map(|entry| (*entry).to_owned()).collect();
    assert_eq!(given(&after), (expected, conf, at));
    let told = fabric(&outcome).parts.join("\n");
    assert!(told.contains(part), "{told}");
    assert!(world.run(&after).patch.is_empty(), "not idempotent: {:#?}", world.run(&after).patch);
}

#[rstest]
#[case::sockets("ib", "NCCL_NET", "Socket", false)]
#[case::another_plugin("efa", "NCCL_NET", "IB", false)]
#[case::a_plugin_of_its_own("ib", "NCCL_NET", "UCX", true)]
#[case::the_transport("roce", "NCCL_NET", "IB", true)]
#[case::switched_off("ib", "NCCL_IB_DISABLE", "1", false)]
#[case::a_word_is_nought("ib", "NCCL_IB_DISABLE", "true", true)]
#[case::octal("ib", "NCCL_IB_DISABLE", "010", false)]
#[case::what_a_plugin_replaces("efa", "NCCL_IB_DISABLE", "1", true)]
#[case::tuned("ib", "NCCL_IB_TIMEOUT", "22", true)]
#[case::on_tcp("tcp", "NCCL_NET", "IB", false)]
fn transports(#[case] transport: &str, #[case] name: &str, #[case] value: &str, #[case] fits: bool) {
    let world = World::new(&format!("transport: {transport}"));
    let outcome = world.run(&with(pod(), "/spec/containers/0/env/-", json!({"name": name, "value": value})));
    let expected = if fits { "applied FabricAdded" } else { "refused FabricContradicted" };
    assert_eq!(said(&outcome), expected, "{:?}", outcome.warnings);
}

/// A pod has one file: what is not meant for every container with it goes by the environment.
#[test]
fn containers_that_differ_share_a_file() {
    let world = World::new(
        "transport: ib\ndelivery: {nccl: confFile}\nenv:\n  - {name: NCCL_IB_TC, value: \"1\", when: {gpuCount: \">=8\"}}\n  - {name: NCCL_IB_SL, value: \"2\"}",
    );
    let small = json!({"name": "small", "image": "i", "resources": {"limits": {"nvidia.com/gpu": 4}}});
    let pod = with(pod(), "/spec/containers/-", small);
    let after = patched(&world.run(&pod), &pod);
    assert_eq!(after["metadata"]["annotations"]["trainmesh.dev/nccl-conf"], "NCCL_IB_SL=2\n");
    assert_eq!(after["spec"]["containers"][0]["env"], json!([{"name": "NCCL_IB_TC", "value": "1"}]));
    assert_eq!(after["spec"]["containers"][1]["env"], Value::Null);
    assert!(world.run(&after).patch.is_empty());
}

#[test]
fn a_silent_fallback_is_made_an_error_where_the_profile_asks_for_it() {
    let world = World::new("transport: ib\nfailClosed: {ncclNet: IB, netMismatchFatal: true}");
    let after = patched(&world.run(&pod()), &pod());
    let expected = json!([{"name": "NCCL_NET", "value": "IB"}, {"name": "NCCL_IGNORE_NET_MISMATCH", "value": "0"}]);
    assert_eq!(after["spec"]["containers"][0]["env"], expected);
}
