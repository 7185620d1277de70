//! RBAC of the chart: no permission is missing, and none is unused.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::lifecycle::run_job;
use trainmesh_core::gang::object::GroupApi;
use trainmesh_core::workload::KINDS;
use trainmesh_testing::cluster::{AuditLog, Cluster, Namespace, TIMEOUT, eventually};
use trainmesh_testing::pods::OPTED_IN;
use trainmesh_testing::release::Release;

/// Permissions that the audit log does not show as used: component, permission, reason.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("webhook", "get namespaces *", "only for a namespace that the watch has not delivered yet"),
    ("controller", "create pods/exec *", "checked along with get by Kubernetes 1.35, which logs one verb"),
    ("controller", "create pods/portforward *", "like pods/exec"),
    ("controller", "list pods *", "since Kubernetes 1.34 the watch starts with all objects"),
    ("controller", "patch events.events.k8s.io *", "only for an event that is repeated within minutes"),
    ("controller", "list resourceclaims.resource.k8s.io *", "only for suspicious pods with claims"),
    ("controller", "list podgroups.scheduling.run.ai *", "only for suspicious pods of a gang of KAI"),
    ("controller", "list podgroups.scheduling.sigs.k8s.io *", "only for suspicious pods of a gang of Koordinator"),
];

/// Certificates are renewed during the test. A new CA is trusted 10 s before it signs.
const SHORT_LIFETIMES: &str = "certificates.caLifetime=2m,certificates.lifetime=1m";
/// Grants every permission that the chart can grant.
const PORT_FORWARD: &str = "config.termination.portForward=true";

/// Returns the permissions that the controller uses only while gangs of such jobs exist, whose resources this cluster does
/// not serve all: `cluster_gangs` uses them.
fn of_gangs() -> BTreeSet<String> {
    let groups =
        GroupApi::ALL.map(|api| (GroupApi::PLURAL, api.group(), &["list", "watch", "create", "patch", "delete"][..]));
    let kinds = KINDS.iter().filter(|kind| kind.gang.contains_sizes());
    let kinds = kinds.map(|kind| (kind.resource, kind.group, &["list", "watch"][..]));
    let resources = kinds.chain(groups);
    let of_resource = |(resource, group, verbs): (&str, &str, &'static [&str])| {
        let permissions = verbs.iter().map(move |verb| permission(verb, group, resource, "*"));
        permissions.collect::<Vec<_>>()
    };
    resources.flat_map(of_resource).collect()
}

/// Lists granted permissions, one for each verb and resource, with the resource name if restricted by name.
fn grants(release: &Release, component: &str) -> BTreeSet<String> {
    let selector = format!("app.kubernetes.io/name=trainmesh,app.kubernetes.io/component={component}");
    let found =
        release.namespace.kubectl(&["get", "roles,clusterroles", "-o", "json", "-l", &selector], "").success().object();
    let rules = found["items"].as_array().unwrap().iter().flat_map(|role| role["rules"].as_array().unwrap());
    let texts = |list: &Value| -> Vec<String> { serde_json::from_value(list.clone()).unwrap_or_default() };
    let mut grants = BTreeSet::new();
    for rule in rules {
        let names = texts(&rule["resourceNames"]);
        let names = if names.is_empty() { vec!["*".to_owned()] } else { names };
        for verb in texts(&rule["verbs"]) {
            for (group, resource) in pairs(&texts(&rule["apiGroups"]), &texts(&rule["resources"])) {
                grants.extend(names.iter().map(|name| permission(&verb, &group, &resource, name)));
            }
        }
    }
    grants
}

fn pairs(groups: &[String], resources: &[String]) -> Vec<(String, String)> {
    groups.iter().flat_map(|group| resources.iter().map(move |resource| (group.clone(), resource.clone()))).collect()
}

fn permission(verb: &str, group: &str, resource: &str, name: &str) -> String {
    let group = if group.is_empty() { String::new() } else { format!(".{group}") };
    format!("{verb} {resource}{group} {name}")
}

/// Lists the permissions that an account has used, for each request with and without the resource name.
fn used(log: &AuditLog, account: &str) -> BTreeSet<String> {
    let requests = log.started_events(account, |event| event["user"]["username"] == account);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let permissions = |event: &Value| {
        let object = &event["objectRef"];
        let resource = [text(&object["resource"]), text(&object["subresource"])];
        let resource = resource.iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join("/");
        let permission = |name: &str| permission(&text(&event["verb"]), &text(&object["apiGroup"]), &resource, name);
        [permission("*"), permission(&text(&object["name"]))]
    };
    requests.iter().flat_map(permissions).collect()
}

/// Creates a pod whose proxy has no programs in its path: it must be terminated through its port, and cannot be waited
/// for by a hold. Waits until it has succeeded.
fn terminate_proxy_without_commands(namespace: &Namespace) {
    let config = json!({"proxyMetadata": {"PATH": "/nowhere"}, "holdApplicationUntilProxyStarts": false});
    let script = "until wget -qO- http://127.0.0.1:15021/healthz/ready; do sleep 0.1; done";
    let pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "nowhere", "annotations": {"proxy.istio.io/config": config.to_string()}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "train", "image": "trainmesh.test/busybox:1",
            "imagePullPolicy": "Never", "command": ["sh", "-c", script]}]}});
    let _ = namespace.create(&pod).success();
    let succeeded = ["wait", "pod/nowhere", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=240s"];
    let _ = namespace.kubectl(&succeeded, "").success();
}

/// Creates an unschedulable pod of a job with a fabric, which makes the controller record the job's fabric.
pub fn create_fabric_job_member(namespace: &Namespace) {
    let labels = json!({"trainmesh.dev/fabric": "tcp", "training.kubeflow.org/operator-name": "mpi-operator",
        "training.kubeflow.org/job-name": "ranks", "training.kubeflow.org/replica-type": "worker"});
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "ranks-worker-0", "labels": labels},
        "spec": {"schedulerName": "nobody", "containers": [{"name": "mpi", "image": "trainmesh.test/busybox:1",
            "resources": {"limits": {"nvidia.com/gpu": 1}}}]}});
    let _ = namespace.create(&pod).success();
}

/// Creates unschedulable pods in a gang mode, whose workloads the webhook reads. Neither they nor their kinds exist.
fn create_gang_members(namespace: &Namespace) {
    let job = |group: &str, kind: &str, labels: Value| (format!("{group}/v1"), kind.to_owned(), labels);
    let mut members = vec![
        job("batch", "Job", json!({"batch.kubernetes.io/job-completion-index": "0"})),
        job("batch.volcano.sh", "Job", json!({"volcano.sh/job-name": "a"})),
        job("batch", "Job", json!({"jobset.sigs.k8s.io/jobset-name": "a", "jobset.sigs.k8s.io/jobset-uid": "u"})),
        job(
            "apps",
            "StatefulSet",
            json!({"leaderworkerset.sigs.k8s.io/name": "a", "leaderworkerset.sigs.k8s.io/group-index": "0"}),
        ),
        job("ray.io", "RayCluster", json!({"ray.io/is-ray-node": "yes", "ray.io/cluster": "a"})),
    ];
    for kind in ["JAXJob", "MPIJob", "PaddleJob", "PyTorchJob", "TFJob", "XGBoostJob"] {
        let operator = format!("{}-controller", kind.to_lowercase());
        let labels = json!({"training.kubeflow.org/operator-name": operator, "training.kubeflow.org/job-name": "a"});
        members.push(job("kubeflow.org", kind, labels));
    }
    for (index, (api_version, kind, mut labels)) in members.into_iter().enumerate() {
        labels["trainmesh.dev/gang"] = "koordinator".into();
        let owner = json!({"apiVersion": api_version, "kind": kind, "name": "a", "uid": "u", "controller": true});
        let metadata = json!({"name": format!("gang-{index}"), "labels": labels, "ownerReferences": [owner]});
        let container = json!({"name": "a", "image": "trainmesh.test/busybox:1"});
        let spec = json!({"schedulerName": "nobody", "containers": [container]});
        let _ =
            namespace.create(&json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})).success();
    }
}

#[test]
fn no_permission_is_missing_or_unused() {
    Cluster::get().start_mesh();
    let log = Cluster::get().audit_from_now();
    let release = Release::start_without_waiting(&[SHORT_LIFETIMES, PORT_FORWARD]);
    release.wait_until_ready();
    // Earlier requests may be denied: RBAC objects may be created after the pods.
    let serving = Cluster::get().audit_from_now();
    let namespace = Cluster::get().namespace(&OPTED_IN);
    run_job(&namespace, "train");
    terminate_proxy_without_commands(&namespace);
    create_fabric_job_member(&namespace);
    create_gang_members(&namespace);
    release.upgrade(&[
        SHORT_LIFETIMES,
        PORT_FORWARD,
        "webhook.timeoutSeconds=10",
        "controller.podAnnotations.round=two",
    ]);
    release.wait_until_rolled_out();

    for component in ["webhook", "controller"] {
        let account = release.account(component);
        let granted = grants(&release, component);
        let excepted = EXCEPTIONS
            .iter()
            .filter(|(name, ..)| *name == component)
            .map(|(_, permission, _)| (*permission).to_owned());
        let mut excepted: BTreeSet<String> = excepted.collect();
        if component == "controller" {
            excepted.extend(of_gangs());
        }
        let unknown: Vec<&String> = excepted.difference(&granted).collect();
        assert!(unknown.is_empty(), "{component} has no such permission: {unknown:?}");
        // A watch is logged when it starts and when it ends.
        eventually(TIMEOUT, "every permission of the chart was used", || {
            let used = used(&log, &account);
            let unused: Vec<&String> =
                granted.iter().filter(|resource| !used.contains(*resource) && !excepted.contains(*resource)).collect();
            if unused.is_empty() { Ok(()) } else { Err(format!("{component} has not used {unused:#?}")) }
        });
        let denied = serving
            .events(&account, |event| event["user"]["username"] == *account && event["responseStatus"]["code"] == 403);
        let denied: Vec<String> =
            denied.iter().map(|event| format!("{} {}", event["verb"], event["requestURI"])).collect();
        assert_eq!(denied, Vec::<String>::new(), "{component}");
    }
}
