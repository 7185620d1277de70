//! Every example of the repository renders, under the roles that its operator makes.

use std::path::Path;

use rstest::rstest;
use serde_json::Value;

use super::super::template::testing::render_with;
use super::super::{Runtimes, identify};
use crate::pod::Pod;

#[rstest]
#[case::pytorchjob("pytorchjob", &[("Master", 1), ("Worker", 3)])]
#[case::pytorchjob_elastic("pytorchjob-elastic", &[("Worker", 4)])]
#[case::tfjob("tfjob", &[("Chief", 1), ("Worker", 4), ("PS", 2), ("Evaluator", 1)])]
#[case::xgboostjob("xgboostjob", &[("Master", 1), ("Worker", 2)])]
#[case::paddlejob("paddlejob", &[("Worker", 3)])]
#[case::jaxjob("jaxjob", &[("Worker", 2)])]
#[case::mpijob_v1("mpijob-v1", &[("Launcher", 1), ("Worker", 2)])]
#[case::mpijob_v2beta1("mpijob-v2beta1", &[("Launcher", 1), ("Worker", 4)])]
fn an_example_renders(#[case] file: &str, #[case] expected: &[(&str, u64)]) {
    let mut documents = read(file);
    check(&documents.remove(0), &Runtimes::default(), expected);
}

#[test]
fn the_example_with_a_runtime_renders() {
    let mut documents = read("trainjob");
    let job = documents.remove(1);
    let runtime = documents.remove(0);
    let name = runtime["metadata"]["name"].as_str().unwrap().to_owned();
    let runtimes = Runtimes { by_name: [((None, name), runtime)].into() };
    check(&job, &runtimes, &[("dataset-initializer", 1), ("node", 2)]);
}

/// The pods decode, say who made them, and carry the job's kind in that.
fn check(manifest: &Value, runtimes: &Runtimes, expected: &[(&str, u64)]) {
    let roles = render_with(manifest, runtimes).unwrap();
    let found: Vec<_> = roles.iter().map(|role| (role.name.as_str(), role.replicas)).collect();
    assert_eq!(found, expected);
    for role in &roles {
        serde_json::from_value::<k8s_openapi::api::core::v1::Pod>(role.pod.clone()).unwrap();
        let pod = Pod::new(&role.pod);
        assert!(pod.controller().is_some());
        // The initializer's Job carries the mark of its TrainJob, its pod does not.
        if role.name != "dataset-initializer" {
            assert_eq!(identify(pod).unwrap().kind, manifest["kind"].as_str().unwrap());
        }
    }
}

fn read(file: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(file).with_extension("yaml");
    serde_saphyr::from_multiple(&std::fs::read_to_string(path).unwrap()).unwrap()
}
