//! `kubeflow.org/v1` `MPIJob` (training-operator v1.9): a launcher that reaches its workers by `kubectl exec`.

use serde_json::{Map, Value, json};

use super::mpi::{
    self, CONFIG, CONFIG_PATH, DISCOVER_HOSTS, HOSTFILE, HOSTFILE_VARIABLE, config_volume, no_gpu_env, replica_specs,
};
use super::training_operator::{
    API_VERSION, JOB_NAME, JOB_ROLE, OPERATOR_NAME, REPLICA_INDEX, REPLICA_TYPE, gang_shape, identify_by_labels,
    pod_restart_policy, unknown_replica_type,
};
use crate::workload::template::{
    Draft, Field, Owner, append, containers, ensure_env, env, is_list_empty, require_containers,
};
use crate::workload::{Fidelity, GangShape, GangTraits, Manifest, RenderError, RolePod, WorkloadKind};

/// The `MPIJob` of the training-operator; [`mpijob_v2beta1`](super::mpijob_v2beta1) belongs to the mpi-operator.
pub(super) static KIND: WorkloadKind = WorkloadKind {
    group: "kubeflow.org",
    versions: &["v1"],
    kind: "MPIJob",
    resource: "mpijobs",
    fidelity: Fidelity::Exact,
    render,
    identify: |pod| identify_by_labels(&KIND, CONTROLLER, REPLICA_TYPE, pod),
    labels: &[OPERATOR_NAME, JOB_NAME, REPLICA_TYPE, REPLICA_INDEX],
    gang: GangTraits { shape: Some(shape), ..mpi::GANG },
};

const CONTROLLER: &str = "mpijob-controller";
const KUBECTL: &str = "mpi-job-kubectl";
/// Init container of the launcher.
const KUBECTL_DELIVERY: &str = "kubectl-delivery";
const KUBECTL_PATH: &str = "/opt/kube";
/// Name and mode of the script in the job's configuration that replaces `rsh`.
const KUBEXEC_SCRIPT: (&str, u32) = ("kubexec.sh", 0o555);

fn render(manifest: &Manifest<'_>) -> Result<Vec<RolePod>, RenderError> {
    let owner = Owner::from_manifest(manifest, API_VERSION, "MPIJob")?;
    let mut roles = Vec::new();
    for (role, spec) in replica_specs(manifest)? {
        let template = spec.get("template");
        require_containers(&template)?;
        let mut draft = Draft::new(&template, &owner, manifest.namespace)?;
        draft.finalizers.clear();
        draft.label(OPERATOR_NAME, CONTROLLER);
        draft.label(JOB_NAME, owner.name.as_str());
        draft.label(REPLICA_TYPE, role.to_lowercase());
        let replicas = match role {
            "Launcher" => {
                launcher(&mut draft, &owner.name, manifest.namespace);
                1
            }
            "Worker" => {
                worker(&mut draft, &owner.name);
                spec.get("replicas").count()?.unwrap_or(0)
            }
            _ => return Err(unknown_replica_type(&spec, "Launcher or Worker")),
        };
        draft.set("restartPolicy", pod_restart_policy(spec.get("restartPolicy").text()?.unwrap_or("Never")));
        roles.push(draft.into_role(role, replicas));
    }
    Ok(roles)
}

fn worker(draft: &mut Draft, job: &str) {
    draft.set_name(format!("{job}-worker-0"));
    draft.label(REPLICA_INDEX, "0");
    if let Some(container) = containers(&mut draft.spec).next() {
        if is_list_empty(container, "command") {
            container.insert("command".to_owned(), json!(["sleep"]));
            container.insert("args".to_owned(), json!(["365d"]));
        }
        append(container, "volumeMounts", [json!({"name": CONFIG, "mountPath": CONFIG_PATH})]);
    }
    append(&mut draft.spec, "volumes", [config_volume(job, &[KUBEXEC_SCRIPT])]);
}

fn launcher(draft: &mut Draft, job: &str, namespace: &str) {
    draft.set_name(format!("{job}-launcher"));
    draft.label(JOB_ROLE, "master");
    draft.set_default("serviceAccountName", format!("{job}-launcher"));
    let has_gpu = containers(&mut draft.spec).any(|container| requests_gpu(container));
    let mounts =
        [json!({"name": KUBECTL, "mountPath": KUBECTL_PATH}), json!({"name": CONFIG, "mountPath": CONFIG_PATH})];
    append(&mut draft.spec, "initContainers", [kubectl_delivery(namespace, &mounts)]);
    if let Some(container) = containers(&mut draft.spec).next() {
        let kubexec = format!("{CONFIG_PATH}/{}", KUBEXEC_SCRIPT.0);
        append(
            container,
            "env",
            [
                env("OMPI_MCA_plm_rsh_agent", kubexec.as_str()),
                env(HOSTFILE_VARIABLE, format!("{CONFIG_PATH}/{}", HOSTFILE.0)),
            ],
        );
        if !has_gpu {
            append(container, "env", no_gpu_env());
        }
        ensure_env(container, env("I_MPI_HYDRA_BOOTSTRAP", "rsh"));
        ensure_env(container, env("I_MPI_HYDRA_BOOTSTRAP_EXEC", kubexec));
        append(container, "volumeMounts", mounts.clone());
    }
    let config = config_volume(job, &[KUBEXEC_SCRIPT, HOSTFILE, DISCOVER_HOSTS]);
    append(&mut draft.spec, "volumes", [json!({"name": KUBECTL, "emptyDir": {}}), config]);
}

/// Reads the gang. The operator adds an init container to the launcher.
fn shape(manifest: &Manifest<'_>) -> Result<GangShape, RenderError> {
    let mut shape = gang_shape(manifest)?;
    let specs = Field::root(manifest.raw).get("spec").get("mpiReplicaSpecs");
    let template = specs.get("Launcher").get("template");
    for launcher in shape.roles.iter_mut().filter(|role| role.name == "launcher") {
        launcher.add_container(&template, "initContainers", (KUBECTL_DELIVERY, delivery_resources()));
    }
    Ok(shape)
}

fn kubectl_delivery(namespace: &str, mounts: &[Value]) -> Value {
    json!({
        "name": KUBECTL_DELIVERY,
        "image": "kubeflow/kubectl-delivery:latest",
        "env": [env("TARGET_DIR", KUBECTL_PATH), env("NAMESPACE", namespace)],
        "resources": delivery_resources(),
        "volumeMounts": mounts,
        "imagePullPolicy": "IfNotPresent",
    })
}

fn delivery_resources() -> Value {
    let amounts = json!({"cpu": "100m", "ephemeral-storage": "5Gi", "memory": "512Mi"});
    json!({"limits": amounts.clone(), "requests": amounts})
}

fn requests_gpu(container: &Map<String, Value>) -> bool {
    let limits = container.get("resources").and_then(|resources| resources.get("limits")).and_then(Value::as_object);
    limits.is_some_and(|limits| limits.keys().any(|resource| resource.contains("gpu")))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::workload::template::testing::{env_lines, error, render};

    fn job(specs: &Value) -> Value {
        json!({"apiVersion": "kubeflow.org/v1", "kind": "MPIJob", "metadata": {"name": "j"}, "spec": {"mpiReplicaSpecs": specs}})
    }

    fn pair(container: &Value) -> Value {
        let template = json!({"spec": {"containers": [container, {"name": "sidecar"}]}});
        job(&json!({"Launcher": {"template": template}, "Worker": {"replicas": 2, "template": template}}))
    }

    #[rstest]
    #[case::no_gpu(json!({"name": "mpi"}), &[
        "OMPI_MCA_plm_rsh_agent=/etc/mpi/kubexec.sh", "OMPI_MCA_orte_default_hostfile=/etc/mpi/hostfile",
        "NVIDIA_VISIBLE_DEVICES=", "NVIDIA_DRIVER_CAPABILITIES=",
        "I_MPI_HYDRA_BOOTSTRAP=rsh", "I_MPI_HYDRA_BOOTSTRAP_EXEC=/etc/mpi/kubexec.sh",
    ])]
    #[case::gpu_and_own_bootstrap(
        json!({
            "name": "mpi", "resources": {"limits": {"amd.com/gpu": 1}},
            "env": [{"name": "I_MPI_HYDRA_BOOTSTRAP", "value": "ssh"}],
        }),
        &[
            "I_MPI_HYDRA_BOOTSTRAP=ssh", "OMPI_MCA_plm_rsh_agent=/etc/mpi/kubexec.sh",
            "OMPI_MCA_orte_default_hostfile=/etc/mpi/hostfile", "I_MPI_HYDRA_BOOTSTRAP_EXEC=/etc/mpi/kubexec.sh",
        ]
    )]
    fn the_first_container_of_the_launcher_receives_the_environment(
        #[case] container: Value,
        #[case] expected: &[&str],
    ) {
        let roles = render(&pair(&container)).unwrap();
        assert_eq!(env_lines(&roles[0], 0), expected);
        assert_eq!(env_lines(&roles[0], 1), Vec::<String>::new());
    }

    #[test]
    fn launcher_and_worker_are_as_the_operator_creates_them() {
        let roles = render(&pair(&json!({"name": "mpi"}))).unwrap();
        let (launcher, worker) = (&roles[0].pod, &roles[1].pod);
        assert_eq!(
            (&launcher["metadata"]["name"], &worker["metadata"]["name"]),
            (&json!("j-launcher"), &json!("j-worker-0"))
        );
        assert_eq!(
            launcher["metadata"]["labels"],
            json!({
                OPERATOR_NAME: CONTROLLER, JOB_NAME: "j", REPLICA_TYPE: "launcher", JOB_ROLE: "master",
            })
        );
        assert_eq!(
            worker["metadata"]["labels"],
            json!({
                OPERATOR_NAME: CONTROLLER, JOB_NAME: "j", REPLICA_TYPE: "worker", REPLICA_INDEX: "0",
            })
        );
        assert_eq!(launcher["spec"]["serviceAccountName"], "j-launcher");
        assert_eq!(launcher["spec"]["initContainers"][0]["env"][1], json!({"name": "NAMESPACE", "value": "team"}));
        assert_eq!(launcher["spec"]["volumes"][0], json!({"name": "mpi-job-kubectl", "emptyDir": {}}));
        assert_eq!(
            launcher["spec"]["volumes"][1]["configMap"]["items"][1],
            json!({"key": "hostfile", "path": "hostfile", "mode": 292})
        );
        assert_eq!(
            worker["spec"],
            json!({
                "containers": [
                    {
                        "name": "mpi", "command": ["sleep"], "args": ["365d"],
                        "volumeMounts": [{"name": "mpi-job-config", "mountPath": "/etc/mpi"}],
                    },
                    {"name": "sidecar"},
                ],
                "volumes": [{"name": "mpi-job-config", "configMap": {
                    "name": "j-config", "items": [{"key": "kubexec.sh", "path": "kubexec.sh", "mode": 365}],
                }}],
                "restartPolicy": "Never",
            })
        );
    }

    #[rstest]
    #[case::no_launcher(json!({"Worker": {}}), "spec.mpiReplicaSpecs.Launcher is missing")]
    #[case::misspelled_launcher(
        json!({"launcher": {}, "Worker": {}}),
        "spec.mpiReplicaSpecs.Launcher is missing: mpiReplicaSpecs has no field launcher: did you mean Launcher?"
    )]
    #[case::two_launchers(
        json!({"Launcher": {"replicas": 2, "template": {"spec": {"containers": [{}]}}}}),
        "spec.mpiReplicaSpecs.Launcher.replicas is 2: expected 1"
    )]
    #[case::unknown(
        json!({"Launcher": {"template": {"spec": {"containers": [{}]}}}, "Boss": {"template": {"spec": {"containers": [{}]}}}}),
        "spec.mpiReplicaSpecs.Boss is an unknown replica type: expected Launcher or Worker"
    )]
    fn rejects_what_the_operator_rejects(#[case] specs: Value, #[case] message: &str) {
        assert_eq!(error(&job(&specs)), message);
    }
}
