//! Comparisons of a job with two workers, whose pods get a sidecar and an adapter.

use rstest::rstest;
use serde_json::{Value, json};

use super::constraints::{
    Constraint, cluster_queue, largest_nodes, limit_range, pod_group, reserved_workload, resource_quota,
};
use super::{Basis, Counted, JobAccount, RoleAccount};

/// Amounts of one pod: 4 CPUs and 8 GPUs in the template, 100m more CPU and an adapter after admission.
fn role(replicas: Option<u64>) -> RoleAccount {
    let train = |limits: Value| json!({"name": "train", "resources": {"limits": limits}});
    let template = json!({"spec": {"containers": [train(json!({"cpu": 4, "nvidia.com/gpu": 8}))]}});
    let proxy = json!({"name": "istio-proxy", "resources": {"requests": {"cpu": "100m"}}});
    let admitted = json!({"spec": {"containers": [
        train(json!({"cpu": 4, "nvidia.com/gpu": 8, "rdma/ib": 1})), proxy,
    ]}});
    RoleAccount::new("Worker", replicas, &template, &admitted, Basis::DryRun)
}

fn quota(hard: &Value, used: &Value) -> Option<Constraint> {
    resource_quota(
        &json!({"metadata": {"name": "team"}, "spec": {"hard": hard}, "status": {"hard": hard, "used": used}}),
    )
}

fn queue(counts: Counted, groups: &Value, used: &Value) -> Option<Constraint> {
    let queue = json!({"metadata": {"name": "gpu"}, "spec": {"resourceGroups": groups}, "status": {"flavorsReservation": used}});
    cluster_queue(&queue, counts)
}

/// A group of a `ClusterQueue` with flavors of these CPUs and GPUs.
fn group(flavors: &[(&str, u64)]) -> Value {
    let quota = |name: &str, amount: &Value| json!({"name": name, "nominalQuota": amount});
    let flavor = |(index, (cpu, gpus)): (usize, &(&str, u64))| json!({"name": format!("f{index}"), "resources": [quota("cpu", &json!(cpu)), quota("nvidia.com/gpu", &json!(gpus))]});
    let flavors: Vec<Value> = flavors.iter().enumerate().map(flavor).collect();
    json!([{"coveredResources": ["cpu", "nvidia.com/gpu"], "flavors": flavors}])
}

fn nodes(allocatable: &[Value]) -> Option<Constraint> {
    let nodes: Vec<Value> = allocatable.iter().map(|amounts| json!({"status": {"allocatable": amounts}})).collect();
    largest_nodes(nodes.iter())
}

/// A `Workload` that Kueue created from two templates of [`role`].
fn workload() -> Option<Constraint> {
    let template = json!({"spec": {"containers": [
        {"name": "train", "resources": {"requests": {"cpu": 4, "nvidia.com/gpu": 8}, "limits": {"cpu": 4, "nvidia.com/gpu": 8}}},
    ]}});
    let sets = json!([{"name": "main", "count": 2, "template": template}]);
    reserved_workload(&json!({"metadata": {"name": "w"}, "spec": {"podSets": sets}}), Counted::Templates)
}

#[rstest]
#[case::stricter_of_two_entries(
    quota(&json!({"cpu": "8100m", "requests.cpu": 100}), &json!({})), "FitsWithoutAdditions admits=false cpu:8/8200m/8100m"
)]
#[case::quota_for_all(quota(&json!({"requests.cpu": "8200m", "pods": 2}), &json!({})), "Fits admits=true ")]
#[case::quota_for_the_templates(
    quota(&json!({"cpu": 8, "requests.nvidia.com/gpu": 16}), &json!({})),
    "FitsWithoutAdditions admits=false cpu:8/8200m/8"
)]
#[case::used_quota(
    quota(&json!({"requests.nvidia.com/gpu": 16}), &json!({"requests.nvidia.com/gpu": 8})),
    "DoesNotFit admits=false nvidia.com/gpu:16/16/8"
)]
#[case::quota_of_devices(quota(&json!({"requests.rdma/ib": 1}), &json!({})), "FitsWithoutAdditions admits=false rdma/ib:0/2/1")]
#[case::quota_of_limits(quota(&json!({"limits.cpu": 7}), &json!({})), "DoesNotFit admits=false limits.cpu:8/8/7 limits.cpu?")]
#[case::quota_of_a_limit_that_the_sidecar_omits(
    quota(&json!({"limits.cpu": 9}), &json!({})),
    "FitsWithoutAdditions admits=false limits.cpu?"
)]
#[case::quota_of_a_request_that_all_omit(quota(&json!({"memory": "1Gi"}), &json!({})), "DoesNotFit admits=false memory?")]
#[case::quota_of_pods(quota(&json!({"count/pods": 1}), &json!({})), "DoesNotFit admits=false pods:2/2/1")]
#[case::queue_for_the_templates(
    queue(Counted::Templates, &group(&[("8", 16)]), &json!([])),
    "FitsWithoutAdditions admits=true rdma/ib:0/2/0 cpu:8/8200m/8"
)]
#[case::queue_that_counts_pods(
    queue(Counted::Pods, &group(&[("8", 16)]), &json!([])),
    "FitsWithoutAdditions admits=false rdma/ib:0/2/0 cpu:8/8200m/8"
)]
#[case::used_queue(
    queue(Counted::Templates, &group(&[("8", 16)]), &json!([{"name": "f0", "resources": [{"name": "cpu", "total": "1"}]}])),
    "DoesNotFit admits=false rdma/ib:0/2/0 cpu:8/8200m/7"
)]
#[case::a_role_uses_one_flavor(
    queue(Counted::Templates, &group(&[("4", 16), ("4", 16)]), &json!([])),
    "DoesNotFit admits=false rdma/ib:0/2/0 cpu:8/8200m/4"
)]
#[case::second_flavor(
    queue(Counted::Templates, &group(&[("4", 16), ("8", 16)]), &json!([])),
    "FitsWithoutAdditions admits=true rdma/ib:0/2/0 cpu:8/8200m/8"
)]
#[case::empty_queue(
    queue(Counted::Templates, &json!([]), &json!([])),
    "DoesNotFit admits=false cpu:8/8200m/0 nvidia.com/gpu:16/16/0 rdma/ib:0/2/0"
)]
#[case::workload_of_the_templates(workload(), "FitsWithoutAdditions admits=true rdma/ib:0/2/0 cpu:8/8200m/8")]
#[case::group_of_the_templates(
    pod_group(&json!({"metadata": {"name": "g"}, "spec": {"minResources": {"cpu": 8, "nvidia.com/gpu": "16"}}})),
    "FitsWithoutAdditions admits=true rdma/ib:0/2/0 cpu:8/8200m/8"
)]
#[case::node(nodes(&[json!({"cpu": 2}), json!({"cpu": 5, "nvidia.com/gpu": 8, "rdma/ib": 1, "pods": 110})]), "Fits admits=true ")]
#[case::small_nodes_first(
    nodes(&(0..70).map(|size| json!({"cpu": 2, "memory": 1000 + size, "pods": 110}))
        .chain([json!({"cpu": 5, "memory": 1, "nvidia.com/gpu": 8, "rdma/ib": 1, "pods": 110})]).collect::<Vec<_>>()),
    "Fits admits=true "
)]
#[case::no_node_has_all(
    nodes(&[json!({"cpu": 8, "rdma/ib": 1, "pods": 9}), json!({"cpu": 3, "nvidia.com/gpu": 8, "rdma/ib": 1, "pods": 9})]),
    "DoesNotFit admits=false nvidia.com/gpu:8/8/0"
)]
#[case::node_without_the_adapter(
    nodes(&[json!({"cpu": 8, "nvidia.com/gpu": 8, "pods": 9})]),
    "FitsWithoutAdditions admits=false rdma/ib:0/1/0"
)]
#[case::range(
    limit_range(&json!({"metadata": {"name": "r"}, "spec": {"limits": [{"type": "Pod", "max": {"cpu": 3}}]}})),
    "DoesNotFit admits=false cpu:4/4100m/3 limits.cpu:4/4/3"
)]
#[case::range_of_the_requests(
    limit_range(&json!({"metadata": {"name": "r"}, "spec": {"limits": [{"type": "Pod", "max": {"cpu": 4}}]}})),
    "FitsWithoutAdditions admits=false cpu:4/4100m/4"
)]
#[case::range_of_a_limit_that_all_omit(
    limit_range(&json!({"metadata": {"name": "r"}, "spec": {"limits": [{"type": "Pod", "max": {"memory": "1Gi"}}]}})),
    "DoesNotFit admits=false limits.memory?"
)]
fn two_workers_are_compared(#[case] constraint: Option<Constraint>, #[case] expected: &str) {
    assert_eq!(check(&constraint.unwrap(), Some(2)), expected);
}

#[rstest]
#[case::unknown(None, "Unknown admits=None ")]
#[case::none(Some(0), "Fits admits=true ")]
fn the_number_of_pods_counts(#[case] replicas: Option<u64>, #[case] expected: &str) {
    let quota = quota(&json!({"cpu": 0}), &json!({})).unwrap();
    assert_eq!(check(&quota, replicas), expected);
}

/// Returns the result as `Verdict admits=… resource:templates/pods/available… unspecified?…`.
fn check(constraint: &Constraint, replicas: Option<u64>) -> String {
    let account = JobAccount::new(vec![role(replicas)], std::slice::from_ref(constraint), Vec::new());
    let found = &account.constraints[0];
    let shortages = found.shortages.iter().map(|shortage| {
        format!("{}:{}/{}/{}", shortage.resource, shortage.templates, shortage.pods, shortage.available)
    });
    let unspecified = found.unspecified.iter().map(|resource| format!("{resource}?"));
    let missing: Vec<String> = shortages.chain(unspecified).collect();
    let admits = found.admits.map_or_else(|| "None".to_owned(), |admits| admits.to_string());
    format!("{:?} admits={admits} {}", found.verdict, missing.join(" "))
}

#[rstest]
#[case::scope(resource_quota(&json!({"metadata": {"name": "q"}, "spec": {"hard": {"cpu": 1}, "scopes": ["Terminating"]}})))]
#[case::other_objects(quota(&json!({"count/jobs.batch": 1}), &json!({})))]
#[case::services(quota(&json!({"services": 1, "services.loadbalancers": 1, "requests.storage": "1Gi", "gpu.deviceclass.resource.k8s.io/devices": 8}), &json!({})))]
#[case::no_limit(limit_range(&json!({"metadata": {"name": "r"}, "spec": {"limits": [{"type": "Container", "max": {"cpu": 3}}]}})))]
#[case::no_resources(pod_group(&json!({"metadata": {"name": "g"}, "spec": {"minMember": 2}})))]
#[case::no_nodes(nodes(&[]))]
#[case::too_many_sizes(nodes(&(0..70).map(|size| json!({"cpu": 100 - size, "memory": size})).collect::<Vec<_>>()))]
fn other_objects_are_no_constraints(#[case] constraint: Option<Constraint>) {
    assert_eq!(constraint, None);
}

#[test]
fn additions_are_listed_by_container() {
    let template = json!({"spec": {"runtimeClassName": "kata", "containers": [{"name": "train", "resources": {"requests": {"memory": "1Gi"}}}]}});
    let admitted = json!({"spec": {"runtimeClassName": "kata", "overhead": {"memory": "128Mi"},
        "initContainers": [{"name": "proxy", "restartPolicy": "Always", "resources": {"requests": {"cpu": "10m"}}}],
        "containers": [{"name": "train", "resources": {"requests": {"memory": "1Gi"}, "limits": {"rdma/ib": 1}}}]}});
    let account = RoleAccount::new("Pod", Some(1), &template, &admitted, Basis::DryRun);
    let found = serde_json::to_value(&account).unwrap();
    // Controllers that count templates add the overhead, too.
    let overhead = json!({"container": "RuntimeClass", "requests": {"memory": "128Mi"}});
    let expected = json!({
        "role": "Pod", "replicas": 1, "basis": "dryRun",
        "template": {"memory": "1152Mi", "pods": "1"},
        "pod": {"cpu": "10m", "memory": "1152Mi", "rdma/ib": "1", "pods": "1", "limits.rdma/ib": "1"},
        "additions": [
            {"container": "proxy", "requests": {"cpu": "10m"}}, {"container": "train", "requests": {"rdma/ib": "1"}}, overhead,
        ],
    });
    assert_eq!(found, expected);
}

/// A pod that the apiserver rejects is not returned, but its message contains what it counted.
#[rstest]
#[case::quota(
    "pods \"a\" is forbidden: exceeded quota: team, requested: limits.cpu=5,requests.cpu=4100m, used: limits.cpu=0,requests.cpu=0, \
     limited: limits.cpu=4,requests.cpu=4",
    json!({"cpu": "4100m", "limits.cpu": "5"}),
    json!([{"container": "unknown", "requests": {"cpu": "100m"}}])
)]
#[case::smaller(
    "exceeded quota: team, requested: cpu=1, used: cpu=1, limited: cpu=1",
    json!({"cpu": "4", "limits.cpu": "4"}),
    json!([])
)]
#[case::range(
    "forbidden: [maximum memory usage per Pod is 1Gi, but limit is 1.5Gi, maximum cpu usage per Pod is 4, but limit is 4500m]",
    json!({"cpu": "4", "limits.cpu": "4500m", "limits.memory": "1536Mi"}),
    json!([])
)]
#[case::range_of_requests("maximum cpu usage per Pod is 4, but request is 5", json!({"cpu": "5", "limits.cpu": "4"}), json!([{"container": "unknown", "requests": {"cpu": "1"}}]))]
#[case::containers("maximum cpu usage per Container is 1, but limit is 9", json!({"cpu": "4", "limits.cpu": "4"}), json!([]))]
#[case::malformed("exceeded quota: team, requested: cpu, used: maximum usage per Pod is , but limit is x", json!({"cpu": "4", "limits.cpu": "4"}), json!([]))]
#[case::other("failed quota: team: must specify memory for: a", json!({"cpu": "4", "limits.cpu": "4"}), json!([]))]
fn a_rejection_contains_the_requests(#[case] message: &str, #[case] amounts: Value, #[case] additions: Value) {
    let pod = json!({"spec": {"containers": [{"name": "a", "resources": {"limits": {"cpu": 4}}}]}});
    let account = RoleAccount::new("Pod", Some(1), &pod, &pod, Basis::Preview).with_rejection(message);
    let mut found = serde_json::to_value(&account.pod).unwrap();
    found.as_object_mut().unwrap().remove("pods");
    assert_eq!((found, serde_json::to_value(&account.additions).unwrap()), (amounts, additions));
}

#[test]
fn a_rejection_names_requests_that_a_sidecar_omits() {
    let pod = json!({"spec": {"containers": [{"name": "a", "resources": {"limits": {"cpu": 1, "memory": 1}}}]}});
    let account = RoleAccount::new("Pod", Some(1), &pod, &pod, Basis::Preview)
        .with_rejection("failed quota: team: must specify limits.cpu for: proxy,x; requests.memory for: proxy");
    let quota = quota(&json!({"limits.cpu": 1, "requests.cpu": 1, "memory": 1}), &json!({})).unwrap();
    let found = JobAccount::new(vec![account], &[quota], Vec::new());
    let unspecified: Vec<&str> = found.constraints[0].unspecified.iter().map(String::as_str).collect();
    assert_eq!(unspecified, ["limits.cpu", "memory"]);
}
