//! `kubeflow.org/v1` `PaddleJob` (training-operator v1.9).

use super::training_operator::{Framework, Job, ReplicaSpec, ReplicaTypes, add_env};
use crate::workload::template::{Draft, env, env_from_field};
use crate::workload::{GangTraits, MemberPort, RenderError, SizeSource, WorkloadKind};

/// A `PaddleJob`: only workers (collective mode), or also masters (parameter server mode).
pub(super) static KIND: WorkloadKind =
    FRAMEWORK.kind(|manifest| FRAMEWORK.render(manifest), |pod| FRAMEWORK.identify(&KIND, pod));

static FRAMEWORK: Framework = Framework {
    kind: "PaddleJob",
    resource: "paddlejobs",
    controller: "paddlejob-controller",
    specs: "paddleReplicaSpecs",
    roles: ReplicaTypes::Fixed(&["Master", "Worker"], "Master or Worker"),
    container: "paddle",
    port: ("master", 36543),
    restart_policy: "OnFailure",
    is_master: |_, replica| replica.role == "Master",
    set_cluster_spec,
    gang: GangTraits {
        size_sources: &[SizeSource::Env(NODES_VARIABLE)],
        member_ports: &[MemberPort::Named("master"), MemberPort::Env("PADDLE_MASTER")],
        one_group: true,
        ..GangTraits::BY_OWNER
    },
};

/// Environment variable that contains the number of pods.
const NODES_VARIABLE: &str = "PADDLE_NNODES";

fn set_cluster_spec(job: &Job<'_>, replica: &ReplicaSpec, draft: &mut Draft) -> Result<(), RenderError> {
    let leader = match job.replica("Master") {
        Some(master) => master,
        None => job.required_replica("Worker")?,
    };
    let mut variables = vec![
        env("PYTHONUNBUFFERED", "1"),
        env("PADDLE_JOB_ID", job.owner.name.as_str()),
        env(NODES_VARIABLE, job.total().to_string()),
    ];
    if replica.role == leader.role {
        // The first pod hosts the rendezvous and binds to its own address.
        variables.push(env_from_field("POD_IP_DUMMY", "status.podIP"));
        variables.push(env("PADDLE_MASTER", format!("$(POD_IP_DUMMY):{}", leader.port)));
    } else {
        variables.push(env("PADDLE_MASTER", format!("{}:{}", job.pod_name(&leader.role, 0), leader.port)));
    }
    if leader.role == "Master" {
        let count = if replica.role == "Master" { "PADDLE_SERVER_NUM" } else { "PADDLE_TRAINER_NUM" };
        variables.push(env(count, "1"));
    }
    add_env(draft, &variables);
    Ok(())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::super::training_operator::testing::job;
    use super::FRAMEWORK;
    use crate::workload::template::testing::{env_lines, render};

    #[rstest]
    #[case::collective(&[("Worker", 3)], &[
        "PYTHONUNBUFFERED=1 PADDLE_JOB_ID=j PADDLE_NNODES=3 POD_IP_DUMMY<status.podIP PADDLE_MASTER=$(POD_IP_DUMMY):36543",
    ])]
    #[case::parameter_server(&[("Master", 1), ("Worker", 2)], &[
        "PYTHONUNBUFFERED=1 PADDLE_JOB_ID=j PADDLE_NNODES=3 POD_IP_DUMMY<status.podIP PADDLE_MASTER=$(POD_IP_DUMMY):36543 PADDLE_SERVER_NUM=1",
        "PYTHONUNBUFFERED=1 PADDLE_JOB_ID=j PADDLE_NNODES=3 PADDLE_MASTER=j-master-0:36543 PADDLE_TRAINER_NUM=1",
    ])]
    fn the_environment_depends_on_the_mode(#[case] roles: &[(&str, u64)], #[case] expected: &[&str]) {
        let roles = render(&job(&FRAMEWORK, &json!({}), roles));
        assert_eq!(roles.unwrap().iter().map(|role| env_lines(role, 0).join(" ")).collect::<Vec<_>>(), expected);
    }
}
