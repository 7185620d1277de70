//! `trainmesh config validate` of Helm values: what was checked, and several files.

use std::fs;

use rstest::rstest;
use trainmesh_testing::apiserver::Apiserver;
use trainmesh_testing::cli::{trainmesh, trainmesh_with};

const PRIVILEGED: &str =
    "config: {fabric: {profiles: [{name: mine, transport: ib, securityContext: {privileged: true}}]}}\n";
const LIMITED: &str = "config: {fabric: {profiles: [{name: mine, transport: ib, securityContext: {privileged: true}, \
                       namespaces: {names: [a]}}]}}\n";

#[rstest]
#[case::section(&["config: {mesh: {hold: false}}"], 0, ": section config is valid, hash ", "")]
#[case::other_values(&["webhook: {replica: 3}"], 0, "; Helm checks the other values\n", "")]
#[case::no_section(&["webhook: {replicas: 3}"], 0, "0.yaml: section config is absent or empty, so the defaults apply, hash ", "")]
#[case::empty(&["{}"], 0, "section config is absent or empty, so the defaults apply", "")]
#[case::null(&["null\n"], 2, "", "no values: write {} for the defaults")]
#[case::no_text(&[""], 2, "", "no values: write {} for the defaults")]
#[case::no_text_of_a_site(&["config: {}", ""], 2, "", "1.yaml: no values: write {} for the defaults")]
#[case::empty_section(&["config:\n  # mesh: {hold: false}\n"], 0, "section config is absent or empty, so the defaults apply", "")]
#[case::empty_part_of_the_section(&["config: {mesh: , gang: }"], 0, "section config is valid", "")]
#[case::empty_other_section(
    &["image: {registry: r}\nnetworkPolicy:\n  # metricsFrom: []\n"], 2, "",
    "0.yaml:2: networkPolicy: empty, so that Helm removes its default, which the chart requires: remove it, or write {}"
)]
#[case::empty_value(
    &["trainmesh:\n  webhook: {}\n  metrics:\n    podMonitor:\n      interval:\n"], 2, "",
    "0.yaml:5: trainmesh.metrics.podMonitor.interval: empty, so that Helm removes its default, which the chart requires: remove it, or set a value"
)]
#[case::empty_section_of_a_later_file(&["metrics: {}", "metrics:"], 2, "", "1.yaml:1: metrics: empty")]
#[case::empty_section_of_an_earlier_file(&["metrics:", "metrics: {dashboard: {enabled: true}}"], 0, "absent or empty", "")]
#[case::only_comments(&["# Nothing yet.\n"], 0, "section config is absent or empty, so the defaults apply", "")]
#[case::configuration(&["apiVersion: config.trainmesh.dev/v1alpha1\nkind: TrainmeshConfiguration"], 0, "0.yaml: valid, hash ", "")]
#[case::base_and_site(&[PRIVILEGED, "config: {fabric: {default: mine}}"], 0, "0.yaml, ", "profile mine gives pods")]
#[case::site_alone(&["config: {fabric: {default: mine}}"], 2, "", "0.yaml:1: config.fabric.default")]
#[case::file_of_each_problem(&["config: {mesh: {hold: 1}}", "\nconfig: {mesh: {enabled: 1}}"], 2, "", "1.yaml:2: config.mesh.enabled")]
#[case::argo_cd(
    &["apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\nspec: {source: {helm: {valuesObject: {config: {}}}}}"], 2, "",
    "0.yaml:2: kind: expected a configuration or Helm values: pass the values in spec.source.helm.valuesObject as a file of their own"
)]
#[case::argo_cd_with_a_text(
    &["apiVersion: argoproj.io/v1alpha1\nkind: Application\nspec: {source: {helm: {values: 'config: {}'}}}"], 2, "",
    "0.yaml:2: kind: expected a configuration or Helm values: pass the values in spec.source.helm.values as a file of their own"
)]
#[case::argo_cd_with_several_sources(
    &["apiVersion: argoproj.io/v1alpha1\nkind: Application\nspec: {sources: [{helm: {valuesObject: {config: {}}}}]}"], 2, "",
    "0.yaml:2: kind: expected a configuration or Helm values: pass the values in spec.sources[0].helm.valuesObject as a file of their own"
)]
#[case::argo_cd_with_files_of_another_source(
    &["apiVersion: argoproj.io/v1alpha1\nkind: Application\nspec:\n  sources:\n  - {ref: values}\n  - helm: {valueFiles: [$values/site.yaml, b.yaml]}\n"], 2, "",
    "0.yaml:2: kind: expected a configuration or Helm values: pass the files of spec.sources[1].helm.valueFiles: site.yaml (of the source with ref: values), b.yaml\n"
)]
#[case::argo_cd_with_many_files(
    &["apiVersion: argoproj.io/v1alpha1\nkind: Application\nspec: {source: {helm: {valueFiles: [a, b, c, d, e, f]}}}"], 2, "",
    "pass the files of spec.source.helm.valueFiles: a, b, c, d and 2 more\n"
)]
#[case::argo_cd_with_files_and_values(
    &["apiVersion: argoproj.io/v1alpha1\nkind: Application\nspec: {source: {helm: {valueFiles: [a], values: '{}'}}}"], 2, "",
    "pass the files of spec.source.helm.valueFiles: a; then pass the values in spec.source.helm.values as a file of their own\n"
)]
#[case::argo_cd_without_values(
    &["apiVersion: argoproj.io/v1alpha1\nkind: Application\nspec: {source: {helm: {valueFiles: []}}}"], 2, "",
    "pass the values in spec.source.helm.valuesObject as a file of their own\n"
)]
#[case::argo_cd_beside_another(
    &["apiVersion: v1\nkind: Namespace\n---\napiVersion: argoproj.io/v1alpha1\nkind: Application\nspec:\n  source:\n    helm:\n      values: |\n        config: {}\n"],
    2, "", "0.yaml:5: kind: expected a configuration or Helm values: pass the values in spec.source.helm.values as a file of their own"
)]
#[case::flux(
    &["apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: a}\nspec: {values: {config: {}}}"], 2, "",
    "0.yaml:2: kind: expected a configuration or Helm values: pass the values in spec.values as a file of their own"
)]
#[case::flux_with_a_source(
    &["apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\n---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\n"], 2, "",
    "0.yaml:5: kind: expected a configuration or Helm values: pass the values in spec.values as a file of their own"
)]
#[case::two_documents(&["config: {}\n---\nconfig: {}\n"], 2, "", "0.yaml:3: a second document starts here")]
#[case::rendered(
    &["kind: Namespace\n---\n# Source: a\nkind: ConfigMap\nmetadata: {name: other}\n---\nkind: ConfigMap\nmetadata: {name: trainmesh-config}\ndata:\n  config.yaml: |\n    apiVersion: config.trainmesh.dev/v1alpha1\n    kind: TrainmeshConfiguration\n    mesh: {hold: 1}\n---\nkind: Secret\n"],
    2, "", "0.yaml:13: mesh.hold: "
)]
#[case::rendered_and_valid(
    &["kind: Namespace\n---\nkind: ConfigMap\nmetadata: {name: trainmesh-config}\ndata: {config.yaml: '{apiVersion: config.trainmesh.dev/v1alpha1, kind: TrainmeshConfiguration}'}\n"],
    0, "0.yaml: valid, hash ", ""
)]
#[case::rendered_twice(
    &["kind: ConfigMap\nmetadata: {name: trainmesh-config}\n---\nkind: ConfigMap\nmetadata: {name: trainmesh-config}\n"], 2, "", "0.yaml:4: a second document starts here"
)]
#[case::rendered_without_a_configuration(&["kind: Namespace\n---\nkind: ConfigMap\nmetadata: {name: other}\n"], 2, "", "0.yaml:3: a second document starts here")]
#[case::list_of_namespaces(&["config: {fabric: {profiles: [{name: mine, transport: ib,\nnamespaces: [a]}]}}\n"], 2, "", "0.yaml:2: config.fabric.profiles[0].namespaces: expected a mapping, found a list: write it below names, as in {names: [team-a]}")]
#[case::days(&["config: {termination: {settle: 5d}}"], 2, "", "found \"5d\": days are not supported, write 120h")]
#[case::parent_chart(&["trainmesh:\n  config: {mesh: {hold: 1}}"], 2, "", "0.yaml:2: ")]
#[case::privileged(&[PRIVILEGED], 0, "is valid", "profile mine gives pods of every opted-in namespace privileges")]
#[case::machine(&["config: {fabric: {profiles: [{name: mine, transport: ib, pod: {nodeSelector: {node.kubernetes.io/instance-type: m8}}}]}}\n"], 0, "is valid", "list m8 in `match.machines`")]
#[case::suggested_settings(
    &["config: {fabric: {profiles: [{name: mine, transport: ib, env: [{name: LD_LIBRARY_PATH, value: /a, via: env, optIn: true}]}]}}\n"], 0,
    "is valid", "note: profile mine does not set LD_LIBRARY_PATH, which it only suggests"
)]
#[case::absent_interface(
    &["config: {fabric: {profiles: [{name: mine, transport: tcpxo, env: [{name: NCCL_FASTRAK_IFNAME, value: 'eth1,eth9'}], networks: {gke: {interfaces: [{interfaceName: eth1, network: a}]}}}]}}\n"], 0,
    "is valid", "warning: profile mine: NCCL_FASTRAK_IFNAME names eth9, which is not in `networks.gke.interfaces`"
)]
#[case::accelerator_as_adapter(
    &["config: {fabric: {profiles: [{name: mine, transport: ib, match: {gpuResources: [nvidia.com/gpu]}, resources: [{name: nvidia.com/gpu, count: 1}]}]}}\n"], 0,
    "is valid", "warning: profile mine: `resources` contains nvidia.com/gpu, an accelerator of `match.gpuResources`, of which pods request their own number: list"
)]
#[case::proxy_as_sidecar(
    &["config: {termination: {helpers: [{name: istio-proxy, exec: [a]}]}}\n"], 0, "is valid", "warning: termination.helpers has an entry for istio-proxy"
)]
#[case::misspelled_machine(
    &["config: {fabric: {profiles: [{name: mine, transport: efa, match: {machines: [p5.48xlrge]}}]}}\n"], 0, "is valid",
    "warning: profile mine: no instance type is called p5.48xlrge: did you mean p5.48xlarge?"
)]
#[case::ratio_of_a_misspelled_machine(
    &["config: {fabric: {profiles: [{name: mine, transport: efa, resources: [{name: vpc.amazonaws.com/efa, mode: perGpu, ratio: {p5.48xlrge: '4'}}]}]}}\n"],
    0, "is valid", "warning: profile mine: no instance type is called p5.48xlrge"
)]
#[case::ratio_of_an_excluded_machine(
    &["config: {fabric: {profiles: [{name: mine, transport: efa, match: {machines: [p5e]}, resources: [{name: vpc.amazonaws.com/efa, mode: perGpu, ratio: {p5e.48xlarge: '4', p5.48xlarge: '4'}}]}]}}\n"],
    0, "is valid", "warning: profile mine has a ratio for p5.48xlarge, to which it does not apply"
)]
#[case::settings_of_other_libraries(
    &["config: {fabric: {profiles: [{name: mine, transport: ib, env: [{name: UCX_TLS, value: rc}, {name: NCCL_DEBUG, value: INFO}, {name: FI_LOG_LEVEL, value: warn}, {name: OMPI_A, value: b, via: env}, {name: LD_PRELOAD, value: a, optIn: true}]}]}}\n"],
    0, "is valid", "profile mine delivers UCX_TLS in NCCL's configuration file"
)]
#[case::settings_of_plugins(&["config: {fabric: {profiles: [{name: mine, transport: efa, env: [{name: FI_LOG_LEVEL, value: warn}]}]}}\n"], 0, "is valid", "")]
#[case::listed_machine(&["config: {fabric: {profiles: [{name: mine, transport: ib, match: {machines: [m8]}, pod: {nodeSelector: {node.kubernetes.io/instance-type: m8}}}]}}\n"], 0, "is valid", "")]
#[case::network_of_another_transport(&["config: {fabric: {profiles: [{name: mine, transport: efa,\nfailClosed: {ncclNet: IB}}]}}\n"], 2, "", "0.yaml:2: config.fabric.profiles[0].failClosed: ncclNet=IB selects another transport; the transport is efa")]
#[case::list_of_a_later_file(
    &["config: {fabric: {profiles: [{name: a, transport: ib}, {name: b, transport: ib}]}}", "config: {mesh: {hold: true}}", "config: {fabric: {profiles: [{name: b, transport: ib}]}}"],
    0, "is valid", "2.yaml replaces fabric.profiles of "
)]
#[case::the_same_profiles(
    &["config: {fabric: {profiles: [{name: a, transport: ib}]}}", "config: {fabric: {profiles: [{name: b, transport: ib}, {name: a, transport: ib}]}}"],
    0, "is valid", ""
)]
#[case::misspelled_network(&["config: {fabric: {profiles: [{name: mine, transport: efa,\nfailClosed: {ncclNet: Libfabrc}}]}}\n"], 2, "", "ncclNet=Libfabrc is no known network (Libfabric is)")]
#[case::plugin_excluded(&["config: {fabric: {profiles: [{name: mine, transport: efa,\nenv: [{name: NCCL_NET_PLUGIN, value: none}]}]}}\n"], 2, "", "0.yaml:2: config.fabric.profiles[0].env[0].value: NCCL_NET_PLUGIN=none excludes the plugin")]
#[case::another_provider(&["config: {fabric: {profiles: [{name: mine, transport: efa,\nenv: [{name: FI_PROVIDER, value: tcp}]}]}}\n"], 2, "", "FI_PROVIDER=tcp selects another provider of libfabric")]
#[case::another_network(&["config: {fabric: {profiles: [{name: mine, transport: efa,\nenv: [{name: NCCL_NET, value: Socket}]}]}}\n"], 2, "", "NCCL_NET=Socket selects another transport")]
#[case::network_of_the_transport(&["config: {fabric: {profiles: [{name: mine, transport: efa, failClosed: {ncclNet: Libfabric}}]}}\n"], 0, "is valid", "")]
#[case::bare_profile(&["name: mine\ntransport: ib\nsecurityContext: {memlock: nodeUnlimited}\n"], 2, "", "0.yaml: a fabric profile, not a configuration")]
#[case::list_beside_values(&["config: {}", "- {name: mine, transport: ib}\n"], 2, "", "1.yaml: a list of fabric profiles")]
#[case::misspelled_section(&["confg: {}\nwebhook: {}"], 2, "", "confg: unknown value of the Helm chart: did you mean config?")]
#[case::misspelled_section_alone(&["confg: {mesh: {hold: false}}"], 2, "", "0.yaml:1: confg: unknown value of the Helm chart: did you mean config?")]
#[case::values_in_a_string(&["\"config:\\n  mesh: {traffic: direct}\\n\""], 2, "", "0.yaml:1: Helm values in a string: write them without quotes, for example with yq -r")]
#[case::values_of_a_parent_chart(&["other: {}\ntrainmesh:\n  config: {mesh: {trafic: direct}}\n"], 2, "", "0.yaml:3: trainmesh.config.mesh.trafic: ")]
#[case::section_beside_config(&["image: {}\nmesh: {}\n"], 2, "", "0.yaml:2: mesh: unknown value of the Helm chart: move it below config")]
#[case::sections_alone(&["mesh: {hold: false}"], 2, "", "0.yaml:1: apiVersion: missing")]
#[case::direct_without_pod_ranges(&["config: {mesh: {traffic: direct}}"], 0, "is valid", "mesh.traffic is direct without mesh.podCIDRs")]
#[case::direct(&["config: {mesh: {traffic: direct, podCIDRs: [10.244.0.0/16]}}"], 0, "is valid", "")]
#[case::every_address(
    &["config: {mesh: {excludeIPRanges: ['::/0']}}"], 0, "is valid",
    "warning: mesh.excludeIPRanges contains every address of IPv6, so"
)]
#[case::every_address_together(
    &["config: {mesh: {podCIDRs: [10.0.0.0/8, 128.0.0.0/2, 0.0.0.0/1, 192.0.0.0/2]}}"], 0, "is valid",
    "warning: mesh.podCIDRs contains every address of IPv4, so"
)]
#[case::almost_every_address(
    &["config: {mesh: {podCIDRs: [0.0.0.0/1, '8000::/1', 128.0.0.0/2]}}"], 0, "is valid", ""
)]
#[case::pod_range_twice(
    &["config: {mesh: {podCIDRs: [10.244.0.0/16, 10.245.0.0/16, 10.244.0.0/16]}}"], 0, "is valid",
    "warning: mesh.podCIDRs: 10.244.0.0/16 is listed twice: remove it"
)]
#[case::part_of_a_pod_range(
    &["config: {mesh: {podCIDRs: [10.0.0.0/18, 10.0.0.0/8]}}"], 0, "is valid",
    "warning: mesh.podCIDRs: 10.0.0.0/18 is a part of 10.0.0.0/8: remove it"
)]
#[case::pod_range_of_loopback(
    &["config: {mesh: {podCIDRs: [127.1.0.0/16]}}"], 0, "is valid",
    "warning: mesh.podCIDRs: 127.1.0.0/16 contains only loopback addresses, which no pod has"
)]
#[case::excluded_range_of_multicast(
    &["config: {mesh: {excludeIPRanges: [224.0.0.0/4, 127.0.0.0/8]}}"], 0, "is valid", ""
)]
#[case::long_wait(&["config: {mesh: {waitTimeout: 2h}}"], 0, "is valid", "warning: mesh.waitTimeout is 2h, during which ")]
#[case::longest_wait(&["config: {mesh: {waitTimeout: 1h}}"], 0, "is valid", "")]
#[case::each_item(&["config: {mesh: {podCIDRs: [10.0.0.0/33, 10.1.0.0/16, abc]}}"], 2, "", "item 3: ")]
#[case::gang_without_a_controller(&["controller: {enabled: false}\nconfig: {gang: {default: volcano}}"], 0, "is valid", "warning: gang.default is volcano, but controller.enabled is false")]
#[case::gang_with_a_controller(&["config: {gang: {default: volcano}}"], 0, "is valid", "")]
#[case::gang_without_pod_groups(&["controller: {enabled: false}\nconfig: {gang: {default: kai}}"], 0, "is valid", "")]
#[case::limited(&[LIMITED], 0, "is valid", "")]
#[case::limited_default(&[LIMITED, "config: {fabric: {default: mine}}"], 0, "is valid", "warning: fabric.default is mine, which is limited to namespaces")]
#[case::limited_default_without_fabrics(&[LIMITED, "config: {fabric: {enabled: false, default: mine}}"], 0, "is valid", "")]
fn reports_what_was_checked(#[case] texts: &[&str], #[case] code: i32, #[case] stdout: &str, #[case] stderr: &str) {
    let folder = tempfile::tempdir().unwrap();
    let write = |(index, text): (usize, &&str)| {
        let path = folder.path().join(format!("{index}.yaml"));
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let files: Vec<String> = texts.iter().enumerate().map(write).collect();
    let arguments: Vec<&str> = ["config", "validate"].into_iter().chain(files.iter().map(String::as_str)).collect();
    let run = trainmesh(&arguments, "");
    assert_eq!(run.code, Some(code), "{run:#?}");
    assert!(run.stdout.contains(stdout) && run.stderr.contains(stderr), "{run:#?}");
    assert_eq!(run.stderr.is_empty(), stderr.is_empty(), "{run:#?}");
}

#[rstest]
#[case::show(&["config", "show"], "hold: false")]
#[case::list(&["fabric", "list", "-o", "name"], "tcp")]
#[case::lint(&["lint", "-f", "-"], "roles: 1")]
#[case::preview(&["preview", "-f", "-"], "")]
fn files_of_values_are_merged(#[case] command: &[&str], #[case] stdout: &str) {
    let folder = tempfile::tempdir().unwrap();
    let files = [("base.yaml", "config: {mesh: {hold: false}}"), ("site.yaml", "config: {mesh: {traffic: leave}}")];
    let paths = files.map(|(name, text)| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    });
    let arguments = [command, &["--config", &paths[0], "--config", &paths[1]]].concat();
    let run = trainmesh(
        &arguments,
        "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, image: i}]}}",
    );
    assert_eq!(run.code, Some(0), "{run:#?}");
    assert!(run.stdout.contains(stdout), "{run:#?}");
}

#[test]
fn the_result_fits_the_width() {
    let run = trainmesh_with(&["config", "validate", "-"], "webhook: {replicas: 3}", &[("COLUMNS", "40")]);
    assert!(run.stdout.starts_with("stdin: section config is absent or"), "{run:#?}");
    assert!(run.stdout.lines().count() > 1 && run.stdout.lines().all(|line| line.len() <= 40), "{run:#?}");
}

#[rstest]
#[case::variable(&["config", "show"], "the configuration no/such.yaml (from TRAINMESH_CONFIG): ")]
#[case::argument(&["config", "show", "--config=no/such.yaml"], "the configuration no/such.yaml: ")]
fn a_missing_file_has_its_origin(#[case] arguments: &[&str], #[case] stderr: &str) {
    let run = trainmesh_with(arguments, "", &[("TRAINMESH_CONFIG", "no/such.yaml")]);
    assert!(run.code == Some(2) && run.stderr.contains(stderr), "{run:#?}");
}

#[test]
fn an_empty_standard_input_is_an_error() {
    let run = trainmesh(&["config", "validate", "-"], "\n");
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{run:#?}");
    assert!(run.stderr.contains("standard input is empty"), "{run:#?}");
}

/// A server prints the problems like `config validate`, one in a line.
#[rstest]
fn servers_print_all_problems_of_their_file(#[values("controller", "webhook")] server: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let head = "apiVersion: config.trainmesh.dev/v1alpha1\nkind: TrainmeshConfiguration\n";
    fs::write(path("bad.yaml"), format!("{head}mesh: {{hold: 1, trafic: direct}}\n")).unwrap();
    let kubeconfig = Apiserver::start(Vec::new()).kubeconfig(folder.path());
    let bad = path("bad.yaml");
    let mut arguments = vec![server, "--config", &bad, "--kubeconfig", &kubeconfig, "--admin-listen", "127.0.0.1:0"];
    if server == "webhook" {
        arguments.extend(["--listen", "127.0.0.1:0"]);
    }
    let run = trainmesh(&arguments, "");
    assert_eq!(run.code, Some(2), "{run:#?}");
    let lines: Vec<&str> = run.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
    let [hold, misspelled, rejected] = lines[..] else { panic!("{run:#?}") };
    assert!(hold.starts_with(&format!("error: {bad}: line 3: mesh.hold: ")), "{hold}");
    assert!(misspelled.contains("mesh.trafic"), "{misspelled}");
    assert_eq!(rejected, format!("error: the configuration of {bad} is rejected"));
}

/// Several files are merged in their order, which a flag beside them does not have.
#[test]
fn files_beside_the_flag_are_an_error() {
    let run = trainmesh(&["config", "validate", "--config", "a.yaml", "b.yaml"], "");
    assert_eq!(run.code, Some(2), "{run:#?}");
    assert!(
        run.stderr.contains("cannot be used with")
            && run.stderr.contains("Usage: trainmesh config validate <FILE>...\n"),
        "{run:#?}"
    );
}

#[test]
fn the_flag_can_be_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::write(path("a.yaml"), "config: {mesh: {hold: false}}").unwrap();
    fs::write(path("b.yaml"), "config: {mesh: {hold: 1}}").unwrap();
    let run = trainmesh(&["config", "validate", "--config", &path("a.yaml"), "--config", &path("b.yaml")], "");
    assert!(run.code == Some(2) && run.stderr.contains("b.yaml:1: config.mesh.hold"), "{run:#?}");
}
