//! Commands in fixes.

use rstest::rstest;
use serde_json::{Value, json};

use super::mesh::outlived;
use super::objects::{job_with, rank, with};
use super::{crash::crash_loop, report};

/// Returns the fix of the first finding about `objects`.
fn fix(objects: &[Value]) -> String {
    report(objects).diagnoses[0].fix().unwrap()
}

/// Pasted without it, the command would act on the namespace of the context.
#[test]
fn sweep_names_the_namespace() {
    assert!(fix(&[outlived()]).contains("trainmesh sweep -n team-a --apply"));
}

#[test]
fn one_of_several_pods_is_not_named() {
    let crashes = crash_loop(3, "Error", 1);
    let mut pods = job_with(3, crashes.clone());
    pods[0] = with(pods[0].take(), crashes);
    let fix = fix(&pods);
    assert!(fix.contains("kubectl -n team-a logs POD --previous"), "{fix}");
}

/// A dump may contain anything, and a shell would interpret it.
#[rstest]
#[case::command("a;reboot")]
#[case::flag("-A")]
#[case::substitution("$(reboot)")]
fn names_that_a_shell_interprets_are_left_out(#[case] name: &str) {
    let crash = with(rank(0), crash_loop(3, "Error", 1));
    let fix_of = |metadata: Value| fix(&[with(crash.clone(), json!({"metadata": metadata}))]);
    assert!(fix_of(json!({"name": name})).contains("kubectl -n team-a logs POD --previous"));
    assert!(fix_of(json!({"namespace": name})).contains(": kubectl logs --previous"));
}
