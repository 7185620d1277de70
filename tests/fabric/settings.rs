//! NCCL's settings, as a process in the container would read them.

use std::collections::BTreeMap;

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh::config::builtin_profiles;
use trainmesh::fabric::conf;

use crate::cluster::{Cluster, list};
use crate::trainer::{given, pod, train};
use crate::webhook::Webhook;

/// The labels of a namespace whose pods share the adapters of a node.
pub const SHARED: [(&str, &str); 2] = [("trainmesh.dev/inject", "enabled"), ("trainmesh.dev/fabric", "ib-shared")];

/// Settings of NCCL, by name.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Names(BTreeMap<String, String>);

impl Names {
    /// What a built-in profile sets.
    pub fn of_profile(name: &str) -> Self {
        let entry = builtin_profiles().find(name).expect("a built-in profile");
        Self::collect(entry.profile.env.iter().map(|setting| (setting.name.as_str(), setting.value.as_str())))
    }

    /// What an environment sets.
    pub fn of_env(env: &BTreeMap<String, String>) -> Self {
        Self::collect(env.iter().map(|(name, value)| (name.as_str(), value.as_str())))
    }

    /// What NCCL reads from its file.
    fn of_file(text: &str) -> Self {
        Self::collect(conf::read(text))
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
