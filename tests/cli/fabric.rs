//! `trainmesh fabric`, and the example configurations with profiles.

use std::fs;

use rstest::rstest;
use trainmesh_core::config::{Configuration, builtin_profiles, profile_source};
use trainmesh_testing::cli::{ended, trainmesh};

const OWN: &str = "\
apiVersion: config.trainmesh.dev/v1alpha1
kind: TrainmeshConfiguration
fabric:
  profiles:
  - name: lab
    description: the cluster in the basement
    transport: roce
    resources: [{name: rdma/lab, mode: perContainer, count: 2}]
  - name: tcp
    description: another tcp
    transport: tcp
";

const LIMITED: &str = "\
apiVersion: config.trainmesh.dev/v1alpha1
kind: TrainmeshConfiguration
fabric:
  profiles:
  - {name: one, transport: ib, namespaces: {names: [team-b, team-a]}}
  - {name: two, transport: ib, namespaces: {selector: {matchLabels: {tier: gold}, matchExpressions: [{key: a, operator: NotIn, values: [b, c]}, {key: d, operator: DoesNotExist}]}}}
  - {name: three, transport: ib, namespaces: {names: [team-a], selector: {}}}
";

#[rstest]
#[case::list(&["list", "--config", "-"], &["NAME FROM TRANSPORT DEVICES NAMESPACES DESCRIPTION", "one own ib - team-b, team-a", "two own ib - a notin (b,c),!d,tier=gold", "three own ib - all", "tcp built-in tcp - all NCCL"])]
#[case::show(&["show", "one", "--config", "-"], &["namespaces:\nnames:\n- team-b\n- team-a"])]
#[case::render(&["render", "one", "--config", "-", "-o", "explain"], &["not for namespace default"])]
#[case::render_elsewhere(&["render", "one", "--namespace", "team-a", "--config", "-", "-o", "explain"], &["Pod team-a/train", "FabricAdded"])]
fn a_profile_may_be_for_some_namespaces(#[case] arguments: &[&str], #[case] stdout: &[&str]) {
    let mut run = trainmesh(&[&["fabric"], arguments].concat(), LIMITED);
    let squeezed = run.stdout.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    run.stdout = squeezed.collect::<Vec<_>>().join("\n");
    ended(&run, 0, stdout, "");
}

#[rstest]
#[case::list(&["list"], 0, &["NAME", "ib-shared built-in ib 1 rdma/hca_shared_devices_a per pod InfiniBand", "claim fabric-mrdma", "8 networks of GKE", "2 nvidia.com/rdma-vf per GPU", "vpc.amazonaws.com/efa per GPU, by machine", "device class efa.networking.k8s.aws per GPU", "tcp built-in tcp - NCCL"], "")]
#[case::own_ones(&["list", "--config", "-"], 0, &["lab own roce 2 rdma/lab per container", "tcp own tcp - another tcp", "eks-efa built-in"], "")]
#[case::show_with_comments(&["show", "eks-efa"], 0, &["# Amazon EKS", "optIn: true"], "")]
#[case::show_own(&["show", "lab", "--config", "-"], 0, &["name: lab\ndescription: the cluster in the basement\n", "count: 2", "onConflict: skip"], "")]
#[case::show_what_is_replaced(&["show", "tcp", "--config", "-"], 0, &["another tcp"], "")]
#[case::show_misspelt(&["show", "ib-shred"], 2, &[], "no profile is called ib-shred: did you mean ib-shared?")]
#[case::show_unknown(&["show", "nonsense"], 2, &[], "no profile is called nonsense: trainmesh fabric list shows the names")]
#[case::own_without_its_configuration(&["show", "lab"], 2, &[], "no profile is called lab")]
#[case::render(&["render", "ib-shared"], 0, &["Pod default/train"], "")]
#[case::render_on_a_machine(&["render", "eks-efa", "--gpus", "4", "--machine", "p5.48xlarge", "-o", "json"], 0, &["\"nvidia.com/gpu\":4", "p5.48xlarge", "\"trainmesh.dev/fabric\":\"eks-efa\""], "")]
#[case::render_own(&["render", "lab", "--gpus", "2", "--config", "-", "-o", "explain"], 0, &["Pod default/train"], "")]
#[case::render_unknown(&["render", "gke-tcpxo"], 2, &[], "no profile is called gke-tcpxo")]
#[case::render_for_no_gpu(&["render", "tcp", "--gpus", "0"], 2, &[], "--gpus")]
#[case::bad_configuration(&["list", "--config", "no/such/file"], 2, &[], "no/such/file")]
#[case::help(&["--help"], 0, &["Examples:", "trainmesh fabric show roce-sriov"], "")]
#[case::no_command(&[], 2, &[], "Usage: trainmesh fabric")]
fn commands(#[case] arguments: &[&str], #[case] code: i32, #[case] stdout: &[&str], #[case] stderr: &str) {
    let mut run = trainmesh(&[&["fabric"], arguments].concat(), OWN);
    // Columns are as wide as their widest cell, which is not what is tested here.
    let squeezed = run.stdout.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    run.stdout = squeezed.collect::<Vec<_>>().join("\n");
    ended(&run, code, stdout, stderr);
}

#[test]
fn what_is_shown_is_the_file_and_can_be_put_into_a_configuration() {
    for name in builtin_profiles().all().keys() {
        let shown = trainmesh(&["fabric", "show", name], "");
        assert_eq!(Some(shown.stdout.as_str()), profile_source(name));
        let item = shown.stdout.lines().fold(String::new(), |text, line| text + "    " + line + "\n");
        let text = format!(
            "apiVersion: config.trainmesh.dev/v1alpha1\nkind: TrainmeshConfiguration\nfabric:\n  profiles:\n  -\n{item}"
        );
        let configuration = Configuration::parse(&text).unwrap();
        assert_eq!(configuration.fabric.profiles.find(name), builtin_profiles().find(name));
        let rendered = trainmesh(&["fabric", "render", name], "");
        assert_eq!(rendered.code, Some(0), "{rendered:#?}");
    }
}

/// Whole configurations with one profile each, for sites whose values only a person can tell.
#[test]
fn every_example_is_a_configuration_with_the_profile_of_its_name() {
    let mut names = Vec::new();
    for file in fs::read_dir("examples/fabric").unwrap() {
        let path = file.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let run = trainmesh(&["config", "validate", path.to_str().unwrap()], "");
        assert_eq!(run.code, Some(0), "{run:#?}");
        let configuration = Configuration::parse(&fs::read_to_string(&path).unwrap()).unwrap();
        assert!(configuration.fabric.profiles.is_own(&name), "{name}");
        assert_eq!(builtin_profiles().find(&name), None, "{name} is an example only");
        names.push(name);
    }
    names.sort();
    assert_eq!(names, ["coreweave-roce-gb300", "gke-tcpxo", "oke-roce-hostnet"]);
}

#[test]
fn the_page_names_every_profile_and_shows_what_loads() {
    let page = include_str!("../../docs/fabric.md");
    for name in builtin_profiles().all().keys() {
        assert!(page.contains(&format!("| `{name}` |")), "{name} is not in docs/fabric.md");
    }
    let (_, rest) = page.split_once("```yaml\n").unwrap();
    let (block, _) = rest.split_once("```").unwrap();
    let configuration = Configuration::parse(block).unwrap();
    assert!(configuration.fabric.profiles.is_own("basement"), "{block}");
}
