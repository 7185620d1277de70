//! Finds the line of a pod's field in the manifest that creates the pod.

use std::fmt::Write as _;

use serde_json::Value;

use super::reader::{OpenSource, text};
use super::{Source, Substitutions};
use crate::yaml::{DuplicateKeys, Node, Tree, parse_tree};

/// A document with the lines of its fields.
#[derive(Debug)]
pub struct LocatedDocument {
    tree: Tree,
    /// Line of the source on which it starts.
    line: u64,
}

/// A pod template of a document.
struct Template<'tree> {
    node: Node<'tree>,
    /// Path in the object, as `kubectl explain` writes it.
    path: String,
    /// Names that may be that of its role: keys and names of the mappings that contain it.
    names: Vec<&'tree str>,
}

/// Reads the documents that `wanted` selects by source and index, applies `substitutions` to their text, and passes each to
/// `visit`. Documents and sources that
/// cannot be read are passed over, because the first pass over the input reports their errors.
pub fn locate<S: Source>(
    sources: &[S],
    substitutions: &Substitutions,
    wanted: impl Fn(&str, usize) -> bool,
    mut visit: impl FnMut(&str, usize, &LocatedDocument),
) {
    for source in sources {
        let Ok(mut open) = OpenSource::new(source) else { continue };
        while let Ok(Some(raw)) = open.splitter.next() {
            if !wanted(source.name(), raw.document) {
                continue;
            }
            let tree = text(&raw, substitutions).and_then(|text| parse_tree(&text, DuplicateKeys::LastWins));
            if let Ok(tree) = tree {
                visit(source.name(), raw.document, &LocatedDocument { tree, line: raw.line });
            }
        }
    }
}

impl LocatedDocument {
    /// Returns the line of `pointer`, a field of `pod`, which the object creates for `role`. `item` is the object's index
    /// in a `List`. If the manifest does not contain the field, the line is that of the closest field around it.
    #[must_use]
    pub fn field_line(&self, item: Option<usize>, role: &str, pod: &Value, pointer: &str) -> u64 {
        let root = self.tree.root();
        let object = match item {
            Some(index) => root.get("items").and_then(|items| items.items().nth(index)),
            None => root.get("request").and_then(|request| request.get("object")),
        };
        let object = object.unwrap_or(root);
        let mut templates = Vec::new();
        collect(object, &mut String::new(), &mut Vec::new(), &mut templates);
        let by_path = templates.iter().find(|template| template.path == role);
        let by_name = || templates.iter().find(|template| template.names.iter().any(|name| is_role(name, role)));
        let of_role = by_path.or_else(by_name);
        let node = of_role.or(templates.first()).map_or(object, |template| deepest(template.node, pod, pointer));
        self.line + node.line.saturating_sub(1)
    }
}

/// Adds the pod templates in `node`, which is at `path`, to `found`.
fn collect<'tree>(node: Node<'tree>, path: &mut String, names: &mut Vec<&'tree str>, found: &mut Vec<Template<'tree>>) {
    if pod_spec(node).is_some_and(|spec| spec.get("containers").is_some()) {
        return found.push(Template { node, path: path.clone(), names: names.clone() });
    }
    let (depth, length) = (names.len(), path.len());
    names.extend(["name", "groupName"].into_iter().filter_map(|key| node.get(key)?.value.as_str()));
    for (key, entry) in node.entries() {
        names.push(key);
        path.push_str(if length > 0 { "." } else { "" });
        path.push_str(key);
        collect(entry, path, names, found);
        path.truncate(length);
        names.pop();
    }
    for (index, item) in node.items().enumerate() {
        // Writing to a string cannot fail.
        let _ = write!(path, "[{index}]");
        collect(item, path, names, found);
        path.truncate(length);
    }
    names.truncate(depth);
}

/// Returns the spec of the pod in `node`, a template; cliques of Grove contain it as `podSpec`.
fn pod_spec(node: Node<'_>) -> Option<Node<'_>> {
    node.get("podSpec").or_else(|| node.get("spec"))
}

/// Returns true if `name` is `role`, or a key such as `headGroupSpec` or `leaderTemplate` that starts with it.
fn is_role(name: &str, role: &str) -> bool {
    name.get(..role.len()).is_some_and(|start| start.eq_ignore_ascii_case(role))
}

/// Follows `pointer` from `node`, a template, and from `pod`, as far as the template contains it. Items of lists are
/// found by their name, because operators add items.
fn deepest<'tree>(mut node: Node<'tree>, mut pod: &Value, pointer: &str) -> Node<'tree> {
    for token in pointer.split('/').skip(1) {
        let key = token.replace("~1", "/").replace("~0", "~");
        let value = match pod {
            Value::Array(items) => key.parse().ok().and_then(|index: usize| items.get(index)),
            _ => pod.get(&key),
        };
        let Some(value) = value else { break };
        let next = match pod {
            Value::Array(_) => node.items().find(|item| is_same_item(item.value, value)),
            _ if key == "spec" => pod_spec(node),
            _ => node.get(&key),
        };
        let Some(next) = next else { break };
        (node, pod) = (next, value);
    }
    node
}

fn is_same_item(a: &Value, b: &Value) -> bool {
    match (a.get("name"), b.get("name")) {
        (Some(a), Some(b)) => a == b,
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> Tree {
        parse_tree(text, DuplicateKeys::LastWins).unwrap()
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
        let document = LocatedDocument { tree: read(JOB), line: 3 };
        assert_eq!(document.field_line(None, role, &pod, pointer), line);
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
        let document = LocatedDocument { tree: read(text), line: 1 };
        assert_eq!(document.field_line(item, role, &pod, "/spec/containers/0/image"), line);
    }
}
