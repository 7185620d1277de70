//! Code shared by the `MPIJob`s of the training-operator and the mpi-operator.

use serde_json::{Value, json};

use crate::workload::template::{Field, env};
use crate::workload::{GangTraits, Manifest, MemberPort, PodCreation, RenderError, SizeSource};

/// Name of the volume that contains the job's configuration.
pub(super) const CONFIG: &str = "mpi-job-config";
/// Mount path of the configuration.
pub(super) const CONFIG_PATH: &str = "/etc/mpi";
/// Name and mode of the file that contains the job's hosts.
pub(super) const HOSTFILE: (&str, u32) = ("hostfile", 0o444);
/// Name and mode of the script that lists the running hosts.
pub(super) const DISCOVER_HOSTS: (&str, u32) = ("discover_hosts.sh", 0o555);

/// Environment variable by which the operator's script distinguishes launcher and workers.
pub(super) const JOB_ROLE_VARIABLE: &str = "K_MPI_JOB_ROLE";
/// Environment variable that contains the path of the hostfile.
pub(super) const HOSTFILE_VARIABLE: &str = "OMPI_MCA_orte_default_hostfile";

/// Gang properties of an `MPIJob`. The pods share only its name: a Job owns the launcher, the `MPIJob` the workers.
/// mpirun starts the workers' ranks remotely.
pub(super) const GANG: GangTraits = GangTraits {
    size_sources: &[SizeSource::EnvWithPeers(JOB_ROLE_VARIABLE), SizeSource::EnvWithPeers(HOSTFILE_VARIABLE)],
    // sshd, which runs on the second port if the container is not privileged.
    member_ports: &[MemberPort::Numbered(22), MemberPort::Numbered(2222)],
    auxiliary_roles: &["launcher"],
    ssh_roles: &["worker"],
    one_group: true,
    creation: Some(PodCreation::AllAtOnce),
    ..GangTraits::BY_NAME
};

/// Returns the replica specs by type. The launcher is required and must have one replica.
pub(super) fn replica_specs<'a>(manifest: &Manifest<'a>) -> Result<Vec<(&'a str, Field<'a>)>, RenderError> {
    let specs = Field::root(manifest.raw).get("spec").get("mpiReplicaSpecs");
    specs.required_object()?;
    let launcher = specs.get("Launcher");
    if !launcher.is_present() {
        return Err(specs.missing_field("Launcher", "mpiReplicaSpecs"));
    }
    if launcher.get("replicas").count()?.is_some_and(|count| count != 1) {
        return Err(launcher.get("replicas").invalid("1"));
    }
    specs.entries()
}

/// Returns the volume [`CONFIG`] with files of the job's `ConfigMap`.
pub(super) fn config_volume(job: &str, files: &[(&str, u32)]) -> Value {
    let items: Vec<_> = files.iter().map(|(file, mode)| json!({"key": file, "path": file, "mode": mode})).collect();
    json!({"name": CONFIG, "configMap": {"name": format!("{job}-config"), "items": items}})
}

/// Returns the environment variables that hide the node's GPUs from a launcher that does not run ranks.
pub(super) fn no_gpu_env() -> [Value; 2] {
    [env("NVIDIA_VISIBLE_DEVICES", ""), env("NVIDIA_DRIVER_CAPABILITIES", "")]
}
