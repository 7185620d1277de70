//! Pods of every built-in profile, on every machine that a profile distinguishes, are accepted by a real apiserver.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::inspection::{pod, train};
use trainmesh_testing::cluster::{TIMEOUT, eventually, list};
use trainmesh_testing::webhook::Webhook;

/// Number of GPUs that the profiles for whole nodes require.
const GPUS: u32 = 8;

/// A machine that no profile names.
const OTHER_MACHINE: &str = "other.48xlarge";

/// A built-in profile, parsed independently of trainmesh.
struct Profile {
    name: String,
    accelerator: String,
    /// Machines that the profile names, in its patterns or with an adapter ratio of their own.
    machines: BTreeSet<String>,
    /// True if pods must select one of the machines: the adapter ratio depends on it.
    requires_machine: bool,
    /// True if pods on other machines are refused.
    is_restricted: bool,
}

impl Profile {
    fn parse(text: &str) -> Self {
        let profile: Value = serde_saphyr::from_str(text).unwrap();
        let items = |list: &Value| list.as_array().cloned().unwrap_or_default();
        let resources = items(&profile["resources"]).into_iter().chain([profile["dra"].clone()]);
        let ratios = resources.filter_map(|resource| resource["ratio"].as_object().cloned());
        let families: Vec<String> = ratios.flat_map(|ratio| ratio.into_iter().map(|(family, _)| family)).collect();
        let patterns = items(&profile["match"]["machines"]);
        let patterns = patterns.iter().map(|pattern| pattern.as_str().unwrap().replace('*', "0"));
        let sizes = families
            .iter()
            .map(|family| if family.contains('.') { family.clone() } else { format!("{family}.48xlarge") });
        Self {
            name: profile["name"].as_str().unwrap().to_owned(),
            accelerator: profile["match"]["gpuResources"][0].as_str().unwrap_or("nvidia.com/gpu").to_owned(),
            requires_machine: !families.is_empty(),
            is_restricted: !families.is_empty() || !items(&profile["match"]["machines"]).is_empty(),
            machines: sizes.chain(patterns).collect(),
        }
    }

    /// Returns true if a pod that selects `machine` gets the profile.
    fn applies_to(&self, machine: Option<&str>) -> bool {
        match machine {
            None => !self.requires_machine,
            Some(machine) => !self.is_restricted || self.machines.contains(machine),
        }
    }
}

fn profiles() -> Vec<Profile> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/fabric");
    let files = fs::read_dir(folder).unwrap();
    files.map(|entry| Profile::parse(&fs::read_to_string(entry.unwrap().path()).unwrap())).collect()
}

/// Objects that profiles expect in the namespace.
fn expected_objects() -> String {
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
    let machines: usize = profiles.iter().map(|profile| profile.machines.len()).sum();
    assert!(profiles.len() > 10 && machines > 20, "{} profiles, {machines} machines", profiles.len());
    for profile in &profiles {
        let name = &profile.name;
        let namespace = webhook.namespace(&[("trainmesh.dev/inject", "enabled"), ("trainmesh.dev/fabric", name)]);
        let _ = namespace.create(&expected_objects()).success();
        let machines = profile.machines.iter().map(|machine| Some(machine.as_str()));
        for machine in machines.chain([Some(OTHER_MACHINE), None]) {
            let mut pod = pod("train", GPUS);
            train(&mut pod)["resources"] = json!({"limits": {&profile.accelerator: GPUS}});
            if let Some(machine) = machine {
                pod["spec"]["nodeSelector"] = json!({"node.kubernetes.io/instance-type": machine});
            }
            let applied = profile.applies_to(machine);
            let expected = if applied { json!(format!("fabric={name}")) } else { Value::Null };
            // The webhook reads the namespace's objects from a watch.
            eventually(TIMEOUT, &format!("{name} on {machine:?}"), || match namespace.create_dry_run(&pod) {
                Ok(created) if created["metadata"]["annotations"]["trainmesh.dev/applied"] == expected => Ok(()),
                Ok(created) => Err(created["metadata"].to_string()),
                Err(error) => Err(error.to_string()),
            });
        }
    }
}
