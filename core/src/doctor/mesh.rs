//! Checks running pods in the mesh with the lint checks about Services and start, and the Services of Ray.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{CheckFinding, Code, join_names};
use crate::cluster_facts::ClusterView;
use crate::config::LintSettings;
use crate::finding::{self, Finding, Severity};
use crate::keys;
use crate::lint::{self, LintInput, MAX_LISTENERS};
use crate::mesh_objects::{MeshObjects, MeshView};
use crate::pod::{Pod, predict_injection};
use crate::workload;

type Labels = BTreeMap<String, String>;

/// Product of listeners and proxies from which the Services of Ray are reported: 1,000 listeners in 100 proxies, which take
/// 5 GB.
const MAX_PRODUCT: u64 = 100 * MAX_LISTENERS;

/// State of the mesh.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MeshState {
    /// Services and objects of Istio.
    pub objects: MeshObjects,
    /// Pods of opted-in namespaces that have not terminated, each with its namespace.
    pub pods: Vec<(String, Value)>,
    /// Namespace and labels of all pods of Ray.
    pub ray_pods: Vec<(String, Labels)>,
    /// Number of pods with a sidecar in the cluster.
    pub proxies: u64,
}

impl MeshState {
    /// Label that selects the pods of Ray.
    pub const RAY_PODS: &str = keys::RAY_CLUSTER;
}

/// Runs the checks. The second list contains findings of the lint.
pub(super) fn check(
    state: &MeshState,
    namespaces: &BTreeMap<String, Labels>,
    settings: &LintSettings,
) -> (Vec<CheckFinding>, Vec<Finding>) {
    let found = lint_pods(state, namespaces, settings);
    let listeners = ray_listeners(state);
    let ray = (listeners.saturating_mul(state.proxies) >= MAX_PRODUCT)
        .then(|| (Code::RayListeners, format!("{listeners} listeners in each of {} proxies", state.proxies)));
    let is_clean = found.is_empty() && ray.is_none();
    let clean = is_clean.then(|| (Code::MeshPodsClean, format!("{} pods", state.pods.len())));
    (clean.into_iter().chain(ray).collect(), found)
}

/// Returns the findings about the pods: one for each check, with its messages and their pods.
fn lint_pods(state: &MeshState, namespaces: &BTreeMap<String, Labels>, settings: &LintSettings) -> Vec<Finding> {
    let no_labels = Labels::new();
    let mut checks: BTreeMap<&str, (Finding, BTreeMap<String, Vec<String>>)> = BTreeMap::new();
    for (namespace, raw) in &state.pods {
        let (pod, labels) = (Pod::new(raw), namespaces.get(namespace).unwrap_or(&no_labels));
        let mesh = MeshView { objects: Some(&state.objects), namespace };
        let input = LintInput {
            pod,
            original: pod,
            labels,
            labels_assumed: false,
            profile: None,
            profiles: None,
            cluster: ClusterView { mesh, ..ClusterView::default() },
            member: workload::identify(pod),
            role: None,
            replicas: None,
            job: None,
            workload: None,
            compute_domains: &[],
            rules: &[],
            invalid: &[],
            generic: false,
            injection: predict_injection(pod, namespace, labels),
        };
        for finding in lint::mesh_findings(&input, settings) {
            let pod = format!("{namespace}/{}", pod.name().unwrap_or_default());
            let (first, messages) = checks.entry(finding.code).or_insert_with(|| (finding.clone(), BTreeMap::new()));
            first.severity = first.severity.min(finding.severity);
            messages.entry(finding.message.into_owned()).or_default().push(pod);
        }
    }
    let merged = checks.into_values().map(|(finding, messages)| {
        let evidence = messages.into_iter().map(|(message, pods)| match &pods[..] {
            [pod] => format!("{message} ({pod})"),
            [pod, others @ ..] => format!("{message} ({pod} and {} more)", others.len()),
            [] => message,
        });
        let title = lint::find_check(finding.code).map_or("", |check| check.title);
        Finding { message: title.into(), evidence: join_names(evidence), subject: String::new(), ..finding }
    });
    let mut merged: Vec<Finding> = merged.collect();
    finding::sort(&mut merged);
    merged.retain(|finding| finding.severity != Severity::Ok);
    merged
}

/// Returns the number of listeners that the headless Services of Ray add to every proxy: one for each port and pod.
fn ray_listeners(state: &MeshState) -> u64 {
    let services = state.objects.services().filter(|service| service.is_headless && service.is_exported);
    let listeners = services.map(|service| {
        let selected =
            |(namespace, labels): &&(String, Labels)| *namespace == service.namespace && service.selects_labels(labels);
        service.port_count().saturating_mul(state.ray_pods.iter().filter(selected).count())
    });
    u64::try_from(listeners.fold(0, usize::saturating_add)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn namespaces() -> BTreeMap<String, Labels> {
        [("team-a".to_owned(), Labels::from([("istio-injection".to_owned(), "enabled".to_owned())]))].into()
    }

    fn service(name: &str, spec: &Value) -> Value {
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": "team-a", "name": name}, "spec": spec})
    }

    fn pod(name: &str, ports: &str) -> (String, Value) {
        let annotations = json!({"traffic.sidecar.istio.io/includeInboundPorts": ports});
        let metadata = json!({"name": name, "labels": {"app": "a"}, "annotations": annotations});
        ("team-a".to_owned(), json!({"metadata": metadata, "spec": {"containers": [{"name": "a"}]}}))
    }

    #[test]
    fn findings_of_pods_are_merged() {
        let mut objects = MeshObjects::default();
        assert!(objects.add(&service("web", &json!({"selector": {"app": "a"}, "ports": [{"port": 80}]})), "team-a"));
        let pods = vec![pod("a-0", "8080"), pod("a-1", "8080"), pod("a-2", "80")];
        let state = MeshState { objects, pods, ..MeshState::default() };
        let (codes, found) = check(&state, &namespaces(), &LintSettings::default());
        assert_eq!(codes, []);
        let found: Vec<(&str, &str)> = found.iter().map(|finding| (finding.code, &*finding.evidence)).collect();
        let message = "Service web: clients send mTLS to port 80, which Envoy does not capture (team-a/a-0 and 1 more)";
        assert_eq!(found, [("FP052", message)]);
    }

    fn strict() -> Value {
        json!({"apiVersion": "security.istio.io/v1", "kind": "PeerAuthentication",
            "metadata": {"namespace": "team-a", "name": "default"}, "spec": {"mtls": {"mode": "STRICT"}}})
    }

    /// Returns a pod of a `JobSet` of two pods.
    fn rank(annotations: &Value) -> Value {
        let mut annotations = annotations.clone();
        annotations["jobset.sigs.k8s.io/global-replicas"] = "2".into();
        let labels = json!({"jobset.sigs.k8s.io/jobset-name": "a", "jobset.sigs.k8s.io/replicatedjob-name": "w"});
        json!({"metadata": {"labels": labels, "annotations": annotations}, "spec": {"containers": [{"name": "a"}]}})
    }

    /// Returns an injected pod that waits before its main container starts.
    fn waiting(is_native: bool) -> Value {
        let status =
            if is_native { r#"{"initContainers":["istio-proxy"]}"# } else { r#"{"containers":["istio-proxy"]}"# };
        let (mut initial, mut main) = (vec![json!({"name": "wait-gcs-ready"})], vec![json!({"name": "ray-worker"})]);
        if is_native {
            initial.insert(0, json!({"name": "istio-proxy", "restartPolicy": "Always"}));
        } else {
            main.push(json!({"name": "istio-proxy"}));
        }
        json!({"metadata": {"annotations": {"sidecar.istio.io/status": status}},
            "spec": {"initContainers": initial, "containers": main}})
    }

    #[rstest]
    #[case::strict("FP055", rank(&json!({})), true)]
    #[case::direct("FP055", rank(&json!({"traffic.sidecar.istio.io/includeInboundPorts": ""})), false)]
    #[case::hook_in_ambient(
        "FP056",
        json!({"metadata": {"annotations": {"ambient.istio.io/redirection": "enabled"}}, "spec": {"containers": [
            {"name": "a", "lifecycle": {"postStart": {"exec": {"command": ["wait"]}}}}]}}),
        true
    )]
    #[case::hook_beside_a_sidecar(
        "FP056",
        json!({"metadata": {"annotations": {"sidecar.istio.io/status": r#"{"containers":["istio-proxy"]}"#}},
            "spec": {"containers": [{"name": "a", "lifecycle": {"postStart": {"exec": {"command": ["wait"]}}}}, {"name": "istio-proxy"}]}}),
        false
    )]
    #[case::limits("FP057", json!({"spec": {"resources": {"limits": {"cpu": "8"}}, "containers": [{"name": "a"}]}}), true)]
    #[case::requests("FP057", json!({"spec": {"resources": {"requests": {"cpu": "8"}}, "containers": [{"name": "a"}]}}), false)]
    #[case::classic("FP059", waiting(false), true)]
    #[case::native("FP059", waiting(true), false)]
    fn pods_are_checked(#[case] code: &str, #[case] pod: Value, #[case] expected: bool) {
        let mut objects = MeshObjects::default();
        assert!(objects.add(&strict(), "team-a"));
        let state = MeshState { objects, pods: vec![("team-a".to_owned(), pod)], ..MeshState::default() };
        let (codes, found) = check(&state, &namespaces(), &LintSettings::default());
        assert_eq!(found.iter().any(|finding| finding.code == code), expected, "{found:?}");
        assert_eq!(codes.is_empty(), expected, "{codes:?}");
    }

    #[rstest]
    #[case::small(10, 2, 500, None)]
    #[case::many_ports(2_500, 2, 20, Some("5000 listeners in each of 20 proxies"))]
    #[case::many_proxies(10, 2, 5_000, Some("20 listeners in each of 5000 proxies"))]
    fn listeners_of_ray_are_counted(
        #[case] ports: u16,
        #[case] pods: usize,
        #[case] proxies: u64,
        #[case] expected: Option<&str>,
    ) {
        let mut objects = MeshObjects::default();
        let ports: Vec<Value> = (1..=ports).map(|port| json!({"port": port})).collect();
        let ray = json!({"selector": {"ray.io/cluster": "a"}, "clusterIP": "None", "ports": ports});
        assert!(objects.add(&service("ray", &ray), "team-a"));
        assert!(
            objects.add(
                &service("with-cluster-ip", &json!({"selector": {"ray.io/cluster": "a"}, "ports": ports})),
                "team-a"
            )
        );
        let labels = Labels::from([("ray.io/cluster".to_owned(), "a".to_owned())]);
        let mut ray_pods = vec![("team-a".to_owned(), labels.clone()); pods];
        ray_pods.push(("team-b".to_owned(), labels));
        let state = MeshState { objects, ray_pods, proxies, ..MeshState::default() };
        let (found, _) = check(&state, &namespaces(), &LintSettings::default());
        let expected = match expected {
            Some(about) => (Code::RayListeners, about.to_owned()),
            None => (Code::MeshPodsClean, "0 pods".to_owned()),
        };
        assert_eq!(found, [expected]);
    }
}
