//! Pods as nobody would write them: those of the examples, half of them in a fabric, with fields lost, retyped and odd.

use serde_json::{Map, Value, json};

use crate::dice::Dice;
use crate::originals::{in_fabrics, originals};
use crate::{repository, texts};

/// What the apiserver takes all annotations of an object to, keys and values together.
const ANNOTATIONS_LIMIT: usize = 256 * 1024;

/// Annotations and labels that some rule reads.
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
const VALUES: [&str; 16] = [
    "",
    "true",
    "false",
    "True",
    "enabled",
    "disabled",
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
/// What stands in the place of any other value.
const ODD: &str =
    r#"[null, true, 0, -1, 1.5, 18446744073709551615, "", "x", "*", "8", "1e3", "é/~1\n", [], {}, [null], {"": null}]"#;
/// What stands in the place of another text.
const ODD_TEXTS: [&str; 10] =
    ["", "-", "UPPER", "Always", "a.b/c", "istio-proxy", "999999999999999999999", "0.5", "é\u{1f680}", "a\nb"];

/// The corpus. Each pod depends on its number alone, so that one can be had again without the others.
pub struct Pods {
    base: Vec<Value>,
    odd: Vec<Value>,
}

impl Pods {
    pub fn new() -> Self {
        let repository = repository();
        let originals = originals(&repository.join("examples"));
        let base = in_fabrics(&originals, repository).into_iter().chain(originals).map(within_reach).collect();
        Self { base, odd: serde_json::from_str(ODD).expect("a list of values") }
    }

    /// Pod number `number`, changed in up to four ways; now and then in none.
    pub fn pod(&self, number: u64) -> Value {
        let mut dice = Dice::new(number);
        let mut pod = dice.pick(&self.base).clone();
        for _ in 0..dice.below(5) {
            self.change(&mut pod, &mut dice);
        }
        pod
    }

    fn change(&self, pod: &mut Value, dice: &mut Dice) {
        match dice.below(12) {
            0 => lose(pod, dice),
            1 => replace(pod, dice, |_| true, &self.odd),
            2 => replace(pod, dice, Value::is_string, &ODD_TEXTS.map(Value::from)),
            3..=5 => {
                let text = texts::Random(Dice::new(dice.draw())).sample(dice.draw());
                set(pod, "annotations", "proxy.istio.io/config", text);
            }
            6 | 7 => {
                let into = if dice.once_in(2) { "annotations" } else { "labels" };
                set(pod, into, dice.pick::<&str>(&KEYS), (*dice.pick(&VALUES)).to_owned());
            }
            8 => fill_annotations(pod, dice),
            9 => add_proxy(pod, dice),
            10 => double_a_container(pod, dice),
            _ => odd_setting(pod, dice),
        }
    }
}

/// `pod` without the names of objects that the test's namespaces lack, or no copy of it would come as far as webhooks.
fn within_reach(mut pod: Value) -> Value {
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

fn lose(pod: &mut Value, dice: &mut Dice) {
    let places = places(pod, |_| true);
    let Some((parent, last)) = dice.pick::<String>(&places).rsplit_once('/') else { return };
    match pod.pointer_mut(parent) {
        Some(Value::Object(fields)) => drop(fields.shift_remove(&last.replace("~1", "/").replace("~0", "~"))),
        Some(Value::Array(items)) => drop(items.remove(last.parse().expect("an index"))),
        _ => {}
    }
}

fn replace(pod: &mut Value, dice: &mut Dice, which: fn(&Value) -> bool, by: &[Value]) {
    let places = places(pod, which);
    if !places.is_empty()
        && let Some(place) = pod.pointer_mut(dice.pick::<String>(&places))
    {
        *place = dice.pick(by).clone();
    }
}

/// JSON pointers to the values below `pod` that `which` picks.
fn places(pod: &Value, which: fn(&Value) -> bool) -> Vec<String> {
    fn walk(value: &Value, at: &str, which: fn(&Value) -> bool, found: &mut Vec<String>) {
        if which(value) {
            found.push(at.to_owned());
        }
        match value {
            Value::Object(fields) => fields.iter().for_each(|(key, field)| {
                walk(field, &format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")), which, found);
            }),
            Value::Array(items) => {
                items.iter().enumerate().for_each(|(index, item)| walk(item, &format!("{at}/{index}"), which, found));
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    walk(pod, "", which, &mut found);
    found
}

/// The object at `field` of `parent`, made where there is none.
fn object<'p>(parent: &'p mut Value, field: &str) -> &'p mut Map<String, Value> {
    if !parent.is_object() {
        *parent = json!({});
    }
    let child = &mut parent[field];
    if !child.is_object() {
        *child = json!({});
    }
    child.as_object_mut().expect("made an object above")
}

fn set(pod: &mut Value, field: &str, key: &str, value: String) {
    object(pod, "metadata");
    object(&mut pod["metadata"], field).insert(key.to_owned(), value.into());
}

/// Leaves some hundred bytes, or none, below the limit.
fn fill_annotations(pod: &mut Value, dice: &mut Dice) {
    object(pod, "metadata");
    let annotations = object(&mut pod["metadata"], "annotations");
    let key = "example.com/filler";
    annotations.remove(key);
    let used: usize = annotations.iter().map(|(key, value)| key.len() + value.as_str().map_or(0, str::len)).sum();
    let left = ANNOTATIONS_LIMIT.saturating_sub(used + key.len());
    let filler = "x".repeat(left.saturating_sub(dice.below(300)));
    annotations.insert(key.to_owned(), filler.into());
}

fn containers<'p>(pod: &'p mut Value, field: &str) -> &'p mut Vec<Value> {
    object(pod, "spec");
    let list = &mut pod["spec"][field];
    if !list.is_array() {
        *list = json!([]);
    }
    list.as_array_mut().expect("made a list above")
}

fn add_proxy(pod: &mut Value, dice: &mut Dice) {
    let mut proxy = json!({"name": "istio-proxy", "image": "images.test/proxyv2:1"});
    if dice.once_in(2) {
        proxy["lifecycle"] = json!({"postStart": {"exec": {"command": ["pilot-agent", "wait"]}}});
    }
    if dice.once_in(2) {
        set(pod, "annotations", "sidecar.istio.io/status", json!({"containers": ["istio-proxy"]}).to_string());
    }
    if dice.once_in(3) {
        proxy["restartPolicy"] = "Always".into();
        containers(pod, "initContainers").insert(0, proxy);
    } else {
        let containers = containers(pod, "containers");
        let place = dice.below(containers.len() + 1);
        containers.insert(place, proxy);
    }
}

fn double_a_container(pod: &mut Value, dice: &mut Dice) {
    let containers = containers(pod, "containers");
    if let Some(mut copy) = containers.first().cloned() {
        if dice.once_in(2) && copy.is_object() {
            copy["name"] = "copy".into();
        }
        containers.push(copy);
    }
}

fn odd_setting(pod: &mut Value, dice: &mut Dice) {
    let (field, value) = dice
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
