//! `kubeflow.org/v2beta1` `MPIJob` (mpi-operator v0.8): a launcher Job that reaches its workers by SSH.

#[cfg(test)]
mod tests;

use serde_json::{Value, json};

use super::job::{self, Settings};
use super::mpi::{
    self, CONFIG_PATH, DISCOVER_HOSTS, HOSTFILE, HOSTFILE_VARIABLE, JOB_ROLE_VARIABLE, config_volume, no_gpu_env,
    replica_specs,
};
use super::training_operator::{JOB_NAME, JOB_ROLE, OPERATOR_NAME, REPLICA_INDEX, identify_by_labels};
use crate::workload::template::{
    Draft, Field, Owner, append, containers, env, is_list_empty, object_mut, require_containers,
};
use crate::workload::{Fidelity, GangRole, GangShape, GangTraits, Manifest, RenderError, RolePod, WorkloadKind};

/// The `MPIJob` of the mpi-operator.
pub(super) static KIND: WorkloadKind = WorkloadKind {
    group: "kubeflow.org",
    versions: &["v2beta1"],
    kind: "MPIJob",
    resource: "mpijobs",
    fidelity: Fidelity::Exact,
    render,
    identify: |pod| identify_by_labels(&KIND, OPERATOR, JOB_ROLE, pod),
    labels: &[OPERATOR_NAME, JOB_NAME, JOB_ROLE, REPLICA_INDEX],
    gang: GangTraits { portless_service: true, shape: Some(gang_shape), ..mpi::GANG },
};

const OPERATOR: &str = "mpi-operator";
const ROOT_SSH_PATH: &str = "/root/.ssh";

/// Settings of the spec that affect the pods, with the operator's defaults applied.
struct Job<'a> {
    owner: Owner<'a>,
    namespace: &'a str,
    slots: u64,
    ssh_path: &'a str,
    implementation: &'a str,
    launcher_is_worker: bool,
}

fn render(manifest: &Manifest<'_>) -> Result<Vec<RolePod>, RenderError> {
    let spec = Field::root(manifest.raw).get("spec");
    let job = Job::read(manifest, &spec)?;
    let mut ignored = Vec::new();
    let mut roles = Vec::new();
    for (role, spec) in replica_specs(manifest)? {
        match role {
            "Launcher" => roles.push(job.launcher(&spec)?),
            "Worker" => roles.push(job.worker(&spec)?),
            _ => ignored.push(format!("the operator ignores {}", spec.path())),
        }
    }
    for role in &mut roles {
        role.notes.extend_from_slice(&ignored);
    }
    Ok(roles)
}

/// Reads the gang: launcher and workers. A launcher that waits for the workers starts after them.
fn gang_shape(manifest: &Manifest<'_>) -> Result<GangShape, RenderError> {
    let spec = Field::root(manifest.raw).get("spec");
    let launcher_waits = spec.get("launcherCreationPolicy").text()? == Some("WaitForWorkersReady");
    let mut roles = Vec::new();
    for (role, replica) in replica_specs(manifest)? {
        let template = replica.get("template");
        match role {
            "Launcher" => roles.push(GangRole::new("launcher", 1, &template).in_stage(usize::from(launcher_waits))),
            "Worker" => roles.push(GangRole::new("worker", replica.get("replicas").count()?.unwrap_or(0), &template)),
            _ => {}
        }
    }
    let mut shape = GangShape::new(roles);
    let policy = spec.get("runPolicy");
    shape.min_members = policy.get("schedulingPolicy").get("minAvailable").count()?;
    shape.suspended = policy.get("suspend").is_true()?;
    Ok(shape)
}

impl<'a> Job<'a> {
    fn read(manifest: &Manifest<'a>, spec: &Field<'a>) -> Result<Self, RenderError> {
        Ok(Self {
            owner: Owner::from_manifest(manifest, "kubeflow.org/v2beta1", "MPIJob")?,
            namespace: manifest.namespace,
            slots: spec.get("slotsPerWorker").count()?.unwrap_or(1),
            ssh_path: spec.get("sshAuthMountPath").text()?.unwrap_or(ROOT_SSH_PATH),
            implementation: match spec.get("mpiImplementation").text()?.unwrap_or("OpenMPI") {
                known @ ("OpenMPI" | "Intel" | "MPICH") => known,
                _ => return Err(spec.get("mpiImplementation").invalid("OpenMPI, Intel or MPICH")),
            },
            launcher_is_worker: spec.get("runLauncherAsWorker").is_true()?,
        })
    }

    fn launcher(&self, spec: &Field<'_>) -> Result<RolePod, RenderError> {
        let owner = job::child_of(&self.owner, format!("{}-launcher", self.owner.name));
        let mut draft = self.draft(spec, &owner, "launcher", &owner.name)?;
        if self.launcher_is_worker {
            draft.label(REPLICA_INDEX, "0");
        }
        if let Some(container) = containers(&mut draft.spec).next() {
            append(container, "env", self.launcher_env());
        }
        self.mount_ssh(&mut draft);
        draft.set("restartPolicy", restart_policy(spec, "OnFailure")?);
        mount(&mut draft, config_volume(&self.owner.name, &[HOSTFILE, DISCOVER_HOSTS]), CONFIG_PATH);
        Settings::default().apply(&mut draft, &owner);
        Ok(draft.into_role("Launcher", 1))
    }

    fn worker(&self, spec: &Field<'_>) -> Result<RolePod, RenderError> {
        let name = format!("{}-worker-0", self.owner.name);
        let mut draft = self.draft(spec, &self.owner, "worker", &name)?;
        draft.set_name(name);
        // A launcher that is also a worker has index 0.
        draft.label(REPLICA_INDEX, if self.launcher_is_worker { "1" } else { "0" });
        self.add_search_domain(&mut draft);
        draft.set("restartPolicy", restart_policy(spec, "Never")?);
        if let Some(container) = containers(&mut draft.spec).next() {
            if is_list_empty(container, "command") && is_list_empty(container, "args") {
                container.insert("command".to_owned(), json!(["/usr/sbin/sshd", "-De"]));
            }
            append(container, "env", [env(JOB_ROLE_VARIABLE, "worker")]);
        }
        self.mount_ssh(&mut draft);
        Ok(draft.into_role("Worker", spec.get("replicas").count()?.unwrap_or(0)))
    }

    /// Creates a draft with the fields common to launcher and workers.
    fn draft(&self, spec: &Field<'_>, owner: &Owner<'_>, role: &str, hostname: &str) -> Result<Draft, RenderError> {
        let template = spec.get("template");
        require_containers(&template)?;
        template.get("spec").get("dnsConfig").get("searches").items()?;
        template.get("spec").get("dnsConfig").object()?;
        let mut draft = Draft::new(&template, owner, self.namespace)?;
        draft.finalizers.clear();
        draft.label(OPERATOR_NAME, OPERATOR);
        draft.label(JOB_NAME, self.owner.name.as_str());
        draft.label(JOB_ROLE, role);
        draft.set("hostname", hostname);
        draft.set("subdomain", self.owner.name.as_str());
        if draft.uses_host_network() {
            draft.set("dnsPolicy", "ClusterFirstWithHostNet");
        }
        Ok(draft)
    }

    fn launcher_env(&self) -> Vec<Value> {
        let mut variables = vec![env(JOB_ROLE_VARIABLE, "launcher")];
        let ssh_arguments = "-o ConnectionAttempts=10";
        let slots = self.slots.to_string();
        let hostfile = format!("{CONFIG_PATH}/{}", HOSTFILE.0);
        match self.implementation {
            "Intel" => variables.extend([
                env("I_MPI_HYDRA_HOST_FILE", hostfile),
                env("I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", ssh_arguments),
                env("I_MPI_PERHOST", slots),
            ]),
            "MPICH" => {
                variables.extend([env("HYDRA_HOST_FILE", hostfile), env("HYDRA_LAUNCH_EXTRA_ARGS", ssh_arguments)]);
            }
            _ => variables.extend([
                env("OMPI_MCA_orte_keep_fqdn_hostnames", "true"),
                env(HOSTFILE_VARIABLE, hostfile),
                env("OMPI_MCA_plm_rsh_args", ssh_arguments),
                env("OMPI_MCA_orte_set_default_slots", slots),
            ]),
        }
        if !self.launcher_is_worker {
            variables.extend(no_gpu_env());
        }
        variables
    }

    fn mount_ssh(&self, draft: &mut Draft) {
        let mut secret = json!({
            "secretName": format!("{}-ssh", self.owner.name),
            "items": [
                {"key": "ssh-privatekey", "path": "id_rsa"},
                {"key": "ssh-publickey", "path": "id_rsa.pub"},
                {"key": "ssh-publickey", "path": "authorized_keys"},
            ],
        });
        if self.ssh_path == ROOT_SSH_PATH {
            secret["defaultMode"] = 0o600.into();
        }
        mount(draft, json!({"name": "ssh-auth", "secret": secret}), self.ssh_path);
    }

    /// Adds the DNS search domain: with Intel MPI and MPICH, workers connect to the launcher by its unqualified
    /// hostname.
    fn add_search_domain(&self, draft: &mut Draft) {
        if let Some(config) = object_mut(&mut draft.spec, "dnsConfig") {
            let domain = format!("{}.{}.svc.cluster.local", self.owner.name, self.namespace);
            append(config, "searches", [domain.into()]);
        }
    }
}

/// Adds a volume and mounts it into the first container.
fn mount(draft: &mut Draft, volume: Value, path: &str) {
    let mount = json!({"name": volume["name"], "mountPath": path});
    append(&mut draft.spec, "volumes", [volume]);
    if let Some(container) = containers(&mut draft.spec).next() {
        append(container, "volumeMounts", [mount]);
    }
}

fn restart_policy<'a>(spec: &Field<'a>, default: &'static str) -> Result<&'a str, RenderError> {
    match spec.get("restartPolicy").text()?.unwrap_or(default) {
        policy @ ("Never" | "OnFailure") => Ok(policy),
        _ => Err(spec.get("restartPolicy").invalid("Never or OnFailure")),
    }
}
