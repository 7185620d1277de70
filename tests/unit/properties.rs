//! Properties of the engine over generated pods, malformed ones included.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use trainmesh_core::config::{Configuration, NativeSidecar, Traffic};
use trainmesh_core::mutate::{Outcome, RuleId, Snapshot, Verdict, mutate};
use trainmesh_core::scope::Mode;
use trainmesh_testing::marks::changes_more_than_marks;
use trainmesh_testing::snapshot::snapshot;

/// Keys that a rule reads or writes, and keys that no rule uses.
const KEYS: [&str; 19] = [
    "proxy.istio.io/config",
    "sidecar.istio.io/inject",
    "sidecar.istio.io/nativeSidecar",
    "sidecar.istio.io/status",
    "inject.istio.io/templates",
    "traffic.sidecar.istio.io/includeInboundPorts",
    "traffic.sidecar.istio.io/includeOutboundIPRanges",
    "traffic.sidecar.istio.io/excludeOutboundIPRanges",
    "trainmesh.dev/mesh-traffic",
    "trainmesh.dev/applied",
    "trainmesh.dev/refused",
    "trainmesh.dev/fabric",
    "trainmesh.dev/fabric-revision",
    "trainmesh.dev/nccl-conf",
    "trainmesh.dev/managed",
    "k8s.v1.cni.cncf.io/networks",
    "istio.io/rev",
    "kubernetes.io/config.mirror",
    "example.com/a~b/c",
];

const VALUES: [&str; 18] = [
    "",
    "true",
    "false",
    "enabled",
    "direct",
    "disableCapture",
    "disableInjection",
    "grpc-agent",
    "mesh.hold",
    "tcp",
    "ib",
    "NCCL_IB_SL=1\n",
    "concurrency: 2\n",
    "{\"concurrency\": 2}",
    "holdApplicationUntilProxyStarts: false",
    "holdApplicationUntilProxyStarts: true",
    "[1]",
    "a: b: c",
];

/// Generates arbitrary JSON, so that no rule relies on the shape of its input.
fn any_json() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z/~. ]{0,8}".prop_map(Value::from),
    ];
    scalar.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-z]{1,6}", inner), 0..4)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

fn map() -> impl Strategy<Value = Value> {
    let entry = (prop::sample::select(&KEYS[..]), prop::sample::select(&VALUES[..]));
    prop_oneof![
        8 => prop::collection::vec(entry, 0..5).prop_map(|entries| {
            Value::Object(entries.into_iter().map(|(key, value)| (key.to_owned(), value.into())).collect())
        }),
        1 => Just(Value::Null),
        1 => any_json(),
    ]
}

static CONFIG: LazyLock<Configuration> = LazyLock::new(|| Configuration::parse(PROFILES).unwrap());

/// Profiles that cover every kind of change to a pod.
const PROFILES: &str = r#"
apiVersion: config.trainmesh.dev/v1alpha1
kind: TrainmeshConfiguration
mesh: {podCIDRs: [10.244.0.0/16]}
fabric:
  profiles:
    - name: ib
      transport: ib
      env: [{name: NCCL_IB_SL, value: "1"}, {name: UCX_TLS, value: tcp, via: env}]
      resources: [{name: rdma/ib, mode: perGpu, ratio: "1/2"}, {name: rdma/a}]
      networks: {multus: {attach: [{name: nad, count: perResource}]}}
      dra: {claims: [{name: rdma, resourceClaimTemplateName: t}]}
      securityContext: {capabilities: {add: [IPC_LOCK]}}
      volumes: {shm: {}, hostPaths: [{hostPath: /a, mountPath: /b}]}
      pod: {nodeSelector: {pool: ib}, tolerations: [{key: ib, operator: Exists}], labels: {ib: a}, podAntiAffinity: hostname}
      sidecars: [{ref: sidecar, image: i}]
      mesh: {istio: excludeInterfaces, interfaces: [net1]}
      onConflict: tcp
    - name: file
      transport: roce
      delivery: {nccl: both}
      env: [{name: NCCL_IB_SL, value: "1"}]
      mesh: {istio: disableCapture}
"#;

/// Generates container fields that a fabric profile also writes to.
fn tuning() -> impl Strategy<Value = (&'static str, Value)> {
    prop_oneof![
        Just(("env", json!([{"name": "NCCL_IB_SL", "value": "2"}]))),
        Just((
            "env",
            json!([{"name": "NCCL_NET", "value": "Socket"}, {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}])
        )),
        Just(("env", Value::Null)),
        Just(("env", json!([{"name": "PET_NNODES", "value": "2"}]))),
        Just(("ports", json!([{"containerPort": 8080}, {"name": "pytorchjob-port", "containerPort": 23456}]))),
        Just(("envFrom", json!([{"configMapRef": {"name": "c"}}]))),
        Just(("volumeMounts", json!([{"name": "v", "mountPath": "/dev/shm"}, {"name": "w", "mountPath": "/etc"}]))),
        Just(("securityContext", json!({"capabilities": {"drop": ["ALL"], "add": null}, "runAsNonRoot": true}))),
        Just(("command", json!(["/usr/sbin/sshd", "-De"]))),
        any_json().prop_map(|value| ("volumeMounts", value)),
        any_json().prop_map(|value| ("securityContext", value)),
    ]
}

fn container() -> impl Strategy<Value = Value> {
    let name = prop::sample::select(&["train", "istio-proxy", "pytorch", "sidecar"][..]);
    let hook = prop::option::of(Just(json!({"postStart": {"exec": {"command": ["pilot-agent", "wait"]}}})));
    let gpus = prop::option::of(0_u64..9);
    let tuning = prop::collection::vec(tuning(), 0..3);
    (name, hook, gpus, tuning, any_json()).prop_map(|(name, hook, gpus, tuning, future)| {
        let mut container = json!({"name": name, "image": "i", "fieldOfTheFuture": future});
        if let Some(hook) = hook {
            container["lifecycle"] = hook;
        }
        if let Some(gpus) = gpus {
            container["resources"] = json!({"limits": {"nvidia.com/gpu": gpus.to_string()}});
        }
        for (field, value) in tuning {
            container[field] = value;
        }
        container
    })
}

/// Adds the labels of a `PyTorchJob`'s pod.
fn as_member(mut labels: Value) -> Value {
    if let Some(labels) = labels.as_object_mut() {
        labels.insert("training.kubeflow.org/operator-name".to_owned(), "pytorchjob-controller".into());
        labels.insert("training.kubeflow.org/job-name".to_owned(), "a".into());
    }
    labels
}

fn pod() -> impl Strategy<Value = Value> {
    let list = || prop_oneof![8 => prop::collection::vec(container(), 0..4).prop_map(Value::from), 1 => any_json()];
    let labels = prop_oneof![map(), map().prop_map(as_member)];
    (labels, map(), list(), list(), any::<bool>(), any_json()).prop_map(|(labels, annotations, inits, apps, host, future)| {
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"labels": labels, "annotations": annotations, "fieldOfTheFuture": future},
            "spec": {"initContainers": inits, "containers": apps, "hostNetwork": host, "schedulingGroup": {"podGroupName": "g"}},
        })
    })
}

#[derive(Clone, Debug)]
struct Scenario {
    mode: Mode,
    labels: BTreeMap<String, String>,
    config: Configuration,
}

/// Namespace labels.
const NAMESPACES: [&[(&str, &str)]; 4] =
    [&[("istio-injection", "enabled")], &[("istio.io/rev", "r")], &[], &[("istio-injection", "disabled")]];

fn scenario() -> impl Strategy<Value = Scenario> {
    let mode = prop::sample::select(&[Mode::Enabled, Mode::Audit, Mode::IstioAux][..]);
    let native = prop::sample::select(&[NativeSidecar::Leave, NativeSidecar::Prefer][..]);
    let traffic = prop::sample::select(
        &[Traffic::Leave, Traffic::Direct, Traffic::DisableCapture, Traffic::DisableInjection][..],
    );
    let labels = prop::sample::select(&NAMESPACES[..]);
    let fabric = prop::sample::select(&["none", "tcp", "ib", "file", "nothing"][..]);
    (mode, native, traffic, labels, fabric).prop_map(|(mode, native, traffic, labels, fabric)| {
        let mut config = CONFIG.clone();
        config.mesh.native_sidecar = native;
        config.mesh.traffic = traffic;
        let fabric = [("trainmesh.dev/fabric", fabric)];
        let labels =
            labels.iter().chain(&fabric).map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Scenario { mode, labels, config }
    })
}

fn run(scenario: &Scenario, pod: &Value) -> Outcome {
    let Scenario { mode, labels, config } = scenario;
    mutate(pod, &Snapshot { mode: *mode, ..snapshot(labels, config) })
}

/// Returns true if `after` contains everything in `before`; lists may have grown at the end.
fn contains(before: &Value, after: &Value) -> bool {
    match (before, after) {
        (Value::Null, Value::Object(_) | Value::Array(_)) => true,
        (Value::Object(old), Value::Object(new)) => {
            old.iter().all(|(key, value)| new.get(key).is_some_and(|new| contains(value, new)))
        }
        (Value::Array(old), Value::Array(new)) => {
            old.len() <= new.len() && old.iter().zip(new).all(|(old, new)| contains(old, new))
        }
        _ => before == after,
    }
}

/// Returns the pod without the two maps that mesh rules may write to.
fn without_metadata_maps(pod: &Value) -> Value {
    let mut rest = pod.clone();
    if let Some(metadata) = rest.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("labels");
        metadata.remove("annotations");
    }
    rest
}

fn entries<'a>(pod: &'a Value, map: &str) -> Option<&'a Map<String, Value>> {
    pod["metadata"][map].as_object()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_patch_applies_changes_only_planned_fields_and_is_idempotent(scenario in scenario(), pod in pod()) {
        let outcome = run(&scenario, &pod);
        let mut patched = pod.clone();
        prop_assert!(outcome.patch.apply(&mut patched).is_ok());
        let (rest, own) = (without_metadata_maps(&patched), without_metadata_maps(&pod));
        let fabric_applied = outcome.rules.iter().any(|rule| rule.rule == RuleId::Fabric && rule.outcome == Verdict::Applied);
        prop_assert!(if fabric_applied { contains(&own, &rest) } else { own == rest }, "changed a field outside the plan");
        for map in ["labels", "annotations"] {
            for (key, value) in entries(&pod, map).into_iter().flatten() {
                let unchanged = patched["metadata"][map].get(key) == Some(value);
                let managed = ["proxy.istio.io/config"].contains(&key.as_str()) || key.starts_with("trainmesh.dev/");
                let extended = ["k8s.v1.cni.cncf.io/networks", "traffic.sidecar.istio.io/excludeOutboundIPRanges"].contains(&key.as_str());
                prop_assert!(unchanged || managed || extended, "{} was overridden", key);
            }
        }
        prop_assert!(run(&scenario, &patched).patch.is_empty(), "not idempotent");
        if scenario.mode == Mode::Audit {
            prop_assert!(outcome.patch.is_empty(), "audit mode returned a patch");
        }
    }

    #[test]
    fn a_refusal_has_a_warning_and_a_change_has_an_applied_rule(scenario in scenario(), pod in pod()) {
        let outcome = run(&scenario, &pod);
        let refused = outcome.rules.iter().filter(|rule| rule.outcome == Verdict::Refused).count();
        prop_assert!(refused == 0 || !outcome.warnings.is_empty());
        let applied = outcome.rules.iter().any(|rule| rule.outcome == Verdict::Applied);
        prop_assert_eq!(applied && scenario.mode != Mode::Audit, changes_more_than_marks(&outcome.patch));
    }

    #[test]
    fn the_engine_never_panics(scenario in scenario(), value in any_json()) {
        let outcome = run(&scenario, &value);
        let mut patched = value.clone();
        prop_assert!(outcome.patch.apply(&mut patched).is_ok());
    }
}
