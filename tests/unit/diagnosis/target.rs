//! Selection of a workload.

use rstest::rstest;
use trainmesh_core::diagnosis::{ClusterSnapshot, Selection, Target, diagnose};

use super::objects::{NOW, job_with, rank_of, waiting};

#[rstest]
#[case::kind("PyTorchJob/llama", Some(4))]
#[case::lower_case("pytorchjob/llama", Some(4))]
#[case::plural("pytorchjobs/llama", Some(4))]
#[case::with_group("pytorchjobs.kubeflow.org/llama", Some(4))]
#[case::pod("llama-worker-2", Some(4))]
#[case::pod_kind("pod/llama-worker-2", Some(4))]
#[case::short_pod_kind("po/llama-worker-2", Some(4))]
#[case::short_kind("sts/llama", Some(0))]
#[case::another_job("pytorchjob/gpt", Some(1))]
#[case::missing("pytorchjob/bert", Some(0))]
#[case::another_kind("tfjob/llama", Some(0))]
#[case::unknown_kind("trainings/llama", None)]
#[case::no_name("pytorchjob/", None)]
#[case::no_kind("/llama", None)]
#[case::too_many_parts("a/b/c", None)]
#[case::empty("", None)]
#[case::long(&"a".repeat(254), None)]
fn targets(#[case] text: &str, #[case] pods: Option<usize>) {
    let mut snapshot = ClusterSnapshot::default();
    for object in job_with(4, waiting("ImagePullBackOff", "")).iter().chain([&rank_of("gpt", 0)]) {
        snapshot.add(object, "default").unwrap();
    }
    let found = |target: Target, namespace: Option<&str>| {
        let selection = Selection { target: Some(target), namespace: namespace.map(str::to_owned) };
        diagnose(&snapshot, &selection, NOW.parse().unwrap())
    };
    let selected = Target::parse(text).map(|target| found(target, None).pods);
    assert_eq!(selected.ok(), pods);
    if let Ok(target) = Target::parse(text) {
        // Another namespace.
        let report = found(target, Some("team-b"));
        assert_eq!((report.pods, report.diagnoses.len()), (0, 0));
    }
}

#[rstest]
#[case::near("pytorchjb/a", "unknown kind \"pytorchjb\": did you mean pytorchjob?")]
#[case::start("pytorch/a", "unknown kind \"pytorch\": did you mean pytorchjob?")]
#[case::unrelated("service/a", "unknown kind \"service\": use one of appwrapper, cronjob, ")]
fn unknown_kinds(#[case] text: &str, #[case] expected: &str) {
    let message = Target::parse(text).unwrap_err().to_string();
    assert!(message.starts_with(expected), "{message}");
    assert_eq!(message.matches("mpijob").count(), usize::from(message.contains("use one of")), "{message}");
}

#[rstest]
#[case::another_kind(Some("mpijob/llama"), None, Some("PyTorchJob team-a/llama exists"))]
#[case::another_namespace(Some("llama-worker-2"), Some("team-b"), Some("PyTorchJob team-a/llama exists"))]
#[case::similar(Some("pytorchjob/lama"), None, Some("did you mean llama (PyTorchJob team-a/llama)?"))]
#[case::unrelated(Some("pytorchjob/mistral"), None, None)]
#[case::namespace(None, Some("team-b"), Some("there are workloads in team-a"))]
#[case::found(Some("llama-worker-2"), None, None)]
fn hints(#[case] target: Option<&str>, #[case] namespace: Option<&str>, #[case] expected: Option<&str>) {
    let mut snapshot = ClusterSnapshot::default();
    for object in &job_with(4, waiting("ImagePullBackOff", "")) {
        snapshot.add(object, "default").unwrap();
    }
    let target = target.map(|text| Target::parse(text).unwrap());
    let selection = Selection { target, namespace: namespace.map(str::to_owned) };
    assert_eq!(diagnose(&snapshot, &selection, NOW.parse().unwrap()).hint.as_deref(), expected);
}
