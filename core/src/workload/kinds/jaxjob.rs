//! `kubeflow.org/v1` `JAXJob` (training-operator v1.9).

use super::training_operator::{Framework, Job, ReplicaSpec, ReplicaTypes, add_env};
use crate::workload::template::{Draft, env};
use crate::workload::{GangTraits, MemberPort, RenderError, SizeSource, WorkloadKind};

/// A `JAXJob`: workers, the first of which is the coordinator.
pub(super) static KIND: WorkloadKind =
    FRAMEWORK.kind(|manifest| FRAMEWORK.render(manifest), |pod| FRAMEWORK.identify(&KIND, pod));

static FRAMEWORK: Framework = Framework {
    kind: "JAXJob",
    resource: "jaxjobs",
    controller: "jaxjob-controller",
    specs: "jaxReplicaSpecs",
    roles: ReplicaTypes::Fixed(&["Worker"], "Worker"),
    container: "jax",
    port: ("jaxjob-port", 6666),
    restart_policy: "Never",
    is_master: |_, _| true,
    set_cluster_spec,
    gang: GangTraits {
        size_sources: &[SizeSource::Env(PROCESSES_VARIABLE)],
        member_ports: &[MemberPort::Named("jaxjob-port"), MemberPort::Env("COORDINATOR_PORT")],
        one_group: true,
        ..GangTraits::BY_OWNER
    },
};

/// Environment variable that contains the number of pods.
const PROCESSES_VARIABLE: &str = "NUM_PROCESSES";

fn set_cluster_spec(job: &Job<'_>, _: &ReplicaSpec, draft: &mut Draft) -> Result<(), RenderError> {
    add_env(
        draft,
        &[
            env("PYTHONUNBUFFERED", "1"),
            env("COORDINATOR_PORT", job.required_replica("Worker")?.port.to_string()),
            env("COORDINATOR_ADDRESS", job.pod_name("Worker", 0)),
            env(PROCESSES_VARIABLE, job.total().to_string()),
            env("PROCESS_ID", "0"),
        ],
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::workload::template::testing::{env_lines, render};

    #[test]
    fn every_container_receives_the_coordinator_address() {
        let ports = json!([{"name": "jaxjob-port", "containerPort": 7000}]);
        let template = json!({"spec": {"containers": [{"name": "jax", "ports": ports}, {"name": "sidecar"}]}});
        let roles = render(&json!({
            "apiVersion": "kubeflow.org/v1", "kind": "JAXJob", "metadata": {"name": "j"},
            "spec": {"jaxReplicaSpecs": {"Worker": {"replicas": 4, "template": template}}},
        }));
        let role = &roles.unwrap()[0];
        let expected = [
            "PYTHONUNBUFFERED=1",
            "COORDINATOR_PORT=7000",
            "COORDINATOR_ADDRESS=j-worker-0",
            "NUM_PROCESSES=4",
            "PROCESS_ID=0",
        ];
        assert_eq!(env_lines(role, 0), expected);
        assert_eq!(env_lines(role, 1), expected);
        assert_eq!(role.pod["spec"]["containers"][0]["ports"], ports);
        assert_eq!(role.pod["spec"]["restartPolicy"], "Never");
    }
}
