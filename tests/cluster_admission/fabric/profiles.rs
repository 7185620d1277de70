//! Pods of every built-in profile, on every machine that a profile distinguishes, are accepted by a real apiserver.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::inspection::pod;
use trainmesh_testing::cluster::{TIMEOUT, eventually, list};
use trainmesh_testing::webhook::Webhook;

/// Number of GPUs that the profiles for whole nodes require.
const GPUS: u32 = 8;

/// A built-in profile, parsed independently of trainmesh.
struct Profile {
    name: String,
    /// Machine families with their own adapter ratio; empty if the ratio does not depend on the machine.
    families: BTreeSet<String>,
}

fn profiles() -> Vec<Profile> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/fabric");
    let files = fs::read_dir(folder).unwrap().map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap());
    let profiles = files.map(|text| serde_saphyr::from_str::<Value>(&text).unwrap()).map(|profile| {
        let resources = profile["resources"].as_array().into_iter().flatten();
        let ratios = resources.filter_map(|resource| resource["ratio"].as_object());
        let families = ratios.flat_map(|ratio| ratio.keys().cloned()).collect();
        Profile { name: profile["name"].as_str().unwrap().to_owned(), families }
    });
    profiles.collect()
}

/// Objects that profiles expect in the namespace.
fn expected_objects() -> Value {
    let claim = json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate",
        "metadata": {"name": "fabric-mrdma"},
        "spec": {"spec": {"devices": {"requests": [{"name": "rdma", "exactly": {"deviceClassName": "mrdma"}}]}}}});
    let topology = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "nvidia-topology"}, "data": {"topo.xml": ""}});
    list([claim, topology])
}

#[test]
fn the_apiserver_accepts_every_profile_on_every_machine() {
    let webhook = Webhook::start();
    let profiles = profiles();
    let families: BTreeSet<&String> = profiles.iter().flat_map(|profile| &profile.families).collect();
    assert!(profiles.len() > 10 && families.len() > 5, "{} profiles, {families:?}", profiles.len());
    let machines: Vec<Value> = families
        .iter()
        .map(|family| json!({"node.kubernetes.io/instance-type": format!("{family}.48xlarge")}))
        .collect();
    for Profile { name, families } in &profiles {
        let namespace = webhook.namespace(&[("trainmesh.dev/inject", "enabled"), ("trainmesh.dev/fabric", name)]);
        let _ = namespace.create(&expected_objects()).success();
        for machine in machines.iter().chain([&json!({})]) {
            let mut pod = pod("train", GPUS);
            pod["spec"]["nodeSelector"] = machine.clone();
            // Without a machine, the ratio of adapters is unknown.
            let known = families.is_empty() || machine["node.kubernetes.io/instance-type"].is_string();
            let expected = if known { json!(format!("fabric={name}")) } else { Value::Null };
            // The webhook reads the namespace's objects from a watch.
            eventually(TIMEOUT, &format!("{name} on {machine}"), || match namespace.create_dry_run(&pod) {
                Ok(created) if created["metadata"]["annotations"]["trainmesh.dev/applied"] == expected => Ok(()),
                Ok(created) => Err(created["metadata"].to_string()),
                Err(error) => Err(error.to_string()),
            });
        }
    }
}
