//! Attacks by pods that a tenant may create and that the controller reads.

use std::time::Instant;

use jiff::SignedDuration;

use crate::fixture::{ATTEMPT_TIMEOUT, Fixture, PRIVILEGED};
use crate::hostile;
use crate::tenant::Tenant;
use trainmesh_testing::cluster::{TIMEOUT, eventually};

/// Number of pods with an annotation of the maximum length.
const LONG_ANNOTATIONS: usize = 40;
/// Number of pods whose proxy hangs: twice the number of concurrent actions on a node.
const HANGING: usize = 16;
/// Number of concurrent actions in a namespace.
const NAMESPACE_LIMIT: usize = 4;

/// Number of pods with a long revision: four of them fill a Kubernetes object.
const REVISIONS: usize = 4;

/// Creates pods that need a hundred times their length in memory if kept completely.
pub fn long_annotations(tenant: &Tenant) {
    tenant.create(hostile::pods_with_long_status(LONG_ANNOTATIONS));
}

/// Relabels a pod whose decision is slow, again and again.
pub fn many_names(tenant: &Tenant, until: Instant) {
    tenant.create([hostile::pod_with_many_names("names")]);
    for round in 0.. {
        if Instant::now() >= until {
            break;
        }
        let round = format!("turn={round}");
        let _ =
            tenant.kubectl(&["label", "pod", "names", "--overwrite", "trainmesh.dev/inject-", &round], "").success();
    }
}

#[test]
fn memory_for_long_annotations_is_bounded() {
    let fixture = Fixture::new();
    let report = fixture.attack("pods with long annotations", |_| {
        long_annotations(&fixture.tenant);
        fixture.neighbor.run_job();
    });
    report.check();
}

#[test]
fn slow_decisions_do_not_delay_other_pods() {
    let fixture = Fixture::new();
    fixture.attack("a pod with many names", |until| many_names(&fixture.tenant, until)).check();
}

#[test]
fn hanging_actions_do_not_delay_other_namespaces() {
    let fixture = Fixture::new();
    fixture.tenant.create(hostile::pods_with_hanging_proxy(HANGING));
    let tenant = &fixture.tenant.namespace;
    eventually(TIMEOUT, "actions hang", || {
        let execs = tenant.audit_started(|event| event["objectRef"]["subresource"] == "exec").len();
        if execs >= NAMESPACE_LIMIT { Ok(()) } else { Err(format!("{execs} execs")) }
    });
    let report = fixture.attack("actions that hang", |_| ());
    report.check();
    let timeout = SignedDuration::try_from(ATTEMPT_TIMEOUT).unwrap();
    let longest = report.neighbor.delays.iter().max().unwrap();
    assert!(*longest < timeout, "a proxy was terminated {longest} after its main container, behind hanging actions");
}

#[test]
fn long_revisions_do_not_displace_others() {
    let fixture = Fixture::new();
    let neighbor = &fixture.neighbor.namespace;
    let report = fixture.attack("long revisions", |_| {
        fixture.tenant.create(hostile::pods_with_long_revisions(REVISIONS));
        let _ = neighbor.create(&hostile::member("ranks-worker-0", "ranks")).success();
        eventually(TIMEOUT, "the neighbor's gang is pinned", || {
            let pins = fixture.release().namespace.get("configmap", "trainmesh-fabric").ok_or("no ConfigMap")?;
            if pins.to_string().contains(&neighbor.name) { Ok(()) } else { Err("not pinned") }
        });
    });
    report.check();
}

#[test]
fn a_profile_of_another_namespace_is_refused() {
    let fixture = Fixture::new();
    let mut pod = hostile::member("borrows", "borrows");
    pod["metadata"]["labels"]["trainmesh.dev/fabric"] = PRIVILEGED.into();
    let applied = fixture.tenant.kubectl(&["create", "-f", "-"], &pod).success();
    assert!(applied.warnings().any(|warning| warning.contains(PRIVILEGED)), "{}", applied.stderr);
    let created = fixture.tenant.namespace.get("pod", "borrows").expect("the pod is created");
    assert_eq!(created["metadata"]["annotations"]["trainmesh.dev/applied"], "mesh.hold", "{created}");
    let containers = created["spec"]["containers"].as_array().unwrap();
    assert!(containers.iter().all(|container| container["securityContext"]["privileged"] != true), "{created}");
}
