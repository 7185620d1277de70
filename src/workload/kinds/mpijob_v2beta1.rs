//! `kubeflow.org/v2beta1` `MPIJob` (mpi-operator v0.8): a launcher Job that reaches its workers by SSH.

use serde_json::{Map, Value, json};

use super::super::template::{BatchJob, Draft, Field, Identity, PodName, append, env, is_empty};
use super::super::{Fidelity, Kind, Manifest, RenderError, Role};
use super::training_operator::{JOB_NAME, JOB_ROLE, OPERATOR_NAME, REPLICA_INDEX, member, restart_policy};

/// The `MPIJob` of the mpi-operator.
pub(super) static KIND: Kind = Kind {
    group: "kubeflow.org",
    versions: &["v2beta1"],
    kind: "MPIJob",
    fidelity: Fidelity::Exact,
    render,
    identify: |pod| member("MPIJob", OPERATOR, JOB_ROLE, pod),
};

const OPERATOR: &str = "mpi-operator";
const CONFIG: &str = "mpi-job-config";
const CONFIG_PATH: &str = "/etc/mpi";
const HOSTFILE: &str = "/etc/mpi/hostfile";
const SSH: &str = "ssh-auth";
const ROOT_SSH_PATH: &str = "/root/.ssh";

/// The parts of the spec that shape pods, after the operator's defaults.
struct Job<'a> {
    identity: Identity,
    namespace: &'a str,
    slots: u64,
    ssh_path: &'a str,
    implementation: &'a str,
    launcher_works: bool,
}

fn render(manifest: &Manifest<'_>) -> Result<Vec<Role>, RenderError> {
    let spec = Field::root(manifest.raw).at("spec");
    let job = Job::read(manifest, &spec)?;
    let specs = spec.at("mpiReplicaSpecs");
    specs.required_object()?;
    if !specs.at("Launcher").is_present() {
        return Err(specs.at("Launcher").missing());
    }
    let mut notes = job.identity.notes.clone();
    let mut roles = Vec::new();
    for (role, spec) in specs.entries()? {
        match role {
            "Launcher" => roles.push(job.launcher(&spec)?),
            "Worker" => roles.push(job.worker(&spec)?),
            _ => notes.push(format!("The operator makes no pods of {}.", spec.path())),
        }
    }
    for role in &mut roles {
        role.notes.clone_from(&notes);
    }
    Ok(roles)
}

impl<'a> Job<'a> {
    fn read(manifest: &Manifest<'a>, spec: &Field<'a>) -> Result<Self, RenderError> {
        let or_default = |field: Field<'a>, default| {
            Ok::<&str, RenderError>(field.text()?.filter(|text| !text.is_empty()).unwrap_or(default))
        };
        Ok(Self {
            identity: Identity::read(manifest)?,
            namespace: manifest.namespace,
            slots: spec.at("slotsPerWorker").count()?.unwrap_or(1),
            ssh_path: or_default(spec.at("sshAuthMountPath"), ROOT_SSH_PATH)?,
            implementation: match or_default(spec.at("mpiImplementation"), "OpenMPI")? {
                known @ ("OpenMPI" | "Intel" | "MPICH") => known,
                _ => return Err(spec.at("mpiImplementation").invalid("OpenMPI, Intel or MPICH")),
            },
            launcher_works: spec.at("runLauncherAsWorker").flag()?.unwrap_or_default(),
        })
    }

    fn launcher(&self, spec: &Field<'_>) -> Result<Role, RenderError> {
        if spec.at("replicas").count()?.is_some_and(|count| count != 1) {
            return Err(spec.at("replicas").invalid("1"));
        }
        let name = format!("{}-launcher", self.identity.name);
        let mut draft = self.draft(spec, "launcher", &name)?;
        if self.launcher_works {
            draft.label(REPLICA_INDEX, "0");
        }
        for container in draft.containers().take(1) {
            append(container, "env", self.launcher_env());
        }
        self.mount_ssh(&mut draft);
        draft.restart(policy(spec, "OnFailure")?);
        append(
            &mut draft.spec,
            "volumes",
            [json!({"name": CONFIG, "configMap": {
                "name": format!("{}-config", self.identity.name),
                "items": [
                    {"key": "hostfile", "path": "hostfile", "mode": 0o444},
                    {"key": "discover_hosts.sh", "path": "discover_hosts.sh", "mode": 0o555},
                ],
            }})],
        );
        mount(&mut draft, CONFIG, CONFIG_PATH);
        let pod = BatchJob { name: &name, indexed: false, counts_failures: false }.pod(draft, self.namespace);
        Ok(Role { name: "Launcher".to_owned(), replicas: 1, pod, notes: Vec::new() })
    }

    fn worker(&self, spec: &Field<'_>) -> Result<Role, RenderError> {
        let name = format!("{}-worker-0", self.identity.name);
        let mut draft = self.draft(spec, "worker", &name)?;
        // A launcher that works is number 0 itself.
        draft.label(REPLICA_INDEX, if self.launcher_works { "1" } else { "0" });
        self.search_domain(&mut draft.spec);
        draft.restart(policy(spec, "Never")?);
        for container in draft.containers().take(1) {
            if is_empty(container, "command") && is_empty(container, "args") {
                container.insert("command".to_owned(), json!(["/usr/sbin/sshd", "-De"]));
            }
            append(container, "env", [env("K_MPI_JOB_ROLE", "worker")]);
        }
        self.mount_ssh(&mut draft);
        let owner = self.identity.owner("kubeflow.org/v2beta1", "MPIJob");
        let pod = draft.into_pod(PodName::Fixed(name), self.namespace, owner);
        let replicas = spec.at("replicas").count()?.unwrap_or(0);
        Ok(Role { name: "Worker".to_owned(), replicas, pod, notes: Vec::new() })
    }

    /// What launcher and workers have in common.
    fn draft(&self, spec: &Field<'_>, role: &str, hostname: &str) -> Result<Draft, RenderError> {
        let mut draft = Draft::read(&spec.at("template"))?;
        spec.at("template").at("spec").at("dnsConfig").at("searches").items()?;
        spec.at("template").at("spec").at("dnsConfig").object()?;
        draft.finalizers.clear();
        draft.label(OPERATOR_NAME, OPERATOR);
        draft.label(JOB_NAME, self.identity.name.as_str());
        draft.label(JOB_ROLE, role);
        draft.set("hostname", hostname);
        draft.set("subdomain", self.identity.name.as_str());
        if draft.spec.get("hostNetwork") == Some(&Value::Bool(true)) {
            draft.set("dnsPolicy", "ClusterFirstWithHostNet");
        }
        Ok(draft)
    }

    fn launcher_env(&self) -> Vec<Value> {
        let mut variables = vec![env("K_MPI_JOB_ROLE", "launcher")];
        let patience = "-o ConnectionAttempts=10";
        let slots = self.slots.to_string();
        match self.implementation {
            "Intel" => variables.extend([
                env("I_MPI_HYDRA_HOST_FILE", HOSTFILE),
                env("I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", patience),
                env("I_MPI_PERHOST", slots),
            ]),
            "MPICH" => variables.extend([env("HYDRA_HOST_FILE", HOSTFILE), env("HYDRA_LAUNCH_EXTRA_ARGS", patience)]),
            _ => variables.extend([
                env("OMPI_MCA_orte_keep_fqdn_hostnames", "true"),
                env("OMPI_MCA_orte_default_hostfile", HOSTFILE),
                env("OMPI_MCA_plm_rsh_args", patience),
                env("OMPI_MCA_orte_set_default_slots", slots),
            ]),
        }
        if !self.launcher_works {
            // Keeps the container runtime from showing the node's GPUs to a launcher that does not compute.
            variables.extend([env("NVIDIA_VISIBLE_DEVICES", ""), env("NVIDIA_DRIVER_CAPABILITIES", "")]);
        }
        variables
    }

    fn mount_ssh(&self, draft: &mut Draft) {
        let mut secret = json!({
            "secretName": format!("{}-ssh", self.identity.name),
            "items": [
                {"key": "ssh-privatekey", "path": "id_rsa"},
                {"key": "ssh-publickey", "path": "id_rsa.pub"},
                {"key": "ssh-publickey", "path": "authorized_keys"},
            ],
        });
        if self.ssh_path == ROOT_SSH_PATH {
            secret["defaultMode"] = 0o600.into();
        }
        append(&mut draft.spec, "volumes", [json!({"name": SSH, "secret": secret})]);
        mount(draft, SSH, self.ssh_path);
    }

    /// Intel MPI and MPICH call the launcher back by its bare hostname.
    fn search_domain(&self, spec: &mut Map<String, Value>) {
        let domain = json!(format!("{}.{}.svc.cluster.local", self.identity.name, self.namespace));
        match spec.get_mut("dnsConfig").and_then(Value::as_object_mut) {
            Some(config) => append(config, "searches", [domain]),
            None => {
                spec.insert("dnsConfig".to_owned(), json!({"searches": [domain]}));
            }
        }
    }
}

fn mount(draft: &mut Draft, volume: &str, path: &str) {
    for container in draft.containers().take(1) {
        append(container, "volumeMounts", [json!({"name": volume, "mountPath": path})]);
    }
}

fn policy<'a>(spec: &Field<'a>, default: &'static str) -> Result<&'a str, RenderError> {
    match restart_policy(spec)?.unwrap_or(default) {
        policy @ ("Never" | "OnFailure") => Ok(policy),
        _ => Err(spec.at("restartPolicy").invalid("Never or OnFailure")),
    }
}

#[cfg(test)]
mod tests;
