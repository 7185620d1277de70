//! NCCL settings as a process in the container reads them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use rstest::rstest;
use serde_json::{Value, json};

use super::inspection::{inspect, pod, train};
use trainmesh_testing::cluster::{Cluster, list};
use trainmesh_testing::webhook::Webhook;

/// Labels of a namespace whose pods share the node's adapters.
pub const SHARED: [(&str, &str); 2] = [("trainmesh.dev/inject", "enabled"), ("trainmesh.dev/fabric", "ib-shared")];

/// NCCL settings by name, parsed independently of trainmesh.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Settings(BTreeMap<String, String>);

impl Settings {
    /// Reads the settings of a built-in profile.
    pub fn from_profile(name: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("config/fabric/{name}.yaml"));
        let profile: Value = serde_saphyr::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        let text = |setting: &Value, field: &str| setting[field].as_str().expect("a text").to_owned();
        let settings: Vec<_> = profile["env"]
            .as_array()
            .unwrap()
            .iter()
            .map(|variable| (text(variable, "name"), text(variable, "value")))
            .collect();
        Self::collect(settings.iter().map(|(name, value)| (name.as_str(), value.as_str())))
    }

    /// Returns the settings in an environment.
    pub fn from_env(env: &BTreeMap<String, String>) -> Self {
        Self::collect(env.iter().map(|(name, value)| (name.as_str(), value.as_str())))
    }

    /// Returns the settings in NCCL's file: lines `NAME=VALUE`, except comments (`#`).
    fn from_file(text: &str) -> Self {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        Self::collect(lines.filter_map(|line| line.split_once('=')))
    }

    fn collect<'a>(all: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let nccl = all.filter(|(name, _)| name.starts_with("NCCL_"));
        Self(nccl.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }
}

/// Containers that need the file: with `envFrom`, or with ranks that inherit no environment.
#[rstest]
#[case::env_from(|train: &mut Value| train["envFrom"] = json!([{"configMapRef": {"name": "own"}}]))]
#[case::ranks_behind_sshd(|train: &mut Value| {
    let script = format!("alias serve=/usr/sbin/sshd; {}", train["command"][2].as_str().unwrap());
    train["command"][2] = script.into();
})]
fn the_file_contains_the_profiles_settings(#[case] edit: fn(&mut Value)) {
    let (webhook, mut pod) = (webhook(), pod("train", 1));
    edit(train(&mut pod));
    let namespace = webhook.namespace(&SHARED);
    let own = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "own"}, "data": {"OWN": "1"}});
    let _ = namespace.create(&list([own, pod])).success();
    let train = inspect(&namespace, "train", "train");
    assert_eq!(Settings::from_file(&train.conf), Settings::from_profile("ib-shared"), "{:?}", train.conf);
    assert_eq!(Settings::from_env(&train.env), Settings::default(), "a variable would override the user's own");
    assert_eq!(inspect(&namespace, "train", "sidecar").conf, "");
}

#[test]
fn a_user_provided_file_is_kept() {
    const OWN: &str = "# our own\nNCCL_IB_HCA==mlx5_7\n";
    let (webhook, mut pod) = (webhook(), pod("train", 1));
    train(&mut pod)["volumeMounts"] = json!([{"name": "own", "mountPath": "/etc/nccl.conf", "subPath": "conf"}]);
    pod["spec"]["volumes"] = json!([{"name": "own", "configMap": {"name": "own"}}]);
    let namespace = webhook.namespace(&SHARED);
    let own = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "own"}, "data": {"conf": OWN}});
    let _ = namespace.create(&list([own, pod])).success();
    let train = inspect(&namespace, "train", "train");
    assert_eq!(train.conf, OWN);
    assert_eq!(Settings::from_env(&train.env), Settings::default(), "a variable would override the user's file");
    assert_eq!(train.devices("TEST_RDMA_HCA_SHARED_DEVICES_A"), 1);
    assert!(train.locks_memory());
}

fn webhook() -> Webhook {
    Cluster::get().start_devices();
    Webhook::start()
}
