//! Pods with an Istio proxy.

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::diagnosis::Recovery;

use super::objects::{START, ago, event, rank, with};
use super::{check, report};

const NOT_CAPTURED: &str = "traffic.sidecar.istio.io/includeOutboundIPRanges";
const INBOUND: &str = "traffic.sidecar.istio.io/includeInboundPorts";

/// Returns rank 1 with a classic proxy whose traffic is not captured. `statuses` are those of main container and proxy.
fn injected(statuses: [Value; 2]) -> Value {
    let [main, proxy] = statuses;
    let mut pod = rank(1);
    pod["spec"]["restartPolicy"] = "Never".into();
    pod["spec"]["containers"] = json!([super::objects::main_container(), {"name": "istio-proxy"}]);
    pod["status"]["containerStatuses"] =
        json!([with(json!({"name": "pytorch"}), main), with(json!({"name": "istio-proxy"}), proxy)]);
    pod["metadata"]["annotations"] =
        json!({"sidecar.istio.io/status": "{\"containers\": [\"istio-proxy\"]}", NOT_CAPTURED: ""});
    pod
}

/// Returns a pod whose proxy runs although its main container has finished.
pub fn outlived() -> Value {
    injected([terminated(0, 60), running(true, 600)])
}

fn running(ready: bool, since: i64) -> Value {
    json!({"ready": ready, "state": {"running": {"startedAt": ago(since)}}})
}

fn terminated(code: i64, seconds: i64) -> Value {
    json!({"state": {"terminated": {"exitCode": code, "startedAt": START, "finishedAt": ago(seconds)}}})
}

#[rstest]
#[case::healthy([running(true, 600), running(true, 600)], &[])]
#[case::outlives([terminated(0, 60), running(true, 600)], &["E SidecarOutlivesMain no"])]
#[case::outlives_a_failure([terminated(1, 60), running(true, 600)], &["E SidecarOutlivesMain no"])]
#[case::about_to_be_terminated([terminated(0, 59), running(true, 600)], &[])]
#[case::ended_early([running(true, 600), terminated(137, 60)], &["E ProxyEndedEarly no"])]
#[case::both_ended([terminated(0, 60), terminated(0, 60)], &[])]
#[case::not_ready([running(true, 600), running(false, 120)], &["E ProxyNotReady unknown"])]
#[case::starting([running(true, 600), running(false, 119)], &[])]
fn lifetimes(#[case] statuses: [Value; 2], #[case] expected: &[&str]) {
    check(&[injected(statuses)], expected);
}

/// Nobody looks at the log of a pod that completes as soon as its sidecar is terminated.
#[rstest]
#[case::completed(0, 60, 60, "sidecars of master-0, worker-0 run after the main containers have finished")]
#[case::failed(
    1,
    60,
    70,
    "sidecars of master-0, worker-0 run after the main containers have finished; worker-0 failed with exit code 1: read its log before the \
     pod is gone"
)]
fn the_rank_that_failed_first_is_named(
    #[case] code: i64,
    #[case] master: i64,
    #[case] worker: i64,
    #[case] message: &str,
) {
    let pod = |index: usize, seconds: i64| {
        let identity = rank(index);
        let pod = injected([terminated(code, seconds), running(true, 600)]);
        with(pod, json!({"metadata": identity["metadata"]}))
    };
    let found = report(&[pod(0, master), pod(1, worker)]).diagnoses.remove(0);
    assert_eq!((found.code.code(), &*found.finding.message), ("SidecarOutlivesMain", message));
    let shows_code = found.evidence.iter().any(|evidence| evidence.value == "exit code 1");
    assert_eq!(shows_code, code == 1);
}

/// The commands are about the pod with the label, not about the one that failed, or one with another label.
#[test]
fn the_excluded_pod_is_named_in_the_fix() {
    let pod = |index: usize, code: i64, label: Value| {
        let pod = injected([terminated(code, 60), running(true, 600)]);
        with(with(pod, json!({"metadata": rank(index)["metadata"]})), labels(label))
    };
    let managed = || json!({"trainmesh.dev/managed": "true"});
    let excluded = pod(1, 0, json!({"trainmesh.dev/inject": "disabled"}));
    let found = report(&[pod(0, 1, managed()), excluded, pod(2, 0, managed())]).diagnoses.remove(0);
    let fix = found.fix().unwrap();
    assert!(fix.contains("kubectl -n team-a label pod llama-worker-0 trainmesh.dev/inject-"), "{found:?}");
    let objects: Vec<&str> = found.evidence.iter().map(|evidence| &*evidence.object).collect();
    let pods = ["worker-0", "master-0", "master-0", "worker-1"].map(|name| format!("Pod team-a/llama-{name}"));
    assert_eq!(objects, pods);
}

fn namespace(inject: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a", "labels": {"trainmesh.dev/inject": inject}}})
}

fn labels(labels: Value) -> Value {
    json!({"metadata": {"labels": labels}})
}

#[rstest]
#[case::not_installed(json!({}), with(namespace("enabled"), json!({"metadata": {"name": "team-b"}})), "install trainmesh's controller")]
#[case::excluded(labels(json!({"trainmesh.dev/inject": "disabled"})), namespace("enabled"), "the label trainmesh.dev/inject=disabled excludes the pod")]
#[case::enabled_namespace(json!({}), namespace("enabled"), "the controller of trainmesh should have terminated it")]
#[case::managed(labels(json!({"trainmesh.dev/managed": "true"})), namespace("enabled"), "the controller of trainmesh should have terminated it")]
#[case::managed_in_an_unknown_namespace(labels(json!({"trainmesh.dev/managed": "true"})), with(namespace("enabled"), json!({"metadata": {"name": "team-b"}})), "the controller of trainmesh should have terminated it")]
#[case::managed_before(labels(json!({"trainmesh.dev/managed": "true"})), namespace("disabled"), "the controller of trainmesh terminates sidecars only in namespaces with the label")]
#[case::managed_before_audit(labels(json!({"trainmesh.dev/managed": "true"})), namespace("audit"), "the controller of trainmesh terminates sidecars only in namespaces with the label")]
#[case::without_a_label(labels(json!({"trainmesh.dev/managed": "true"})), with(namespace("audit"), json!({"metadata": {"labels": null}})), "the controller of trainmesh terminates sidecars only in namespaces with the label")]
fn fixes_for_a_sidecar(#[case] patch: Value, #[case] namespace: Value, #[case] fix: &str) {
    let found = report(&[with(outlived(), patch), namespace]).diagnoses.remove(0);
    assert!(found.finding.fix.unwrap().starts_with(fix), "{found:?}");
}

/// The controller watches pods with a proxy, and those that the webhook has labeled.
#[rstest]
#[case::missed(json!({}), "enabled", Recovery::SidecarMissed, "the controller of trainmesh does not watch the pod")]
#[case::labeled(labels(json!({"trainmesh.dev/managed": "true"})), "enabled", Recovery::SidecarRuns, "the controller of trainmesh should have terminated it")]
#[case::not_enabled(json!({}), "audit", Recovery::SidecarRuns, "the controller of trainmesh terminates sidecars only in namespaces")]
#[case::excluded(labels(json!({"trainmesh.dev/inject": "disabled"})), "enabled", Recovery::SidecarRuns, "the label trainmesh.dev/inject=disabled excludes the pod: remove it from the pod template, and from this pod with kubectl label pod POD")]
fn pods_without_a_proxy(#[case] patch: Value, #[case] inject: &str, #[case] recovery: Recovery, #[case] fix: &str) {
    let mut pod = rank(1);
    pod["spec"]["restartPolicy"] = "Never".into();
    pod["spec"]["containers"] = json!([super::objects::main_container(), {"name": "fluent-bit"}]);
    pod["status"]["containerStatuses"] = json!([
        with(json!({"name": "pytorch"}), terminated(0, 60)),
        with(json!({"name": "fluent-bit"}), running(true, 600))
    ]);
    let found = report(&[with(pod, patch), namespace(inject)]).diagnoses.remove(0);
    assert_eq!((found.code.code(), found.recovery), ("SidecarOutlivesMain", recovery));
    assert!(found.finding.fix.unwrap().starts_with(fix), "{found:?}");
}

/// Returns rank 1 with the proxy as a native sidecar.
fn native(statuses: [Value; 2]) -> Value {
    let mut pod = injected(statuses);
    let proxy = with(pod["spec"]["containers"][1].take(), json!({"restartPolicy": "Always"}));
    pod["spec"]["initContainers"] = json!([proxy]);
    pod["spec"]["containers"] = json!([super::objects::main_container()]);
    let status = pod["status"]["containerStatuses"][1].take();
    pod["status"]["initContainerStatuses"] = json!([status]);
    pod["metadata"]["annotations"]["sidecar.istio.io/status"] = "{\"initContainers\": [\"istio-proxy\"]}".into();
    pod
}

#[test]
fn the_kubelet_terminates_a_native_sidecar() {
    check(&[native([terminated(0, 600), running(true, 600)])], &[]);
}

/// The main container has not started.
fn waits() -> Value {
    json!({"ready": false, "state": {"waiting": {"reason": "PodInitializing"}}})
}

/// The proxy started `since`, after its startup probe had failed.
fn restarted(since: i64) -> Value {
    let last = json!({"terminated": {"exitCode": 137, "startedAt": ago(since + 600), "finishedAt": ago(since)}});
    with(running(false, since), json!({"restartCount": 1, "lastState": last}))
}

fn pending(mut pod: Value) -> Value {
    pod["status"]["phase"] = "Pending".into();
    pod
}

const NOT_READY: &[&str] = &["E ProxyNotReady unknown"];

#[rstest]
#[case::native(pending(native([waits(), running(false, 120)])), NOT_READY)]
#[case::native_that_starts(pending(native([waits(), running(false, 119)])), &[])]
#[case::native_that_was_restarted(pending(native([waits(), restarted(10)])), NOT_READY)]
#[case::native_whose_startup_probe_succeeded(pending(native([waits(), with(running(false, 120), json!({"started": true}))])), &["W PodNotStarting unknown"])]
#[case::native_with_running_main(native([running(true, 600), running(false, 120)]), NOT_READY)]
#[case::native_restarted_with_running_main(native([running(true, 600), restarted(10)]), &[])]
#[case::native_that_is_ready(native([running(true, 600), running(true, 600)]), &[])]
#[case::hold(pending(injected([waits(), running(false, 120)])), NOT_READY)]
#[case::image(pending(injected([json!({"state": {"waiting": {"reason": "ErrImagePull"}}}), running(false, 120)])), &["E ImagePullFails unknown"])]
fn proxies_that_are_not_ready(#[case] pod: Value, #[case] expected: &[&str]) {
    check(&[rank(0), pod], expected);
}

/// The peers of a rank without a DNS record wait until it has one. If the rank was ready, they may have met.
#[rstest]
#[case::never_ready(json!({"lastTransitionTime": START}), ", so 1 other pod of the job waits", 16 * 3600)]
#[case::was_ready(json!({"lastTransitionTime": ago(60)}), "", 0)]
fn peers_of_a_proxy(#[case] ready: Value, #[case] waits: &str, #[case] seconds: u64) {
    let mut pod = injected([running(true, 600), running(false, 120)]);
    let ready = with(json!({"type": "Ready", "status": "False"}), ready);
    pod["status"]["conditions"].as_array_mut().unwrap().push(ready);
    let found = report(&[rank(0), pod]).diagnoses.remove(0);
    assert_eq!(found.finding.message, format!("the proxy of worker-0 is not ready{waits}"));
    assert_eq!(found.waste.map_or(0, |waste| waste.accelerator_seconds), seconds);
}

#[test]
fn the_failed_probe_of_a_proxy_is_evidence() {
    let pod = pending(native([waits(), running(false, 600)]));
    let probe = event("Pod", "llama-worker-0", "Unhealthy", "Startup probe failed", 10);
    let found = report(&[rank(0), pod, probe]).diagnoses.remove(0);
    let fields: Vec<&str> = found.evidence.iter().map(|evidence| &*evidence.field).collect();
    assert_eq!(
        fields,
        [
            "status.initContainerStatuses[istio-proxy].ready",
            "Unhealthy",
            "status.containerStatuses[pytorch].state.waiting"
        ]
    );
}

/// The pod has another sidecar than the proxy.
fn with_sidecar(name: &str, annotations: Value) -> Value {
    let mut pod = injected([terminated(0, 60), terminated(0, 60)]);
    pod["spec"]["containers"].as_array_mut().unwrap().push(json!({"name": name}));
    let status = with(json!({"name": name}), running(true, 600));
    pod["status"]["containerStatuses"].as_array_mut().unwrap().push(status);
    with(pod, json!({"metadata": {"annotations": annotations}}))
}

/// Fluent Bit runs with an image.
fn with_image(image: &str) -> Value {
    let mut pod = with_sidecar("fluent-bit", json!({}));
    pod["spec"]["containers"][2]["image"] = image.into();
    pod
}

#[rstest]
#[case::port_forward(with_sidecar("vault-agent", json!({})), Recovery::SidecarBlocked, "vault-agent (needs termination.portForward: true)", "set termination.portForward: true in trainmesh's configuration, install its controller and label the namespace; some containers also need a flag, an annotation or another image: docs/termination.md#sidecar-containers")]
#[case::no_entry(with_sidecar("cache", json!({"trainmesh.dev/payload-containers": "pytorch"})), Recovery::SidecarBlocked, "cache (the catalog has no entry for it)", "trainmesh cannot terminate the container")]
#[case::unknown_entry(with_sidecar("cache", json!({"trainmesh.dev/helper-containers": "cache=x"})), Recovery::SidecarBlocked, "cache (the catalog has no entry \"x\")", "trainmesh cannot terminate the container")]
#[case::host_network(with(with_sidecar("fluent-bit", json!({})), json!({"spec": {"hostNetwork": true}})), Recovery::SidecarBlocked, "fluent-bit (trainmesh leaves pods with hostNetwork alone)", "trainmesh leaves pods with hostNetwork alone: make the container a native sidecar")]
#[case::proxy_on_the_host_network(with(outlived(), json!({"spec": {"hostNetwork": true}})), Recovery::SidecarBlocked, "istio-proxy (trainmesh leaves pods with hostNetwork alone)", "trainmesh leaves pods with hostNetwork alone")]
#[case::unknown_main_container(with(outlived(), json!({"metadata": {"annotations": {"trainmesh.dev/payload-containers": "train"}}})), Recovery::SidecarBlocked, "istio-proxy (trainmesh.dev/payload-containers does not match the pod: train)", "correct the annotation trainmesh.dev/payload-containers")]
#[case::image(
    with_image("fluent/fluent-bit:3.0"),
    Recovery::SidecarBlocked,
    "fluent-bit (its image contains no kill)",
    "trainmesh terminates the container by kill, which its image does not contain"
)]
#[case::image_with_kill(
    with_image("fluent/fluent-bit:3.0-debug"),
    Recovery::SidecarRuns,
    "fluent-bit",
    "install trainmesh's controller"
)]
#[case::signal(with_sidecar("fluent-bit", json!({})), Recovery::SidecarRuns, "fluent-bit", "install trainmesh's controller")]
fn sidecars(#[case] pod: Value, #[case] recovery: Recovery, #[case] running: &str, #[case] fix: &str) {
    let found = report(&[pod]).diagnoses.remove(0);
    assert_eq!((found.recovery, &*found.evidence[0].value), (recovery, running));
    assert!(found.finding.fix.unwrap().starts_with(fix), "{found:?}");
}

/// The annotation names one of two main containers, and the other one runs.
#[test]
fn a_main_container_that_the_annotation_misspells_has_not_finished() {
    let annotations = json!({"trainmesh.dev/payload-containers": "pytorch,evla"});
    let mut pod = with_sidecar("eval", annotations);
    pod["spec"]["containers"][2] = json!({"name": "eval"});
    check(&[pod], &["E ProxyEndedEarly no"]);
}

#[test]
fn a_container_that_is_restarted_has_not_finished() {
    let pod = with(injected([terminated(1, 600), running(true, 600)]), json!({"spec": {"restartPolicy": "OnFailure"}}));
    check(&[pod], &[]);
}

/// Requests the hold, and returns the pod after its main container has terminated with `code` once.
fn held(value: &str, has_hook: bool, code: i64) -> Value {
    let mut pod = injected([running(true, 600), running(true, 600)]);
    pod["metadata"]["annotations"]["proxy.istio.io/config"] =
        format!("holdApplicationUntilProxyStarts: {value}").into();
    let last = terminated(code, 700)["state"].clone();
    pod["status"]["containerStatuses"][0]["lastState"] = if code == 0 { json!({}) } else { last };
    if has_hook {
        let hook = json!({"postStart": {"exec": {"command": ["pilot-agent", "wait"]}}});
        let proxy = with(pod["spec"]["containers"][1].take(), json!({"lifecycle": hook}));
        pod["spec"]["containers"] = json!([proxy, super::objects::main_container()]);
    }
    pod
}

#[rstest]
#[case::not_rendered(held("true", false, 1), &["W HoldNotRendered unknown"])]
#[case::protobuf_name(with(held("true", false, 1), json!({"metadata": {"annotations": {"proxy.istio.io/config": "hold_application_until_proxy_starts: true"}}})), &["W HoldNotRendered unknown"])]
#[case::rendered(held("true", true, 1), &[])]
#[case::not_requested(held("false", false, 1), &[])]
#[case::no_crash(held("true", false, 0), &[])]
fn holds(#[case] pod: Value, #[case] expected: &[&str]) {
    check(&[pod], expected);
}

/// Removes the annotation that excludes traffic, and states the number of peers.
fn captured(nodes: &str) -> Value {
    let mut pod = injected([running(true, 600), running(true, 600)]);
    pod["metadata"]["annotations"].as_object_mut().unwrap().remove(NOT_CAPTURED);
    pod["metadata"]["labels"]["training.kubeflow.org/replica-index"] = "0".into();
    pod["spec"]["containers"][0]["env"] = json!([{"name": "PET_NNODES", "value": nodes}]);
    pod
}

/// Excludes ports and addresses, and states the port of the process group.
fn excluding(ports: &str, ranges: &str) -> Value {
    let annotations = json!({"traffic.sidecar.istio.io/excludeOutboundPorts": ports,
        "traffic.sidecar.istio.io/excludeOutboundIPRanges": ranges});
    let mut pod = with(captured("2"), json!({"metadata": {"annotations": annotations}}));
    let port = json!({"name": "MASTER_PORT", "value": "23456"});
    pod["spec"]["containers"][0]["env"].as_array_mut().unwrap().push(port);
    pod
}

#[rstest]
#[case::peers(captured("2"), &["W TrafficCaptured no"])]
#[case::alone(captured("1"), &[])]
#[case::annotated(with(captured("2"), json!({"metadata": {"annotations": {NOT_CAPTURED: "10.0.0.0/8"}}})), &[])]
#[case::other_port_excluded(excluding("3306", "169.254.169.254/32"), &["W TrafficCaptured no"])]
#[case::port_of_the_group_excluded(excluding("3306, 23456", "169.254.169.254/32"), &[])]
#[case::other_range_excluded(excluding("3306", "10.0.0.0/8"), &[])]
#[case::invalid_port(excluding("*", "169.254.169.254/32"), &[])]
#[case::unknown_port(with(captured("2"), json!({"metadata": {"annotations": {"traffic.sidecar.istio.io/excludeOutboundPorts": "3306"}}})), &[])]
#[case::no_proxy(with(captured("2"), json!({"metadata": {"annotations": {"sidecar.istio.io/status": null}}})), &[])]
fn captured_traffic(#[case] pod: Value, #[case] expected: &[&str]) {
    check(&[pod], expected);
}

/// The evidence does not claim that an annotation of the pod is missing.
#[rstest]
#[case::unset(json!({}), NOT_CAPTURED, "not set")]
#[case::outbound(json!({NOT_CAPTURED: "*"}), NOT_CAPTURED, "*")]
#[case::inbound(json!({NOT_CAPTURED: "", INBOUND: "*"}), INBOUND, "*")]
fn the_annotation_that_captures_is_evidence(#[case] annotations: Value, #[case] key: &str, #[case] value: &str) {
    let pod = with(captured("2"), json!({"metadata": {"annotations": annotations}}));
    let found = report(&[pod]).diagnoses.remove(0);
    let evidence = found.evidence.last().unwrap();
    assert_eq!((&*evidence.field, &*evidence.value), (&*format!("metadata.annotations[{key}]"), value));
}

/// The label of a pod that was refused is there: only the reason needs an action.
#[rstest]
#[case::no_label("gang=GangNotPossible", None, "label the namespace")]
#[case::no_ranges("mesh.traffic=PodCidrsMissing", Some("mesh.podCIDRs is not configured"), "set mesh.podCIDRs")]
#[case::another_reason(
    "mesh.hold=ProxyConfigRefused,mesh.traffic=TooManyPorts",
    Some("the pod declares more ports than trainmesh lists"),
    "correct what the reason names"
)]
fn refused_traffic(#[case] refused: &str, #[case] cause: Option<&str>, #[case] fix: &str) {
    let pod = with(captured("2"), json!({"metadata": {"annotations": {"trainmesh.dev/refused": refused}}}));
    let found = report(&[pod]).diagnoses.remove(0);
    let cause = cause.map(|cause| format!(": trainmesh refused to exclude it, because {cause}")).unwrap_or_default();
    assert_eq!(found.finding.message, format!("all traffic of worker-0 passes through Envoy{cause}"));
    assert!(found.finding.fix.unwrap().starts_with(fix), "{found:?}");
    let value = refused.rsplit(',').next().unwrap();
    let is_quoted = found.evidence.iter().any(|evidence| evidence.value == value);
    assert_eq!(is_quoted, !cause.is_empty(), "{found:?}");
}

/// The traffic of a rank that has finished matters no more.
#[rstest]
#[case::finished(captured("2"), 0, "Never", &["E SidecarOutlivesMain no"])]
#[case::failed(captured("2"), 1, "Never", &["E SidecarOutlivesMain no"])]
#[case::restarts(captured("2"), 1, "OnFailure", &["W TrafficCaptured no"])]
fn finished_ranks(#[case] mut pod: Value, #[case] code: i64, #[case] policy: &str, #[case] expected: &[&str]) {
    pod["spec"]["restartPolicy"] = policy.into();
    let status = pod["status"]["containerStatuses"][0].take();
    pod["status"]["containerStatuses"][0] = with(status, json!({"ready": false, "state": null}));
    let status = pod["status"]["containerStatuses"][0].take();
    pod["status"]["containerStatuses"][0] = with(status, terminated(code, 600));
    check(&[pod], expected);
}

#[rstest]
#[case::pods(vec![rank(0)], &["W TrafficCaptured no"])]
#[case::replicas(vec![workload(json!({}))], &["E RankMissing unknown", "W TrafficCaptured no"])]
#[case::one_replica(vec![workload(json!({"spec": {"pytorchReplicaSpecs": {"Master": null}}}))], &[])]
fn peers_are_counted(#[case] others: Vec<Value>, #[case] expected: &[&str]) {
    let pod = with(
        captured("1"),
        json!({"spec": {"containers": [super::objects::main_container(), {"name": "istio-proxy"}]}}),
    );
    check(&[vec![pod], others].concat(), expected);
}

/// Returns a pod of a kind whose roles may be independent, with an index and without other fields that show peers.
fn indexed(kind: &str, role: &str, index: u64) -> Value {
    let labels = match kind {
        "JobSet" => {
            json!({"jobset.sigs.k8s.io/jobset-name": "llama", "jobset.sigs.k8s.io/replicatedjob-name": role, "jobset.sigs.k8s.io/replicatedjob-replicas": "1",
            "batch.kubernetes.io/job-completion-index": index.to_string()})
        }
        "Job" => {
            json!({"batch.kubernetes.io/job-name": "llama", "batch.kubernetes.io/job-completion-index": index.to_string()})
        }
        _ => {
            json!({"volcano.sh/job-name": "llama", "volcano.sh/task-spec": role, "volcano.sh/task-index": index.to_string()})
        }
    };
    let mut pod = captured("1");
    let name = format!("llama-{role}-{index}");
    pod["metadata"]["name"] = name.as_str().into();
    pod["metadata"]["uid"] = name.into();
    pod["metadata"]["labels"] = labels.clone();
    pod["metadata"]["annotations"] = with(pod["metadata"]["annotations"].take(), labels);
    pod["metadata"]["ownerReferences"] = json!(null);
    pod["spec"]["containers"][0]["env"] = json!(null);
    pod
}

/// Returns an Indexed Job of one pod at a time, or of `parallelism`.
fn indexed_job(parallelism: u64) -> Value {
    let template = json!({"spec": {"containers": [super::objects::main_container()]}});
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"namespace": "team-a", "name": "llama"},
        "spec": {"completions": 4, "parallelism": parallelism, "completionMode": "Indexed", "template": template}})
}

/// Excludes the traffic, so that only the other pods are affected.
fn excluded(pod: Value) -> Value {
    with(pod, json!({"metadata": {"annotations": {NOT_CAPTURED: ""}}}))
}

const CAPTURED: &[&str] = &["W TrafficCaptured no"];

#[rstest]
#[case::jobset(vec![indexed("JobSet", "worker", 0), excluded(indexed("JobSet", "worker", 1))], CAPTURED)]
#[case::volcano(vec![indexed("Volcano", "worker", 0), excluded(indexed("Volcano", "worker", 1))], CAPTURED)]
#[case::job(vec![indexed("Job", "worker", 0), excluded(indexed("Job", "worker", 1))], CAPTURED)]
#[case::parallelism(vec![indexed("Job", "worker", 0), indexed_job(2)], CAPTURED)]
#[case::one_at_a_time(vec![indexed("Job", "worker", 0), indexed_job(1)], &[])]
#[case::alone(vec![indexed("JobSet", "worker", 0)], &[])]
#[case::independent_roles(vec![indexed("JobSet", "driver", 0), excluded(indexed("JobSet", "worker", 0)), excluded(indexed("JobSet", "worker", 1))], &[])]
fn the_first_pod_has_peers(#[case] objects: Vec<Value>, #[case] expected: &[&str]) {
    check(&objects, expected);
}

/// Returns a policy of `namespace`.
fn policy(namespace: &str, mode: &str, selector: Value) -> Value {
    json!({"apiVersion": "security.istio.io/v1", "kind": "PeerAuthentication", "metadata": {"namespace": namespace, "name": "default"},
        "spec": {"mtls": {"mode": mode}, "selector": selector}})
}

#[rstest]
#[case::namespace(vec![policy("team-a", "STRICT", json!(null))], &["E PlaintextRejected no"])]
#[case::mesh(vec![policy("istio-system", "STRICT", json!(null))], &["E PlaintextRejected no"])]
#[case::namespace_replaces_mesh(vec![policy("istio-system", "STRICT", json!(null)), policy("team-a", "PERMISSIVE", json!(null))], &["W TrafficCaptured no"])]
#[case::unset_inherits(vec![policy("istio-system", "STRICT", json!(null)), policy("team-a", "UNSET", json!(null))], &["E PlaintextRejected no"])]
#[case::another_namespace(vec![policy("team-b", "STRICT", json!(null))], &["W TrafficCaptured no"])]
#[case::some_pods(vec![policy("team-a", "STRICT", json!({"matchLabels": {"app": "x"}}))], &["W TrafficCaptured no"])]
fn mutual_tls(#[case] policies: Vec<Value>, #[case] expected: &[&str]) {
    check(&[vec![captured("2")], policies].concat(), expected);
}

/// Peers reject the plaintext of pods that exclude only their outbound traffic.
#[rstest]
#[case::strict(json!({NOT_CAPTURED: ""}), "STRICT", &["E PlaintextRejected no"])]
#[case::permissive(json!({NOT_CAPTURED: ""}), "PERMISSIVE", &[])]
#[case::both_directions(json!({NOT_CAPTURED: "", INBOUND: ""}), "STRICT", &[])]
#[case::some_ports(json!({NOT_CAPTURED: "", INBOUND: "8080"}), "STRICT", &[])]
#[case::some_ranges(json!({NOT_CAPTURED: "10.0.0.0/8"}), "STRICT", &[])]
#[case::no_interception(json!({NOT_CAPTURED: "", "sidecar.istio.io/interceptionMode": "NONE"}), "STRICT", &[])]
fn half_of_the_traffic_is_captured(#[case] annotations: Value, #[case] mode: &str, #[case] expected: &[&str]) {
    let pod = with(captured("2"), json!({"metadata": {"annotations": annotations}}));
    check(&[pod, policy("team-a", mode, json!(null))], expected);
}

/// A rank that fails behind the policy is its consequence.
#[test]
fn a_crash_behind_mutual_tls_comes_second() {
    let last = json!({"terminated": {"exitCode": 1, "finishedAt": ago(600)}});
    let state = json!({"waiting": {"reason": "CrashLoopBackOff"}});
    let mut pod = captured("2");
    pod["status"]["containerStatuses"][0] =
        json!({"name": "pytorch", "restartCount": 9, "lastState": last, "state": state});
    pod["spec"]["restartPolicy"] = "OnFailure".into();
    let strict = policy("team-a", "STRICT", json!(null));
    check(&[pod, strict], &["E PlaintextRejected no", "W CrashLoop unknown"]);
}

/// Returns the job with a key on itself.
fn workload(patch: Value) -> Value {
    with(super::objects::pytorchjob(1), patch)
}

#[rstest]
#[case::label(workload(json!({"metadata": {"labels": {"sidecar.istio.io/inject": "false"}}})), &["W InjectionKeyOnWorkload no"])]
#[case::annotation(workload(json!({"metadata": {"annotations": {"sidecar.istio.io/inject": "false"}}})), &["W InjectionKeyOnWorkload no"])]
#[case::enabled(workload(json!({"metadata": {"labels": {"sidecar.istio.io/inject": "true"}}})), &[])]
#[case::none(workload(json!({})), &[])]
fn keys_of_the_workload(#[case] object: Value, #[case] expected: &[&str]) {
    let proxied = injected([running(true, 600), running(true, 600)]);
    check(&[rank(0), proxied, object.clone()], expected);
    check(&[rank(0), rank(1), object], &[]);
}

/// PERMISSIVE mode would replace the error by a hang.
#[test]
fn the_fix_for_plaintext_is_not_another_mode() {
    let found = report(&[captured("2"), policy("team-a", "STRICT", json!(null))]).diagnoses.remove(0);
    assert!(found.finding.fix.unwrap().contains("PERMISSIVE mode is no fix"), "{:?}", found.finding);
}
