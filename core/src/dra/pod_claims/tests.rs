//! Devices of containers.

use std::sync::Arc;

use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::dra::{ClaimFacts, ClaimSpec, ClaimSpecs, DeviceClass, DeviceClasses};

/// Objects of the namespace, by name.
fn facts() -> ClaimFacts {
    let exactly = |name: &str, class: &str, count: u64| json!({"name": name, "exactly": {"deviceClassName": class, "count": count}});
    let admin = json!({"name": "all", "exactly": {"deviceClassName": "gpu.nvidia.com", "allocationMode": "All", "adminAccess": true}});
    let first = |classes: &[(&str, u64)]| {
        let list: Vec<Value> =
            classes.iter().map(|(class, count)| json!({"deviceClassName": class, "count": count})).collect();
        json!({"name": "gpu", "firstAvailable": list})
    };
    let templates = [
        ("eight", json!([exactly("gpu", "gpu.nvidia.com", 8)])),
        ("aligned", json!([exactly("gpu", "gpu.nvidia.com", 2), exactly("nic", "rdma", 4)])),
        ("mig", json!([exactly("part", "mig.nvidia.com", 2)])),
        ("custom", json!([exactly("gpu", "h100", 4)])),
        ("misspelled", json!([exactly("gpu", "gpu.nvidia.co", 4)])),
        ("strange", json!([exactly("gpu", "npu", 4)])),
        ("range", json!([first(&[("gpu.nvidia.com", 8), ("h100", 4)])])),
        ("gpu-or-mig", json!([first(&[("gpu.nvidia.com", 1), ("mig.nvidia.com", 2)])])),
        ("all", json!([{"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com", "allocationMode": "All"}}])),
        ("monitor", json!([admin])),
        ("invalid", json!([{"name": "gpu"}])),
        ("eight-requests", json!(vec![exactly("gpu", "gpu.nvidia.com", 1); 8])),
        ("nine-requests", json!(vec![exactly("gpu", "gpu.nvidia.com", 1); 9])),
    ];
    let mut specs = ClaimSpecs::of_all_namespaces();
    for (name, requests) in templates {
        let object = json!({"spec": {"spec": {"devices": {"requests": requests}}}});
        specs.insert("team-a", name, Arc::new(ClaimSpec::from_template(&object, "v1")));
    }
    let mut classes = DeviceClasses::default();
    let h100 = json!({"metadata": {"name": "h100"}, "spec": {"selectors": [{"cel": {"expression": "device.driver == 'gpu.nvidia.com'"}}]}});
    classes.insert(DeviceClass::parse(&h100).unwrap());
    let mut claims = ClaimSpecs::of_all_namespaces();
    let object = json!({"spec": {"devices": {"requests": [exactly("gpu", "gpu.nvidia.com", 1)]}}});
    claims.insert("team-a", "shared", Arc::new(ClaimSpec::from_claim(&object, "v1")));
    ClaimFacts { classes: Ok(Arc::new(classes)), templates: Arc::new(specs), claims: Arc::new(claims) }
}

/// Returns a pod whose claims are named after their objects: templates, or `ResourceClaims` after `=`. Each item of
/// `containers` lists the references of one container, separated by spaces: `claim` or `claim/request`.
fn pod(claims: &[&str], containers: &[&str]) -> Value {
    let claims = claims.iter().map(|claim| match claim.strip_prefix('=') {
        Some(object) => json!({"name": object, "resourceClaimName": object}),
        None => json!({"name": claim, "resourceClaimTemplateName": claim}),
    });
    let reference = |text: &str| match text.split_once('/') {
        Some((name, request)) => json!({"name": name, "request": request}),
        None => json!({"name": text}),
    };
    let containers = containers.iter().enumerate().map(|(index, list)| {
        json!({"name": format!("c{index}"), "resources": {"claims": list.split_whitespace().map(reference).collect::<Vec<_>>()}})
    });
    json!({"spec": {"resourceClaims": claims.collect::<Vec<_>>(), "containers": containers.collect::<Vec<_>>()}})
}

fn read<'a>(raw: &'a Value, facts: &'a ClaimFacts) -> (PodClaims<'a>, Vec<Container<'a>>) {
    let pod = Pod::new(raw);
    (PodClaims::new(pod, facts.view("team-a"), |template| template == "nics"), pod.containers().collect())
}

#[rstest]
#[case::whole_claim(&["eight"], "eight", "8", None)]
#[case::not_referred_to(&["eight"], "", "0", None)]
#[case::one_request(&["aligned"], "aligned/gpu", "2", None)]
#[case::another_request(&["aligned"], "aligned/nic", "0", None)]
#[case::twice(&["aligned"], "aligned aligned/gpu", "2", None)]
#[case::two_claims(&["eight", "aligned"], "eight aligned", "10", None)]
#[case::no_such_claim(&["eight"], "other", "an unknown number of", Some("claim other of the pod is not declared"))]
#[case::misspelled_claim(&["eight"], "eigth", "an unknown number of", Some("claim eigth of the pod is not declared (did you mean eight?)"))]
#[case::misspelled_class(&["misspelled"], "misspelled", "an unknown number of", Some("class gpu.nvidia.co in template misspelled is unknown (did you mean gpu.nvidia.com?)"))]
#[case::partitions_apart(&["mig"], "mig", "0", None)]
#[case::custom_class(&["custom"], "custom", "4", None)]
#[case::unknown_class(&["strange"], "strange", "an unknown number of", Some("class npu in template strange is unknown"))]
#[case::alternatives(&["range"], "range", "4 to 8", Some("template range allocates 4 to 8 gpu.nvidia.com"))]
#[case::alternatives_of_another_kind(&["gpu-or-mig"], "gpu-or-mig", "0 to 1", Some("template gpu-or-mig allocates 0 to 1 gpu.nvidia.com"))]
#[case::all_of_a_node(&["all"], "all", "at least 1", Some("template all allocates at least 1 gpu.nvidia.com"))]
#[case::admin_access(&["monitor"], "monitor", "0", None)]
#[case::claim_object(&["=shared"], "shared", "1", None)]
#[case::unknown_template(&["later"], "later", "an unknown number of", Some("template later does not exist"))]
#[case::unknown_claim(&["=later"], "later", "an unknown number of", Some("claim later does not exist"))]
#[case::invalid_template(&["invalid"], "invalid", "an unknown number of", Some("template invalid has requests that trainmesh cannot read"))]
#[case::unknown_request(&["aligned"], "aligned/gpus", "an unknown number of", Some("template aligned lacks a request that the container refers to"))]
#[case::alternative_of_a_request(&["range"], "range/gpu/h100", "an unknown number of", Some("template range lacks a request that the container refers to"))]
#[case::channel_by_name(&["imex-channel"], "imex-channel", "0", None)]
#[case::channel_of_one_request(&["imex-channel"], "imex-channel/channel", "0", None)]
#[case::adapters_of_the_profile(&["nics"], "nics", "0", None)]
fn counts_accelerators_of_a_container(
    #[case] claims: &[&str],
    #[case] references: &str,
    #[case] expected: &str,
    #[case] uncertainty: Option<&str>,
) {
    let (raw, facts) = (pod(claims, &[references]), facts());
    let (claims, containers) = read(&raw, &facts);
    assert_eq!(claims.count(containers[0], DeviceKind::is_accelerator).to_string(), expected);
    let found = claims.uncertainty(containers[0], DeviceKind::is_accelerator).map(|found| found.to_string());
    assert_eq!(found.as_deref(), uncertainty);
}

#[rstest]
#[case::own_claims(&["eight", "custom"], &["eight", "custom"], "12", None)]
#[case::one_claim(&["eight"], &["eight", "eight"], "8", Some("template eight"))]
#[case::requests_of_a_claim(&["aligned"], &["aligned/gpu", "aligned/nic"], "2", None)]
#[case::a_request_and_all(&["aligned"], &["aligned", "aligned/gpu"], "2", Some("template aligned"))]
#[case::one_unknown(&["eight", "later"], &["eight", "later"], "8", None)]
fn containers_share_claims(
    #[case] claims: &[&str],
    #[case] references: &[&str],
    #[case] total: &str,
    #[case] shared: Option<&str>,
) {
    let (raw, facts) = (pod(claims, references), facts());
    let (claims, containers) = read(&raw, &facts);
    assert_eq!(claims.total(&containers, DeviceKind::is_accelerator).to_string(), total);
    let found = claims.shared(containers[0], containers[1], DeviceKind::is_accelerator);
    assert_eq!(found.map(|claim| claim.source.to_string()).as_deref(), shared);
}

#[test]
fn adapters_and_admin_access_differ_from_accelerators() {
    let (raw, facts) = (pod(&["aligned", "nics", "monitor"], &["aligned nics monitor"]), facts());
    let (claims, containers) = read(&raw, &facts);
    let devices = claims.devices(containers[0]).map(|(claim, devices)| {
        let ClaimedDevices { class, count, is_admin, .. } = devices;
        format!("{}: {count} {class}{}", claim.source, if *is_admin { " (admin)" } else { "" })
    });
    let expected = [
        "template aligned: 2 gpu.nvidia.com",
        "template aligned: 4 rdma",
        "template nics: at least 1 ",
        "template monitor: at least 1 gpu.nvidia.com (admin)",
    ];
    assert_eq!(devices.collect::<Vec<_>>(), expected);
    assert_eq!(claims.count(containers[0], DeviceKind::is_adapter).to_string(), "at least 5");
}

#[test]
fn the_number_of_claims_and_containers_is_bounded() {
    let facts = facts();
    let names = vec!["eight"; MAX_CLAIMS + 1];
    let raw = pod(&names, &["eight", ""]);
    let (claims, containers) = read(&raw, &facts);
    assert_eq!(claims.count(containers[0], DeviceKind::is_accelerator), Count::UNKNOWN);
    assert_eq!(claims.count(containers[1], DeviceKind::is_accelerator), Count::ZERO);
    let reason = claims.uncertainty(containers[0], DeviceKind::is_accelerator).unwrap();
    assert_eq!(
        reason.to_string(),
        "the pod has more than 32 claims, 256 requests or 256 containers, or a container more than 32 references"
    );
    let raw = pod(&names[1..], &["eight"]);
    assert_eq!(read(&raw, &facts).0.claims().len(), MAX_CLAIMS);
    for (template, is_truncated) in [("eight-requests", false), ("nine-requests", true)] {
        let raw = pod(&vec![template; MAX_CLAIMS], &[]);
        assert_eq!(read(&raw, &facts).0.is_truncated(), is_truncated);
    }
    for (references, is_truncated) in [(MAX_CLAIMS, false), (MAX_CLAIMS + 1, true)] {
        let raw = pod(&["eight"], &["", &"eight ".repeat(references)]);
        assert_eq!(read(&raw, &facts).0.is_truncated(), is_truncated);
    }
    for (containers, is_truncated) in [(MAX_CONTAINERS, false), (MAX_CONTAINERS + 1, true)] {
        let raw = pod(&["eight"], &vec!["eight"; containers]);
        assert_eq!(read(&raw, &facts).0.is_truncated(), is_truncated);
    }
}

#[test]
fn a_pod_without_claims_has_none() {
    let facts = facts();
    for raw in [json!({}), json!({"spec": {"resourceClaims": "x", "containers": [{"resources": {"claims": 1}}]}})] {
        let (claims, containers) = read(&raw, &facts);
        assert!(claims.is_empty() && containers.iter().all(|one| claims.count(*one, |_| true).is_zero()));
    }
}
