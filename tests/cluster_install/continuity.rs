//! Maintenance of a running installation: pods are created all the time, and none is missed.

use std::time::Instant;

use serde_json::Value;

use crate::lifecycle::wait_until_called;
use trainmesh_testing::cluster::{Cluster, KubectlOutput, TIMEOUT, eventually};
use trainmesh_testing::load::{Load, under_load, wait_for_new_pods};
use trainmesh_testing::pods::{OPTED_IN, has_hold};
use trainmesh_testing::release::Release;

/// Returns the number of failed calls of the webhook that the apiserver ignored.
fn failed_open() -> u64 {
    Cluster::get().metric("apiserver_admission_webhook_fail_open_count", ".trainmesh.dev")
}

/// Creates pods while `action` runs, and checks that every one is created and patched.
#[allow(clippy::print_stdout, reason = "results for docs/performance.md, with --nocapture")]
pub fn no_pod_is_missed(what: &str, action: impl FnOnce()) {
    let namespace = Cluster::get().namespace(&OPTED_IN);
    wait_until_called(&namespace);
    let (before, began) = (failed_open(), Instant::now());
    let Load { created, failed, durations: _ } = under_load(&namespace, || {
        wait_for_new_pods(&namespace);
        action();
        wait_for_new_pods(&namespace);
    });
    let elapsed = began.elapsed();
    assert_eq!(failed, Vec::<String>::new());
    let pods = namespace.pods("");
    let missed: Vec<&Value> = pods.iter().filter(|pod| !has_hold(pod)).map(|pod| &pod["metadata"]["name"]).collect();
    assert_eq!((pods.len(), missed), (created.len(), vec![]));
    assert_eq!(failed_open() - before, 0, "the second round may have patched what the first one missed");
    println!("{what}: {} pods created in {:.0} s, none missed", created.len(), elapsed.as_secs_f64());
}

/// With two replicas updated one after the other, the apiserver always reaches one, over open connections or new ones.
#[test]
fn an_upgrade_misses_no_pod() {
    let release = Release::start(&["webhook.podAnnotations.round=one"]);
    no_pod_is_missed("helm upgrade", || {
        release.upgrade(&["webhook.podAnnotations.round=two"]);
        release.wait_until_rolled_out();
    });
    assert!(release.pods("webhook").iter().all(|pod| pod["metadata"]["annotations"]["round"] == "two"));
}

#[test]
fn a_rolling_restart_misses_no_pod() {
    let release = Release::start(&[]);
    let before = uids(&release);
    no_pod_is_missed("rolling restart", || {
        let arguments = ["rollout", "restart", "deployment/trainmesh-webhook", "deployment/trainmesh-controller"];
        let _ = release.namespace.kubectl(&arguments, "").success();
        release.wait_until_rolled_out();
    });
    assert!(uids(&release).iter().all(|uid| !before.contains(uid)));
}

/// The cluster has only one node. Evicted pods cannot be scheduled, so the disruption budget must keep the last
/// replica; with a toleration of the cordon, pods are rescheduled as if there were another node.
#[test]
fn a_drained_node_misses_no_pod() {
    let release = Release::start(&[]);
    no_pod_is_missed("kubectl drain", || {
        {
            let drain = Drain::new(&release);
            let refused = drain.run("30s");
            assert!(!refused.status.success(), "{}", refused.stdout);
            assert!(refused.stderr.contains("would violate the pod's disruption budget"), "{}", refused.stderr);
            let ready = |component| release.pods(component).iter().filter(|pod| is_ready(pod)).count();
            eventually(TIMEOUT, "one replica of each is left", || {
                let ready = ["webhook", "controller"].map(ready);
                if ready == [1, 1] { Ok(()) } else { Err(format!("{ready:?}")) }
            });
        }
        release.wait_until_ready();

        let cordon = "tolerations[0].key=node.kubernetes.io/unschedulable";
        release.upgrade(&[&format!("webhook.{cordon}"), &format!("controller.{cordon}")]);
        release.wait_until_rolled_out();
        let before = uids(&release);
        let _ = Drain::new(&release).run("300s").success();
        release.wait_until_rolled_out();
        assert!(uids(&release).iter().all(|uid| !before.contains(uid)));
    });
}

fn uids(release: &Release) -> Vec<Value> {
    let pods = release.pods("webhook").into_iter().chain(release.pods("controller"));
    pods.map(|mut pod| pod["metadata"]["uid"].take()).collect()
}

fn is_ready(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}

/// Drains the pods of one installation from a node; uncordons it on drop.
struct Drain {
    node: String,
}

impl Drain {
    fn new(release: &Release) -> Self {
        let pods = release.pods("webhook");
        Self { node: pods[0]["spec"]["nodeName"].as_str().expect("a running pod has a node").to_owned() }
    }

    fn run(&self, timeout: &str) -> KubectlOutput {
        let (selector, timeout) = ("--pod-selector=app.kubernetes.io/name=trainmesh", format!("--timeout={timeout}"));
        Cluster::get().kubectl(&["drain", &self.node, selector, &timeout], "")
    }
}

impl Drop for Drain {
    fn drop(&mut self) {
        let _ = Cluster::get().kubectl(&["uncordon", &self.node], "");
    }
}
