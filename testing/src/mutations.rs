//! Malformed and unusual pods: the example pods, half of them with a fabric, and pods that Istio has injected, with fields removed,
//! retyped or replaced.

use serde_json::{Map, Value, json};

use crate::example_pods::{example_pods, with_fabrics};
use crate::istio::{RELEASES, Sidecar, injected};
use crate::rng::SeededRng;
use crate::{repository, texts};

/// Limit of the apiserver on the annotations of an object, in bytes of keys and values.
const ANNOTATIONS_LIMIT: usize = 256 * 1024;

/// Keys of annotations and labels that rules read.
const KEYS: [&str; 15] = [
    "inject.istio.io/templates",
    "istio.io/dataplane-mode",
    "istio.io/rev",
    "kubernetes.io/config.mirror",
    "proxy.istio.io/config",
    "sidecar.istio.io/inject",
    "sidecar.istio.io/nativeSidecar",
    "sidecar.istio.io/status",
    "traffic.sidecar.istio.io/includeInboundPorts",
    "traffic.sidecar.istio.io/includeOutboundIPRanges",
    "trainmesh.dev/applied",
    "trainmesh.dev/fabric",
    "trainmesh.dev/inject",
    "trainmesh.dev/mesh-traffic",
    "yunikorn.apache.org/task-group-name",
];
const VALUES: [&str; 17] = [
    "",
    "true",
    "false",
    "True",
    "enabled",
    "disabled",
    "direct",
    "disableCapture",
    "disableInjection",
    "sidecar",
    "grpc-agent",
    "ambient",
    "ib-shared",
    "none",
    "{\"containers\":[\"istio-proxy\"]}",
    "null",
    "\u{0}\u{7f}é\u{1f680}",
];
/// Replacements for any value.
const UNUSUAL_VALUES: &str =
    r#"[null, true, 0, -1, 1.5, 18446744073709551615, "", "x", "*", "8", "1e3", "é/~1\n", [], {}, [null], {"": null}]"#;
/// Replacements for strings.
const UNUSUAL_STRINGS: [&str; 10] =
    ["", "-", "UPPER", "Always", "a.b/c", "istio-proxy", "999999999999999999999", "0.5", "é\u{1f680}", "a\nb"];

/// A corpus of mutated pods. Each pod depends only on its number, so that a test can reproduce it alone.
pub struct MutatedPods {
    base: Vec<Value>,
    unusual: Vec<Value>,
}

impl MutatedPods {
    pub fn new() -> Self {
        let repository = repository();
        let pods = example_pods(&repository.join("examples"));
        let injected = RELEASES.into_iter().flat_map(|release| Sidecar::ALL.map(|sidecar| injected(release, sidecar)));
        let base = with_fabrics(&pods, repository).into_iter().chain(pods).chain(injected);
        let base = base.map(without_references).collect();
        Self { base, unusual: serde_json::from_str(UNUSUAL_VALUES).expect("a list of values") }
    }

    /// Returns pod `number`, with up to four mutations.
    pub fn pod(&self, number: u64) -> Value {
        let mut rng = SeededRng::new(number);
        let mut pod = rng.pick(&self.base).clone();
        for _ in 0..rng.below(5) {
            self.mutate(&mut pod, &mut rng);
        }
        pod
    }

    fn mutate(&self, pod: &mut Value, rng: &mut SeededRng) {
        match rng.below(12) {
            0 => remove_value(pod, rng),
            1 => replace(pod, rng, |_| true, &self.unusual),
            2 => replace(pod, rng, Value::is_string, &UNUSUAL_STRINGS.map(Value::from)),
            3..=5 => {
                let text = texts::TextGenerator(SeededRng::new(rng.next_u64())).sample(rng.next_u64());
                set(pod, "annotations", "proxy.istio.io/config", text);
            }
            6 | 7 => {
                let into = if rng.one_in(2) { "annotations" } else { "labels" };
                set(pod, into, rng.pick::<&str>(&KEYS), (*rng.pick(&VALUES)).to_owned());
            }
            8 => fill_annotations(pod, rng),
            9 => add_proxy(pod, rng),
            10 => duplicate_container(pod, rng),
            _ => set_unusual_field(pod, rng),
        }
    }
}

/// Removes references to objects that the test's namespaces lack: the apiserver would reject the pod before it calls
/// webhooks.
fn without_references(mut pod: Value) -> Value {
    if let Some(metadata) = pod["metadata"].as_object_mut() {
        metadata.remove("namespace");
    }
    if let Some(spec) = pod["spec"].as_object_mut() {
        for field in ["serviceAccountName", "serviceAccount", "priorityClassName", "runtimeClassName"] {
            spec.remove(field);
        }
    }
    pod
}

fn remove_value(pod: &mut Value, rng: &mut SeededRng) {
    let pointers = pointers(pod, |_| true);
    let Some((parent, last)) = rng.pick::<String>(&pointers).rsplit_once('/') else { return };
    match pod.pointer_mut(parent) {
        Some(Value::Object(fields)) => drop(fields.shift_remove(&last.replace("~1", "/").replace("~0", "~"))),
        Some(Value::Array(items)) => drop(items.remove(last.parse().expect("an index"))),
        _ => {}
    }
}

fn replace(pod: &mut Value, rng: &mut SeededRng, filter: fn(&Value) -> bool, replacements: &[Value]) {
    let pointers = pointers(pod, filter);
    if !pointers.is_empty()
        && let Some(value) = pod.pointer_mut(rng.pick::<String>(&pointers))
    {
        *value = rng.pick(replacements).clone();
    }
}

/// Returns JSON pointers to the values of `pod` that `filter` accepts.
fn pointers(pod: &Value, filter: fn(&Value) -> bool) -> Vec<String> {
    fn walk(value: &Value, at: &str, filter: fn(&Value) -> bool, found: &mut Vec<String>) {
        if filter(value) {
            found.push(at.to_owned());
        }
        match value {
            Value::Object(fields) => fields.iter().for_each(|(key, field)| {
                walk(field, &format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")), filter, found);
            }),
            Value::Array(items) => {
                items.iter().enumerate().for_each(|(index, item)| walk(item, &format!("{at}/{index}"), filter, found));
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    walk(pod, "", filter, &mut found);
    found
}

/// Returns the object at `field` of `parent`; replaces any other value with an empty object.
fn object<'p>(parent: &'p mut Value, field: &str) -> &'p mut Map<String, Value> {
    if !parent.is_object() {
        *parent = json!({});
    }
    let child = &mut parent[field];
    if !child.is_object() {
        *child = json!({});
    }
    child.as_object_mut().expect("an object")
}

fn set(pod: &mut Value, field: &str, key: &str, value: String) {
    object(pod, "metadata");
    object(&mut pod["metadata"], field).insert(key.to_owned(), value.into());
}

/// Fills the annotations up to the limit, or less than 300 bytes below it.
fn fill_annotations(pod: &mut Value, rng: &mut SeededRng) {
    object(pod, "metadata");
    let annotations = object(&mut pod["metadata"], "annotations");
    let key = "example.com/filler";
    annotations.remove(key);
    let used: usize = annotations.iter().map(|(key, value)| key.len() + value.as_str().map_or(0, str::len)).sum();
    let left = ANNOTATIONS_LIMIT.saturating_sub(used + key.len());
    let filler = "x".repeat(left.saturating_sub(rng.below(300)));
    annotations.insert(key.to_owned(), filler.into());
}

fn containers<'p>(pod: &'p mut Value, field: &str) -> &'p mut Vec<Value> {
    object(pod, "spec");
    let list = &mut pod["spec"][field];
    if !list.is_array() {
        *list = json!([]);
    }
    list.as_array_mut().expect("a list")
}

fn add_proxy(pod: &mut Value, rng: &mut SeededRng) {
    let mut proxy = json!({"name": "istio-proxy", "image": "images.test/proxyv2:1"});
    if rng.one_in(2) {
        proxy["lifecycle"] = json!({"postStart": {"exec": {"command": ["pilot-agent", "wait"]}}});
    }
    if rng.one_in(2) {
        set(pod, "annotations", "sidecar.istio.io/status", json!({"containers": ["istio-proxy"]}).to_string());
    }
    if rng.one_in(3) {
        proxy["restartPolicy"] = "Always".into();
        containers(pod, "initContainers").insert(0, proxy);
    } else {
        let containers = containers(pod, "containers");
        let index = rng.below(containers.len() + 1);
        containers.insert(index, proxy);
    }
}

fn duplicate_container(pod: &mut Value, rng: &mut SeededRng) {
    let containers = containers(pod, "containers");
    if let Some(mut copy) = containers.first().cloned() {
        if rng.one_in(2) && copy.is_object() {
            copy["name"] = "copy".into();
        }
        containers.push(copy);
    }
}

fn set_unusual_field(pod: &mut Value, rng: &mut SeededRng) {
    let (field, value) = rng
        .pick(&[
            ("hostNetwork", json!(true)),
            ("os", json!({"name": "windows"})),
            ("schedulingGates", json!([{"name": "example.com/wait"}])),
            ("terminationGracePeriodSeconds", json!(-1)),
            ("ephemeralContainers", json!([{"name": "debug", "image": "i"}])),
            ("containers", json!([])),
            ("fieldOfTheFuture", json!({"a": [1]})),
            ("nodeName", json!("nowhere")),
            ("overhead", json!({"cpu": "1"})),
            ("shareProcessNamespace", json!(true)),
        ])
        .clone();
    object(pod, "spec").insert(field.to_owned(), value);
}
