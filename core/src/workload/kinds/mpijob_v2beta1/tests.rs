use rstest::rstest;

use super::*;
use crate::pod::Pod;
use crate::workload::identify;
use crate::workload::template::testing::{env_lines, error, render};

fn job(spec: &Value) -> Value {
    let template = json!({"spec": {"containers": [{"name": "main"}, {"name": "sidecar"}]}});
    let mut job =
        json!({"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "metadata": {"name": "j"}, "spec": spec});
    job["spec"]["mpiReplicaSpecs"] =
        json!({"Launcher": {"template": template}, "Worker": {"replicas": 2, "template": template}});
    job
}

#[rstest]
#[case::open_mpi(json!({"slotsPerWorker": 8}), &[
    "K_MPI_JOB_ROLE=launcher", "OMPI_MCA_orte_keep_fqdn_hostnames=true", "OMPI_MCA_orte_default_hostfile=/etc/mpi/hostfile",
    "OMPI_MCA_plm_rsh_args=-o ConnectionAttempts=10", "OMPI_MCA_orte_set_default_slots=8",
    "NVIDIA_VISIBLE_DEVICES=", "NVIDIA_DRIVER_CAPABILITIES=",
])]
#[case::intel(json!({"mpiImplementation": "Intel", "runLauncherAsWorker": true}), &[
    "K_MPI_JOB_ROLE=launcher", "I_MPI_HYDRA_HOST_FILE=/etc/mpi/hostfile",
    "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS=-o ConnectionAttempts=10", "I_MPI_PERHOST=1",
])]
#[case::mpich(json!({"mpiImplementation": "MPICH", "runLauncherAsWorker": true}), &[
    "K_MPI_JOB_ROLE=launcher", "HYDRA_HOST_FILE=/etc/mpi/hostfile", "HYDRA_LAUNCH_EXTRA_ARGS=-o ConnectionAttempts=10",
])]
fn the_environment_depends_on_the_implementation(#[case] spec: Value, #[case] expected: &[&str]) {
    let roles = render(&job(&spec)).unwrap();
    assert_eq!(env_lines(&roles[0], 0), expected);
    assert_eq!(env_lines(&roles[0], 1), Vec::<String>::new());
    assert_eq!(env_lines(&roles[1], 0), ["K_MPI_JOB_ROLE=worker"]);
}

#[test]
fn the_worker_is_as_the_operator_creates_it() {
    let roles = render(&job(&json!({}))).unwrap();
    assert_eq!(
        roles[1].pod,
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": "j-worker-0", "namespace": "team",
                "labels": {OPERATOR_NAME: OPERATOR, JOB_NAME: "j", JOB_ROLE: "worker", REPLICA_INDEX: "0"},
                "ownerReferences": [{
                    "apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "name": "j",
                    "uid": "00000000-0000-0000-0000-000000000000", "controller": true, "blockOwnerDeletion": true,
                }],
            },
            "spec": {
                "containers": [
                    {
                        "name": "main", "command": ["/usr/sbin/sshd", "-De"], "env": [{"name": "K_MPI_JOB_ROLE", "value": "worker"}],
                        "volumeMounts": [{"name": "ssh-auth", "mountPath": "/root/.ssh"}],
                    },
                    {"name": "sidecar"},
                ],
                "hostname": "j-worker-0", "subdomain": "j",
                "dnsConfig": {"searches": ["j.team.svc.cluster.local"]},
                "restartPolicy": "Never",
                "volumes": [{"name": "ssh-auth", "secret": {"secretName": "j-ssh", "defaultMode": 384, "items": [
                    {"key": "ssh-privatekey", "path": "id_rsa"},
                    {"key": "ssh-publickey", "path": "id_rsa.pub"},
                    {"key": "ssh-publickey", "path": "authorized_keys"},
                ]}}],
            },
        })
    );
}

#[test]
fn the_launcher_belongs_to_a_job() {
    let roles = render(&job(&json!({"sshAuthMountPath": "/home/mpi/.ssh", "runLauncherAsWorker": true}))).unwrap();
    let launcher = &roles[0].pod;
    assert_eq!(launcher["metadata"]["generateName"], "j-launcher-");
    assert_eq!(launcher["metadata"]["labels"]["batch.kubernetes.io/job-name"], "j-launcher");
    assert_eq!(launcher["metadata"]["labels"][REPLICA_INDEX], "0");
    assert_eq!(launcher["metadata"]["ownerReferences"][0]["kind"], "Job");
    assert_eq!(launcher["spec"]["hostname"], "j-launcher");
    assert_eq!(launcher["spec"]["restartPolicy"], "OnFailure");
    assert_eq!(launcher["spec"]["volumes"][0]["secret"].get("defaultMode"), None);
    assert_eq!(launcher["spec"]["volumes"][1]["name"], "mpi-job-config");
    assert_eq!(roles[1].pod["metadata"]["labels"][REPLICA_INDEX], "1");
    let member = identify(Pod::new(launcher)).unwrap();
    assert_eq!(
        (member.kind.kind, member.workload, member.role, member.index),
        ("MPIJob", "j", Some("launcher"), Some(0))
    );
}

#[rstest]
#[case::implementation("/spec/mpiImplementation", json!("LAM"), "spec.mpiImplementation is \"LAM\": expected OpenMPI, Intel or MPICH")]
#[case::exit_code(
    "/spec/mpiReplicaSpecs/Worker/restartPolicy",
    json!("ExitCode"),
    "spec.mpiReplicaSpecs.Worker.restartPolicy is \"ExitCode\": expected Never or OnFailure"
)]
#[case::no_launcher("/spec/mpiReplicaSpecs/Launcher", Value::Null, "spec.mpiReplicaSpecs.Launcher is missing")]
fn rejects_what_the_operator_rejects(#[case] pointer: &str, #[case] value: Value, #[case] message: &str) {
    let mut job = job(&json!({"mpiImplementation": ""}));
    job["spec"]["mpiReplicaSpecs"]["Worker"]["restartPolicy"] = json!("");
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    job.pointer_mut(parent).unwrap()[key] = value;
    assert_eq!(error(&job), message);
}

#[rstest]
#[case("Chief")]
#[case("Workers")]
fn an_ignored_replica_type_has_a_note(#[case] name: &str) {
    let mut job = job(&json!({}));
    job["spec"]["mpiReplicaSpecs"][name] = json!({});
    let roles = render(&job).unwrap();
    assert_eq!(roles.len(), 2);
    assert_eq!(roles[0].notes, [format!("the operator ignores spec.mpiReplicaSpecs.{name}")]);
}
