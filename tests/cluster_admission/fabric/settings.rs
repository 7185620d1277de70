//! NCCL's settings, as a process in the container would read them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use rstest::rstest;
use serde_json::{Value, json};

use super::trainer::{given, pod, train};
use trainmesh_testing::cluster::{Cluster, list};
use trainmesh_testing::webhook::Webhook;

/// The labels of a namespace whose pods share the adapters of a node.
pub const SHARED: [(&str, &str); 2] = [("trainmesh.dev/inject", "enabled"), ("trainmesh.dev/fabric", "ib-shared")];

/// Settings of NCCL, by name; read without a part of trainmesh.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Names(BTreeMap<String, String>);

impl Names {
    /// What a built-in profile sets.
    pub fn of_profile(name: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("config/fabric/{name}.yaml"));
        let profile: Value = serde_saphyr::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        let text = |setting: &Value, field: &str| setting[field].as_str().expect("a text").to_owned();
        let settings: Vec<_> =
            profile["env"].as_array().unwrap().iter().map(|it| (text(it, "name"), text(it, "value"))).collect();
        Self::collect(settings.iter().map(|(name, value)| (name.as_str(), value.as_str())))
    }

    /// What an environment sets.
    pub fn of_env(env: &BTreeMap<String, String>) -> Self {
        Self::collect(env.iter().map(|(name, value)| (name.as_str(), value.as_str())))
    }

    /// What NCCL reads from its file: lines `NAME=VALUE`, but those that begin with a `#`.
    fn of_file(text: &str) -> Self {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        Self::collect(lines.filter_map(|line| line.split_once('=')))
    }

    fn collect<'a>(all: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let of_nccl = all.filter(|(name, _)| name.starts_with("NCCL_"));
        Self(of_nccl.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }
}

/// Of the environment, or of ranks to which no environment comes.
#[rstest]
#[case::env_from_elsewhere(|train: &mut Value| train["envFrom"] = json!([{"configMapRef": {"name": "own"}}]))]
#[case::ranks_behind_sshd(|train: &mut Value| {
    let script = format!("alias serve=/usr/sbin/sshd; {}", train["command"][2].as_str().unwrap());
    train["command"][2] = script.into();
})]
fn the_file_reads_as_the_profile(#[case] edit: fn(&mut Value)) {
    let (webhook, mut pod) = (webhook(), pod("train", 1));
    edit(train(&mut pod));
    let namespace = webhook.namespace(&SHARED);
    let own = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "own"}, "data": {"OWN": "1"}});
    let _ = namespace.create(&list([own, pod])).success();
    let train = given(&namespace, "train", "train");
    assert_eq!(Names::of_file(&train.conf), Names::of_profile("ib-shared"), "{:?}", train.conf);
    assert_eq!(Names::of_env(&train.env), Names::default(), "a variable would beat the user's own");
    assert_eq!(given(&namespace, "train", "helper").conf, "");
}

#[test]
fn a_file_of_the_users_stands() {
    const OWN: &str = "# our own\nNCCL_IB_HCA==mlx5_7\n";
    let (webhook, mut pod) = (webhook(), pod("train", 1));
    train(&mut pod)["volumeMounts"] = json!([{"name": "own", "mountPath": "/etc/nccl.conf", "subPath": "conf"}]);
    pod["spec"]["volumes"] = json!([{"name": "own", "configMap": {"name": "own"}}]);
    let namespace = webhook.namespace(&SHARED);
    let own = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "own"}, "data": {"conf": OWN}});
    let _ = namespace.create(&list([own, pod])).success();
    let train = given(&namespace, "train", "train");
    assert_eq!(train.conf, OWN);
    assert_eq!(Names::of_env(&train.env), Names::default(), "a variable would beat the user's file");
    assert_eq!(train.devices("TEST_RDMA_HCA_SHARED_DEVICES_A"), 1);
    assert!(train.locks_memory());
}

fn webhook() -> Webhook {
    Cluster::get().devices();
    Webhook::start()
}
