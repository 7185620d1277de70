//! Pods that a tenant may create, and that the controller reads.

use std::time::Instant;

use jiff::SignedDuration;

use crate::fixture::{ATTEMPT_TIMEOUT, Fixture, PRIVILEGED};
use crate::hostile;
use crate::tenant::Tenant;
use trainmesh_testing::cluster::{PATIENCE, eventually};

/// Pods with an annotation as long as the apiserver stores.
const LONG: usize = 40;
/// Pods whose proxy does not end: twice as many as a node's actions at a time.
const HANGING: usize = 16;
/// Actions that hang at a time: a namespace's share.
const SHARE: usize = 4;

/// Pods with a revision so long that four of them fill an object of Kubernetes.
const REVISIONS: usize = 4;

/// Creates pods that each take a hundred times their length in memory where they are kept whole.
pub fn long_annotations(tenant: &Tenant) {
    tenant.create(hostile::pods_with_long_status(LONG));
}

/// Relabels a pod about which a decision takes long, again and again.
pub fn many_names(tenant: &Tenant, until: Instant) {
    tenant.create([hostile::pod_with_many_names("names")]);
    for turn in 0.. {
        if Instant::now() >= until {
            break;
        }
        let turn = format!("turn={turn}");
        let _ = tenant.kubectl(&["label", "pod", "names", "--overwrite", "trainmesh.dev/inject-", &turn], "").success();
    }
}

#[test]
fn long_annotations_are_not_kept() {
    let fixture = Fixture::new();
    let report = fixture.attack("pods with long annotations", |_| {
        long_annotations(&fixture.tenant);
        fixture.neighbor.job_completes();
    });
    report.check();
}

#[test]
fn a_decision_about_many_names_delays_no_other() {
    let fixture = Fixture::new();
    fixture.attack("a pod with many names", |until| many_names(&fixture.tenant, until)).check();
}

#[test]
fn actions_that_hang_delay_no_other_namespace() {
    let fixture = Fixture::new();
    fixture.tenant.create(hostile::pods_with_hanging_proxy(HANGING));
    let tenant = &fixture.tenant.namespace;
    eventually(PATIENCE, "actions hang", || {
        let execs = tenant.audit_begun(|event| event["objectRef"]["subresource"] == "exec").len();
        if execs >= SHARE { Ok(()) } else { Err(format!("{execs} execs")) }
    });
    let report = fixture.attack("actions that hang", |_| ());
    report.check();
    let timeout = SignedDuration::try_from(ATTEMPT_TIMEOUT).unwrap();
    let longest = report.neighbor.delays.iter().max().unwrap();
    assert!(*longest < timeout, "a proxy was terminated {longest} after its main container, behind hanging actions");
}

#[test]
fn a_long_revision_does_not_take_the_place_of_others() {
    let fixture = Fixture::new();
    let neighbor = &fixture.neighbor.namespace;
    let report = fixture.attack("long revisions", |_| {
        fixture.tenant.create(hostile::pods_with_long_revisions(REVISIONS));
        let _ = neighbor.create(&hostile::member("ranks-worker-0", "ranks")).success();
        eventually(PATIENCE, "the neighbor's gang is pinned", || {
            let pins = fixture.release().home.get("configmap", "trainmesh-fabric").ok_or("no ConfigMap")?;
            if pins.to_string().contains(&neighbor.name) { Ok(()) } else { Err("it is not") }
        });
    });
    report.check();
}

#[test]
fn a_profile_of_another_team_is_refused() {
    let fixture = Fixture::new();
    let mut pod = hostile::member("borrows", "borrows");
    pod["metadata"]["labels"]["trainmesh.dev/fabric"] = PRIVILEGED.into();
    let applied = fixture.tenant.kubectl(&["create", "-f", "-"], &pod).success();
    assert!(applied.warnings().any(|warning| warning.contains(PRIVILEGED)), "{}", applied.stderr);
    let created = fixture.tenant.namespace.get("pod", "borrows").expect("the pod is created");
    assert_eq!(created["metadata"]["annotations"]["trainmesh.dev/applied"], "mesh.hold", "{created}");
    let containers = created["spec"]["containers"].as_array().unwrap();
    assert!(containers.iter().all(|it| it["securityContext"]["privileged"] != true), "{created}");
}
