//! What is done to an installation that serves: pods are created all the while, and none is missed.

use std::time::Instant;

use serde_json::Value;

use crate::life::wait_until_called;
use trainmesh_testing::cluster::{Applied, Cluster};
use trainmesh_testing::load::{Load, goes_on, under_load};
use trainmesh_testing::pods::{SERVED, held};
use trainmesh_testing::release::Release;

/// Calls of ours that the apiserver has given up, and gone on without.
fn failed_open() -> u64 {
    Cluster::get().metric("apiserver_admission_webhook_fail_open_count", ".trainmesh.dev")
}

/// Creates pods while `meanwhile` runs: every one is created, and every one patched.
#[allow(clippy::print_stdout, reason = "figures for docs/performance.md, by --nocapture")]
pub fn no_pod_is_missed(what: &str, meanwhile: impl FnOnce()) {
    let namespace = Cluster::get().namespace(&SERVED);
    wait_until_called(&namespace);
    let (before, began) = (failed_open(), Instant::now());
    let Load { created, failed, took: _ } = under_load(&namespace, || {
        goes_on(&namespace);
        meanwhile();
        goes_on(&namespace);
    });
    let elapsed = began.elapsed();
    assert_eq!(failed, Vec::<String>::new());
    let pods = namespace.pods("");
    let missed: Vec<&Value> = pods.iter().filter(|pod| !held(pod)).map(|pod| &pod["metadata"]["name"]).collect();
    assert_eq!((pods.len(), missed), (created.len(), vec![]));
    assert_eq!(failed_open() - before, 0, "the second round may have patched what the first one missed");
    println!("{what}: {} pods created in {:.0} s, none missed", created.len(), elapsed.as_secs_f64());
}

/// Two replicas, one after the other: the apiserver always finds one, over connections that it knows or new ones.
#[test]
fn an_upgrade_misses_no_pod() {
    let release = Release::started(&["webhook.podAnnotations.round=one"]);
    no_pod_is_missed("helm upgrade", || {
        release.upgrade(&["webhook.podAnnotations.round=two"]);
        release.settled();
    });
    assert!(release.pods("webhook").iter().all(|pod| pod["metadata"]["annotations"]["round"] == "two"));
}

#[test]
fn a_rolling_restart_misses_no_pod() {
    let release = Release::started(&[]);
    let before = uids(&release);
    no_pod_is_missed("rolling restart", || {
        let words = ["rollout", "restart", "deployment/trainmesh-webhook", "deployment/trainmesh-controller"];
        let _ = release.home.kubectl(&words, "").success();
        release.settled();
    });
    assert!(uids(&release).iter().all(|uid| !before.contains(uid)));
}

/// The node that is drained is the only one: what is evicted finds no place, so that the budget must keep the last
/// replica; pods that tolerate the cordon find one, as on another node.
#[test]
fn a_drained_node_misses_no_pod() {
    let release = Release::started(&[]);
    no_pod_is_missed("kubectl drain", || {
        {
            let drain = Drain::of(&release);
            let refused = drain.run("8s");
            assert!(!refused.status.success(), "{}", refused.stdout);
            assert!(refused.stderr.contains("would violate the pod's disruption budget"), "{}", refused.stderr);
            let ready = |component| release.pods(component).iter().filter(|pod| is_ready(pod)).count();
            assert_eq!([ready("webhook"), ready("controller")], [1, 1]);
        }
        release.ready();

        let cordon = "tolerations[0].key=node.kubernetes.io/unschedulable";
        release.upgrade(&[&format!("webhook.{cordon}"), &format!("controller.{cordon}")]);
        release.settled();
        let before = uids(&release);
        let _ = Drain::of(&release).run("180s").success();
        release.settled();
        assert!(uids(&release).iter().all(|uid| !before.contains(uid)));
    });
}

fn uids(release: &Release) -> Vec<Value> {
    let pods = release.pods("webhook").into_iter().chain(release.pods("controller"));
    pods.map(|mut pod| pod["metadata"]["uid"].take()).collect()
}

fn is_ready(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().any(|it| it["type"] == "Ready" && it["status"] == "True")
}

/// A node whose pods of one installation are to go; it takes pods again when this is dropped.
struct Drain {
    node: String,
}

impl Drain {
    fn of(release: &Release) -> Self {
        let pods = release.pods("webhook");
        Self { node: pods[0]["spec"]["nodeName"].as_str().expect("a pod that runs has a node").to_owned() }
    }

    fn run(&self, timeout: &str) -> Applied {
        let (selector, timeout) = ("--pod-selector=app.kubernetes.io/name=trainmesh", format!("--timeout={timeout}"));
        Cluster::get().kubectl(&["drain", &self.node, selector, &timeout], "")
    }
}

impl Drop for Drain {
    fn drop(&mut self) {
        let _ = Cluster::get().kubectl(&["uncordon", &self.node], "");
    }
}
