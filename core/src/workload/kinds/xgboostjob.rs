//! `kubeflow.org/v1` `XGBoostJob` (training-operator v1.9).

use super::training_operator::{Framework, Job, ReplicaSpec, ReplicaTypes, add_env};
use crate::workload::template::{Draft, env};
use crate::workload::{GangTraits, MemberPort, RenderError, SizeSource, WorkloadKind};

/// An `XGBoostJob`: a master that runs the tracker, and workers.
pub(super) static KIND: WorkloadKind =
    FRAMEWORK.kind(|manifest| FRAMEWORK.render(manifest), |pod| FRAMEWORK.identify(&KIND, pod));

static FRAMEWORK: Framework = Framework {
    kind: "XGBoostJob",
    resource: "xgboostjobs",
    controller: "xgboostjob-controller",
    specs: "xgbReplicaSpecs",
    roles: ReplicaTypes::Fixed(&["Master", "Worker"], "Master or Worker"),
    container: "xgboost",
    port: ("xgboostjob-port", 9999),
    restart_policy: "Never",
    is_master: |_, replica| replica.role == "Master",
    set_cluster_spec,
    gang: GangTraits {
        size_sources: &[SizeSource::EnvWithPeers("WORKER_ADDRS")],
        member_ports: &[MemberPort::Named("xgboostjob-port"), MemberPort::Env("WORKER_PORT")],
        ..GangTraits::BY_OWNER
    },
};

fn set_cluster_spec(job: &Job<'_>, replica: &ReplicaSpec, draft: &mut Draft) -> Result<(), RenderError> {
    let master = job.required_replica("Master")?;
    let total = job.listed_total()?;
    let rank = if replica.role == "Worker" { master.count } else { 0 };
    let mut variables = vec![
        env("MASTER_PORT", master.port.to_string()),
        env("MASTER_ADDR", job.pod_name("Master", 0)),
        env("WORLD_SIZE", total.to_string()),
        env("RANK", rank.to_string()),
        env("PYTHONUNBUFFERED", "1"),
    ];
    if total > 1 {
        // LightGBM requires the addresses of all workers.
        let workers: Vec<_> = (0..total - 1).map(|index| job.pod_name("Worker", index)).collect();
        variables.push(env("WORKER_PORT", job.required_replica("Worker")?.port.to_string()));
        variables.push(env("WORKER_ADDRS", workers.join(",")));
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
    use crate::workload::template::testing::{env_lines, error, render};

    #[rstest]
    #[case::master_alone(&[("Master", 1)], &["MASTER_PORT=9999 MASTER_ADDR=j-master-0 WORLD_SIZE=1 RANK=0 PYTHONUNBUFFERED=1"])]
    #[case::with_workers(&[("Master", 1), ("Worker", 2)], &[
        "MASTER_PORT=9999 MASTER_ADDR=j-master-0 WORLD_SIZE=3 RANK=0 PYTHONUNBUFFERED=1 WORKER_PORT=9999 WORKER_ADDRS=j-worker-0,j-worker-1",
        "MASTER_PORT=9999 MASTER_ADDR=j-master-0 WORLD_SIZE=3 RANK=1 PYTHONUNBUFFERED=1 WORKER_PORT=9999 WORKER_ADDRS=j-worker-0,j-worker-1",
    ])]
    fn the_environment_depends_on_the_replicas(#[case] roles: &[(&str, u64)], #[case] expected: &[&str]) {
        let roles = render(&job(&FRAMEWORK, &json!({}), roles)).unwrap();
        assert_eq!(roles.iter().map(|role| env_lines(role, 0).join(" ")).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_job_without_master_is_rejected() {
        assert_eq!(error(&job(&FRAMEWORK, &json!({}), &[("Worker", 1)])), "spec.xgbReplicaSpecs.Master is missing");
    }
}
