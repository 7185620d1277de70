//! What every built-in profile writes, on every machine that one of them knows: a real apiserver takes it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::trainer::pod;
use trainmesh_testing::cluster::{PATIENCE, eventually, list};
use trainmesh_testing::webhook::Webhook;

/// As many as the profiles for whole nodes ask for.
const GPUS: u32 = 8;

/// A built-in profile, read without a part of trainmesh.
struct Profile {
    name: String,
    /// Families of machines for each of which it has a count of adapters; empty where the machine does not matter.
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

/// What profiles expect in a namespace.
fn expected_objects() -> Value {
    let claim = json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate",
        "metadata": {"name": "fabric-mrdma"},
        "spec": {"spec": {"devices": {"requests": [{"name": "rdma", "exactly": {"deviceClassName": "mrdma"}}]}}}});
    let topology = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "nvidia-topology"}, "data": {"topo.xml": ""}});
    list([claim, topology])
}

#[test]
fn the_apiserver_takes_what_every_profile_writes_on_every_machine() {
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
            // Without a machine nobody knows how many adapters its GPUs have.
            let known = families.is_empty() || machine["node.kubernetes.io/instance-type"].is_string();
            let expected = if known { json!(format!("fabric={name}")) } else { Value::Null };
            // The webhook learns of what is in the namespace by a watch.
            eventually(PATIENCE, &format!("{name} on {machine}"), || match namespace.rehearse(&pod) {
                Ok(created) if created["metadata"]["annotations"]["trainmesh.dev/applied"] == expected => Ok(()),
                Ok(created) => Err(created["metadata"].to_string()),
                Err(error) => Err(error.to_string()),
            });
        }
    }
}
