//! Delivery of settings by environment or by NCCL's configuration file; user settings are never overridden.

use rstest::rstest;
use serde_json::{Value, json};

use super::{Scenario, decision, notes, patched, pod, with};

const SETTINGS: &str =
    "transport: ib\nenv: [{name: NCCL_IB_HCA, value: \"=mlx5_0\"}, {name: UCX_TLS, value: tcp, via: env}]";
const CONF: &str = "NCCL_IB_HCA==mlx5_0\n";

/// Returns the environment of the container `train`, the content of the file and its mount path.
fn delivered(pod: &Value) -> (Vec<String>, Option<&str>, Option<&str>) {
    let container = &pod["spec"]["containers"][0];
    let env = container["env"].as_array().into_iter().flatten();
    let env =
        env.map(|entry| format!("{}={}", entry["name"].as_str().unwrap(), entry["value"].as_str().unwrap_or("?")));
    let mounts = container["volumeMounts"].as_array().into_iter().flatten();
    let conf_mount = mounts.rev().find(|mount| mount["name"] == "trainmesh-nccl-conf");
    (
        env.collect(),
        pod["metadata"]["annotations"]["trainmesh.dev/nccl-conf"].as_str(),
        conf_mount.and_then(|mount| mount["mountPath"].as_str()),
    )
}

#[rstest]
#[case::environment("", &[], &["NCCL_IB_HCA==mlx5_0", "UCX_TLS=tcp"], None, None, "added NCCL_IB_HCA=\"=mlx5_0\"")]
#[case::value_set_by_user("", &[("/spec/containers/0/env/-", json!({"name": "NCCL_IB_HCA", "value": "x"}))], &["NCCL_IB_HCA=x", "UCX_TLS=tcp"], None, None, "kept NCCL_IB_HCA: set by the pod")]
#[case::reference_set_by_user("", &[("/spec/containers/0/env/-", json!({"name": "NCCL_IB_HCA", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}))], &["NCCL_IB_HCA=?", "UCX_TLS=tcp"], None, None, "kept NCCL_IB_HCA")]
#[case::same_value("", &[("/spec/containers/0/env/-", json!({"name": "NCCL_IB_HCA", "value": "=mlx5_0"}))], &["NCCL_IB_HCA==mlx5_0", "UCX_TLS=tcp"], None, None, "found NCCL_IB_HCA")]
#[case::set_by_env_from("", &[("/spec/containers/0/envFrom/-", json!({"configMapRef": {"name": "c"}}))], &[], Some(CONF), Some("/etc/nccl.conf"), "skipped UCX_TLS: envFrom")]
#[case::file_path_set_by_user("", &[("/spec/containers/0/env/-", json!({"name": "NCCL_CONF_FILE", "value": "/f"}))], &["NCCL_CONF_FILE=/f", "UCX_TLS=tcp"], Some(CONF), Some("/etc/nccl.conf"), "in the NCCL configuration file")]
#[case::behind_sshd("", &[("/spec/containers/0/command", json!(["bash", "-c", "mkdir x && /usr/sbin/sshd -D"]))], &["UCX_TLS=tcp"], Some(CONF), Some("/etc/nccl.conf"), "added /etc/nccl.conf")]
#[case::mpi_worker("", &[("/metadata/labels", json!({"training.kubeflow.org/job-name": "a", "training.kubeflow.org/operator-name": "mpi-operator", "training.kubeflow.org/job-role": "worker"})), ("/metadata/ownerReferences", json!([{"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "name": "a", "uid": "u", "controller": true}]))], &["UCX_TLS=tcp"], Some(CONF), Some("/etc/nccl.conf"), "")]
#[case::amd("match: {gpuResources: [amd.com/gpu]}\ndelivery: {nccl: confFile}", &[("/spec/containers/0/resources/limits", json!({"amd.com/gpu": 8}))], &["UCX_TLS=tcp"], Some(CONF), Some("/etc/rccl.conf"), "added /etc/rccl.conf")]
#[case::file("delivery: {nccl: confFile}", &[], &["UCX_TLS=tcp"], Some(CONF), Some("/etc/nccl.conf"), "")]
#[case::file_elsewhere("delivery: {nccl: confFile, confPath: /root/.nccl.conf}", &[], &["UCX_TLS=tcp"], Some(CONF), Some("/root/.nccl.conf"), "")]
#[case::both("delivery: {nccl: both}", &[], &["NCCL_IB_HCA==mlx5_0", "UCX_TLS=tcp"], Some(CONF), Some("/etc/nccl.conf"), "")]
#[case::both_with_a_value_set_by_user("delivery: {nccl: both}", &[("/spec/containers/0/env/-", json!({"name": "NCCL_IB_HCA", "value": "x"}))], &["NCCL_IB_HCA=x", "UCX_TLS=tcp"], None, None, "kept NCCL_IB_HCA")]
#[case::both_with_env_from("delivery: {nccl: both}", &[("/spec/containers/0/envFrom/-", json!({"configMapRef": {"name": "c"}}))], &[], Some(CONF), Some("/etc/nccl.conf"), "")]
#[case::environment_over_envfrom("delivery: {nccl: env}", &[("/spec/containers/0/envFrom/-", json!({"configMapRef": {"name": "c"}}))], &[], None, None, "skipped NCCL_IB_HCA: envFrom")]
#[case::file_mounted_by_user("delivery: {nccl: confFile}", &[("/spec/containers/0/volumeMounts/-", json!({"name": "own", "mountPath": "/etc/nccl.conf", "subPath": "c"}))], &["UCX_TLS=tcp"], None, None, "configuration file of the pod")]
#[case::directory_mounted_by_user("", &[("/spec/containers/0/volumeMounts/-", json!({"name": "own", "mountPath": "/etc/"}))], &["UCX_TLS=tcp"], None, None, "configuration file of the pod")]
#[case::copied_annotation("delivery: {nccl: confFile}", &[("/metadata/annotations/trainmesh.dev~1nccl-conf", json!("NCCL_NET=Socket\n"))], &["UCX_TLS=tcp"], Some(CONF), Some("/etc/nccl.conf"), "")]
#[case::copied_annotation_without_mount("", &[("/metadata/annotations/trainmesh.dev~1nccl-conf", json!("x"))], &["NCCL_IB_HCA==mlx5_0", "UCX_TLS=tcp"], Some("x"), None, "")]
fn delivers_settings(
    #[case] profile: &str,
    #[case] edits: &[(&str, Value)],
    #[case] env: &[&str],
    #[case] conf: Option<&str>,
    #[case] at: Option<&str>,
    #[case] part: &str,
) {
    let scenario = Scenario::new(&format!("{SETTINGS}\n{profile}"));
    let pod = edits.iter().fold(pod(), |pod, (pointer, value)| with(pod, pointer, value.clone()));
    let outcome = scenario.run(&pod);
    assert_eq!(decision(&outcome), "applied FabricAdded", "{:#?}", outcome.failure);
    let after = patched(&outcome, &pod);
    let expected: Vec<String> = env.iter().map(|entry| (*entry).to_owned()).collect();
    assert_eq!(delivered(&after), (expected, conf, at));
    let parts = notes(&outcome);
    assert!(parts.contains(part), "{parts}");
    assert!(scenario.run(&after).patch.is_empty(), "not idempotent: {:#?}", scenario.run(&after).patch);
}

#[rstest]
#[case::absent(pod(), true)]
#[case::set_by_the_pod(with(pod(), "/spec/containers/0/env/-", json!({"name": "LD_LIBRARY_PATH", "value": "/b"})), false)]
fn suggested_settings_are_noted(#[case] pod: Value, #[case] is_noted: bool) {
    let settings = "[{name: LD_LIBRARY_PATH, value: /a, via: env, optIn: true}, {name: UCX_TLS, value: tcp, via: env}]";
    let outcome = Scenario::new(&format!("transport: ib\nenv: {settings}")).run(&pod);
    assert_eq!(decision(&outcome), "applied FabricAdded", "{:#?}", outcome.failure);
    let parts = notes(&outcome);
    assert_eq!(parts.contains("skipped LD_LIBRARY_PATH: the profile only suggests it"), is_noted, "{parts}");
}

#[rstest]
#[case::pod_network("{}", json!({}), &["NCCL_SOCKET_IFNAME==eth0", "NCCL_OOB_NET_ENABLE=0", "GLOO_SOCKET_IFNAME=eth0"], "added NCCL_SOCKET_IFNAME")]
#[case::host_network("{}", json!({"hostNetwork": true}), &["NCCL_OOB_NET_ENABLE=0"], "skipped NCCL_SOCKET_IFNAME: interfaces have other names with hostNetwork")]
#[case::host_network_in_the_file("{nccl: confFile}", json!({"hostNetwork": true}), &[], "skipped NCCL_SOCKET_IFNAME")]
#[case::named_by_the_pod("{}", json!({"hostNetwork": true, "containers": [{"name": "train", "env": [{"name": "NCCL_SOCKET_IFNAME", "value": "ens5"}], "resources": {"limits": {"nvidia.com/gpu": 8}}}]}), &["NCCL_SOCKET_IFNAME=ens5", "NCCL_OOB_NET_ENABLE=0"], "kept NCCL_SOCKET_IFNAME: set by the pod")]
fn interfaces_of_the_pod_network_are_left_out_with_host_network(
    #[case] delivery: &str,
    #[case] spec: Value,
    #[case] env: &[&str],
    #[case] note: &str,
) {
    let settings = "{name: NCCL_SOCKET_IFNAME, value: \"=eth0\"}, {name: NCCL_OOB_NET_ENABLE, value: \"0\"}, \
                    {name: GLOO_SOCKET_IFNAME, value: eth0, via: env}";
    let scenario = Scenario::new(&format!("transport: efa\ndelivery: {delivery}\nenv: [{settings}]"));
    let own = spec.as_object().unwrap().iter();
    let pod = own.fold(pod(), |pod, (field, value)| with(pod, &format!("/spec/{field}"), value.clone()));
    let outcome = scenario.run(&pod);
    let after = patched(&outcome, &pod);
    let (delivered, conf, _) = delivered(&after);
    assert_eq!(delivered, env);
    assert!(!conf.unwrap_or_default().contains("IFNAME"), "{conf:?}");
    let notes = notes(&outcome);
    assert!(notes.contains(note), "{notes}");
    assert!(scenario.run(&after).patch.is_empty());
}

/// A profile that sets hostNetwork names the interfaces of the node, and a list of excluded ones holds in any network.
#[rstest]
#[case::profile_for_the_host_network(
    "pod: {hostNetwork: true}\nenv: [{name: NCCL_SOCKET_IFNAME, value: bond0}]",
    "bond0"
)]
#[case::excluded("env: [{name: NCCL_SOCKET_IFNAME, value: \"^lo,docker\"}]", "^lo,docker")]
fn other_interface_lists_stay_with_host_network(#[case] profile: &str, #[case] expected: &str) {
    let pod = with(pod(), "/spec/hostNetwork", json!(true));
    let outcome = Scenario::new(&format!("transport: tcp\n{profile}")).run(&pod);
    let (env, ..) = delivered(&patched(&outcome, &pod));
    assert_eq!(env, [format!("NCCL_SOCKET_IFNAME={expected}")]);
}

#[rstest]
#[case::sockets("ib", "NCCL_NET", "Socket", false)]
#[case::another_plugin("efa", "NCCL_NET", "IB", false)]
#[case::ucx_plugin("ib", "NCCL_NET", "UCX", true)]
#[case::matching_plugin("roce", "NCCL_NET", "IB", true)]
#[case::disabled("ib", "NCCL_IB_DISABLE", "1", false)]
#[case::non_numeric_value_is_zero("ib", "NCCL_IB_DISABLE", "true", true)]
#[case::octal("ib", "NCCL_IB_DISABLE", "010", false)]
#[case::ignored_by_the_plugin("efa", "NCCL_IB_DISABLE", "1", true)]
#[case::tuned("ib", "NCCL_IB_TIMEOUT", "22", true)]
#[case::on_tcp("tcp", "NCCL_NET", "IB", false)]
fn detects_settings_that_contradict_the_transport(
    #[case] transport: &str,
    #[case] name: &str,
    #[case] value: &str,
    #[case] fits: bool,
) {
    let scenario = Scenario::new(&format!("transport: {transport}"));
    let outcome = scenario.run(&with(pod(), "/spec/containers/0/env/-", json!({"name": name, "value": value})));
    let expected = if fits { "applied FabricAdded" } else { "refused FabricContradicted" };
    assert_eq!(decision(&outcome), expected, "{:?}", outcome.warnings);
}

/// A pod has one file: settings that do not apply to every container with the file use the environment.
#[test]
fn containers_that_differ_share_a_file() {
    let scenario = Scenario::new(
        "transport: ib\ndelivery: {nccl: confFile}\nenv:\n  - {name: NCCL_IB_TC, value: \"1\", when: {gpuCount: \">=8\"}}\n  - {name: NCCL_IB_SL, value: \"2\"}",
    );
    let small = json!({"name": "small", "image": "i", "resources": {"limits": {"nvidia.com/gpu": 4}}});
    let pod = with(pod(), "/spec/containers/-", small);
    let after = patched(&scenario.run(&pod), &pod);
    assert_eq!(after["metadata"]["annotations"]["trainmesh.dev/nccl-conf"], "NCCL_IB_SL=2\n");
    assert_eq!(after["spec"]["containers"][0]["env"], json!([{"name": "NCCL_IB_TC", "value": "1"}]));
    assert_eq!(after["spec"]["containers"][1]["env"], Value::Null);
    assert!(scenario.run(&after).patch.is_empty());
}

#[test]
fn fail_closed_turns_a_silent_fallback_into_an_error() {
    let scenario = Scenario::new("transport: ib\nfailClosed: {ncclNet: IB, netMismatchFatal: true}");
    let after = patched(&scenario.run(&pod()), &pod());
    let expected = json!([{"name": "NCCL_NET", "value": "IB"}, {"name": "NCCL_IGNORE_NET_MISMATCH", "value": "0"}]);
    assert_eq!(after["spec"]["containers"][0]["env"], expected);
}
