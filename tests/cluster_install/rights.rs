//! The rights that the chart grants: none is missing, and none goes unused.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::life::job_completes;
use trainmesh_testing::cluster::{AuditLog, Cluster, Namespace, PATIENCE, eventually};
use trainmesh_testing::pods::SERVED;
use trainmesh_testing::release::Release;

/// Of whom, what, and why the log does not show it.
const UNSEEN: &[(&str, &str, &str)] = &[
    ("webhook", "get namespaces *", "of one that the watch has not brought yet: seldom"),
    ("controller", "create pods/exec *", "checked beside get by Kubernetes 1.35, which logs one verb"),
    ("controller", "create pods/portforward *", "the same"),
    ("controller", "list pods *", "since Kubernetes 1.34 the watch begins with all there are"),
    ("controller", "patch events.events.k8s.io *", "of one that is told again, within minutes"),
];

/// Certificates are renewed within the test.
const SHORT: &str = "certificates.caLifetime=36s,certificates.lifetime=24s";
/// Every permission that the chart can grant is granted.
const FORWARDING: &str = "config.termination.portForward=true";

/// One verb on one resource, with its name where rights are given by name.
fn grants(release: &Release, component: &str) -> BTreeSet<String> {
    let selector = format!("app.kubernetes.io/name=trainmesh,app.kubernetes.io/component={component}");
    let found =
        release.home.kubectl(&["get", "roles,clusterroles", "-o", "json", "-l", &selector], "").success().object();
    let rules = found["items"].as_array().unwrap().iter().flat_map(|role| role["rules"].as_array().unwrap());
    let texts = |list: &Value| -> Vec<String> { serde_json::from_value(list.clone()).unwrap_or_default() };
    let mut grants = BTreeSet::new();
    for rule in rules {
        let names = texts(&rule["resourceNames"]);
        let names = if names.is_empty() { vec!["*".to_owned()] } else { names };
        for verb in texts(&rule["verbs"]) {
            for (group, resource) in pairs(&texts(&rule["apiGroups"]), &texts(&rule["resources"])) {
                grants.extend(names.iter().map(|name| told(&verb, &group, &resource, name)));
            }
        }
    }
    grants
}

fn pairs(groups: &[String], resources: &[String]) -> Vec<(String, String)> {
    groups.iter().flat_map(|group| resources.iter().map(move |it| (group.clone(), it.clone()))).collect()
}

fn told(verb: &str, group: &str, resource: &str, name: &str) -> String {
    let group = if group.is_empty() { String::new() } else { format!(".{group}") };
    format!("{verb} {resource}{group} {name}")
}

/// What an account was seen to do: of each request the right by name, and the one for all names.
fn done(log: &AuditLog, account: &str) -> BTreeSet<String> {
    let requests = log.begun(account, |event| event["user"]["username"] == account);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let rights = |event: &Value| {
        let object = &event["objectRef"];
        let resource = [text(&object["resource"]), text(&object["subresource"])];
        let resource = resource.iter().filter(|it| !it.is_empty()).cloned().collect::<Vec<_>>().join("/");
        let right = |name: &str| told(&text(&event["verb"]), &text(&object["apiGroup"]), &resource, name);
        [right("*"), right(&text(&object["name"]))]
    };
    requests.iter().flat_map(rights).collect()
}

/// No program is found in it, so that it is ended through its port; nor could it be waited for.
fn proxy_without_commands_is_ended(namespace: &Namespace) {
    let config = json!({"proxyMetadata": {"PATH": "/nowhere"}, "holdApplicationUntilProxyStarts": false});
    let script = "until wget -qO- http://127.0.0.1:15021/healthz/ready; do sleep 0.1; done";
    let pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "nowhere", "annotations": {"proxy.istio.io/config": config.to_string()}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "train", "image": "trainmesh.test/busybox:1",
            "imagePullPolicy": "Never", "command": ["sh", "-c", script]}]}});
    let _ = namespace.create(&pod).success();
    let succeeded = ["wait", "pod/nowhere", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=120s"];
    let _ = namespace.kubectl(&succeeded, "").success();
}

/// Of such a job it is kept which fabric its pods have. Nothing schedules them.
fn member_of_a_job_with_a_fabric(namespace: &Namespace) {
    let labels = json!({"trainmesh.dev/fabric": "tcp", "training.kubeflow.org/operator-name": "mpi-operator",
        "training.kubeflow.org/job-name": "ranks", "training.kubeflow.org/replica-type": "worker"});
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "ranks-worker-0", "labels": labels},
        "spec": {"schedulerName": "nobody", "containers": [{"name": "mpi", "image": "trainmesh.test/busybox:1",
            "resources": {"limits": {"nvidia.com/gpu": 1}}}]}});
    let _ = namespace.create(&pod).success();
}

#[test]
fn no_verb_is_denied_and_none_goes_unused() {
    Cluster::get().mesh();
    let log = Cluster::get().audit_from_now();
    let release = Release::starting(&[SHORT, FORWARDING]);
    release.ready();
    // Before, roles and their bindings may come after the pods that they are for.
    let serving = Cluster::get().audit_from_now();
    let namespace = Cluster::get().namespace(&SERVED);
    job_completes(&namespace, "train");
    proxy_without_commands_is_ended(&namespace);
    member_of_a_job_with_a_fabric(&namespace);
    release.upgrade(&[SHORT, FORWARDING, "webhook.timeoutSeconds=3", "controller.podAnnotations.round=two"]);
    release.settled();

    for component in ["webhook", "controller"] {
        let account = release.account(component);
        let granted = grants(&release, component);
        let excepted = UNSEEN.iter().filter(|(of, ..)| *of == component).map(|(_, right, _)| (*right).to_owned());
        let excepted: BTreeSet<String> = excepted.collect();
        let strangers: Vec<&String> = excepted.difference(&granted).collect();
        assert!(strangers.is_empty(), "{component} has no such right: {strangers:?}");
        // A watch stands in the log when it has begun, and when it has ended.
        eventually(PATIENCE, "every right of the chart was used", || {
            let done = done(&log, &account);
            let unused: Vec<&String> =
                granted.iter().filter(|it| !done.contains(*it) && !excepted.contains(*it)).collect();
            if unused.is_empty() { Ok(()) } else { Err(format!("{component} has not used {unused:#?}")) }
        });
        let denied = serving
            .events(&account, |event| event["user"]["username"] == *account && event["responseStatus"]["code"] == 403);
        let denied: Vec<String> =
            denied.iter().map(|event| format!("{} {}", event["verb"], event["requestURI"])).collect();
        assert_eq!(denied, Vec::<String>::new(), "{component}");
    }
}
