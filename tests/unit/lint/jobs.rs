//! Checks that depend on the commands of a job and on its other roles.

use rstest::rstest;

use super::environment::in_file;
use super::scenario::{Scenario, check, env, pod, train, with_env};

const RDMA: &str = "nvidia.com/gpu: 8, rdma/ib: 1";
/// A worker of an MPI job whose ranks sshd starts, with one variable.
const WORKER: &str =
    "{spec: {containers: [{name: train, command: [/usr/sbin/sshd, -De], env: [{name: NCCL_NET, value: IB}]}]}}";

const SSHD: &str = "command: [sh, -c, 'mkdir -p /run/sshd && exec /usr/sbin/sshd -De']";

fn launcher(script: &str, variables: &str) -> String {
    format!("{{spec: {{containers: [{{name: mpi, command: [sh, -c, {script:?}], env: [{variables}]}}]}}}}")
}

#[rstest]
#[case::other_role_has_the_adapter(
    pod(&launcher("mpirun -x NCCL_IB_DISABLE=1 run", ""))
        .beside("{spec: {containers: [{name: a, resources: {limits: {nvidia.com/gpu: 8, rdma/ib: 1}}}]}}"),
    Some("container mpi: NCCL_IB_DISABLE is set: NCCL does not use rdma/ib")
)]
#[case::no_role_has_an_adapter(pod(&launcher("mpirun -x NCCL_IB_DISABLE=1 run", "")).beside(WORKER), None)]
fn fp003_for_the_ranks_of_a_launcher(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP003", scenario, expected);
}

/// Returns a worker with one variable, and a configuration file of trainmesh.
fn worker_with_file(conf: &str) -> Scenario {
    pod(&format!(
        "{{metadata: {{annotations: {{trainmesh.dev/nccl-conf: {conf:?}}}}}, spec: {{volumes: [{{name: conf, downwardAPI: {{items: [\
           {{path: conf, fieldRef: {{fieldPath: \"metadata.annotations['trainmesh.dev/nccl-conf']\"}}}}]}}}}], \
         containers: [{{name: train, {SSHD}, env: [{{name: NCCL_NET, value: IB}}], \
           volumeMounts: [{{name: conf, mountPath: /etc/nccl.conf, subPath: conf}}]}}]}}}}"
    ))
}

/// Returns this number of variables.
fn numbered(count: u8) -> String {
    (0..count).map(|number| format!("{{name: NCCL_{number}, value: a}}")).collect::<Vec<_>>().join(", ")
}

#[rstest]
#[case::unknown_launcher(pod(WORKER), Some("container train: NCCL_NET does not reach ranks that sshd starts"))]
#[case::not_passed(
    pod(WORKER).beside(&launcher("mpirun -x NCCL_DEBUG=INFO run", "")),
    Some("container train: NCCL_NET does not reach ranks that sshd starts")
)]
#[case::passed_by_name(pod(WORKER).beside(&launcher("mpirun -x NCCL_NET run", "")), None)]
#[case::unknown_names(pod(WORKER).beside(&launcher("mpirun -x $VARIABLES run", "")), None)]
#[case::passed_by_value(pod(WORKER).beside(&launcher("mpirun -x NCCL_NET=IB run", "")), None)]
fn fp023_environment_of_workers(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP023", scenario, expected);
}

#[rstest]
#[case::sshd(train(&format!("{SSHD}, env: [{{name: NCCL_NET, value: IB}}]")), Some("container train: NCCL_NET does not reach ranks that sshd starts"))]
#[case::several(
    train(&format!("{SSHD}, env: [{{name: NCCL_NET, value: IB}}, {{name: UCX_TLS, value: tcp}}, {{name: NCCL_IB_TC, value: '106'}}]")),
    Some("container train: NCCL_NET, NCCL_IB_TC do not reach ranks that sshd starts")
)]
#[case::many(
    train(&format!("{SSHD}, env: [{}]", numbered(6))),
    Some("container train: NCCL_0, NCCL_1, NCCL_2, NCCL_3, NCCL_4, NCCL_5 do not reach ranks that sshd starts")
)]
#[case::no_nccl_variables(train(&format!("{SSHD}, env: [{{name: UCX_TLS, value: tcp}}]")), None)]
#[case::in_a_conf_file(in_file("NCCL_NET=IB\n", ""), None)]
#[case::both(
    pod(&format!("{{spec: {{containers: [{{name: train, {SSHD}, env: [{{name: NCCL_NET, value: IB}}], \
                  volumeMounts: [{{name: c, mountPath: /etc/nccl.conf}}]}}]}}}}")),
    None
)]
#[case::not_in_the_file_of_a_profile(
    worker_with_file("NCCL_IB_TC=106\n"),
    Some("container train: NCCL_NET does not reach ranks that sshd starts")
)]
#[case::in_the_file_of_a_profile(worker_with_file("NCCL_IB_TC=106\nNCCL_NET=IB\n"), None)]
#[case::worker(
    pod(
        "{metadata: {labels: {training.kubeflow.org/operator-name: mpi-operator, training.kubeflow.org/job-name: a, \
         training.kubeflow.org/job-role: worker}}, spec: {containers: [{name: train, env: [{name: NCCL_NET, value: IB}]}]}}"
    ),
    Some("container train: NCCL_NET does not reach ranks that sshd starts")
)]
#[case::launcher(
    pod(
        "{metadata: {labels: {training.kubeflow.org/operator-name: mpi-operator, training.kubeflow.org/job-name: a, \
         training.kubeflow.org/job-role: launcher}}, spec: {containers: [{name: train, env: [{name: NCCL_NET, value: IB}]}]}}"
    ),
    None
)]
fn fp023_environment_behind_sshd(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP023", scenario, expected);
}

#[rstest]
#[case::tcp(with_env(RDMA, &[("UCX_TLS", "tcp,self,sm")]), Some("container train: UCX_TLS=tcp,self,sm: UCX uses no RDMA adapter"))]
#[case::reliable(with_env(RDMA, &[("UCX_TLS", "rc_x,self")]), None)]
#[case::gpu(with_env(RDMA, &[("UCX_TLS", "tcp,cuda_copy,cuda_ipc")]), None)]
#[case::exclusion(with_env(RDMA, &[("UCX_TLS", "^gdr_copy")]), None)]
#[case::no_adapter(with_env("nvidia.com/gpu: 8", &[("UCX_TLS", "tcp")]), None)]
#[case::for_mpi_itself(train(&format!("resources: {{limits: {{{RDMA}}}}}, command: [sh, -c, 'mpirun -x UCX_TLS=tcp run']")), None)]
fn fp037_ucx_over_tcp(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP037", scenario, expected);
}

fn host(container: &str) -> Scenario {
    pod(&format!(
        "{{spec: {{hostNetwork: true, dnsPolicy: ClusterFirstWithHostNet, \
          containers: [{{name: train, resources: {{limits: {{nvidia.com/gpu: 8}}}}, {container}}}]}}}}"
    ))
}

#[rstest]
#[case::several(host("command: [torchrun, a.py]").replicas(2), Some("container train: hostNetwork without GLOO_SOCKET_IFNAME"))]
#[case::one(host("command: [torchrun, a.py]").replicas(1), None)]
#[case::set(host("command: [torchrun, a.py], env: [{name: GLOO_SOCKET_IFNAME, value: eth0}]").replicas(2), None)]
#[case::exported(host("command: [sh, -c, 'export GLOO_SOCKET_IFNAME=eth0; torchrun a.py']").replicas(2), None)]
#[case::from_a_config_map(host("command: [torchrun, a.py], envFrom: [{configMapRef: {name: a}}]").replicas(2), None)]
#[case::not_torch(host("command: [sleep, '1']").replicas(2), None)]
fn fp038_gloo_on_the_host_network(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP038", scenario, expected);
}

fn gpus(count: u64, spec: &str) -> Scenario {
    pod(&format!(
        "{{spec: {{{spec} containers: [{{name: train, resources: {{limits: {{nvidia.com/gpu: {count}}}}}}}]}}}}"
    ))
    .nodes(&[("a", &[("nvidia.com/gpu", 8)], None)])
}

const APART: &str = "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname}]}},";

#[rstest]
#[case::halves(gpus(4, "").replicas(2), Some("container train: pods of the job may share a node, without NVLink between them"))]
#[case::apart(gpus(4, APART).replicas(2), None)]
#[case::more_than_half(gpus(5, "").replicas(2), None)]
#[case::one_gpu(gpus(1, "").replicas(2), Some("container train: pods of the job may share a node, without NVLink between them"))]
#[case::one_pod(gpus(4, "").replicas(1), None)]
#[case::unknown_nodes(train("resources: {limits: {nvidia.com/gpu: 4}}").replicas(2), None)]
fn fp041_parts_of_a_node(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP041", scenario, expected);
}

const VARIABLE: &str = "{name: NCCL_IB_HCA, value: mlx5}";

#[rstest]
#[case::not_passed(pod(&launcher("mpirun -np 2 run", VARIABLE)), Some("container mpi: mpirun does not pass NCCL_IB_HCA to the ranks"))]
#[case::exported(pod(&launcher("export NCCL_IB_HCA=mlx5; mpirun run", "")), Some("container mpi: mpirun does not pass NCCL_IB_HCA to the ranks"))]
#[case::several(
    pod(&launcher("mpirun -x NCCL_DEBUG run", &format!("{VARIABLE}, {{name: NCCL_DEBUG, value: INFO}}, {{name: NCCL_IB_TC, value: '106'}}"))),
    Some("container mpi: mpirun does not pass NCCL_IB_HCA, NCCL_IB_TC to the ranks")
)]
#[case::many(
    pod(&launcher("mpirun run", &numbered(6))),
    Some("container mpi: mpirun does not pass NCCL_0, NCCL_1, NCCL_2, NCCL_3, NCCL_4, NCCL_5 to the ranks")
)]
#[case::passed(pod(&launcher("mpirun -x NCCL_IB_HCA run", VARIABLE)), None)]
#[case::unknown_names(pod(&launcher("mpirun -x $VARIABLES run", VARIABLE)), None)]
#[case::unknown_options(pod(&launcher("mpirun -np 2 $OPTIONS run", VARIABLE)), None)]
#[case::unknown_value(
    pod(&launcher("mpirun -np $COUNT run", VARIABLE)),
    Some("container mpi: mpirun does not pass NCCL_IB_HCA to the ranks")
)]
#[case::hydra(pod(&launcher("mpiexec -genvall run", VARIABLE)), None)]
#[case::local_ranks(
    train(&format!("command: [mpirun, run], resources: {{limits: {{nvidia.com/gpu: 8}}}}, env: [{VARIABLE}]")),
    None
)]
#[case::no_mpirun(pod(&launcher("./run.sh", VARIABLE)), None)]
fn fp042_launcher_variables(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP042", scenario, expected);
}

#[rstest]
#[case::old_name(
    pod(&launcher("mpirun run", "{name: OMPI_MCA_oob_tcp_if_include, value: eth0}")),
    Some("container mpi: Open MPI 5 does not read OMPI_MCA_oob_tcp_if_include")
)]
#[case::both_names(
    pod(&launcher("mpirun run", "{name: OMPI_MCA_oob_tcp_if_include, value: eth0}, {name: PRTE_MCA_prte_if_include, value: eth0}")),
    None
)]
#[case::set_by_the_operator(pod(&launcher("mpirun run", "{name: OMPI_MCA_orte_keep_fqdn_hostnames, value: 'true'}")), None)]
#[case::set_by_the_operator_of_version_1(
    pod(&launcher("mpirun run", "{name: OMPI_MCA_plm_rsh_agent, value: /etc/mpi/kubexec.sh}")),
    None
)]
#[case::agent_of_the_user(
    pod(&launcher("mpirun run", "{name: OMPI_MCA_plm_rsh_agent, value: ssh}")),
    Some("container mpi: Open MPI 5 does not read OMPI_MCA_plm_rsh_agent")
)]
#[case::parameter_of_a_rank(pod(&launcher("mpirun run", "{name: OMPI_MCA_btl_tcp_if_include, value: eth0}")), None)]
fn fp043_open_mpi_5(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP043", scenario, expected);
}

#[rstest]
#[case::interface(env(&[("NCCL_IB_HCA", "=eth0")]), Some("container train: NCCL_IB_HCA eth0 is not the name of an adapter"))]
#[case::misspelt(env(&[("NCCL_IB_HCA", "^m1x5_0")]), Some("container train: NCCL_IB_HCA m1x5_0 is not the name of an adapter"))]
#[case::second(env(&[("NCCL_IB_HCA", "mlx5_0:1,bond0")]), Some("container train: NCCL_IB_HCA bond0 is not the name of an adapter"))]
#[case::blank(env(&[("NCCL_IB_HCA", "mlx5_0 mlx5_1")]), Some("container train: NCCL_IB_HCA \"mlx5_0 mlx5_1\" is not the name of an adapter: separate names by commas"))]
#[case::semicolon(env(&[("NCCL_IB_HCA", "=mlx5_0:1;mlx5_1:1")]), Some("container train: NCCL_IB_HCA \"mlx5_0:1;mlx5_1:1\" is not the name of an adapter: separate names by commas"))]
#[case::mellanox(env(&[("NCCL_IB_HCA", "=mlx5_0:1,mlx5_bond_0")]), None)]
#[case::persistent(env(&[("NCCL_IB_HCA", "ibp,rocep12s0,rdmap0s6")]), None)]
#[case::other_vendors(env(&[("NCCL_IB_HCA", "ionic_0,bnxt_re0,erdma,mana_0")]), None)]
#[case::to_select_tcp(pod(&launcher("mpirun -x NCCL_IB_HCA=eth0 run", "")).beside(WORKER), None)]
#[case::unused(env(&[("NCCL_IB_HCA", "eth0"), ("NCCL_IB_DISABLE", "1")]), None)]
#[case::short(env(&[("NCCL_IB_HCA", "mlx")]), None)]
fn fp044_unknown_adapter(#[case] scenario: Scenario, #[case] expected: Option<&str>) {
    check("FP044", scenario, expected);
}
