//! The lines of fields in manifests of several forms.

use rstest::rstest;
use serde_json::json;

use super::super::parse::parse_objects;
use super::*;

/// Returns the object of `text`, which starts on `line`.
fn document(text: &str, line: u64, item: Option<usize>) -> Document {
    let (mut value, _, lines) = parse_tree(text, DuplicateKeys::LastWins).unwrap().into_parts();
    let mut path = Vec::new();
    let fields: &[&str] = if item.is_some() { &["items"] } else { &["request", "object"] };
    for field in fields {
        let Some(index) = value.as_object().unwrap().keys().position(|key| key == field) else { break };
        (path, value) = ([path, vec![index]].concat(), value[*field].take());
    }
    if let Some(index) = item {
        (path, value) = ([path, vec![index]].concat(), value[index].take());
    }
    let is_json = text.starts_with('{');
    let text = if is_json { DocumentText::new(text.to_owned(), line) } else { DocumentText::with_lines(lines, line) };
    let text = text.of_object(path);
    Document {
        source: "a.yaml".into(),
        document: 0,
        item,
        line,
        namespace: None,
        is_reviewed: false,
        value,
        text,
        overlay: None,
        warnings: Vec::new(),
    }
}

const JOB: &str = "kind: PyTorchJob
spec:
  pytorchReplicaSpecs:
Master:
  template:
    spec:
      containers:
      - name: a
Worker:
  template:
    spec:
      containers:
      - name: helper
      - name: a
        env:
        - {name: A, value: a}
        - name: B
          value: b
";

#[rstest]
#[case::field("Worker", "/spec/containers/0/env/2/value", 20)]
#[case::absent_field("Worker", "/spec/containers/0/env/2/valueFrom", 19)]
#[case::item("Worker", "/spec/containers/0/env/2", 19)]
#[case::flow("Worker", "/spec/containers/0/env/1/value", 18)]
#[case::added_by_the_operator("Worker", "/spec/containers/0/env/0/value", 17)]
#[case::absent_list("Worker", "/spec/containers/0/volumeMounts", 16)]
#[case::another_role("Master", "/spec/containers/0/env/2/value", 10)]
#[case::no_field("Worker", "", 12)]
#[case::metadata("Worker", "/metadata/annotations", 12)]
fn a_field_is_found_in_the_template_of_its_role(#[case] role: &str, #[case] pointer: &str, #[case] line: u64) {
    let env = json!([{"name": "RANK", "value": "0"}, {"name": "A", "value": "a"}, {"name": "B", "value": "b"}]);
    let pod = json!({"metadata": {}, "spec": {"containers": [{"name": "a", "env": env}]}});
    assert_eq!(document(JOB, 3, None).pod_field_line(role, &pod, pointer), Some(line));
}

#[rstest]
#[case::misspelled("nae: eval", json!({"nae": "eval", "image": "i", "env": [{"name": "RANK"}]}), "nae", 8)]
#[case::added_field("nae: eval", json!({"nae": "eval", "image": "i", "env": [{"name": "RANK"}]}), "env", 8)]
#[case::missing("tty: true", json!({"tty": true, "image": "i", "env": [{"name": "RANK"}]}), "image", 9)]
#[case::another_container("nae: eval", json!({"nae": "train", "image": "i"}), "nae", 5)]
#[case::container_of_the_operator("nae: eval", json!({"name": "init", "nae": "eval", "image": "i"}), "nae", 5)]
fn a_container_without_a_name_is_found_by_its_other_fields(
    #[case] first: &str,
    #[case] container: Value,
    #[case] field: &str,
    #[case] line: u64,
) {
    let text = format!(
        "spec:\n  template:\n    metadata: {{}}\n    spec:\n      containers:\n      - name: a\n        image: a\n      - {first}\n        image: i\n"
    );
    let pod = json!({"spec": {"containers": [{"name": "a", "image": "a"}, container]}});
    let pointer = format!("/spec/containers/1/{field}");
    assert_eq!(document(&text, 1, None).pod_field_line("", &pod, &pointer), Some(line));
}

#[test]
fn a_field_of_a_pod_without_a_spec_is_found() {
    let pod = json!({"metadata": {"name": "a", "foo": "b"}});
    let text = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  foo: b\n";
    assert_eq!(document(text, 1, None).pod_field_line("Pod", &pod, "/metadata/foo"), Some(5));
}

/// Containers without a name, of which one contains the fields of another.
const UNNAMED: &str = "\
spec:
  template:
    metadata: {}
    spec:
      containers:
      - image: i
      - image: i
        tty: true
      - image: i
        env: [{name: A}]
      - image: i
        env: [{name: B}]
";

#[rstest]
#[case::fewest_fields(0, json!({"image": "i", "stdin": true}), "image", 6)]
#[case::most_fields(1, json!({"image": "i", "tty": true, "stdin": true}), "tty", 8)]
#[case::same_fields(3, json!({"image": "i", "env": [{"name": "B"}], "stdin": true}), "env", 12)]
#[case::as_many_fields(3, json!({"image": "i", "env": [{"name": "B"}, {"name": "RANK"}]}), "image", 5)]
fn a_container_without_a_name_is_that_with_most_of_its_fields(
    #[case] index: usize,
    #[case] container: Value,
    #[case] field: &str,
    #[case] line: u64,
) {
    let mut containers = vec![json!({"name": "a"}); 4];
    containers[index] = container;
    let pod = json!({"spec": {"containers": containers}});
    let pointer = format!("/spec/containers/{index}/{field}");
    assert_eq!(document(UNNAMED, 1, None).pod_field_line("", &pod, &pointer), Some(line));
}

/// Two containers and two variables with the same name.
const SAME_NAMES: &str = "\
spec:
  template:
    metadata: {}
    spec:
      containers:
      - name: a
        image: i
      - name: a
        image: j
        env:
        - {name: A, value: a}
        - {name: B, value: b}
        - {name: A, value: c}
";

#[rstest]
#[case::first_container("/spec/containers/0/image", 7)]
#[case::second_container("/spec/containers/1/image", 9)]
#[case::first_variable("/spec/containers/1/env/1/value", 11)]
#[case::second_variable("/spec/containers/1/env/3/value", 13)]
fn items_with_the_same_name_are_found_by_their_position(#[case] pointer: &str, #[case] line: u64) {
    let env = json!([{"name": "RANK"}, {"name": "A", "value": "a"}, {"name": "B", "value": "b"}, {"name": "A", "value": "c"}]);
    let containers = json!([{"name": "a", "image": "i"}, {"name": "a", "image": "j", "env": env}]);
    let pod = json!({"spec": {"containers": containers}});
    assert_eq!(document(SAME_NAMES, 1, None).pod_field_line("", &pod, pointer), Some(line));
}

/// An operator that adds an item of the same name leaves the equal one as it is.
#[test]
fn of_other_items_with_the_same_name_the_equal_one_is_found() {
    let env = json!([{"name": "A", "value": "x"}, {"name": "A", "value": "a"}, {"name": "A", "value": "c"}]);
    let containers = json!([{"name": "a", "image": "i"}, {"name": "a", "image": "j", "env": env}]);
    let pod = json!({"spec": {"containers": containers}});
    assert_eq!(document(SAME_NAMES, 1, None).pod_field_line("", &pod, "/spec/containers/1/env/2/value"), Some(13));
}

#[rstest]
#[case::list("\n  - containers\n", json!(["containers"]))]
#[case::text(" abc\n", json!("abc"))]
#[case::null("\n", json!(null))]
fn the_spec_of_a_pod_may_have_another_type(#[case] spec: &str, #[case] value: Value) {
    let text = format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\nspec:{spec}");
    let pod = json!({"kind": "Pod", "metadata": {"name": "a"}, "spec": value});
    assert_eq!(document(&text, 1, None).pod_field_line("Pod", &pod, "/spec"), Some(4));
}

#[rstest]
#[case::pod("kind: Pod\nspec:\n  containers:\n  - name: a\n", None, "Pod", 4)]
#[case::list(
    "kind: List\nitems:\n- spec: {containers: []}\n- spec:\n    containers:\n    - name: a\n",
    Some(1),
    "Pod",
    6
)]
#[case::review("request:\n  object:\n    spec:\n      containers:\n      - name: a\n", None, "Pod", 5)]
#[case::json("{\"spec\": {\n\"containers\": [\n{\"name\": \"a\"}]}}", None, "Pod", 3)]
#[case::group(
    "spec:\n  headGroupSpec:\n    template: {spec: {containers: []}}\n  workerGroupSpecs:\n  - groupName: gpu\n    template:\n      spec:\n        containers:\n        - name: a\n",
    None,
    "gpu",
    9
)]
#[case::path(
    "spec:\n  a:\n  - template: {spec: {containers: []}}\n  - template:\n      spec:\n        containers:\n        - name: a\n",
    None,
    "spec.a[1].template",
    7
)]
#[case::role_that_is_the_start_of_another(
    "spec:\n  replicatedJobs:\n  - name: train-eval\n    template: {spec: {containers: []}}\n  - name: train\n    template:\n      \
     spec:\n        containers:\n        - name: a\n",
    None,
    "train",
    9
)]
#[case::role_before_another_that_starts_with_it(
    "spec:\n  replicatedJobs:\n  - name: train\n    template:\n      spec:\n        containers:\n        - name: a\n  - name: train-eval\n    \
     template: {spec: {containers: []}}\n",
    None,
    "train",
    7
)]
#[case::role_with_the_name_of_a_field(
    "spec:\n  replicatedJobs:\n  - name: a\n    template: {spec: {containers: []}}\n  - name: spec\n    template:\n      \
     spec:\n        containers:\n        - name: a\n",
    None,
    "spec",
    9
)]
#[case::start_of_a_field(
    "spec:\n  template: {spec: {containers: []}}\n  tasks:\n  - name: T\n    template:\n      spec:\n        containers:\n        - name: a\n",
    None,
    "t",
    8
)]
#[case::key_with_a_suffix(
    "spec:\n  leadTemplate: {spec: {containers: []}}\n  leaderTemplate:\n    spec:\n      containers:\n      - name: a\n",
    None,
    "leader",
    6
)]
#[case::clique(
    "spec:\n  template:\n    cliques:\n    - name: a\n    - name: b\n      spec:\n        podSpec:\n          containers:\n          - name: a\n",
    None,
    "b",
    9
)]
#[case::no_template("kind: TrainJob\nspec: {}\n", None, "node", 1)]
fn objects_are_found_in_any_document(
    #[case] text: &str,
    #[case] item: Option<usize>,
    #[case] role: &str,
    #[case] line: u64,
) {
    let pod = json!({"spec": {"containers": [{"name": "a"}]}});
    assert_eq!(document(text, 1, item).pod_field_line(role, &pod, "/spec/containers/0/image"), Some(line));
}
#[rstest]
#[case::group_of_ray(
    "spec:\n  workerGroupSpecs:\n  - groupName: w\n    labels:\n      a: b\n    template:\n      spec: {containers: []}\n",
    "w",
    "labels",
    5
)]
#[case::clique_of_grove(
    "spec:\n  template:\n    cliques:\n    - name: w\n      annotations:\n        a: b\n      spec:\n        podSpec: {containers: []}\n",
    "w",
    "annotations",
    6
)]
#[case::own_label(
    "spec:\n  workerGroupSpecs:\n  - groupName: w\n    labels: {a: b}\n    template:\n      metadata:\n        labels:\n          a: b\n      \
     spec: {containers: []}\n",
    "w",
    "labels",
    8
)]
fn labels_beside_a_template_are_found(#[case] text: &str, #[case] role: &str, #[case] map: &str, #[case] line: u64) {
    let pod = json!({"metadata": {map: {"a": "b"}}, "spec": {"containers": []}});
    let (document, pointer) = (document(text, 1, None), format!("/metadata/{map}/a"));
    assert_eq!(document.pod_field_line(role, &pod, &pointer), Some(line));
    assert_eq!(document.own_pod_field_line(role, &pod, &pointer), Some(line));
}

/// A job for a runtime with two replicated jobs.
const TRAIN_JOB: &str = "apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
spec:
  initializer:
    dataset:
      env:
      - {name: A, value: a}
  trainer:
    image: i
    env:
    - {name: A, value: a}
    - {name: B, value: b}
    resourcesPerNode:
      limits:
        nvidia.com/gpu: 8
  runtimePatches:
  - trainingRuntimeSpec:
      template:
        spec:
          replicatedJobs:
          - name: node
            template:
              spec:
                template:
                  metadata:
                    labels:
                      a: b
                  spec:
                    nodeSelector: {a: b}
                    containers:
                    - name: node
                      volumeMounts: [{name: c, mountPath: /c}]
  - trainingRuntimeSpec:
      template:
        spec:
          replicatedJobs:
          - name: node
            template:
              spec:
                template:
                  spec:
                    nodeSelector: {a: b}
";

/// Changes of a job for Kubeflow Trainer v2.1 and v2.0.
const OVERRIDES: &str = "apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
spec:
  podTemplateOverrides:
  - targetJobs: [{name: launcher}]
    metadata: {labels: {a: b}}
  - targetJobs: [{name: launcher}, {name: node}]
    metadata: {labels: {a: b}}
  podSpecOverrides:
  - targetJobs: [{name: node}]
    nodeSelector:
      a: b
";

#[rstest]
#[case::environment(TRAIN_JOB, "node", "/spec/containers/0/env/2", Some(12), 12)]
#[case::resources(TRAIN_JOB, "node", "/spec/containers/0/resources/limits/nvidia.com~1gpu", Some(15), 15)]
#[case::image(TRAIN_JOB, "node", "/spec/containers/0/image", Some(9), 9)]
#[case::label(TRAIN_JOB, "node", "/metadata/labels/a", Some(27), 27)]
#[case::the_last_patch_wins(TRAIN_JOB, "node", "/spec/nodeSelector/a", Some(42), 42)]
#[case::item_of_a_patch(TRAIN_JOB, "node", "/spec/containers/0/volumeMounts/0/mountPath", Some(32), 32)]
#[case::added_variable(TRAIN_JOB, "node", "/spec/containers/0/env/0", None, 10)]
#[case::field_of_the_runtime(TRAIN_JOB, "node", "/spec/containers/0/command/0", None, 8)]
#[case::sidecar(TRAIN_JOB, "node", "/spec/containers/1/env/0", None, 30)]
#[case::no_annotation(TRAIN_JOB, "node", "/metadata/annotations", None, 25)]
#[case::another_role(TRAIN_JOB, "launcher", "/metadata/labels/a", None, 1)]
#[case::initializer(TRAIN_JOB, "dataset-initializer", "/spec/initContainers/0/env/0", None, 1)]
#[case::overrides(OVERRIDES, "node", "/metadata/labels/a", Some(8), 8)]
#[case::overrides_of_another_role(OVERRIDES, "launcher", "/metadata/labels/a", Some(8), 8)]
#[case::overrides_of_the_spec(OVERRIDES, "node", "/spec/nodeSelector/a", Some(12), 1)]
#[case::overrides_of_an_older_version(OVERRIDES, "node", "/spec/tolerations", None, 1)]
#[case::overrides_of_the_version(&OVERRIDES.replace("podTemplateOverrides", "other"), "node", "/spec/nodeSelector/b", None, 11)]
#[case::not_overridden(OVERRIDES, "launcher", "/spec/nodeSelector/a", None, 1)]
fn fields_of_a_train_job_are_where_the_job_sets_them(
    #[case] text: &str,
    #[case] role: &str,
    #[case] pointer: &str,
    #[case] own: Option<u64>,
    #[case] closest: u64,
) {
    let env = json!([{"name": "RANK", "value": "0"}, {"name": "A", "value": "a"}, {"name": "B", "value": "b"}]);
    let limits = json!({"nvidia.com/gpu": 8});
    let mounts = json!([{"name": "c", "mountPath": "/c"}]);
    let node = json!({"name": "node", "image": "i", "command": ["c"], "env": env, "resources": {"limits": limits}, "volumeMounts": mounts});
    let containers = json!([node, {"name": "sidecar", "env": [{"name": "A", "value": "a"}]}]);
    let pod =
        json!({"metadata": {"labels": {"a": "b"}}, "spec": {"nodeSelector": {"a": "b"}, "containers": containers}});
    let document = document(text, 1, None);
    assert_eq!(document.own_pod_field_line(role, &pod, pointer), own, "own");
    assert_eq!(document.pod_field_line(role, &pod, pointer), Some(closest), "closest");
}

#[rstest]
#[case::environment("/spec/containers/0/env/0", Some(7), 7)]
#[case::image("/spec/containers/0/image", None, 5)]
fn fields_of_an_initializer_are_in_its_step(#[case] pointer: &str, #[case] own: Option<u64>, #[case] closest: u64) {
    let container = json!({"name": "dataset-initializer", "image": "i", "env": [{"name": "A", "value": "a"}]});
    let pod = json!({"spec": {"containers": [container]}});
    let document = document(TRAIN_JOB, 1, None);
    assert_eq!(document.own_pod_field_line("dataset-initializer", &pod, pointer), own, "own");
    assert_eq!(document.pod_field_line("dataset-initializer", &pod, pointer), Some(closest), "closest");
}

#[rstest]
#[case::field("metadata.name", 4)]
#[case::leading_dot(".metadata.name", 4)]
#[case::key_with_dots("metadata.labels[trainmesh.dev/inject]", 6)]
#[case::key_with_dots_without_brackets("metadata.labels.trainmesh.dev/inject", 6)]
#[case::item("spec.tasks[1].replicas", 10)]
#[case::absent_item("spec.tasks[2].replicas", 8)]
#[case::absent_field("spec.template.spec", 7)]
#[case::prefix_of_a_key("spec.task", 7)]
#[case::nothing("", 2)]
fn a_path_is_followed_as_far_as_it_exists(#[case] path: &str, #[case] line: u64) {
    let text = "kind: A\nmetadata:\n  name: a\n  labels:\n    trainmesh.dev/inject: a\nspec:\n  tasks:\n  - replicas: 1\n  - replicas: 2\n";
    assert_eq!(document(text, 2, None).path_line(path), line, "{path}");
    let list = format!("kind: List\nitems:\n- {}", text.trim_end().replace('\n', "\n  "));
    assert_eq!(document(&list, 2, Some(0)).path_line(path), line + 2, "{path}");
}

#[rstest]
#[case::duplicate("a: 1\nb: 2\na: 3\nc: 4\n", &[("a", 3), ("b", 2), ("c", 4)])]
#[case::duplicate_mapping("a: {k: 1}\nb: 2\na:\n  k: 3\nc: 4\n", &[("a.k", 4), ("b", 2), ("c", 5)])]
#[case::overridden_merge("b: &b\n  k: 1\nc:\n  <<: *b\n  k: 2\n  d: 3\n", &[("c.k", 5), ("c.d", 6)])]
#[case::overriding_merge("b: &b\n  k: 1\nc:\n  k: 2\n  <<: *b\n  d: 3\n", &[("c.k", 5), ("c.d", 6)])]
#[case::alias("a: &a\n  k: 1\nb: *a\nc: 2\n", &[("a.k", 2), ("b.k", 3), ("c", 4)])]
fn repeated_keys_and_values_have_the_line_that_counts(#[case] text: &str, #[case] expected: &[(&str, u64)]) {
    let document = document(text, 1, None);
    let found: Vec<_> = expected.iter().map(|(path, _)| (*path, document.path_line(path))).collect();
    assert_eq!(found, expected);
}

#[test]
fn objects_of_nested_lists_have_their_own_lines() {
    let text = "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: List\n  items:\n  - {apiVersion: v1, kind: A}\n  \
                - apiVersion: v1\n    kind: B\n- apiVersion: v1\n  kind: C\n";
    let objects = parse_objects(&"a.yaml".into(), 0, 1, None, Ok(text.to_owned()));
    let lines: Vec<u64> = objects.iter().map(|object| object.as_ref().unwrap().path_line("kind")).collect();
    assert_eq!(lines, [7, 9, 11]);
}

#[rstest]
#[case::escaped("/metadata/labels/trainmesh.dev~1inject", 5)]
#[case::item("/spec/0", 7)]
#[case::absent("/spec/1/a", 6)]
fn a_pointer_is_followed_as_far_as_it_exists(#[case] pointer: &str, #[case] line: u64) {
    let text = "kind: A\nmetadata:\n  labels:\n    a: b\n    trainmesh.dev/inject: a\nspec:\n- a\n";
    assert_eq!(document(text, 1, None).pointer_line(pointer), line);
}

#[test]
fn the_line_of_a_document_without_text_is_its_first() {
    let document = Document { text: DocumentText::default(), ..document("kind: A\n", 7, None) };
    assert_eq!((document.path_line("kind"), document.pointer_line("/kind")), (7, 7));
}
