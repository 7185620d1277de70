use std::collections::BTreeSet;

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, StatefulSet};
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::api::resource::{v1, v1beta1};
use rstest::rstest;
use serde_json::json;

use super::*;

fn paths(pod: &Value) -> Vec<String> {
    unknown_fields::<Pod>(pod).iter().map(|(path, _)| path_text(path)).collect()
}

fn path_text(path: &[Step<'_>]) -> String {
    path.iter().map(Step::to_string).collect()
}

#[rstest]
#[case::all_known(
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "labels": {"any": "x"}, "managedFields": [{"fieldsV1": {"f:x": {}}}]},
        "spec": {"containers": [{"name": "a", "resources": {"limits": {"cpu": 1, "memory": "1Gi"}}, "ports": [{"containerPort": 80}],
        "livenessProbe": {"httpGet": {"port": "http"}}}], "nodeSelector": {"any": "x"}, "overhead": {"cpu": 0.5}}}),
    &[]
)]
#[case::root(json!({"sepc": {}}), &[".sepc"])]
#[case::nested(
    json!({"spec": {"containers": [{"name": "a"}, {"imgae": "i", "resources": {"limit": {"cpu": 1}}}], "contaners": []}}),
    &[".spec.contaners", ".spec.containers[1].imgae", ".spec.containers[1].resources.limit"]
)]
#[case::values(
    json!({"spec": {"restartPolicy": "Nevr", "containers": [{"imagePullPolicy": "always"}], "tolerations": [{"effect": ""}]}}),
    &[".spec.restartPolicy", ".spec.containers[0].imagePullPolicy"]
)]
#[case::no_blank_after_the_colon(json!({"spec": {"containers": [{"env": [{"name:A": null}]}]}}), &[".spec.containers[0].env[0].name:A"])]
#[case::null(json!({"spec": {"creationTimestamp": null}}), &[])]
#[case::names_with_dots(json!({"spec": {"a.b/c": 1}}), &[".spec[a.b/c]"])]
#[case::wrong_type(
    json!({"spec": {"containers": 5, "tolerations": [{"efect": "x"}]}, "statuss": {}}),
    &[".statuss", ".spec.tolerations[0].efect"]
)]
#[case::wrong_type_of_an_item(
    json!({"spec": {"containers": [{"a": 1}, 5, {"name": 5, "imgae": "i", "env": [{"value": 1}]}], "restartPolicy": "Nevr"}}),
    &[".spec.restartPolicy", ".spec.containers[0].a", ".spec.containers[2].imgae"]
)]
#[case::no_object(json!([5]), &[])]
fn unknown_fields_and_values_have_their_paths(#[case] pod: Value, #[case] expected: &[&str]) {
    assert_eq!(paths(&pod), expected);
}

/// The last field of a pod is found after as many values of a wrong type as are left out.
#[rstest]
#[case::most(MAX_SKIPPED, 1)]
#[case::more(MAX_SKIPPED + 1, 0)]
fn values_of_wrong_types_are_limited(#[case] count: usize, #[case] found: usize) {
    let containers: Vec<Value> = (0..count).map(|_| json!({"name": 5})).collect();
    let tolerations = json!([{"efect": "x"}]);
    assert_eq!(paths(&json!({"spec": {"containers": containers, "tolerations": tolerations}})).len(), found);
}

#[test]
fn an_excluded_type_is_not_decoded() {
    let template = json!({"spec": {"containers": 5, "a": 1}, "metdata": {}});
    let job = json!({"spec": {"template": template, "selector": {"matchLabel": {}}}});
    let found = unknown_fields_except::<Job>(&job, "PodSpec");
    assert_eq!(
        found.iter().map(|(path, _)| path_text(path)).collect::<Vec<_>>(),
        [".spec.template.metdata", ".spec.selector.matchLabel"]
    );
}

#[test]
fn number_and_length_are_limited() {
    let fields: Map<String, Value> = (0..100).map(|index| ("x".repeat(99) + &index.to_string(), json!(1))).collect();
    let pod = json!({"spec": fields});
    let found = unknown_fields::<Pod>(&pod);
    assert_eq!(found.len(), MAX_FOUND);
    assert!(matches!(found[0].1, Problem::Field { name, .. } if name.len() == MAX_QUOTED), "{found:?}");
}

/// Adds the types and fields of the unknown values in `object` to `found`.
fn add_values<T: DeserializeOwned>(object: &Value, found: &mut BTreeSet<(&'static str, &'static str)>) {
    found.extend(unknown_fields::<T>(object).iter().filter_map(|(_, problem)| match problem {
        Problem::Value { owner, name, .. } => Some((*owner, *name)),
        _ => None,
    }));
}

/// A misspelled type or field in the table would never be found.
#[test]
fn each_field_with_few_values_exists() {
    let container = json!({
        "imagePullPolicy": "x", "restartPolicy": "x", "terminationMessagePolicy": "x", "ports": [{"containerPort": 1, "protocol": "x"}],
        "resizePolicy": [{"resourceName": "x", "restartPolicy": "x"}], "livenessProbe": {"httpGet": {"port": 1, "scheme": "x"}},
        "restartPolicyRules": [{"action": "x", "exitCodes": {"operator": "x"}}],
        "volumeMounts": [{"mountPath": "/a", "name": "a", "mountPropagation": "x", "recursiveReadOnly": "x"}],
        "securityContext": {"procMount": "x", "seccompProfile": {"type": "x"}, "appArmorProfile": {"type": "x"}},
        "env": [{"name": "a", "valueFrom": {"fieldRef": {"fieldPath": "x"}, "resourceFieldRef": {"resource": "x"}}}]
    });
    let claim = json!({"spec": {"volumeMode": "x", "accessModes": ["ReadWriteOnce", "x"]}});
    let volumes = json!([
        {"name": "a", "emptyDir": {"medium": "x"}, "hostPath": {"path": "/", "type": "x"}, "image": {"pullPolicy": "x"}},
        {"name": "b", "azureDisk": {"diskName": "a", "diskURI": "a", "cachingMode": "x", "kind": "x"}},
        {"name": "c", "ephemeral": {"volumeClaimTemplate": claim}},
        {"name": "d", "projected": {"sources": [{"podCertificate": {"keyType": "x", "signerName": "a"}}]}}
    ]);
    let affinity = json!({
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "x"}]}]}},
        "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "a", "labelSelector": {"matchExpressions": [{"key": "a", "operator": "x"}]}}
        ]}
    });
    let spread = json!([{"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "x", "nodeAffinityPolicy": "x", "nodeTaintsPolicy": "x"}]);
    let specs = [
        json!({"restartPolicy": "x", "dnsPolicy": "x", "preemptionPolicy": "x", "os": {"name": "x"}, "tolerations": [{"operator": "x", "effect": "x"}]}),
        json!({"securityContext": {"fsGroupChangePolicy": "x", "supplementalGroupsPolicy": "x", "seLinuxChangePolicy": "x"}}),
        json!({"containers": [container]}),
        json!({"volumes": volumes}),
        json!({"affinity": affinity, "topologySpreadConstraints": spread}),
    ];
    let mut found = BTreeSet::new();
    for spec in specs {
        add_values::<Pod>(&json!({"spec": spec}), &mut found);
    }
    let conditions = json!([{"type": "a", "status": "x"}]);
    let rule = json!({"action": "x", "onExitCodes": {"operator": "x", "values": []}, "onPodConditions": conditions});
    let job = json!({"completionMode": "x", "podReplacementPolicy": "x", "podFailurePolicy": {"rules": [rule]}});
    add_values::<Job>(&json!({"spec": job}), &mut found);
    add_values::<CronJob>(&json!({"spec": {"concurrencyPolicy": "x"}}), &mut found);
    add_values::<Deployment>(&json!({"spec": {"strategy": {"type": "x"}}}), &mut found);
    add_values::<DaemonSet>(&json!({"spec": {"updateStrategy": {"type": "x"}}}), &mut found);
    let retention = json!({"whenDeleted": "x", "whenScaled": "x"});
    let set = json!({"podManagementPolicy": "x", "updateStrategy": {"type": "x"}, "persistentVolumeClaimRetentionPolicy": retention});
    add_values::<StatefulSet>(&json!({"spec": set}), &mut found);
    let service = json!({
        "type": "x", "externalTrafficPolicy": "x", "internalTrafficPolicy": "x", "sessionAffinity": "x", "ipFamilyPolicy": "x",
        "trafficDistribution": "x", "ipFamilies": ["x"], "ports": [{"port": 1, "protocol": "x"}]
    });
    add_values::<Service>(&json!({"spec": service}), &mut found);
    let device = json!({"allocationMode": "x", "tolerations": [{"operator": "x", "effect": "x"}]});
    let requests = json!([{"exactly": device, "firstAvailable": [device]}]);
    add_values::<v1::ResourceClaim>(&json!({"spec": {"devices": {"requests": requests}}}), &mut found);
    add_values::<v1beta1::ResourceClaim>(&json!({"spec": {"devices": {"requests": [device]}}}), &mut found);
    let listed: BTreeSet<(&str, &str)> = VALUES.iter().map(|(owner, name, _)| (*owner, *name)).collect();
    assert_eq!(found, listed);
}

#[rstest]
#[case::huge_pages(json!({"volumes": [{"name": "a", "emptyDir": {"medium": "HugePages-2Mi"}}]}))]
#[case::labels(json!({"containers": [{"env": [{"name": "a", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['a']"}}}]}]}))]
#[case::resource(json!({"containers": [{"env": [{"name": "a", "valueFrom": {"resourceFieldRef": {"resource": "limits.hugepages-1Gi"}}}]}]}))]
fn values_with_a_part_of_the_user_are_known(#[case] spec: Value) {
    assert_eq!(paths(&json!({"spec": spec})), Vec::<String>::new());
}
