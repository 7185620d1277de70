use std::collections::BTreeSet;
use std::fmt::Write as _;

use rstest::rstest;

use super::*;
use crate::config::contains_values;
use crate::config::profile::{AbsolutePath, FailClosed, MeshBypass, MetadataKey, ResourcePattern, SharedMemory};
use crate::config::{API_VERSION, Configuration, render};
use crate::fabric::nccl;

/// A profile in which every field differs from its default.
const EVERYTHING: &str = r#"
name: everything
description: "yes: 8"
transport: ib
match:
  gpuResources: [nvidia.com/gpu, "gpu.intel.com/*"]
  excludeResources: []
  containerNames: [train, "8"]
  initContainers: restartableNamed
  minGpus: 8
  machines: [p5, "Standard_ND96*"]
  nodeResourceRequired: [rdma/ib]
delivery: {nccl: both, confPath: /etc/other.conf}
env:
  - {name: NCCL_IB_HCA, value: "=mlx5_0", policy: ifUnset}
  - {name: UCX_TLS, value: "on", via: env, optIn: true, when: {gpuCount: ">=8", sku: [p5]}}
  - {name: NCCL_IB_SL, value: "0", when: {gpuCount: 4}}
  - {name: NCCL_IB_TC, value: "1", when: {gpuCount: "<=4", sku: []}}
  - {name: NCCL_IB_TIMEOUT, value: "20", when: {sku: [p5], withoutResource: hugepages-2Mi}}
  - {name: NCCL_IB_TIMEOUT, value: "22", when: {sku: [p4d, "p6*"]}}
resources:
  - {name: rdma/ib}
  - {name: rdma/one, mode: perContainer, count: 2, max: 4, fullNodeGpus: 8, optIn: true}
  - {name: rdma/two, mode: perGpu, ratio: 2}
  - {name: rdma/three, mode: perGpu, ratio: {p4d: "1/2", p5: 4}, max: 32}
  - {name: hugepages-2Mi, quantity: 5120Mi}
networks:
  multus:
    annotationKey: v1.multus-cni.io/default-network
    attach: [{name: a/b, count: perResource}, {name: c, ifName: net9}, {name: d, count: 3}]
    merge: append
  gke: {defaultInterface: eth1, interfaces: [{interfaceName: eth1, network: vpc1}]}
dra: {claims: [{name: a, resourceClaimTemplateName: b.c}], extendedResource: deviceclass.resource.kubernetes.io/x}
securityContext: {capabilities: {add: [IPC_LOCK, NET_RAW]}, memlock: ipcLock, privileged: true}
volumes:
  shm: {mount: /dev/shm, sizeLimit: 1.5Gi, ifMissing: true}
  hostPaths:
    - {hostPath: /a, mountPath: /b, type: Directory, readOnly: true}
    - {hostPath: /c, mountPath: /d}
  configMaps: [{name: e, mountPath: /f, mustExist: true}, {name: g, mountPath: /h}]
pod:
  hostNetwork: true
  dnsPolicy: ClusterFirstWithHostNet
  nodeSelector: {node.kubernetes.io/instance-type: "8"}
  tolerations: [{key: a}, {key: b, operator: Exists, effect: NoSchedule}, {key: c, value: "true"}]
  annotations: {a: "several\nlines\n"}
  labels: {b: ""}
  podAntiAffinity: hostname
sidecars:
  - ref: daemon
    native: true
    image: example.com/daemon:1
    command: [sh, -c]
    args: ["1"]
    capabilities: [NET_ADMIN]
    env: {LD_LIBRARY_PATH: /lib}
    hostPaths: [{hostPath: /sys, mountPath: /hostsysfs}]
mesh: {istio: excludeInterfaces, interfaces: [net1]}
failClosed: {ncclNet: IB, netMismatchFatal: true}
guards: {psa: warn, nonRoot: skip, quota: warn, nodeCapacity: skip}
onConflict: tcp
lint: {disable: [FP010], severity: {FP021: E}}
namespaces:
  names: [team-a]
  selector:
    matchLabels: {tier: gold}
    matchExpressions: [{key: a, operator: In, values: [b, c]}, {key: d, operator: Exists}]
"#;

/// Asserts that `text` parses to `entry`.
fn check_round_trip(entry: &ProfileEntry, text: &str) {
    let parsed = ProfileEntry::parse(text).unwrap_or_else(|problems| panic!("{}", render(text, &problems)));
    assert_eq!(&parsed, entry, "from:\n{text}");
}

/// Returns the built-in profiles and `EVERYTHING`.
fn texts() -> impl Iterator<Item = &'static str> {
    SOURCES.iter().map(|(_, text)| *text).chain([EVERYTHING])
}

#[test]
fn file_names_match_profile_names() {
    for (name, text) in SOURCES {
        let entry = ProfileEntry::parse(text).unwrap_or_else(|problems| panic!("{}", render(name, &problems)));
        assert_eq!(entry.profile.name.as_str(), *name);
        assert_eq!(builtin_profiles().find(name), Some(&entry));
        assert_eq!(profile_source(name), Some(*text));
    }
}

#[test]
#[allow(clippy::disallowed_methods, reason = "compares the built-in profiles with the files of the repository")]
fn every_profile_file_is_built_in() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../config/fabric");
    let files = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let built_in = SOURCES.iter().map(|(name, _)| format!("{name}.yaml"));
    assert_eq!(files.collect::<BTreeSet<_>>(), built_in.collect::<BTreeSet<_>>());
}

#[test]
fn profiles_round_trip_through_yaml_and_json() {
    for text in texts() {
        let entry = ProfileEntry::parse(text).unwrap_or_else(|problems| panic!("{}", render(text, &problems)));
        let form = json!(entry.profile);
        check_round_trip(&entry, &form.to_string());
        check_round_trip(&entry, &yaml::to_string(&form));
    }
}

#[test]
fn configured_copy_of_a_builtin_profile_has_the_same_revision() {
    let profiles: Vec<&Profile> = builtin_profiles().0.values().map(|entry| &entry.profile).collect();
    let configuration =
        json!({"apiVersion": API_VERSION, "kind": "TrainmeshConfiguration", "fabric": {"profiles": profiles}});
    let configuration = Configuration::parse(&yaml::to_string(&configuration)).unwrap();
    assert_eq!(&configuration.fabric.profiles, builtin_profiles());
    assert_eq!(Configuration::parse(&configuration.to_yaml()), Ok(configuration));
}

#[test]
fn builtin_profiles_leave_mesh_and_fail_closed_at_their_defaults() {
    for (name, entry) in builtin_profiles().all() {
        let Profile { fail_closed, mesh, security_context, pod, description, .. } = &entry.profile;
        assert_eq!((fail_closed, mesh), (&FailClosed::default(), &MeshBypass::default()), "{name}");
        assert!(!security_context.privileged && !pod.host_network && !description.is_empty(), "{name}");
    }
}

#[test]
fn builtin_profiles_use_valid_current_variables() {
    let settings = builtin_profiles().0.values().flat_map(|entry| &entry.profile.env);
    // Azure and Oracle publish this deprecated name.
    let published = |name: &str| name == "NCCL_MIN_NCHANNELS";
    let settings = settings.filter(|setting| setting.name.as_str().starts_with("NCCL_"));
    for setting in settings.filter(|setting| !published(setting.name.as_str())) {
        let variable = nccl::variable(setting.name.as_str()).unwrap();
        assert_eq!((variable.kind.check(setting.value.as_str()), variable.deprecated), (Ok(()), None), "{variable:?}");
    }
}

#[rstest]
#[case::value("value: \"=eth0\"", "value: \"=eth1\"")]
#[case::removed_setting("  - {name: NCCL_NET, value: Socket}\n", "")]
#[case::guard("transport: tcp", "transport: tcp\nguards: {quota: warn}")]
#[case::description("on any cluster", "anywhere")]
fn revision_changes_with_the_profile(#[case] old: &str, #[case] new: &str) {
    let text = profile_source("tcp").unwrap();
    assert!(text.contains(old));
    let [before, after] =
        [text.to_owned(), text.replace(old, new)].map(|text| ProfileEntry::parse(&text).unwrap().revision);
    assert_ne!(before, after);
    assert!(before.len() == 12 && before.bytes().all(|byte| byte.is_ascii_hexdigit()));
}

#[test]
fn revision_ignores_comments_and_explicit_defaults() {
    let entry = ProfileEntry::parse(profile_source("tcp").unwrap()).unwrap();
    let text = profile_source("tcp")
        .unwrap()
        .replace("transport: tcp", "# comment\ntransport: tcp\nonConflict: skip\npod: {}");
    check_round_trip(&entry, &text);
}

#[rstest]
#[case("tpc", Some("tcp"))]
#[case("ib-share", Some("ib-shared"))]
#[case("gke-rdma-gib-a3", Some("gke-rdma-gib-a3u"))]
#[case("GKE-A3U", Some("gke-rdma-gib-a3u"))]
#[case("EFA", Some("eks-efa or eks-efa-dra"))]
#[case("GKE", Some("gke-mrdma-dra, gke-mrdma-dra-a4x-max or 3 more"))]
#[case("-", None)]
#[case("nonsense", None)]
fn suggests_a_similar_name(#[case] typed: &str, #[case] expected: Option<&str>) {
    assert_eq!(Profiles::default().suggestion(typed).as_deref(), expected);
}

#[test]
fn handles_a_thousand_profiles() {
    let mut text = format!("apiVersion: {API_VERSION}\nkind: TrainmeshConfiguration\nfabric:\n  profiles:\n");
    for index in 0..1000 {
        let item = profile_source("ib-shared").unwrap().replace("name: ib-shared", &format!("name: site-{index}"));
        let item = item.lines().fold(String::new(), |text, line| text + "    " + line + "\n");
        writeln!(text, "  -\n{item}").unwrap();
    }
    let profiles = Configuration::parse(&text).unwrap().fabric.profiles;
    assert!(profiles.is_custom("site-999") && !profiles.is_custom("tcp"));
    assert_eq!(profiles.find("site-999").unwrap().profile.name.as_str(), "site-999");
    assert!(profiles.find("tcp").is_some() && profiles.find("site-1000").is_none());
    assert_eq!(profiles.all().len(), 1000 + SOURCES.len());
}

#[test]
fn configured_profile_replaces_the_builtin_one() {
    let text = format!(
        "apiVersion: {API_VERSION}\nkind: TrainmeshConfiguration\nfabric: {{profiles: [{{name: tcp, transport: tcp}}]}}\n"
    );
    let profiles = Configuration::parse(&text).unwrap().fabric.profiles;
    assert!(profiles.find("tcp").unwrap().profile.env.is_empty());
    assert_eq!(profiles.all().len(), SOURCES.len());
}

#[test]
fn constants_of_string_types_are_valid() {
    let profile = ProfileEntry::parse("{name: a, transport: ib}").unwrap().profile;
    let patterns = profile.matches.gpu_resources.iter().chain(&profile.matches.exclude_resources);
    assert!(
        patterns.clone().count() == 2
            && patterns.map(ResourcePattern::as_str).all(|text| ResourcePattern::parse(text).is_some())
    );
    assert!(MetadataKey::parse(profile.networks.multus.annotation_key.as_str()).is_some());
    assert!(AbsolutePath::parse(SharedMemory::default().mount.as_str()).is_some());
}

/// Profiles have fields that are also values of the chart.
#[test]
fn no_profile_is_taken_for_values() {
    for (name, text) in SOURCES {
        assert!(!contains_values(text), "{name}");
        let problems = Configuration::parse(text).unwrap_err();
        assert!(problems[0].message.starts_with("a fabric profile, not a configuration"), "{name}: {problems:?}");
    }
}

/// Otherwise pods that select another machine would get the profile.
#[test]
fn profiles_are_only_for_the_machine_that_they_select() {
    for entry in builtin_profiles().0.values() {
        assert_eq!(entry.profile.unlisted_machine(), None, "{}", entry.profile.name);
    }
}
