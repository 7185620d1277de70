//! Checks of settings.

use rstest::rstest;

use super::world::{World, check, env, pod, train, with_env};

const RDMA: &str = "nvidia.com/gpu: 8, rdma/ib: 1";
const EFA: &str = "nvidia.com/gpu: 8, vpc.amazonaws.com/efa: 4";

/// A pod whose file, by trainmesh's annotation, holds `conf`.
fn in_file(conf: &str, environment: &str) -> World {
    pod(&format!(
        "{{metadata: {{annotations: {{trainmesh.dev/nccl-conf: {conf:?}}}}}, spec: {{\
           volumes: [{{name: conf, downwardAPI: {{items: [\
             {{path: conf, fieldRef: {{fieldPath: \"metadata.annotations['trainmesh.dev/nccl-conf']\"}}}}]}}}}], \
           containers: [{{name: train, env: [{environment}], \
             volumeMounts: [{{name: conf, mountPath: /etc/nccl.conf, subPath: conf}}]}}]}}}}"
    ))
}

#[rstest]
#[case::socket(with_env(RDMA, &[("NCCL_NET", "socket")]), Some("container train: NCCL_NET=Socket beside rdma/ib"))]
#[case::ib(with_env(RDMA, &[("NCCL_NET", "IB")]), None)]
#[case::socket_without_rdma(with_env("nvidia.com/gpu: 8", &[("NCCL_NET", "Socket")]), None)]
#[case::disabled(with_env(RDMA, &[("NCCL_IB_DISABLE", "1")]), Some("container train: NCCL_IB_DISABLE is not 0 beside rdma/ib"))]
#[case::a_word_is_zero(with_env(RDMA, &[("NCCL_IB_DISABLE", "true")]), None)]
#[case::plugins_do_not_look_at_it(with_env(EFA, &[("NCCL_IB_DISABLE", "1")]), None)]
fn fp003(#[case] world: World, #[case] expected: Option<&str>) {
    check("FP003", world, expected);
}

#[rstest]
#[case::word(env(&[("NCCL_IB_DISABLE", "true")]), Some("container train: NCCL_IB_DISABLE=true reads as 0: no number"))]
#[case::trailing(env(&[("NCCL_NVLS_ENABLE", "1x")]), Some("container train: NCCL_NVLS_ENABLE=1x reads as 1: no number"))]
#[case::number(env(&[("NCCL_IB_DISABLE", "0x1")]), None)]
#[case::empty_is_unset(env(&[("NCCL_IB_DISABLE", "")]), None)]
#[case::of_another(env(&[("FI_EFA_ENABLE", "true")]), None)]
#[case::unknown_value(train("env: [{name: NCCL_IB_DISABLE, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]"), None)]
#[case::expanded_later(env(&[("NCCL_IB_DISABLE", "$(SWITCH)")]), None)]
#[case::in_the_file(
    in_file("NCCL_IB_DISABLE=true\n", ""),
    Some("container train: NCCL_IB_DISABLE=true reads as 0: no number")
)]
#[case::the_environment_beats_the_file(in_file("NCCL_IB_DISABLE=true\n", "{name: NCCL_IB_DISABLE, value: '1'}"), None)]
#[case::the_last_entry_wins(
    train("env: [{name: NCCL_IB_DISABLE, value: 'yes'}, {name: NCCL_IB_DISABLE, value: '0'}]"),
    None
)]
fn fp004(#[case] world: World, #[case] expected: Option<&str>) {
    check("FP004", world, expected);
}

#[rstest]
#[case::timeout(env(&[("NCCL_IB_TIMEOUT", "32")]), Some("container train: NCCL_IB_TIMEOUT is 32, not 0 to 31"))]
#[case::timeout_at_the_bound(env(&[("NCCL_IB_TIMEOUT", "31")]), None)]
#[case::retries(env(&[("NCCL_IB_RETRY_CNT", "20")]), Some("container train: NCCL_IB_RETRY_CNT is 20, not 0 to 7"))]
#[case::octal(env(&[("NCCL_IB_RETRY_CNT", "010")]), Some("container train: NCCL_IB_RETRY_CNT is 8, not 0 to 7"))]
#[case::retries_at_the_bound(env(&[("NCCL_IB_RETRY_CNT", "07")]), None)]
#[case::no_connections(env(&[("NCCL_IB_QPS_PER_CONNECTION", "0")]), Some("container train: NCCL_IB_QPS_PER_CONNECTION is 0, not 1 to 128"))]
#[case::connections(env(&[("NCCL_IB_QPS_PER_CONNECTION", "128")]), None)]
#[case::sockets(
    env(&[("NCCL_SOCKET_NTHREADS", "8"), ("NCCL_NSOCKS_PERTHREAD", "9")]),
    Some("container train: 72 sockets (threads x sockets), over 64")
)]
#[case::just_as_many_sockets(env(&[("NCCL_SOCKET_NTHREADS", "8"), ("NCCL_NSOCKS_PERTHREAD", "8")]), None)]
fn fp005(#[case] world: World, #[case] expected: Option<&str>) {
    check("FP005", world, expected);
}

#[rstest]
#[case::inside(env(&[("NCCL_SOCKET_IFNAME", "=eth0,=eth1")]), Some("container train: NCCL_SOCKET_IFNAME==eth0,=eth1 has ^ or = inside the list"))]
#[case::wrong_order(env(&[("NCCL_SOCKET_IFNAME", "=^eth0")]), Some("container train: NCCL_SOCKET_IFNAME==^eth0 has ^ or = inside the list"))]
#[case::right_order(env(&[("NCCL_SOCKET_IFNAME", "^=docker0,lo")]), None)]
#[case::loopback(env(&[("NCCL_OOB_NET_IFNAME", "^docker")]), Some("container train: NCCL_OOB_NET_IFNAME=^docker lets lo in"))]
#[case::without_loopback(env(&[("NCCL_SOCKET_IFNAME", "^docker,lo")]), None)]
#[case::one_character(env(&[("NCCL_SOCKET_IFNAME", "e")]), Some("container train: NCCL_SOCKET_IFNAME=e of one character counts as unset"))]
#[case::blank(env(&[("NCCL_SOCKET_IFNAME", "eth0, eth1")]), Some("container train: NCCL_SOCKET_IFNAME=eth0, eth1 has a blank"))]
#[case::exact(env(&[("NCCL_SOCKET_IFNAME", "=eth0,eth1")]), None)]
fn fp006(#[case] world: World, #[case] expected: Option<&str>) {
    check("FP006", world, expected);
}

fn attached(annotation: &str, interface: &str) -> World {
    pod(&format!(
        "{{metadata: {{annotations: {{{annotation}}}}}, \
          spec: {{containers: [{{name: train, env: [{{name: NCCL_SOCKET_IFNAME, value: {interface:?}}}]}}]}}}}"
    ))
}

#[rstest]
#[case::of_the_node(env(&[("NCCL_SOCKET_IFNAME", "ens")]), Some("container train: NCCL_SOCKET_IFNAME=ens fits none of eth0"))]
#[case::exactly_a_prefix(env(&[("NCCL_SOCKET_IFNAME", "=eth")]), Some("container train: NCCL_SOCKET_IFNAME==eth fits none of eth0"))]
#[case::prefix(env(&[("NCCL_SOCKET_IFNAME", "eth")]), None)]
#[case::exceptions(env(&[("NCCL_SOCKET_IFNAME", "^ens,lo")]), None)]
#[case::node_network(
    pod("{spec: {hostNetwork: true, containers: [{name: train, env: [{name: NCCL_SOCKET_IFNAME, value: ens}]}]}}"),
    None
)]
#[case::counted(attached("k8s.v1.cni.cncf.io/networks: 'a, team/b'", "=net2"), None)]
#[case::not_so_many(
    attached("k8s.v1.cni.cncf.io/networks: a@rdma0", "=net1"),
    Some("container train: NCCL_SOCKET_IFNAME==net1 fits none of eth0, rdma0")
)]
#[case::named_in_json(
    attached(r#"k8s.v1.cni.cncf.io/networks: '[{"name": "a", "interface": "rdma0"}]'"#, "=rdma0"),
    None
)]
#[case::no_json(attached("k8s.v1.cni.cncf.io/networks: '[{'", "=rdma0"), None)]
#[case::of_gke(
    attached(r#"networking.gke.io/interfaces: '[{"interfaceName": "eth2", "network": "rdma-0"}]'"#, "=eth2"),
    None
)]
#[case::claimed(
    pod(
        "{spec: {resourceClaims: [{name: nic}], containers: [{name: train, env: [{name: NCCL_SOCKET_IFNAME, value: ens}]}]}}"
    ),
    None
)]
fn fp007(#[case] world: World, #[case] expected: Option<&str>) {
    check("FP007", world, expected);
}

#[rstest]
#[case::gloo(env(&[("GLOO_SOCKET_IFNAME", "=eth0")]), Some("container train: GLOO_SOCKET_IFNAME==eth0: no ^ and = here, names alone"))]
#[case::tensor_pipe(env(&[("TP_SOCKET_IFNAME", "^lo")]), Some("container train: TP_SOCKET_IFNAME=^lo: no ^ and = here, names alone"))]
#[case::name(env(&[("GLOO_SOCKET_IFNAME", "eth0")]), None)]
#[case::of_nccl(env(&[("NCCL_SOCKET_IFNAME", "=eth0")]), None)]
fn fp008(#[case] world: World, #[case] expected: Option<&str>) {
    check("FP008", world, expected);
}

#[rstest]
#[case::one_digit(env(&[("NCCL_IB_HCA", "mlx5_0:1,mlx5_1:1")]), Some("container train: NCCL_IB_HCA mlx5_1 also fits mlx5_10 to mlx5_19"))]
#[case::exceptions(env(&[("NCCL_IB_HCA", "^mlx5_3")]), Some("container train: NCCL_IB_HCA mlx5_3 also fits mlx5_30 to mlx5_39"))]
#[case::exact(env(&[("NCCL_IB_HCA", "=mlx5_0,mlx5_1")]), None)]
#[case::start_of_all(env(&[("NCCL_IB_HCA", "mlx")]), None)]
#[case::all_of_a_driver(env(&[("NCCL_IB_HCA", "mlx5")]), None)]
#[case::none_begins_with_zero(env(&[("NCCL_IB_HCA", "mlx5_0")]), None)]
#[case::two_digits(env(&[("NCCL_IB_HCA", "mlx5_12")]), None)]
#[case::few_functions(with_env("nvidia.com/gpu: 8, nvidia.com/rdma-vf: 8", &[("NCCL_IB_HCA", "mlx5_1")]), None)]
#[case::many_functions(
    with_env("nvidia.com/gpu: 8, nvidia.com/rdma-vf: 16", &[("NCCL_IB_HCA", "mlx5_1")]),
    Some("container train: NCCL_IB_HCA mlx5_1 also fits mlx5_10 to mlx5_19")
)]
fn fp009(#[case] world: World, #[case] expected: Option<&str>) {
    check("FP009", world, expected);
}

#[rstest]
#[case::pinned(env(&[("NCCL_IB_GID_INDEX", "3")]), Some("container train: NCCL_IB_GID_INDEX=3 pins what NCCL finds itself"))]
#[case::found_by_nccl(env(&[("NCCL_IB_GID_INDEX", "-1")]), None)]
fn fp010(#[case] world: World, #[case] expected: Option<&str>) {
    check("FP010", world, expected);
}

#[rstest]
#[case::small_letters(env(&[("NCCL_NET_GDR_LEVEL", "sys")]), Some("container train: NCCL_NET_GDR_LEVEL=sys is passed over by NCCL"))]
#[case::of_old(env(&[("NCCL_P2P_LEVEL", "2")]), Some("container train: NCCL_P2P_LEVEL=2 is a number of old"))]
#[case::known(env(&[("NCCL_NET_GDR_LEVEL", "PHB"), ("NCCL_P2P_LEVEL", "NVL")]), None)]
fn fp011(#[case] world: World, #[case] expected: Option<&str>) {
    check("FP011", world, expected);
}

#[rstest]
#[case::renamed(env(&[("NCCL_MAX_NCHANNELS", "8")]), Some("container train: NCCL_MAX_NCHANNELS, deprecated since 2.17: NCCL_MAX_CTAS"))]
#[case::new_name(env(&[("NCCL_MAX_CTAS", "8")]), None)]
#[case::pytorch(env(&[("NCCL_ASYNC_ERROR_HANDLING", "1")]), Some("container train: NCCL_ASYNC_ERROR_HANDLING, of PyTorch: TORCH_NCCL_ASYNC_ERROR_HANDLING"))]
fn fp024(#[case] world: World, #[case] expected: Option<&str>) {
    check("FP024", world, expected);
}

#[rstest]
#[case::provider(env(&[("FI_PROVIDER", "efa")]), Some("container train: FI_PROVIDER is no longer needed for EFA"))]
#[case::another_provider(env(&[("FI_PROVIDER", "tcp")]), None)]
#[case::protocol(with_env(EFA, &[("NCCL_PROTO", "simple")]), Some("container train: NCCL_PROTO is no longer needed for EFA"))]
#[case::protocol_elsewhere(with_env(RDMA, &[("NCCL_PROTO", "simple")]), None)]
#[case::fork(env(&[("RDMAV_FORK_SAFE", "1")]), Some("container train: RDMAV_FORK_SAFE is no longer needed for EFA"))]
fn fp025(#[case] world: World, #[case] expected: Option<&str>) {
    check("FP025", world, expected);
}

#[rstest]
#[case::trace(env(&[("NCCL_DEBUG", "trace")]), Some("container train: NCCL_DEBUG=trace is for debugging"))]
#[case::info(env(&[("NCCL_DEBUG", "INFO")]), None)]
#[case::no_peers(env(&[("NCCL_P2P_DISABLE", "1")]), Some("container train: NCCL_P2P_DISABLE=1 is for debugging"))]
#[case::peers(env(&[("NCCL_P2P_DISABLE", "0"), ("NCCL_SHM_DISABLE", "0")]), None)]
#[case::algorithm(env(&[("NCCL_ALGO", "Ring")]), Some("container train: NCCL_ALGO=Ring is for debugging"))]
fn fp026(#[case] world: World, #[case] expected: Option<&str>) {
    check("FP026", world, expected);
}

#[rstest]
#[case::required(env(&[("NCCL_MNNVL_ENABLE", "1")]), Some("container train: NCCL_MNNVL_ENABLE=1 without a claim of a ComputeDomain"))]
#[case::where_possible(env(&[("NCCL_MNNVL_ENABLE", "2")]), None)]
#[case::claimed(train("resources: {claims: [{name: domain}]}, env: [{name: NCCL_MNNVL_ENABLE, value: '1'}]"), None)]
fn fp030(#[case] world: World, #[case] expected: Option<&str>) {
    check("FP030", world, expected);
}

const SSHD: &str = "command: [sh, -c, 'mkdir -p /run/sshd && exec /usr/sbin/sshd -De']";

#[rstest]
#[case::sshd(train(&format!("{SSHD}, env: [{{name: NCCL_NET, value: IB}}]")), Some("container train: NCCL_NET reaches no rank that sshd starts"))]
#[case::nothing_of_nccl(train(&format!("{SSHD}, env: [{{name: UCX_TLS, value: tcp}}]")), None)]
#[case::in_a_file(in_file("NCCL_NET=IB\n", ""), None)]
#[case::both(
    pod(&format!("{{spec: {{containers: [{{name: train, {SSHD}, env: [{{name: NCCL_NET, value: IB}}], \
                  volumeMounts: [{{name: c, mountPath: /etc/nccl.conf}}]}}]}}}}")),
    None
)]
#[case::worker(
    pod(
        "{metadata: {labels: {training.kubeflow.org/operator-name: mpi-operator, training.kubeflow.org/job-name: a, \
         training.kubeflow.org/job-role: worker}}, spec: {containers: [{name: train, env: [{name: NCCL_NET, value: IB}]}]}}"
    ),
    Some("container train: NCCL_NET reaches no rank that sshd starts")
)]
#[case::launcher(
    pod(
        "{metadata: {labels: {training.kubeflow.org/operator-name: mpi-operator, training.kubeflow.org/job-name: a, \
         training.kubeflow.org/job-role: launcher}}, spec: {containers: [{name: train, env: [{name: NCCL_NET, value: IB}]}]}}"
    ),
    None
)]
fn fp023(#[case] world: World, #[case] expected: Option<&str>) {
    check("FP023", world, expected);
}
