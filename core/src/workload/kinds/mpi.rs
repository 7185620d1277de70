//! What the `MPIJob`s of both their operators have in common.

use serde_json::{Value, json};

use crate::workload::template::{Field, env};
use crate::workload::{GangTraits, Manifest, RenderError, SizeSource};

/// The volume with the job's configuration.
pub(super) const CONFIG: &str = "mpi-job-config";
/// Where it is mounted.
pub(super) const CONFIG_PATH: &str = "/etc/mpi";
/// The file in it with the job's hosts.
pub(super) const HOSTFILE: (&str, u32) = ("hostfile", 0o444);
/// The script in it that lists the hosts which are up.
pub(super) const DISCOVER_HOSTS: (&str, u32) = ("discover_hosts.sh", 0o555);

/// The variable by which the operator's script knows launcher and workers apart.
pub(super) const JOB_ROLE_VARIABLE: &str = "K_MPI_JOB_ROLE";
/// The variable with the place of the hosts' list.
pub(super) const HOSTFILE_VARIABLE: &str = "OMPI_MCA_orte_default_hostfile";

/// The launcher is owned by a Job, the workers by the `MPIJob`. mpirun starts their ranks from outside.
pub(super) const GANG: GangTraits = GangTraits {
    size: &[SizeSource::EnvOfPeers(JOB_ROLE_VARIABLE), SizeSource::EnvOfPeers(HOSTFILE_VARIABLE)],
    auxiliary_roles: &["launcher"],
    ssh_roles: &["worker"],
    ..GangTraits::BY_NAME
};

/// The replica specs by their types. The launcher's must be there, for one pod.
pub(super) fn replica_specs<'a>(manifest: &Manifest<'a>) -> Result<Vec<(&'a str, Field<'a>)>, RenderError> {
    let specs = Field::root(manifest.raw).get("spec").get("mpiReplicaSpecs");
    specs.required_object()?;
    let launcher = specs.get("Launcher");
    if !launcher.is_present() {
        return Err(launcher.missing());
    }
    if launcher.get("replicas").count()?.is_some_and(|count| count != 1) {
        return Err(launcher.get("replicas").invalid("1"));
    }
    specs.entries()
}

/// The volume [`CONFIG`] with these files of the job's `ConfigMap`.
pub(super) fn config_volume(job: &str, files: &[(&str, u32)]) -> Value {
    let items: Vec<_> = files.iter().map(|(file, mode)| json!({"key": file, "path": file, "mode": mode})).collect();
    json!({"name": CONFIG, "configMap": {"name": format!("{job}-config"), "items": items}})
}

/// Keeps the container runtime from showing the node's GPUs to a launcher that does not compute.
pub(super) fn no_gpus() -> [Value; 2] {
    [env("NVIDIA_VISIBLE_DEVICES", ""), env("NVIDIA_DRIVER_CAPABILITIES", "")]
}
