//! `trainmesh fabric`, and the example configurations with profiles.

use std::fs;

use rstest::rstest;
use trainmesh_core::config::profile::MachinePattern;
use trainmesh_core::config::{
    Configuration, EXAMPLES_FOR_MACHINES, ProfileSource, builtin_profiles, profile_source, profile_sources,
};
use trainmesh_core::yaml;
use trainmesh_testing::cli::{assert_exit, trainmesh};

const OWN_PROFILES: &str = "\
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
  - name: pages
    transport: ib
    resources: [{name: hugepages-2Mi, quantity: 64Mi}]
";

/// Profiles whose devices depend on the machine, and which need memory.
const OF_MACHINES: &str = "\
apiVersion: config.trainmesh.dev/v1alpha1
kind: TrainmeshConfiguration
fabric:
  profiles:
  - name: any
    transport: efa
    resources: [{name: vpc.amazonaws.com/efa, mode: perGpu, ratio: {p5.48xlarge: '4'}}]
  - name: one
    transport: efa
    resources: [{name: vpc.amazonaws.com/efa, mode: perGpu, ratio: {p5.48xlarge: '4'}}]
    pod: {nodeSelector: {node.kubernetes.io/instance-type: p5.48xlarge}}
  - {name: pages, transport: ib, resources: [{name: hugepages-2Mi, quantity: 64Mi}]}
  - {name: optional, transport: ib, resources: [{name: hugepages-2Mi, quantity: 64Mi, optIn: true}]}
  - name: fallback
    transport: efa
    onConflict: tcp
    resources: [{name: vpc.amazonaws.com/efa, mode: perGpu, ratio: {p5.48xlarge: '4'}}]
";

const LIMITED: &str = "\
apiVersion: config.trainmesh.dev/v1alpha1
kind: TrainmeshConfiguration
fabric:
  profiles:
  - {name: one, transport: ib, namespaces: {names: [team-b, team-a]}}
  - {name: two, transport: ib, namespaces: {selector: {matchLabels: {tier: gold}, matchExpressions: [{key: a, operator: NotIn, values: [b, c]}, {key: d, operator: DoesNotExist}]}}}
  - {name: three, transport: ib, namespaces: {names: [team-a], selector: {}}}
  - {name: four, transport: ib, namespaces: {names: [team-a, team-b], selector: {matchLabels: {tier: gold, gpu: h100}}}}
";

/// Examples, by the names of their files without `.yaml`.
const EXAMPLES: [&str; 8] = [
    "coreweave-roce-gb300",
    "gke-tcpxo",
    "hgx-rails",
    "nebius-ib",
    "oke-hostnet-gb200",
    "oke-hostnet-gb300",
    "oke-hostnet-mi355x",
    "oke-roce-hostnet",
];

#[rstest]
#[case::list(&["list", "--config", "-"], &["NAME ORIGIN TRANSPORT DEVICES NAMESPACES DESCRIPTION", "one custom ib - team-b, team-a", "two custom ib - a notin (b,c),!d,tier=gold", "three custom ib - all", "four custom ib - team-a, team-b or gpu=h100,tier=gold", "tcp built-in tcp - all NCCL"], "")]
#[case::show(&["show", "one", "--config", "-"], &["namespaces:\nnames:\n- team-b\n- team-a"], "")]
#[case::render(&["render", "one", "--config", "-", "-o", "explain"], &["Pod team-b/train", "applied FabricAdded"], "note: one is limited to namespaces team-b, team-a: set -n or --namespace-labels to check one")]
#[case::render_in_a_namespace(&["render", "one", "--namespace", "team-a", "--config", "-", "-o", "explain"], &["Pod team-a/train", "FabricAdded"], "")]
#[case::render_in_another_namespace(&["render", "one", "-n", "team-c", "--config", "-", "-o", "explain"], &["refused FabricNotAllowed", "not available in namespace team-c"], "note: one is limited to namespaces team-b, team-a\n")]
#[case::render_with_a_selector(&["render", "two", "--config", "-", "-o", "explain"], &["Pod default/train", "applied FabricAdded"], "limited to namespaces a notin (b,c),!d,tier=gold: set -n or")]
#[case::render_without_labels(&["render", "two", "-n", "team-a", "--config", "-", "-o", "explain"], &["refused FabricNotAllowed"], "!d,tier=gold: set --namespace-labels to the labels of team-a")]
#[case::render_with_labels(&["render", "two", "-n", "team-a", "--namespace-labels", "tier=gold", "--config", "-", "-o", "explain"], &["Pod team-a/train", "FabricAdded"], "")]
#[case::render_with_other_labels(&["render", "two", "--namespace-labels", "tier=gold,d=1", "--config", "-", "-o", "explain"], &["refused FabricNotAllowed"], "!d,tier=gold\n")]
#[case::render_in_any(&["render", "three", "-n", "x", "--config", "-", "-o", "explain"], &["Pod x/train", "FabricAdded"], "")]
#[case::revision(&["render", "two", "--config", "-"], &["+ trainmesh.dev/fabric-revision: "], "note: two is limited")]
fn profiles_can_be_limited_to_namespaces(#[case] arguments: &[&str], #[case] stdout: &[&str], #[case] stderr: &str) {
    let mut run = trainmesh(&[&["fabric"], arguments].concat(), LIMITED);
    let squeezed = run.stdout.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    run.stdout = squeezed.collect::<Vec<_>>().join("\n");
    let is_refused = run.stdout.contains("refused FabricNotAllowed");
    assert_exit(&run, i32::from(is_refused), stdout, stderr);
    assert!(!stderr.is_empty() || run.code != Some(0) || !run.stderr.contains("limited"), "{}", run.stderr);
}

#[rstest]
#[case::node_label("nvidia-h100-mega-80gb", "configure the example for it: examples/fabric/gke-tcpxo.yaml\n")]
#[case::machine_type("a3-megagpu-8g", "configure the example for it: examples/fabric/gke-tcpxo.yaml\n")]
#[case::prefix("gb300-4x.metal", "configure the example for it: examples/fabric/coreweave-roce-gb300.yaml\n")]
#[case::none("nvidia-tesla-t4", "configure a profile for it (examples/fabric has more)\n")]
fn a_refusal_names_the_example_for_the_machine(#[case] machine: &str, #[case] expected: &str) {
    let run = trainmesh(&["fabric", "render", "gke-rdma-gib-a3u", "--machine", machine, "-o", "explain"], "");
    assert_exit(&run, 1, &[&format!("the profile is not for {machine}: select another fabric, or {expected}")], "");
}

/// A note states what the result depends on, or what the generated pod has.
#[rstest]
#[case::of_the_profile("one", 0, "vpc.amazonaws.com/efa: 32", "")]
#[case::of_the_pod(
    "any",
    1,
    "FabricContradicted",
    "note: the number of devices depends on the machine: set --machine; the profile contains p5.48xlarge\n"
)]
#[case::memory(
    "pages",
    0,
    "hugepages-2Mi: 64Mi",
    "note: hugepages-2Mi requires a cpu or memory request: the pod has both; without any, the profile is not applied\n"
)]
#[case::suggested_memory("optional", 0, "FabricAdded", "")]
#[case::fallback(
    "fallback",
    1,
    "FabricFellBack",
    "note: the number of devices depends on the machine: set --machine; the profile contains p5.48xlarge\n"
)]
fn renders_state_their_assumptions(#[case] name: &str, #[case] code: i32, #[case] stdout: &str, #[case] stderr: &str) {
    let run = trainmesh(&["fabric", "render", name, "--config", "-", "-o", "explain"], OF_MACHINES);
    assert_eq!((run.code, &*run.stderr), (Some(code), stderr), "{run:#?}");
    assert!(run.stdout.contains(stdout), "{run:#?}");
}

#[rstest]
#[case::list(&["list"], 0, &["NAME", "ib-shared built-in ib 1 rdma/hca_shared_devices_a per pod InfiniBand", "claim fabric-mrdma", "8 GKE networks", "2 nvidia.com/rdma-vf per GPU", "vpc.amazonaws.com/efa per GPU, by instance type", "device class efa.networking.k8s.aws per GPU", "tcp built-in tcp - NCCL"], "")]
#[case::own_profiles(&["list", "--config", "-"], 0, &["lab custom roce 2 rdma/lab per container", "tcp custom tcp - another tcp", "eks-efa built-in"], "")]
#[case::names(&["list", "-o", "name"], 0, &["aks-nd-gb300\naks-nd-shared\n", "\ntcp"], "")]
#[case::own_names(&["list", "-o", "name", "--config", "-"], 0, &["\nlab\n", "\npages\n"], "")]
#[case::json(&["list", "-o", "json", "--config", "-"], 0, &["\"schemaVersion\": 1", "\"origin\": \"custom\",\n\"profile\": {\n\"name\": \"tcp\",\n\"description\": \"another tcp\"", "\"origin\": \"built-in\""], "")]
#[case::show_with_comments(&["show", "eks-efa"], 0, &["# Amazon EKS", "optIn: true"], "")]
#[case::show_as_profile(&["show", "tcp", "--as", "profile"], 0, &["# Plain TCP", "name: tcp"], "")]
#[case::show_own_as_configuration(&["show", "lab", "--as", "config", "--config", "-"], 0, &["kind: TrainmeshConfiguration\nfabric:\nprofiles:\n- name: lab\n"], "")]
#[case::show_own_as_written(&["show", "lab", "--as", "values", "--config", "-"], 0, &["config:\nfabric:\nprofiles:\n- name: lab\ndescription: the cluster in the basement\ntransport: roce\nresources: [{name: rdma/lab, mode: perContainer, count: 2}]"], "")]
#[case::render_huge_pages(&["render", "pages", "--config", "-", "-o", "explain"], 0, &["applied FabricAdded", "64Mi"], "")]
#[case::render_refused(&["render", "eks-efa"], 1, &["refused FabricContradicted"], "")]
#[case::sources_of_no_directory(&["sources", "--checkout", "no/such"], 2, &[], "no/such is not a directory")]
#[case::show_as_values(&["show", "tcp", "--as", "values"], 0, &["# Apply: helm upgrade trainmesh charts/trainmesh -n trainmesh-system -f my-values.yaml", "config:\nfabric:\nprofiles:\n#", "\n- name: tcp\n"], "")]
#[case::show_as_another_form(&["show", "tcp", "--as", "helm"], 2, &[], "possible values: profile, config, values")]
#[case::show_own(&["show", "lab", "--config", "-"], 0, &["name: lab\ndescription: the cluster in the basement\n", "count: 2", "onConflict: skip"], "")]
#[case::show_replaced_built_in(&["show", "tcp", "--config", "-"], 0, &["another tcp"], "")]
#[case::show_misspelled(&["show", "ib-shred"], 2, &[], "unknown fabric profile ib-shred: did you mean ib-shared?")]
#[case::show_unknown(&["show", "nonsense"], 2, &[], "unknown fabric profile nonsense: run `trainmesh fabric list` to list the profiles, and set --config")]
#[case::show_example(&["show", "gke-tcpxo"], 2, &[], "gke-tcpxo: it is an example: set --config examples/fabric/gke-tcpxo.yaml")]
#[case::own_without_its_configuration(&["show", "lab"], 2, &[], "unknown fabric profile lab")]
#[case::render(&["render", "ib-shared"], 0, &["Pod default/train"], "")]
#[case::render_on_a_machine(&["render", "eks-efa", "--gpus", "4", "--machine", "p5.48xlarge", "-o", "json"], 0, &["\"nvidia.com/gpu\":4", "p5.48xlarge", "\"trainmesh.dev/fabric\":\"eks-efa\""], "")]
#[case::render_own(&["render", "lab", "--gpus", "2", "--config", "-", "-o", "explain"], 0, &["Pod default/train"], "")]
#[case::render_unknown(&["render", "gke-tcpxo"], 2, &[], "unknown fabric profile gke-tcpxo")]
#[case::render_for_no_gpu(&["render", "tcp", "--gpus", "0"], 2, &[], "'--gpus <N>': expected a whole number from 1\n")]
#[case::bad_configuration(&["list", "--config", "no/such/file"], 2, &[], "no/such/file")]
#[case::sources(&["sources"], 0, &["PROFILE REPOSITORY COMMIT CHECKED FILE", "coreweave-ib coreweave/nccl-tests", "oke-hostnet-gb300 oracle-quickstart/oci-hpc-oke"], "")]
#[case::sources_of_one(&["sources", "coreweave-ib-sharp"], 0, &["nccl-test-distributed-b300-64-sharp-mpijob.yaml"], "")]
#[case::sources_of_nccl(&["sources", "tcp"], 0, &["tcp NVIDIA/nccl 73cf112295c3"], "")]
#[case::sources_of_none(&["sources", "lab"], 2, &[], "no source is recorded for lab")]
#[case::sources_of_another_checkout(&["sources", "crusoe-ib", "--checkout", "examples"], 2, &[], "examples contains none of the files of crusoecloud/solutions-library")]
#[case::help(&["--help"], 0, &["Examples:", "trainmesh fabric show roce-sriov"], "")]
#[case::no_command(&[], 2, &[], "Usage: trainmesh fabric")]
fn commands(#[case] arguments: &[&str], #[case] code: i32, #[case] stdout: &[&str], #[case] stderr: &str) {
    let mut run = trainmesh(&[&["fabric"], arguments].concat(), OWN_PROFILES);
    // Column widths depend on other rows and are not tested here.
    let squeezed = run.stdout.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    run.stdout = squeezed.collect::<Vec<_>>().join("\n");
    assert_exit(&run, code, stdout, stderr);
}

/// As `preview` does, the commands merge several files as Helm does.
#[rstest]
#[case::list(&["list", "-o", "name"], "\nlab\n")]
#[case::show(&["show", "lab"], "description: of the site\n")]
#[case::show_as_written(&["show", "lab", "--as", "values"], "    - name: lab\n      description: of the site\n      transport: roce\n")]
#[case::render(&["render", "lab", "-o", "explain"], "FabricAdded")]
fn several_files_of_values_are_merged(#[case] arguments: &[&str], #[case] expected: &str) {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, description: &str| {
        let path = folder.path().join(name);
        let profile = format!("{{profiles: [{{name: lab, description: {description}, transport: roce}}]}}");
        let profile = if description.is_empty() { "{enabled: true}".to_owned() } else { profile };
        fs::write(&path, format!("config:\n  fabric: {profile}\n")).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (base, site, last) = (file("a.yaml", "of the base"), file("b.yaml", "of the site"), file("c.yaml", ""));
    let files = ["--config", &base, "--config", &site, "--config", &last];
    let run = trainmesh(&[&["fabric"], arguments, &files].concat(), "");
    assert_exit(&run, 0, &[expected], "");
    assert!(!run.stdout.contains("of the base"), "{}", run.stdout);
}

#[test]
fn shown_profiles_can_be_used_in_a_configuration() {
    for name in builtin_profiles().all().keys() {
        let shown = trainmesh(&["fabric", "show", name], "");
        assert_eq!(Some(shown.stdout.as_str()), profile_source(name));
        let shown = trainmesh(&["fabric", "show", name, "--as", "config"], "");
        let configuration = Configuration::parse(&shown.stdout).unwrap();
        assert!(configuration.fabric.profiles.is_custom(name));
        assert_eq!(configuration.fabric.profiles.find(name), builtin_profiles().find(name));
        let values = trainmesh(&["fabric", "show", name, "--as", "values"], "");
        let values = yaml::parse(&values.stdout).unwrap();
        assert_eq!(values["config"]["fabric"]["profiles"][0], yaml::parse(profile_source(name).unwrap()).unwrap());
        let rendered = trainmesh(&["fabric", "render", name], "");
        // A profile may depend on the machine.
        assert!(matches!(rendered.code, Some(0 | 1)), "{rendered:#?}");
    }
}

#[test]
fn changed_files_of_a_checkout_are_reported() {
    let directory = std::env::temp_dir().join(format!("trainmesh-sources-{}", std::process::id()));
    let file = directory.join("mpi-operator/nccl-test-distributed-gb200-nvl72-mpijob.yaml");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "kind: MPIJob\n").unwrap();
    let run = trainmesh(&["fabric", "sources", "coreweave-ib-nvl72", "--checkout", directory.to_str().unwrap()], "");
    fs::remove_dir_all(&directory).unwrap();
    let states: Vec<&str> = run.stdout.lines().skip(1).filter_map(|line| line.split_whitespace().nth(4)).collect();
    assert_eq!((run.code, states), (Some(1), vec!["changed", "missing"]), "{run:#?}");
}

/// Complete configurations with one profile each, for clusters whose values must be filled in manually.
#[test]
fn each_example_defines_the_profile_of_its_file_name() {
    let mut names = Vec::new();
    for file in fs::read_dir("examples/fabric").unwrap() {
        let path = file.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let run = trainmesh(&["config", "validate", path.to_str().unwrap()], "");
        assert_eq!(run.code, Some(0), "{run:#?}");
        let configuration = Configuration::parse(&fs::read_to_string(&path).unwrap()).unwrap();
        assert!(configuration.fabric.profiles.is_custom(&name), "{name}");
        assert_eq!(builtin_profiles().find(&name), None, "{name} must not be built in");
        let custom = configuration.fabric.profiles.all().into_iter();
        let custom = custom.filter(|(name, _)| configuration.fabric.profiles.is_custom(name));
        let machines = custom.flat_map(|(_, entry)| entry.profile.matches.machines.iter().map(MachinePattern::as_str));
        let listed = EXAMPLES_FOR_MACHINES.iter().find(|(example, _)| *example == name);
        assert_eq!(machines.collect::<Vec<_>>(), listed.map_or(&[][..], |(_, machines)| machines), "{name}");
        names.push(name);
    }
    names.sort();
    assert_eq!(names, EXAMPLES);
}

#[test]
fn the_example_of_the_documentation_loads() {
    let page = include_str!("../../docs/fabric.md");
    let (_, rest) = page.split_once("```yaml\n").unwrap();
    let (block, _) = rest.split_once("```").unwrap();
    let configuration = Configuration::parse(block).unwrap();
    assert!(configuration.fabric.profiles.is_custom("basement"), "{block}");
}

/// Each row of the table names the first file that the profile was checked against, and the number of others.
#[test]
fn the_documentation_lists_every_profile_with_its_sources() {
    let page = include_str!("../../docs/fabric.md");
    let profiles = builtin_profiles().all().into_keys().map(|name| (name, format!("| `{name}` | ")));
    let examples = EXAMPLES.map(|name| (name, format!("| example [`{name}`](../examples/fabric/{name}.yaml) | ")));
    for (name, cell) in profiles.chain(examples) {
        let sources: Vec<_> = profile_sources().filter(|source| source.profile == name).collect();
        let ProfileSource { repository, commit, date, file, .. } = sources[0];
        let others = if sources.len() > 1 { format!(" (and {} more)", sources.len() - 1) } else { String::new() };
        let expected = format!(
            "{cell}[`{}`](https://github.com/{repository}/blob/{commit}/{file}) of {repository} at `{}`, {date}{others} | ",
            file.rsplit('/').next().unwrap(),
            &commit[..7]
        );
        assert!(page.contains(&expected), "docs/fabric.md does not contain {expected}");
    }
}
