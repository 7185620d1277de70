//! Devices of resource claims that `preview --cluster` reads, in the newest version of the API that the cluster serves.

use std::fs;

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_testing::apiserver::Apiserver;
use trainmesh_testing::cli::trainmesh_with;

/// A pod that claims devices from a template of the cluster, of a class of the cluster.
const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: train, labels: {trainmesh.dev/fabric: eks-efa}}\nspec:\n  \
                   nodeSelector: {node.kubernetes.io/instance-type: p5.48xlarge}\n  \
                   resourceClaims: [{name: gpus, resourceClaimTemplateName: gpus}]\n  \
                   containers: [{name: train, image: i, resources: {claims: [{name: gpus}]}}]\n";
/// The same template with fewer devices.
const TEMPLATE: &str = "---\napiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {name: gpus}\nspec: {spec: {devices: \
                        {requests: [{name: gpu, exactly: {deviceClassName: h100, count: 4}}]}}}\n";

/// Versions of the API group with the paths of the lists.
const LISTS: [(&str, &str, &str); 3] = [
    (
        "v1",
        "/apis/resource.k8s.io/v1/deviceclasses",
        "/apis/resource.k8s.io/v1/namespaces/default/resourceclaimtemplates",
    ),
    (
        "v1beta2",
        "/apis/resource.k8s.io/v1beta2/deviceclasses",
        "/apis/resource.k8s.io/v1beta2/namespaces/default/resourceclaimtemplates",
    ),
    (
        "v1beta1",
        "/apis/resource.k8s.io/v1beta1/deviceclasses",
        "/apis/resource.k8s.io/v1beta1/namespaces/default/resourceclaimtemplates",
    ),
];

fn list(version: &str, kind: &str, item: &Value) -> Value {
    json!({"apiVersion": format!("resource.k8s.io/{version}"), "kind": format!("{kind}List"), "metadata": {}, "items": [item]})
}

/// Returns a cluster that serves the API group in these versions.
fn cluster(versions: &[&str]) -> Apiserver {
    let missing = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "NotFound", "code": 404,
        "message": "the server could not find the requested resource"});
    let class = json!({"metadata": {"name": "h100"}, "spec": {"selectors": [{"cel": {"expression": "device.driver == 'gpu.nvidia.com'"}}]}});
    let devices = json!({"deviceClassName": "h100", "count": 8});
    let request = |version: &str| match version {
        "v1beta1" => json!({"name": "gpu", "deviceClassName": "h100", "count": 8}),
        _ => json!({"name": "gpu", "exactly": devices}),
    };
    let template = |version: &str| json!({"metadata": {"name": "gpus", "namespace": "default"}, "spec": {"spec": {"devices": {"requests": [request(version)]}}}});
    let mut objects = vec![
        (
            "/api/v1/namespaces/default",
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default", "labels": {"trainmesh.dev/inject": "enabled"}}}),
        ),
        (
            "/api/v1/namespaces/mesh/configmaps/trainmesh-config",
            json!({"metadata": {"name": "trainmesh-config"}, "data": {}}),
        ),
    ];
    // Without a version, the lists are forbidden.
    for (version, classes, templates) in LISTS.into_iter().filter(|_| !versions.is_empty()) {
        let is_served = versions.contains(&version);
        let or_missing = |list: Value| if is_served { list } else { missing.clone() };
        objects.push((classes, or_missing(list(version, "DeviceClass", &class))));
        objects.push((templates, or_missing(list(version, "ResourceClaimTemplate", &template(version)))));
    }
    Apiserver::start(objects)
}

/// The fake apiserver rejects dry runs, so the preview exits with 2.
#[rstest]
#[case::newest(&["v1", "v1beta1"], POD, "added vpc.amazonaws.com/efa: 32")]
#[case::v1beta2(&["v1beta2"], POD, "added vpc.amazonaws.com/efa: 32")]
#[case::v1beta1(&["v1beta1"], POD, "added vpc.amazonaws.com/efa: 32")]
#[case::of_the_input(&["v1"], &format!("{POD}{TEMPLATE}"), "added vpc.amazonaws.com/efa: 16")]
#[case::forbidden(&[], POD, "AcceleratorsUnknown")]
fn claims_are_read_from_the_cluster(#[case] versions: &[&str], #[case] input: &str, #[case] expected: &str) {
    let apiserver = cluster(versions);
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("pod.yaml"), input).unwrap();
    let (pod, kubeconfig) = (folder.path().join("pod.yaml").display().to_string(), apiserver.kubeconfig(folder.path()));
    let arguments = ["preview", "-f", &pod, "--cluster", "--trainmesh-namespace", "mesh", "-o", "explain"];
    let run = trainmesh_with(&arguments, "", &[("KUBECONFIG", &kubeconfig)]);
    assert!(run.stdout.contains(expected), "{}\n{}\n{:?}", run.stdout, run.stderr, apiserver.requests());
}

/// An extended resource that stands for a class of adapters (KEP-5004) is recognized by the class in the input.
#[rstest]
#[case::of_adapters("device.attributes['dra.net'].pciDevice == 'Elastic Fabric Adapter (EFA)'", true)]
#[case::of_other_devices("device.attributes['dra.net'].ifName == 'eth1'", false)]
fn lint_suggests_a_profile_for_resources_of_a_class(#[case] condition: &str, #[case] expected: bool) {
    let class = json!({"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "fast"}, "spec": {
        "extendedResourceName": "example.com/fast",
        "selectors": [{"cel": {"expression": format!("device.driver == 'dra.net' && {condition}")}}]}});
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "train"}, "spec": {
        "nodeSelector": {"node.kubernetes.io/instance-type": "p5.48xlarge"},
        "containers": [{"name": "train", "image": "i", "resources": {"limits": {"nvidia.com/gpu": 8, "example.com/fast": 32}}}]}});
    let run = trainmesh_with(&["lint", "-f", "-", "-o", "json"], &format!("{class}\n---\n{pod}\n"), &[]);
    let part = "the pod requests example.com/fast: profile";
    assert_eq!(run.stdout.contains(part), expected, "{}{}", run.stdout, run.stderr);
    assert_eq!(run.stdout.contains("FP047"), expected, "{}", run.stdout);
}
