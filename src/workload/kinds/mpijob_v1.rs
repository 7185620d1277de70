//! `kubeflow.org/v1` `MPIJob` (training-operator v1.9): a launcher that reaches its workers by `kubectl exec`.

use serde_json::{Map, Value, json};

use super::super::template::{Draft, Field, Identity, PodName, append, env, is_empty, text};
use super::super::{Fidelity, Kind, Manifest, RenderError, Role};
use super::training_operator::{
    API_VERSION, JOB_NAME, JOB_ROLE, OPERATOR_NAME, REPLICA_INDEX, REPLICA_TYPE, member, restart_policy,
};

/// The `MPIJob` of the training-operator; [`mpijob_v2beta1`](super::mpijob_v2beta1) is another operator's.
pub(super) static KIND: Kind = Kind {
    group: "kubeflow.org",
    versions: &["v1"],
    kind: "MPIJob",
    fidelity: Fidelity::Exact,
    render,
    identify: |pod| member("MPIJob", CONTROLLER, REPLICA_TYPE, pod),
};

const CONTROLLER: &str = "mpijob-controller";
const CONFIG: &str = "mpi-job-config";
const CONFIG_PATH: &str = "/etc/mpi";
const KUBECTL: &str = "mpi-job-kubectl";
const KUBECTL_PATH: &str = "/opt/kube";
const KUBEXEC: &str = "kubexec.sh";

fn render(manifest: &Manifest<'_>) -> Result<Vec<Role>, RenderError> {
    let identity = Identity::read(manifest)?;
    let specs = Field::root(manifest.raw).at("spec").at("mpiReplicaSpecs");
    specs.required_object()?;
    if !specs.at("Launcher").is_present() {
        return Err(specs.at("Launcher").missing());
    }
    let mut roles = Vec::new();
    for (role, spec) in specs.entries()? {
        let mut draft = Draft::read(&spec.at("template"))?;
        draft.finalizers.clear();
        draft.label(OPERATOR_NAME, CONTROLLER);
        draft.label(JOB_NAME, identity.name.as_str());
        draft.label(REPLICA_TYPE, role.to_lowercase());
        let replicas = spec.at("replicas").count()?;
        let (name, replicas) = match role {
            "Launcher" if replicas.is_some_and(|count| count != 1) => return Err(spec.at("replicas").invalid("1")),
            "Launcher" => {
                launcher(&mut draft, &identity.name, manifest.namespace);
                (format!("{}-launcher", identity.name), 1)
            }
            "Worker" => {
                worker(&mut draft, &identity.name);
                (format!("{}-worker-0", identity.name), replicas.unwrap_or(0))
            }
            _ => return Err(unknown(&spec)),
        };
        draft.restart(restart_policy(&spec)?.unwrap_or("Never"));
        let owner = identity.owner(API_VERSION, "MPIJob");
        let pod = draft.into_pod(PodName::Fixed(name), manifest.namespace, owner);
        roles.push(Role { name: role.to_owned(), replicas, pod, notes: identity.notes.clone() });
    }
    Ok(roles)
}

fn unknown(spec: &Field<'_>) -> RenderError {
    let found = "an unknown replica type".to_owned();
    RenderError::Invalid { path: spec.path().to_owned(), found, expected: "Launcher or Worker" }
}

fn worker(draft: &mut Draft, job: &str) {
    draft.label(REPLICA_INDEX, "0");
    for container in draft.containers().take(1) {
        if is_empty(container, "command") {
            container.insert("command".to_owned(), json!(["sleep"]));
            container.insert("args".to_owned(), json!(["365d"]));
        }
        append(container, "volumeMounts", [json!({"name": CONFIG, "mountPath": CONFIG_PATH})]);
    }
    append(&mut draft.spec, "volumes", [config_volume(job, &[(KUBEXEC, 0o555)])]);
}

fn launcher(draft: &mut Draft, job: &str, namespace: &str) {
    draft.label(JOB_ROLE, "master");
    if text(&draft.spec, "serviceAccountName").is_empty() {
        draft.set("serviceAccountName", format!("{job}-launcher"));
    }
    let has_gpu = draft.containers().any(|container| asks_for_gpu(container));
    let mounts =
        [json!({"name": KUBECTL, "mountPath": KUBECTL_PATH}), json!({"name": CONFIG, "mountPath": CONFIG_PATH})];
    append(&mut draft.spec, "initContainers", [kubectl_delivery(namespace, &mounts)]);
    for container in draft.containers().take(1) {
        append(container, "env", launcher_env(has_gpu));
        for (name, value) in [
            ("I_MPI_HYDRA_BOOTSTRAP", "rsh".to_owned()),
            ("I_MPI_HYDRA_BOOTSTRAP_EXEC", format!("{CONFIG_PATH}/{KUBEXEC}")),
        ] {
            if !has_env(container, name) {
                append(container, "env", [env(name, value)]);
            }
        }
        append(container, "volumeMounts", mounts.clone());
    }
    let files = [(KUBEXEC, 0o555), ("hostfile", 0o444), ("discover_hosts.sh", 0o555)];
    append(&mut draft.spec, "volumes", [json!({"name": KUBECTL, "emptyDir": {}}), config_volume(job, &files)]);
}

fn launcher_env(has_gpu: bool) -> Vec<Value> {
    let mut variables = vec![
        env("OMPI_MCA_plm_rsh_agent", format!("{CONFIG_PATH}/{KUBEXEC}")),
        env("OMPI_MCA_orte_default_hostfile", format!("{CONFIG_PATH}/hostfile")),
    ];
    if !has_gpu {
        // Keeps the container runtime from showing the node's GPUs to a launcher that did not ask for one.
        variables.extend([env("NVIDIA_VISIBLE_DEVICES", ""), env("NVIDIA_DRIVER_CAPABILITIES", "")]);
    }
    variables
}

fn kubectl_delivery(namespace: &str, mounts: &[Value]) -> Value {
    let resources = json!({"cpu": "100m", "ephemeral-storage": "5Gi", "memory": "512Mi"});
    json!({
        "name": "kubectl-delivery",
        "image": "kubeflow/kubectl-delivery:latest",
        "env": [env("TARGET_DIR", KUBECTL_PATH), env("NAMESPACE", namespace)],
        "resources": {"limits": resources.clone(), "requests": resources},
        "volumeMounts": mounts,
        "imagePullPolicy": "IfNotPresent",
    })
}

fn config_volume(job: &str, files: &[(&str, u32)]) -> Value {
    let items: Vec<_> = files.iter().map(|(file, mode)| json!({"key": file, "path": file, "mode": mode})).collect();
    json!({"name": CONFIG, "configMap": {"name": format!("{job}-config"), "items": items}})
}

fn asks_for_gpu(container: &Map<String, Value>) -> bool {
    let limits = container.get("resources").and_then(|resources| resources.get("limits")).and_then(Value::as_object);
    limits.is_some_and(|limits| limits.keys().any(|resource| resource.contains("gpu")))
}

fn has_env(container: &Map<String, Value>, name: &str) -> bool {
    let variables = container.get("env").and_then(Value::as_array);
    variables.is_some_and(|variables| variables.iter().any(|variable| variable["name"] == name))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::super::template::testing::{env_of, render};
    use super::*;

    fn job(specs: &Value) -> Value {
        json!({"apiVersion": "kubeflow.org/v1", "kind": "MPIJob", "metadata": {"name": "j"}, "spec": {"mpiReplicaSpecs": specs}})
    }

    fn pair(container: &Value) -> Value {
        let template = json!({"spec": {"containers": [container, {"name": "helper"}]}});
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
    fn the_first_container_of_the_launcher_gets_the_environment(#[case] container: Value, #[case] expected: &[&str]) {
        let roles = render(&pair(&container)).unwrap();
        assert_eq!(env_of(&roles[0], 0), expected);
        assert_eq!(env_of(&roles[0], 1), Vec::<String>::new());
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
        assert_eq!(launcher["spec"]["initContainers"][0]["env"][1], json!({"name": "NAMESPACE", "value": "ml"}));
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
                    {"name": "helper"},
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
    #[case::two_launchers(
        json!({"Launcher": {"replicas": 2, "template": {"spec": {"containers": [{}]}}}}),
        "spec.mpiReplicaSpecs.Launcher.replicas is 2: expected 1"
    )]
    #[case::unknown(
        json!({"Launcher": {"template": {"spec": {"containers": [{}]}}}, "Boss": {"template": {"spec": {"containers": [{}]}}}}),
        "spec.mpiReplicaSpecs.Boss is an unknown replica type: expected Launcher or Worker"
    )]
    fn what_the_operator_refuses_is_an_error(#[case] specs: Value, #[case] message: &str) {
        assert_eq!(render(&job(&specs)).unwrap_err(), message);
    }
}
