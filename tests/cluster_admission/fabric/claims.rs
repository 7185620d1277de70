//! Dynamic resource allocation: the webhook counts what the scheduler allocates.
//!
//! The devices exist only as a `ResourceSlice`, so the pods are scheduled but do not start.

use serde_json::{Value, json};

use trainmesh_testing::cluster::{Cluster, Namespace, TIMEOUT, eventually, list};
use trainmesh_testing::webhook::{APPLIED, Webhook};

use super::inspection::{pod, train};

/// Name of the class and the slice.
const CLASS: &str = "trainmesh-test-gpu";
/// Number of devices on the node.
const DEVICES: u32 = 8;
/// A profile with a setting for pods with 8 accelerators.
const PROFILE: &str = "fabric:\n  profiles:\n  - name: own\n    transport: ib\n    env:\n    - {name: NCCL_IB_SL, value: \"1\"}\n    \
                       - {name: NCCL_IB_TC, value: \"8\", when: {gpuCount: \"8\"}}";

/// The class and the devices, which are deleted at the end.
struct Devices;

impl Devices {
    fn create() -> Self {
        let node = Cluster::get().kubectl(&["get", "nodes", "-o", "jsonpath={.items[0].metadata.name}"], "");
        let node = node.success().stdout.trim().to_owned();
        let class = json!({"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": CLASS},
            "spec": {"selectors": [{"cel": {"expression": "device.driver == 'gpu.nvidia.com'"}}]}});
        let devices: Vec<Value> = (0..DEVICES).map(|index| json!({"name": format!("gpu-{index}")})).collect();
        let slice = json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": CLASS},
            "spec": {"driver": "gpu.nvidia.com", "nodeName": node, "devices": devices,
                "pool": {"name": node, "generation": 1, "resourceSliceCount": 1}}});
        let _ = Cluster::get().apply(&list([class, slice])).success();
        Self
    }
}

impl Drop for Devices {
    fn drop(&mut self) {
        for kind in ["resourceslice", "deviceclass"] {
            let _ = Cluster::get().kubectl(&["delete", kind, CLASS, "--ignore-not-found"], "");
        }
    }
}

fn template(name: &str, request: &Value) -> Value {
    json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": {"name": name},
        "spec": {"spec": {"devices": {"requests": [request]}}}})
}

fn exactly(count: u32) -> Value {
    json!({"name": "gpu", "exactly": {"deviceClassName": CLASS, "count": count}})
}

/// Returns a pod whose container `train` claims devices from `source`.
fn claiming(name: &str, source: &Value) -> Value {
    let mut pod = pod(name, 0);
    train(&mut pod)["resources"] = json!({"claims": [{"name": "gpus"}]});
    pod["spec"]["resourceClaims"] = json!([source]);
    pod
}

fn by_template(name: &str, template: &str) -> Value {
    claiming(name, &json!({"name": "gpus", "resourceClaimTemplateName": template}))
}

/// Waits until a dry run of `pod` has exactly these settings of the profile. The webhook reads claims from a watch.
fn wait_for_settings(namespace: &Namespace, what: &str, pod: &Value, expected: &[&str]) {
    eventually(TIMEOUT, what, || {
        let created = namespace.create_dry_run(pod).map_err(|error| error.to_string())?;
        let entries = created["spec"]["containers"][1]["env"].as_array().cloned().unwrap_or_default();
        let names: Vec<String> = entries.iter().filter_map(|entry| entry["name"].as_str().map(str::to_owned)).collect();
        if names == expected { Ok(()) } else { Err(format!("{names:?} {}", created["metadata"]["annotations"])) }
    });
}

#[test]
fn counts_the_devices_that_the_scheduler_allocates() {
    let webhook = Webhook::start();
    let before = webhook.process.metric(APPLIED).expect("the first configuration is active");
    webhook.configure(PROFILE);
    webhook.process.wait_for_metric(APPLIED, before + 1);
    let namespace = webhook.namespace(&[("trainmesh.dev/inject", "enabled"), ("trainmesh.dev/fabric", "own")]);
    let _devices = Devices::create();
    let alternatives = json!({"name": "gpu", "firstAvailable": [
        {"name": "eight", "deviceClassName": CLASS, "count": 8},
        {"name": "four", "deviceClassName": CLASS, "count": 4},
    ]});
    let claim = json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "shared"},
        "spec": {"devices": {"requests": [exactly(8)]}}});
    let templates = [("eight", exactly(8)), ("four", exactly(4)), ("range", alternatives)];
    let templates = templates.iter().map(|(name, request)| template(name, request));
    let _ = namespace.create(&list(templates.chain([claim]))).success();

    let all = ["NCCL_IB_SL", "NCCL_IB_TC"];
    wait_for_settings(&namespace, "8 devices count", &by_template("a", "eight"), &all);
    wait_for_settings(&namespace, "4 devices count", &by_template("a", "four"), &all[..1]);
    // A setting depends on the number, which is 4 or 8.
    wait_for_settings(&namespace, "a range is refused", &by_template("a", "range"), &[]);
    wait_for_settings(&namespace, "an unknown template is skipped", &by_template("a", "later"), &[]);
    let shared = claiming("a", &json!({"name": "gpus", "resourceClaimName": "shared"}));
    wait_for_settings(&namespace, "a shared claim counts", &shared, &all);
    let mut extended = pod("a", 0);
    train(&mut extended)["resources"] =
        json!({"limits": {format!("deviceclass.resource.kubernetes.io/{CLASS}"): DEVICES}});
    wait_for_settings(&namespace, "the resource of a class counts", &extended, &all);

    namespace.create_pod(&by_template("train", "eight")).expect("create the pod");
    eventually(TIMEOUT, "the scheduler allocates what the webhook counted", || {
        let claims = namespace.kubectl(&["get", "resourceclaims", "-o", "json"], "").success().object();
        let claims = claims["items"].as_array().cloned().unwrap_or_default();
        let generated = claims.iter().find(|claim| claim["metadata"]["name"] != "shared");
        let results = generated.and_then(|claim| claim["status"]["allocation"]["devices"]["results"].as_array());
        match results.map(Vec::len) {
            Some(8) => Ok(()),
            found => Err(format!("{found:?} devices in {claims:?}")),
        }
    });
}
