//! The ports on which the pods of a gang communicate, as far as their operator declares them.

use std::sync::LazyLock;

use super::{KINDS, MemberPort, PodIdentity};
use crate::pod::{ContainerKind, Expansion, Pod, Rendezvous, trailing_port};

/// The environment variables of all kinds. Each is looked up once, because a container can repeat a name.
static VARIABLES: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let declared = KINDS.iter().flat_map(|kind| kind.gang.member_ports);
    let variable = |port: &MemberPort| match *port {
        MemberPort::Env(name) => Some(name),
        MemberPort::Named(_) | MemberPort::Numbered(_) => None,
    };
    declared.filter_map(variable).collect()
});

/// Returns the ports on which `pod`, which belongs to `member`'s workload, communicates with the other pods. Considers
/// the variables of every kind, because a `JobSet` can set those of a `PyTorchJob`.
#[must_use]
pub fn member_ports(pod: Pod<'_>, member: PodIdentity<'_>) -> Vec<u16> {
    let declared = member.kind.gang.member_ports;
    let mut ports: Vec<u16> = Vec::new();
    for container in pod.containers().filter(|container| container.kind == ContainerKind::App) {
        let expansion = Expansion::new(container);
        let values = VARIABLES.iter().filter_map(|name| container.env(name));
        ports.extend(values.filter_map(|value| trailing_port(&expansion.expand(value))));
        ports.extend(Rendezvous::ports(container));
        let is_declared = |name: Option<&str>, number: u16| {
            declared.iter().any(|port| match *port {
                MemberPort::Named(known) => name == Some(known),
                MemberPort::Numbered(known) => number == known,
                MemberPort::Env(_) => false,
            })
        };
        ports.extend(container.tcp_ports().filter(|port| is_declared(port.name, port.number)).map(|port| port.number));
    }
    ports.sort_unstable();
    ports.dedup();
    ports
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;
    use crate::workload::find;

    fn env(entries: &[(&str, &str)]) -> Value {
        let entries: Vec<Value> = entries.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
        json!({"name": "a", "env": entries})
    }

    fn port(name: &str, number: u16) -> Value {
        json!({"name": "a", "ports": [{"name": name, "containerPort": number}]})
    }

    const CLUSTER: &str = r#"{"cluster": {"worker": ["a:2231"]}}"#;

    /// Returns a container with this value of `TF_CONFIG`. The variable `INDEX` has no literal value.
    fn cluster(config: &str) -> Value {
        let index = json!({"name": "INDEX", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['index']"}}});
        let variables = [("PORT", "2226"), ("BLANKS", &" ".repeat(1024)), ("TF_CONFIG", config)];
        let mut container = env(&variables);
        container["env"].as_array_mut().unwrap().push(index);
        container
    }

    const REFERENCES: &str = "$(A)$(A)$(A)$(A)$(A)$(A)$(A)$(A)";

    /// Returns many variables, the first half with this name and references to none of them.
    fn variables(name: &str) -> Vec<Value> {
        let first = vec![json!({"name": name, "value": REFERENCES}); 50_000];
        first.into_iter().chain(vec![json!({"name": "C"}); 50_000]).collect()
    }

    #[rstest]
    #[case::pytorch("kubeflow.org/v1", "PyTorchJob", port("pytorchjob-port", 1000), &[1000])]
    #[case::tensorflow("kubeflow.org/v1", "TFJob", port("tfjob-port", 2222), &[2222])]
    #[case::xgboost("kubeflow.org/v1", "XGBoostJob", port("xgboostjob-port", 9999), &[9999])]
    #[case::paddle("kubeflow.org/v1", "PaddleJob", port("master", 36543), &[36543])]
    #[case::jax("kubeflow.org/v1", "JAXJob", port("jaxjob-port", 6666), &[6666])]
    #[case::ssh("kubeflow.org/v2beta1", "MPIJob", port("ssh", 22), &[22])]
    #[case::unprivileged_ssh("kubeflow.org/v2beta1", "MPIJob", port("ssh", 2222), &[2222])]
    #[case::ray("ray.io/v1", "RayCluster", port("gcs-server", 6379), &[6379])]
    #[case::a_port_of_another_kind("kubeflow.org/v1", "PyTorchJob", port("tfjob-port", 2222), &[])]
    #[case::an_own_port("kubeflow.org/v1", "PyTorchJob", port("metrics", 8080), &[])]
    #[case::torch("batch/v1", "Job", env(&[("MASTER_PORT", "29501"), ("PET_RDZV_ENDPOINT", "a-0.a:29400")]), &[29400, 29501])]
    #[case::endpoint_without_port("batch/v1", "Job", env(&[("PET_RDZV_ENDPOINT", "a-0.a")]), &[])]
    #[case::variables_of_another_kind("jobset.x-k8s.io/v1alpha2", "JobSet", env(&[("JAX_COORDINATOR_ADDRESS", "a:1234")]), &[1234])]
    #[case::paddle_master("kubeflow.org/v1", "PaddleJob", env(&[("PADDLE_MASTER", "$(POD_IP_DUMMY):36543")]), &[36543])]
    #[case::options("batch/v1", "Job", json!({"command": ["torchrun", "--master_port=29502", "--rdzv-endpoint", "a:29401"]}), &[29401, 29502])]
    #[case::options_of_a_shell("batch/v1", "Job", json!({"args": ["exec torchrun --rdzv_endpoint=\"$HOST:29402\" train.py"]}), &[29402])]
    #[case::a_variable_as_port("batch/v1", "Job", json!({"args": ["torchrun --master-port $PORT"]}), &[])]
    #[case::accelerate("batch/v1", "Job", json!({"args": ["accelerate launch --main_process_port 29503 train.py"]}), &[29503])]
    #[case::deepspeed("batch/v1", "Job", json!({"command": ["deepspeed", "--master_port", "29504"]}), &[29504])]
    #[case::exported("batch/v1", "Job", json!({"args": ["export MASTER_PORT=29505; torchrun train.py"]}), &[29505])]
    #[case::set_for_a_program("batch/v1", "Job", json!({"args": ["MASTER_PORT='29506' python train.py"]}), &[29506])]
    #[case::computed("batch/v1", "Job", json!({"args": ["export MASTER_PORT=${MASTER_PORT:-29507}; python train.py"]}), &[])]
    #[case::two_blanks("batch/v1", "Job", json!({"args": ["deepspeed --master_port  29508 train.py"]}), &[29508])]
    #[case::continued_line("batch/v1", "Job", json!({"args": ["torchrun --master_port \\\n  29509 \\\n train.py"]}), &[29509])]
    #[case::chained("batch/v1", "Job", json!({"args": ["set -e;MASTER_PORT=29510;torchrun train.py"]}), &[29510])]
    #[case::chained_by_and("batch/v1", "Job", json!({"args": ["cd a&&export MASTER_PORT=29511&&torchrun train.py"]}), &[29511])]
    #[case::quoted_assignment("batch/v1", "Job", json!({"args": ["env \"MASTER_PORT=29512\" torchrun train.py"]}), &[29512])]
    #[case::group("batch/v1", "Job", json!({"args": ["(MASTER_PORT=29513 torchrun train.py)"]}), &[29513])]
    #[case::end_of_a_group("batch/v1", "Job", json!({"args": ["(torchrun train.py --master_port 29514)"]}), &[29514])]
    #[case::quoted_option("batch/v1", "Job", json!({"args": ["torchrun '--master_port=29515' train.py"]}), &[29515])]
    #[case::computed_host("batch/v1", "Job", json!({"args": ["torchrun --rdzv_endpoint=$(hostname -i):29516 train.py"]}), &[29516])]
    #[case::nested_substitution("batch/v1", "Job", json!({"args": ["torchrun --rdzv_endpoint=$(dig $(cat host) | tail):29517 a"]}), &[29517])]
    #[case::arithmetic("batch/v1", "Job", json!({"args": ["MASTER_PORT=$((29000 + 18)) torchrun train.py"]}), &[])]
    #[case::alternatives("batch/v1", "Job", json!({"args": ["if a; then MASTER_PORT=29519; else MASTER_PORT=29520; fi"]}), &[29519, 29520])]
    #[case::reference("batch/v1", "Job", json!({"args": ["--master_port=$(PORT)"], "env": [{"name": "PORT", "value": "29521"}]}), &[29521])]
    #[case::reference_of_a_variable("batch/v1", "Job", env(&[("PORT", "29522"), ("MASTER_PORT", "$(PORT)")]), &[29522])]
    #[case::reference_of_a_kind("kubeflow.org/v1", "PaddleJob", env(&[("PORT", "29523"), ("PADDLE_MASTER", "a:$(PORT)")]), &[29523])]
    #[case::set_by_a_flag("batch/v1", "Job", json!({"args": ["run --env=MASTER_PORT=29524 --env=\"MASTER_PORT=29525\" a"]}), &[29524, 29525])]
    #[case::default_of_torchrun("batch/v1", "Job", json!({"command": ["torchrun", "--nnodes=2", "--master-addr=a", "t.py"]}), &[29500])]
    #[case::default_of_a_module("batch/v1", "Job", json!({"args": ["python -m torch.distributed.run --master_addr $HOST t.py"]}), &[29500])]
    #[case::default_by_a_variable("batch/v1", "Job", env(&[("PET_MASTER_ADDR", "a")]), &[29500])]
    #[case::default_of_accelerate("batch/v1", "Job", json!({"args": ["accelerate launch --main_process_ip a t.py"]}), &[29500])]
    #[case::default_of_deepspeed("batch/v1", "Job", json!({"command": ["/opt/bin/deepspeed", "--master_addr", "a", "t.py"]}), &[29500])]
    #[case::default_of_c10d("batch/v1", "Job", json!({"args": ["torchrun --rdzv-backend=c10d --rdzv-endpoint=a t.py"]}), &[29400])]
    #[case::default_of_another_backend("batch/v1", "Job", json!({"args": ["torchrun --rdzv-backend=etcd-v2 --rdzv-endpoint=a t.py"]}), &[])]
    #[case::c10d_with_a_port("batch/v1", "Job", json!({"args": ["torchrun --rdzv-backend c10d --rdzv-endpoint a:29526 t.py"]}), &[29526])]
    #[case::deepspeed_with_variables_of_torchrun("kubeflow.org/v1", "PyTorchJob", json!({"command": ["deepspeed", "--master_addr=a", "t.py"], "env": [{"name": "PET_MASTER_PORT", "value": "23456"}]}), &[23456, 29500])]
    #[case::deepspeed_with_a_flag("kubeflow.org/v1", "PyTorchJob", json!({"command": ["deepspeed", "--master_port=1", "t.py"], "env": [{"name": "PET_MASTER_PORT", "value": "23456"}]}), &[1, 23456])]
    #[case::deepspeed_with_an_assignment("batch/v1", "Job", json!({"args": ["PET_MASTER_PORT=1 deepspeed t.py"]}), &[1, 29500])]
    #[case::default_of_deepspeed_in_a_shell("batch/v1", "Job", json!({"command": ["sh", "-c", "deepspeed -H hosts t.py"]}), &[29500])]
    #[case::default_of_deepspeed_after_its_installation("batch/v1", "Job", json!({"args": ["pip install deepspeed && deepspeed t.py"]}), &[29500])]
    #[case::module_of_deepspeed("batch/v1", "Job", json!({"args": ["python -m deepspeed.launcher.runner t.py"]}), &[29500])]
    #[case::package("batch/v1", "Job", json!({"args": ["pip install deepspeed && python t.py"]}), &[])]
    #[case::directory("batch/v1", "Job", json!({"args": ["cd /opt/deepspeed; python t.py"]}), &[])]
    #[case::value_of_a_flag("batch/v1", "Job", json!({"args": ["python t.py --strategy deepspeed --epochs 2"]}), &[])]
    #[case::flag("batch/v1", "Job", json!({"args": ["python t.py --deepspeed ds.json"]}), &[])]
    #[case::this_pod("batch/v1", "Job", json!({"args": ["torchrun --master-addr=localhost t.py"]}), &[])]
    #[case::c10d_of_this_pod("batch/v1", "Job", json!({"args": ["torchrun --rdzv-backend=c10d --rdzv-endpoint=127.0.0.1 t.py"]}), &[])]
    #[case::standalone("batch/v1", "Job", json!({"command": ["torchrun", "--standalone", "--nproc-per-node=8", "t.py"]}), &[])]
    #[case::endpoint_of_another_flag("batch/v1", "Job", json!({"args": ["torchrun --master-addr=a --rdzv-endpoint=a:29527 t.py"]}), &[29527])]
    #[case::computed_port_of_deepspeed("batch/v1", "Job", json!({"args": ["deepspeed --master_port $PORT t.py"]}), &[])]
    #[case::one_node("batch/v1", "Job", json!({"args": ["torchrun t.py"]}), &[])]
    #[case::computed_port("batch/v1", "Job", json!({"args": ["torchrun --master-addr=a --master-port=$PORT t.py"]}), &[])]
    #[case::computed_port_of_accelerate("batch/v1", "Job", json!({"args": ["accelerate launch --main_process_port $PORT t.py"]}), &[])]
    #[case::jax("batch/v1", "Job", env(&[("COORDINATOR_ADDRESS", "a-0.a:12355")]), &[12355])]
    #[case::jax_listens("batch/v1", "Job", env(&[("JAX_COORDINATOR_BIND_ADDRESS", "[::]:12356")]), &[12356])]
    #[case::jax_in_a_script("batch/v1", "Job", json!({"args": ["export JAX_COORDINATOR_ADDRESS=$(hostname -i):12357; python t.py"]}), &[12357])]
    #[case::jax_by_host_and_port("batch/v1", "Job", env(&[("COORDINATOR_ADDRESS", "a-0.a"), ("JAX_COORDINATOR_PORT", "12358")]), &[12358])]
    #[case::jax_by_an_option("batch/v1", "Job", json!({"args": ["--coordinator-address", "$(HOST):12359"], "env": [{"name": "HOST", "value": "a"}]}), &[12359])]
    #[case::jax_of_the_operator("kubeflow.org/v1", "JAXJob", env(&[("COORDINATOR_ADDRESS", "j-worker-0"), ("COORDINATOR_PORT", "6666")]), &[6666])]
    #[case::host_alone("batch/v1", "Job", env(&[("COORDINATOR_ADDRESS", "a-0.a")]), &[])]
    #[case::ipv6_address_alone("batch/v1", "Job", env(&[("COORDINATOR_ADDRESS", "fd00::1234")]), &[])]
    #[case::url_of_a_service("batch/v1", "Job", env(&[("COORDINATOR_ADDRESS", "http://coordinator:8080")]), &[])]
    #[case::nccl("batch/v1", "Job", env(&[("NCCL_COMM_ID", "[fd00::1]:28028")]), &[28028])]
    #[case::nccl_in_a_script("batch/v1", "Job", json!({"args": ["NCCL_COMM_ID=a-0.a:28029 ./all_reduce_perf"]}), &[28029])]
    #[case::url("batch/v1", "Job", json!({"command": ["python", "t.py", "--init_method", "tcp://a-0.a:23456"]}), &[23456])]
    #[case::url_with_ranks("batch/v1", "Job", json!({"args": ["python t.py --dist-url='tcp://a:23457?rank=0&world_size=2'"]}), &[23457])]
    #[case::url_of_a_longer_option("batch/v1", "Job", json!({"args": ["python t.py --distributed-init-method tcp://[fd00::1]:23458"]}), &[23458])]
    #[case::url_as_a_setting("batch/v1", "Job", json!({"args": ["fairseq-hydra-train distributed_training.distributed_init_method='tcp://a:23459'"]}), &[23459])]
    #[case::url_in_code("batch/v1", "Job", json!({"args": ["python -c \"dist.init_process_group('nccl', init_method='tcp://a:23460', rank=0)\""]}), &[23460])]
    #[case::url_by_a_reference("batch/v1", "Job", json!({"args": ["--init-method=$(URL)"], "env": [{"name": "URL", "value": "tcp://a:23461"}]}), &[23461])]
    #[case::url_by_a_variable("batch/v1", "Job", env(&[("DIST_URL", "tcp://a:23462/")]), &[23462])]
    #[case::url_of_another_option("batch/v1", "Job", json!({"args": ["python t.py --scheduler tcp://a:8786"]}), &[])]
    #[case::option_with_a_similar_name("batch/v1", "Job", json!({"args": ["python t.py --redist-url tcp://a:8787"]}), &[])]
    #[case::another_scheme("batch/v1", "Job", json!({"args": ["python t.py --init_method env:// --dist-url http://a:8080"]}), &[])]
    #[case::computed_port_of_a_url("batch/v1", "Job", json!({"args": ["python t.py --dist-url tcp://a:$PORT"]}), &[])]
    #[case::url_without_a_port("batch/v1", "Job", json!({"args": ["python t.py --dist-url tcp://a"]}), &[])]
    #[case::cluster("batch/v1", "Job", cluster(r#"{"cluster": {"chief": ["a:2222"], "worker": ["b:2223", "c:2223"], "ps": ["d:2224"]}}"#), &[2222, 2223, 2224])]
    #[case::dynamic_cluster("kubeflow.org/v1", "TFJob", cluster(r#"{"cluster": {"worker": {"1": "b:2225"}, "ps": null}}"#), &[2225])]
    #[case::cluster_with_references("batch/v1", "Job", cluster(r#"{"cluster": {"worker": ["a:$(PORT)"]}, "task": {"type": "worker", "index": $(INDEX)}}"#), &[2226])]
    #[case::cluster_of_hosts("batch/v1", "Job", cluster(r#"{"cluster": {"worker": ["a", 2227]}, "b": ["c:2228"]}"#), &[])]
    #[case::no_cluster("batch/v1", "Job", cluster(r#"{"cluster": "a:2229"}"#), &[])]
    #[case::no_json("batch/v1", "Job", cluster(r#"{"cluster": {"worker": ["a:2230"]}"#), &[])]
    #[case::another_variable("batch/v1", "Job", json!({"args": ["export API_PORT=8080; python train.py"]}), &[])]
    fn ports_of_members(#[case] version: &str, #[case] kind: &str, #[case] container: Value, #[case] expected: &[u16]) {
        let kind = find(version, kind).unwrap();
        let member = PodIdentity { kind, workload: "a", role: None, index: Some(0), training: true };
        let pod = json!({"spec": {"containers": [container]}});
        assert_eq!(member_ports(Pod::new(&pod), member), expected);
    }

    /// Finishes in time only if the search is linear in the number of variables.
    #[rstest]
    #[case::repeated_name(json!({"env": variables("RAY_PORT")}))]
    #[case::references_of_a_command(json!({"args": [format!("MASTER_PORT={REFERENCES} ").repeat(5_000)], "env": variables("B")}))]
    fn many_variables(#[case] container: Value) {
        ports_of_members("ray.io/v1", "RayCluster", container, &[]);
    }

    #[rstest]
    #[case::last(256 * 1024 - "MASTER_PORT=29500".len(), &[29500])]
    #[case::beyond(256 * 1024, &[])]
    fn the_length_of_a_command_is_limited(#[case] before: usize, #[case] expected: &[u16]) {
        let args = json!(["a ".repeat(before / 2) + &" ".repeat(before % 2), "MASTER_PORT=29500"]);
        ports_of_members("batch/v1", "Job", json!({"args": args}), expected);
    }

    #[rstest]
    #[case::longest(" ".repeat(32 * 1024 - CLUSTER.len()), &[2231])]
    #[case::too_long(" ".repeat(32 * 1024 - CLUSTER.len() + 1), &[])]
    #[case::longest_with_references("$(BLANKS)".repeat(31), &[2231])]
    #[case::too_long_with_references("$(BLANKS)".repeat(32), &[])]
    fn the_length_of_a_cluster_is_limited(#[case] end: String, #[case] expected: &[u16]) {
        ports_of_members("batch/v1", "Job", cluster(&format!("{CLUSTER}{end}")), expected);
    }

    #[test]
    fn the_number_of_ports_of_a_cluster_is_limited() {
        let workers: Vec<String> = (1..=65).map(|port| format!("a:{port}")).collect();
        let config = json!({"cluster": {"worker": workers}}).to_string();
        ports_of_members("batch/v1", "Job", cluster(&config), &(1..=64).collect::<Vec<_>>());
    }

    #[test]
    fn a_command_can_follow_a_long_script() {
        let script = "export MASTER_ADDR=a RANK=1\n".repeat(1_000);
        ports_of_members("batch/v1", "Job", json!({"args": [script + "torchrun --master_port 29500"]}), &[29500]);
    }
}
