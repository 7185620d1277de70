//! The sparse decoder yields the same facts as the complete pod.

use fastrand::Rng;
use kube::core::{ObjectList, WatchEvent};
use serde_json::{Map, Value, json};

use super::*;
use trainmesh_core::diagnosis::WorkloadClass;
use trainmesh_core::gang::key;
use trainmesh_core::keys;
use trainmesh_core::workload;

const WORDS: [&str; 16] = [
    "",
    "a",
    "b",
    "istio-proxy",
    "Always",
    "Never",
    "OnFailure",
    "Running",
    "Succeeded",
    "True",
    "enabled",
    "disabled",
    "ambient",
    "2026-01-01T00:00:00Z",
    "0",
    "15020",
];

const ANNOTATIONS: [&str; 11] = [
    keys::APPLIED,
    keys::REFUSED,
    keys::FABRIC_REVISION,
    keys::PAYLOAD_CONTAINERS,
    keys::HELPER_CONTAINERS,
    keys::SETTLE,
    keys::SIDECAR_STATUS,
    keys::INJECT_TEMPLATES,
    keys::STATUS_PORT,
    keys::AMBIENT_REDIRECTION,
    "team",
];

/// Generates a part of a pod.
type Part = fn(&mut PodGenerator) -> Value;

/// Generates pods whose every part may be valid, absent, or of another type.
struct PodGenerator(Rng);

impl PodGenerator {
    fn once_in(&mut self, number: u32) -> bool {
        self.0.u32(..number) == 0
    }

    fn word(&mut self) -> Value {
        json!(self.0.choice(WORDS))
    }

    fn annotation(&mut self) -> Value {
        let long = || "x".repeat(5_000);
        match self.0.u32(..10) {
            0 => json!(json!({"containers": ["istio-proxy", "a"]}).to_string()),
            1 => json!(json!({"containers": vec!["istio-proxy"; 70]}).to_string()),
            2 => json!("mesh.hold,fabric=ib"),
            3 => json!("0123456789ab"),
            4 => json!(vec!["a"; 70].join(",")),
            5 => json!(format!("grpc-agent,{}", long())),
            6 => json!(format!("\u{1}é{}", long())),
            7 => json!("grpc-agent, b=daprd"),
            8 => json!("mesh.hold=ProxyConfigRefused,fabric=FabricGuarded"),
            _ => self.word(),
        }
    }

    /// Generates an object of these fields, each of which may be missing or of another type.
    fn object(&mut self, fields: &[(&str, Part)]) -> Value {
        let mut object = Map::new();
        for &(name, value) in fields {
            let variant = self.0.u32(..40);
            if variant == 0 {
                object.insert(name.to_owned(), json!([self.word(), {"name": self.word()}, null, 1]));
            } else if variant == 1 {
                object.insert(name.to_owned(), json!({"name": self.word(), "x": {"y": [1, 2]}}));
            } else if variant == 2 {
                object.insert(name.to_owned(), json!(self.0.choice([json!(null), json!(1), json!("x"), json!(true)])));
            } else if !self.once_in(6) {
                object.insert(name.to_owned(), value(self));
            }
        }
        if self.once_in(3) {
            object.insert("unknown".to_owned(), json!({"deep": [[{"name": "a"}]], "text": "\u{1}".repeat(100)}));
        }
        object.into()
    }

    fn list(&mut self, max: usize, item: fn(&mut Self) -> Value) -> Value {
        let most = if self.once_in(60) { 70 } else { max };
        let length = self.0.usize(..=most);
        (0..length).map(|_| item(self)).collect()
    }

    fn map(&mut self, keys: &[&str], value: fn(&mut Self) -> Value) -> Value {
        let mut map = Map::new();
        for key in keys {
            if self.once_in(2) {
                map.insert((*key).to_owned(), value(self));
            }
        }
        map.into()
    }

    fn pod(&mut self) -> Value {
        self.object(&[("metadata", Self::metadata), ("spec", Self::spec), ("status", Self::status)])
    }

    fn metadata(&mut self) -> Value {
        let labels: fn(&mut Self) -> Value = |random| {
            let own = [keys::INJECT, keys::MANAGED, keys::DATAPLANE_MODE, "team", keys::NOTEBOOK];
            let known = key::GROUP_LABELS.iter().chain(workload::IDENTITY_LABELS).copied();
            let keys: Vec<&str> = own.into_iter().chain(known).collect();
            random.map(&keys, Self::word)
        };
        self.object(&[
            ("namespace", Self::word),
            ("name", Self::word),
            ("uid", Self::word),
            ("creationTimestamp", Self::word),
            ("deletionTimestamp", |random| if random.once_in(3) { random.word() } else { Value::Null }),
            ("labels", labels),
            ("annotations", |random| {
                let keys: Vec<&str> = ANNOTATIONS.into_iter().chain(key::GROUP_ANNOTATIONS).collect();
                let mut annotations = random.map(&keys, Self::annotation);
                if random.once_in(3) {
                    annotations[keys::APPLIED] = json!("mesh.hold,fabric=ib");
                    annotations[keys::FABRIC_REVISION] = json!("0123456789ab");
                }
                annotations
            }),
            ("ownerReferences", |random| random.list(3, Self::owner)),
            ("managedFields", |random| json!([{"fieldsV1": {"f:spec": random.word()}}])),
        ])
    }

    fn owner(&mut self) -> Value {
        self.object(&[
            ("apiVersion", |_| json!("batch/v1")),
            ("kind", |_| json!("Job")),
            ("name", Self::word),
            ("uid", Self::word),
            ("controller", |random| json!(random.0.bool())),
        ])
    }

    fn spec(&mut self) -> Value {
        self.object(&[
            ("nodeName", Self::word),
            ("restartPolicy", Self::word),
            ("schedulerName", |random| json!(random.0.choice(["kai-scheduler", "volcano"]))),
            ("schedulingGroup", |random| random.object(&[("podGroupName", Self::word)])),
            ("hostNetwork", |random| json!(random.0.bool())),
            ("hostPID", |random| json!(random.0.bool())),
            ("shareProcessNamespace", |random| json!(random.0.bool())),
            ("containers", |random| random.list(4, Self::container)),
            ("initContainers", |random| random.list(3, Self::container)),
            ("ephemeralContainers", |random| random.list(2, |_| json!({"name": "debug"}))),
        ])
    }

    fn container(&mut self) -> Value {
        self.object(&[
            ("name", Self::word),
            ("image", Self::word),
            ("restartPolicy", Self::word),
            ("env", |random| random.list(4, Self::variable)),
            ("restartPolicyRules", |random| random.list(3, Self::rule)),
            ("resources", |random| random.object(&[("limits", Self::limits), ("requests", Self::word)])),
        ])
    }

    fn limits(&mut self) -> Value {
        self.map(&["cpu", "nvidia.com/gpu", "amd.com/gpu"], |random| json!(random.0.choice(["1", "8", "0", "x"])))
    }

    fn variable(&mut self) -> Value {
        self.object(&[
            ("name", |random| json!(random.0.choice(["PROXY_CONFIG", "DISABLE_ENVOY", "RANK"]))),
            ("value", |random| match random.0.u32(..3) {
                0 => json!("true"),
                1 => json!(json!({"statusPort": 15021, "terminationDrainDuration": "7s"}).to_string()),
                _ => random.word(),
            }),
        ])
    }

    fn rule(&mut self) -> Value {
        let action: fn(&mut Self) -> Value =
            |random| json!(random.0.choice(["Restart", "RestartAllContainers", "Else"]));
        self.object(&[
            ("action", action),
            ("exitCodes", |random| {
                random.object(&[
                    ("operator", |random| json!(random.0.choice(["In", "NotIn", "Like"]))),
                    ("values", |random| random.list(3, |random| json!(random.0.choice([0, 1, 137])))),
                ])
            }),
        ])
    }

    fn status(&mut self) -> Value {
        self.object(&[
            ("phase", Self::word),
            ("conditions", |random| random.list(3, Self::condition)),
            ("containerStatuses", Self::container_statuses),
            ("initContainerStatuses", Self::container_statuses),
        ])
    }

    fn condition(&mut self) -> Value {
        let kind: fn(&mut Self) -> Value =
            |random| json!(random.0.choice(["Ready", "AllContainersRestarting", "PodRestartInPlace"]));
        self.object(&[("type", kind), ("status", |random| json!(random.0.choice(["True", "False"])))])
    }

    /// Generates fewer statuses than the decoder's limit, as a kubelet does.
    fn container_statuses(&mut self) -> Value {
        (0..self.0.usize(..5)).map(|_| self.container_status()).collect()
    }

    fn container_status(&mut self) -> Value {
        self.object(&[
            ("name", Self::word),
            ("containerID", Self::word),
            ("restartCount", |random| json!(random.0.i64(-1..9))),
            ("state", |random| match random.0.u32(..4) {
                0 => json!({"running": {"startedAt": "2026-01-01T00:00:00Z"}}),
                1 => json!({"waiting": {"reason": random.0.choice(["CrashLoopBackOff", "PodInitializing"])}}),
                2 => json!({"running": null, "terminated": {"exitCode": random.0.i32(..200), "finishedAt": random.word()}}),
                _ => random.object(&[("terminated", Self::word), ("running", Self::word)]),
            }),
        ])
    }
}

#[test]
fn the_decoder_yields_the_same_facts_as_the_complete_pod() {
    let mut random = PodGenerator(Rng::with_seed(12));
    let (mut members, mut uses) = (0, 0);
    for _ in 0..4_000 {
        let pod = random.pod();
        let watched: WatchedPod = serde_json::from_str(&pod.to_string()).unwrap();
        let full = pod::Pod::new(&pod);
        let facts = PodFacts::read(full);
        assert_eq!(watched.facts, facts, "of {pod}");
        assert_eq!(*watched.refusals, *Refusal::read(full), "of {pod}");
        assert_eq!(watched.member.as_deref(), GangPod::read(full, &facts).as_ref(), "of {pod}");
        assert_eq!(watched.accelerators, AcceleratorUse::read(full, &facts), "of {pod}");
        members += usize::from(watched.member.is_some());
        uses += usize::from(watched.accelerators.is_some());
    }
    assert!(members > 0 && uses > 0, "some pods belong to a gang, and some use accelerators");
}

/// The class of a bare pod follows from the keys by which it joins a `PodGroup`.
#[test]
fn each_key_of_a_gang_is_decoded() {
    let class = |metadata: Value| {
        let limits = json!({"limits": {"nvidia.com/gpu": "8"}});
        let pod = json!({"metadata": metadata, "spec": {"restartPolicy": "Never", "schedulerName": "kai-scheduler",
            "containers": [{"name": "main", "resources": limits}]}});
        let watched: WatchedPod = serde_json::from_str(&pod.to_string()).unwrap();
        watched.accelerators.map(|found| found.class)
    };
    assert_eq!(class(json!({})), Some(WorkloadClass::Unknown));
    for label in key::GROUP_LABELS {
        assert_eq!(class(json!({"labels": {(label): "g"}})), Some(WorkloadClass::Training), "{label}");
    }
    for annotation in key::GROUP_ANNOTATIONS {
        assert_eq!(class(json!({"annotations": {(annotation): "g"}})), Some(WorkloadClass::Training), "{annotation}");
    }
    assert_eq!(class(json!({"labels": {(keys::NOTEBOOK): "n"}})), Some(WorkloadClass::Interactive));
}

/// A watch whose decoder fails restarts and fails again, so a field that is not read must not break it. Buffering the
/// event on the way to the decoder would fail here as well.
#[test]
fn a_field_that_is_not_read_does_not_break_the_watch() {
    let deep = format!("{}{}", r#"{"f:a":"#.repeat(10_000), "1") + &"}".repeat(10_000);
    let pod = format!(r#"{{"metadata": {{"managedFields": [{{"fieldsV1": {deep}}}], "name": "a"}}}}"#);
    let event: WatchEvent<WatchedPod> =
        serde_json::from_str(&format!(r#"{{"type": "ADDED", "object": {pod}}}"#)).unwrap();
    let WatchEvent::Added(watched) = event else { panic!("unexpected event") };
    assert_eq!(&*watched.facts.name, "a");
    let list: ObjectList<WatchedPod> =
        serde_json::from_str(&format!(r#"{{"metadata": {{}}, "items": [{pod}]}}"#)).unwrap();
    assert_eq!(&*list.items[0].facts.name, "a");
}

#[test]
fn invalid_pods_have_empty_facts() {
    for text in ["null", "[]", "1", "\"pod\"", "{}"] {
        let watched: WatchedPod = serde_json::from_str(text).unwrap();
        assert_eq!(watched.facts, PodFacts::read(pod::Pod::new(&Value::Null)), "of {text}");
    }
}
