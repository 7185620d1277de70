//! The rule `termination.managed`.

use rstest::rstest;
use serde_json::{Value, json};
use trainmesh_core::config::Configuration;
use trainmesh_core::mutate::RuleId;
use trainmesh_core::scope::Mode;

use super::{Scenario, check};

const APPLIED: &str = "applied HelpersManaged";

/// Returns a scenario without a mesh: sidecars are managed without one.
fn without_mesh() -> Scenario {
    let mut config = Configuration::embedded();
    // All methods are enabled.
    config.termination.port_forward = true;
    Scenario { mode: Mode::Enabled, labels: json!({}), config }
}

fn managed() -> Value {
    json!({"trainmesh.dev/managed": "true"})
}

/// Returns a pod that runs to completion, with the containers `names`.
fn pod(metadata: Value, names: &[&str]) -> Value {
    let containers: Vec<Value> = names.iter().map(|name| json!({"name": name, "image": "i"})).collect();
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"restartPolicy": "Never", "containers": containers}})
}

fn with(mut pod: Value, pointer: &str, field: &str, value: Value) -> Value {
    pod.pointer_mut(pointer).unwrap()[field] = value;
    pod
}

fn with_sidecars(text: &str) -> Value {
    json!({"annotations": {"trainmesh.dev/helper-containers": text}})
}

fn with_main_containers(text: &str) -> Value {
    json!({"annotations": {"trainmesh.dev/payload-containers": text}})
}

#[rstest]
#[case::by_catalogue(pod(json!({}), &["train", "cloud-sql-proxy"]), APPLIED, managed())]
#[case::by_annotation(pod(with_sidecars("sql=cloud-sql-proxy"), &["train", "sql"]), APPLIED, managed())]
#[case::on_failure(with(pod(json!({}), &["train", "daprd"]), "/spec", "restartPolicy", json!("OnFailure")), APPLIED, managed())]
#[case::none(pod(json!({}), &["train"]), "skipped NoHelpers", json!({}))]
#[case::main_container_without_sidecars(pod(with_main_containers("train"), &["train"]), "skipped NoHelpers", json!({}))]
#[case::empty_annotation(pod(with_sidecars(" "), &["train"]), "skipped NoHelpers", json!({}))]
#[case::listed_as_main_container(pod(with_main_containers("train,daprd"), &["train", "daprd"]), "skipped NoHelpers", json!({}))]
#[case::only_a_sidecar(pod(json!({}), &["daprd"]), "skipped PayloadNeverEnds", json!({}))]
#[case::always(with(pod(json!({}), &["train", "daprd"]), "/spec", "restartPolicy", json!("Always")), "skipped PayloadNeverEnds", json!({}))]
#[case::native(
    with(
        pod(json!({}), &["train"]),
        "/spec",
        "initContainers",
        json!([{"name": "daprd", "image": "i", "restartPolicy": "Always"}])
    ),
    "skipped NoHelpers",
    json!({})
)]
#[case::already_managed(pod(json!({"labels": managed()}), &["train", "daprd"]), "skipped ManagedAlready", json!({}))]
#[case::already_managed_without_sidecars(pod(json!({"labels": managed()}), &["train"]), "skipped NoHelpers", json!({}))]
#[case::another_value(pod(json!({"labels": {"trainmesh.dev/managed": "no"}}), &["train", "daprd"]), APPLIED, managed())]
fn pods(#[case] pod: Value, #[case] expected: &str, #[case] written: Value) {
    check(&without_mesh(), &pod, RuleId::TerminationManaged, expected, written, &[]);
}

#[rstest]
#[case::sidecar(with_sidecars("lgo"), APPLIED, managed(), "the pod has no container lgo: the entry has no effect")]
#[case::main_container(with_main_containers("trian"), "skipped PayloadUnknown", json!({}), "the pod has no container trian: nothing")]
#[case::only_an_unknown_sidecar(with_sidecars("daprd:daprd"), "skipped NoHelpers", json!({}), "the pod has no container daprd:daprd: the entry has no effect")]
fn unknown_containers_are_reported(
    #[case] metadata: Value,
    #[case] expected: &str,
    #[case] written: Value,
    #[case] warning: &str,
) {
    let sidecar = if expected == "skipped NoHelpers" { "agent" } else { "daprd" };
    let pod = pod(metadata, &["train", "log", sidecar]);
    check(&without_mesh(), &pod, RuleId::TerminationManaged, expected, written, &[warning]);
}

/// The chart's exec policy permits the command of an entry only in containers of its name, and those in a value.
#[rstest]
#[case::own_name(pod(json!({}), &["train", "fluent-bit"]), "")]
#[case::renamed(pod(with_sidecars("log=fluent-bit"), &["train", "log"]), "if the Helm values contain execPolicy.extraContainers: [log]")]
#[case::already_managed(
    with(pod(with_sidecars("a=fluent-bit,b=otc-container"), &["train", "a", "b"]), "/metadata", "labels", managed()),
    "if the Helm values contain execPolicy.extraContainers: [a, b]"
)]
#[case::name_of_an_entry_with_the_command(pod(with_sidecars("otc-container=fluent-bit"), &["train", "otc-container"]), "")]
#[case::post(pod(with_sidecars("sql=cloud-sql-proxy"), &["train", "sql"]), "")]
fn commands_in_renamed_sidecars_need_a_value(#[case] pod: Value, #[case] detail: &str) {
    let outcome = without_mesh().run(&pod);
    let rule = outcome.rules.iter().find(|rule| rule.rule == RuleId::TerminationManaged).unwrap();
    assert_eq!(rule.detail().unwrap_or_default(), detail);
}

#[test]
fn applies_in_istio_aux_mode() {
    let scenario = Scenario { mode: Mode::IstioAux, ..without_mesh() };
    check(&scenario, &pod(json!({}), &["train", "daprd"]), RuleId::TerminationManaged, APPLIED, managed(), &[]);
}

#[test]
fn nothing_is_managed_when_termination_is_disabled() {
    let mut scenario = without_mesh();
    scenario.config.termination.enabled = false;
    let pod = pod(json!({}), &["train", "daprd"]);
    check(&scenario, &pod, RuleId::TerminationManaged, "skipped TerminationOff", json!({}), &[]);
}

/// The warnings for a pod with these containers when port-forwards are disabled, as they are by default.
#[rstest]
#[case::by_a_post(pod(json!({}), &["train", "vault-agent"]), &["vault-agent keeps running: a port-forward is required, and termination.portForward is false"])]
#[case::two(pod(json!({}), &["train", "vault-agent", "daprd"]), &["vault-agent keeps running: a port-forward is required", "daprd keeps running: "])]
#[case::by_annotation(pod(with_sidecars("sql=cloud-sql-proxy"), &["train", "sql"]), &["sql keeps running"])]
#[case::no_entry(pod(with_sidecars("log"), &["train", "log"]), &["log is not terminated: the catalog has no entry \"log\""])]
#[case::misspelled_entry(
    pod(with_sidecars("log=fluent-bitt"), &["train", "log"]),
    &["log is not terminated: the catalog has no entry \"fluent-bitt\": did you mean fluent-bit?"]
)]
#[case::unknown_entry(pod(with_sidecars("log=nope"), &["train", "log"]), &["log is not terminated: the catalog has no entry \"nope\""])]
fn sidecars_that_keep_running_cause_a_warning(#[case] pod: Value, #[case] warnings: &[&str]) {
    let scenario = Scenario { config: Configuration::embedded(), ..without_mesh() };
    check(&scenario, &pod, RuleId::TerminationManaged, "refused SidecarNotTerminated", json!({}), warnings);
}

/// FP050 reports the setting, or the annotation if no setting permits the termination.
#[test]
fn notes_have_a_fix_unless_a_setting_permits_the_termination() {
    let scenario = Scenario { config: Configuration::embedded(), ..without_mesh() };
    let outcome = scenario.run(&pod(with_sidecars("vault-agent,log"), &["train", "vault-agent", "log"]));
    let rule = outcome.rules.iter().find(|rule| rule.rule == RuleId::TerminationManaged).unwrap();
    let notes: Vec<(&str, bool)> =
        rule.notes.iter().map(|note| (note.text.split(' ').next().unwrap(), note.fix.is_some())).collect();
    assert_eq!(notes, [("vault-agent", false), ("log", true)]);
}

/// The container is awaited by nobody: no warning at the creation of the pod, because it may exit by itself.
#[rstest]
#[case::left_out(pod(with_main_containers("train"), &["train", "logs"]), "skipped NoHelpers", &["logs"])]
#[case::beside_a_sidecar(pod(with_main_containers("train"), &["train", "logs", "daprd"]), APPLIED, &["logs"])]
#[case::listed(pod(with_main_containers("train,logs"), &["train", "logs"]), "skipped NoHelpers", &[])]
#[case::terminated(pod(with_main_containers("train"), &["train", "daprd"]), APPLIED, &[])]
#[case::no_annotation(pod(json!({}), &["train", "logs"]), "skipped NoHelpers", &[])]
#[case::proxy(pod(with_main_containers("train"), &["train", "istio-proxy"]), "skipped NoHelpers", &[])]
#[case::always(with(pod(with_main_containers("train"), &["train", "logs"]), "/spec", "restartPolicy", json!("Always")), "skipped NoHelpers", &[])]
fn containers_that_are_left_out_are_noted(#[case] pod: Value, #[case] outcome: &str, #[case] names: &[&str]) {
    let labels = if outcome == APPLIED { managed() } else { json!({}) };
    check(&without_mesh(), &pod, RuleId::TerminationManaged, outcome, labels, &[]);
    let run = without_mesh().run(&pod);
    let rule = run.rules.iter().find(|rule| rule.rule == RuleId::TerminationManaged).unwrap();
    let texts: Vec<String> = rule.notes.iter().map(|note| note.text.clone()).collect();
    let text =
        |name| format!("{name} is neither awaited nor terminated: trainmesh.dev/payload-containers leaves it out");
    assert_eq!(texts, names.iter().map(text).collect::<Vec<_>>());
}

#[test]
fn a_sidecar_that_the_kubelet_restarts_causes_a_warning() {
    let mut pod = pod(json!({}), &["train", "daprd"]);
    pod["spec"]["restartPolicy"] = json!("Always");
    let pod = with(pod, "/spec/containers/0", "restartPolicy", json!("Never"));
    let warning = "daprd is not terminated: the kubelet would restart it";
    check(&without_mesh(), &pod, RuleId::TerminationManaged, "refused SidecarNotTerminated", json!({}), &[warning]);
}

/// The warning is independent of who labels the pod.
#[test]
fn a_pod_that_is_already_managed_gets_the_warning() {
    let scenario = Scenario { config: Configuration::embedded(), ..without_mesh() };
    let pod = pod(json!({"labels": managed()}), &["train", "daprd"]);
    check(
        &scenario,
        &pod,
        RuleId::TerminationManaged,
        "refused SidecarNotTerminated",
        json!({}),
        &["daprd keeps running"],
    );
}

/// The controller leaves the pod alone, so that it never completes.
#[test]
fn sidecars_on_the_host_network_cause_a_warning() {
    let pod = with(pod(json!({}), &["train", "fluent-bit"]), "/spec", "hostNetwork", json!(true));
    let warning = "fluent-bit is not terminated: trainmesh leaves pods with hostNetwork alone";
    check(&without_mesh(), &pod, RuleId::TerminationManaged, "refused SidecarNotTerminated", json!({}), &[warning]);
}
