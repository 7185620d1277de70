//! Differences between the roles of a manifest that their pods show without a fabric profile: the machines that they select
//! (FP033), and the adapters that they request (FP031).

use std::borrow::Cow;

use super::claimed_devices::claimed_adapters;
use super::context::is_privileged;
use super::deviation::{Deviation, MAX_COMPARED};
use super::rdma;
use super::run_order::RunOrder;
use crate::dra::{ClaimView, PodClaims};
use crate::finding::Severity;
use crate::pod::Pod;
use crate::workload;

/// Group of the kinds whose roles may run separate programs: groups of Ray's workers.
const RAY: &str = "ray.io";

/// How to fix roles of which only some request adapters.
const FIX: &str = "request the adapter in all roles with GPUs, or in none";

/// Facts of a role's pod.
#[derive(Clone, Debug, Default)]
pub(super) struct RoleRequests {
    /// True if the pod has accelerators and takes part in the communication of the job.
    is_rank: bool,
    /// RDMA adapter that a container requests or claims.
    adapter: Option<String>,
    /// True if the pod may use adapters that it does not request.
    may_have_adapter: bool,
    /// Machines that the pod selects; empty if it may run on any.
    machines: Vec<String>,
}

impl RoleRequests {
    /// Reads the facts from `pod`, whose claims are `claims`. `view` contains the classes of the cluster.
    pub(super) fn new<'a>(pod: Pod<'a>, claims: &PodClaims<'a>, view: ClaimView<'a>) -> Self {
        let member = workload::identify(pod);
        let takes_part = member.is_none_or(|member| member.kind.group != RAY && !workload::is_auxiliary_role(member));
        let requested = |container| rdma::requested_adapters(container, view).next().map(|(name, _)| name.clone());
        let claimed = |container| claimed_adapters(container, claims).next().map(str::to_owned);
        let is_unknown = claims.is_truncated() || claims.claims().iter().any(|claim| claim.devices().is_err());
        Self {
            is_rank: takes_part && pod.containers().any(|container| container.accelerators().is_some()),
            adapter: pod.containers().find_map(|container| requested(container).or_else(|| claimed(container))),
            may_have_adapter: is_unknown || pod.containers().any(is_privileged) || pod.host_network(),
            machines: pod.selected_machines().into_iter().map(Cow::into_owned).collect(),
        }
    }
}

/// Returns the first role that selects other machines than the first one that selects any.
pub(super) fn other_machines(roles: &[(&str, &RoleRequests)], order: &RunOrder<'_>) -> Option<Deviation> {
    let selecting = || roles.iter().filter(|(_, role)| role.is_rank && !role.machines.is_empty());
    let (first_name, first, name, other) = selecting().take(MAX_COMPARED).find_map(|(first_name, first)| {
        let apart = order.apart_from(first_name);
        let differs = |role: &RoleRequests| !role.machines.iter().any(|machine| first.machines.contains(machine));
        let (name, other) = selecting().find(|(name, role)| differs(role) && !apart.contains(name))?;
        Some((first_name, first, name, other))
    })?;
    let (machine, first_machine) = (other.machines.first()?, first.machines.first()?);
    let message = format!("{name} selects {machine}, but {first_name} {first_machine}");
    Some(Deviation { role: (*name).to_owned(), message, severity: Severity::Warning, fix: None })
}

/// Returns the first role with accelerators that requests no adapter, if another one does.
pub(super) fn without_adapter(roles: &[(&str, &RoleRequests)], order: &RunOrder<'_>) -> Option<Deviation> {
    let ranks = || roles.iter().filter(|(_, role)| role.is_rank);
    let lacks_adapter = |role: &RoleRequests| role.adapter.is_none() && !role.may_have_adapter;
    let with_adapter = ranks().filter_map(|(name, role)| Some((name, role.adapter.as_ref()?)));
    let (with, adapter, without) = with_adapter.take(MAX_COMPARED).find_map(|(with, adapter)| {
        let apart = order.apart_from(with);
        let (without, _) = ranks().find(|(name, role)| lacks_adapter(role) && !apart.contains(name))?;
        Some((with, adapter, without))
    })?;
    let message = format!("{with} requests {adapter}, but not {without}: NCCL may hang");
    Some(Deviation { role: (*without).to_owned(), message, severity: Severity::Warning, fix: Some(FIX) })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    /// Returns a pod with eight GPUs, these additional limits, and other fields of its spec.
    fn gpus(limits: &Value, spec: &Value) -> Value {
        let mut pod = json!({"spec": {"containers": [{"name": "a", "resources": {"limits": {"nvidia.com/gpu": 8}}}]}});
        for (name, count) in limits.as_object().unwrap() {
            pod["spec"]["containers"][0]["resources"]["limits"][name] = count.clone();
        }
        for (field, value) in spec.as_object().unwrap() {
            pod["spec"][field] = value.clone();
        }
        pod
    }

    fn efa(spec: &Value) -> Value {
        gpus(&json!({"vpc.amazonaws.com/efa": 32}), spec)
    }

    fn on(machines: &[&str]) -> Value {
        let expression = json!({"key": "node.kubernetes.io/instance-type", "operator": "In", "values": machines});
        let terms = json!([{"matchExpressions": [expression]}]);
        let required = json!({"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}});
        gpus(&json!({}), &json!({"affinity": {"nodeAffinity": required}}))
    }

    type Find = fn(&[(&str, &RoleRequests)], &RunOrder<'_>) -> Option<Deviation>;

    fn read(pod: &Value) -> RoleRequests {
        let pod = Pod::new(pod);
        RoleRequests::new(pod, &PodClaims::new(pod, ClaimView::default(), |_| false), ClaimView::default())
    }

    fn check(pods: &[Value], find: Find, expected: Option<&str>) {
        let facts: Vec<RoleRequests> = pods.iter().map(read).collect();
        let roles: Vec<(&str, &RoleRequests)> = ["Master", "Worker", "Other"].into_iter().zip(&facts).collect();
        assert_eq!(find(&roles, &RunOrder::default()).map(|found| found.message).as_deref(), expected);
        let (master, worker) = (["Master".to_owned()], ["Worker".to_owned()]);
        let order = RunOrder::new([("Worker", master.as_slice()), ("Other", worker.as_slice())].into_iter());
        assert_eq!(find(&roles, &order), None, "roles that run one after another");
    }

    #[rstest]
    #[case::machines(&[on(&["a"]), on(&["a"]), on(&["b"])], other_machines, "Other selects b, but Worker a")]
    #[case::adapters(&[efa(&json!({})), efa(&json!({})), gpus(&json!({}), &json!({}))], without_adapter, "Worker requests vpc.amazonaws.com/efa, but not Other: NCCL may hang")]
    fn roles_that_follow_the_same_role_are_compared(
        #[case] pods: &[Value],
        #[case] find: Find,
        #[case] expected: &str,
    ) {
        let facts: Vec<RoleRequests> = pods.iter().map(read).collect();
        let roles: Vec<(&str, &RoleRequests)> = ["Master", "Worker", "Other"].into_iter().zip(&facts).collect();
        let master = ["Master".to_owned()];
        let order = RunOrder::new(["Worker", "Other"].map(|name| (name, master.as_slice())).into_iter());
        assert_eq!(find(&roles, &order).map(|found| found.message).as_deref(), Some(expected));
    }

    #[rstest]
    #[case::different(&[on(&["p5.48xlarge"]), on(&["p5en.48xlarge"])], Some("Worker selects p5en.48xlarge, but Master p5.48xlarge"))]
    #[case::third(&[on(&["a"]), on(&["a"]), on(&["b"])], Some("Other selects b, but Master a"))]
    #[case::same(&[on(&["a"]), on(&["a"])], None)]
    #[case::overlapping(&[on(&["a", "b"]), on(&["b"])], None)]
    #[case::any(&[gpus(&json!({}), &json!({})), on(&["a"])], None)]
    #[case::without_accelerators(&[json!({"spec": {"nodeSelector": {"node.kubernetes.io/instance-type": "m7i.large"}}}), on(&["a"])], None)]
    fn roles_select_the_same_machines(#[case] pods: &[Value], #[case] expected: Option<&str>) {
        check(pods, other_machines, expected);
    }

    #[rstest]
    #[case::one(&[efa(&json!({})), gpus(&json!({}), &json!({}))], Some("Master requests vpc.amazonaws.com/efa, but not Worker: NCCL may hang"))]
    #[case::second(&[gpus(&json!({}), &json!({})), efa(&json!({}))], Some("Worker requests vpc.amazonaws.com/efa, but not Master: NCCL may hang"))]
    #[case::all(&[efa(&json!({})), efa(&json!({}))], None)]
    #[case::none(&[gpus(&json!({}), &json!({})), gpus(&json!({}), &json!({}))], None)]
    #[case::without_accelerators(&[json!({"spec": {"containers": [{"name": "a"}]}}), efa(&json!({}))], None)]
    #[case::privileged(&[json!({"spec": {"containers": [{"name": "a", "securityContext": {"privileged": true}, "resources": {"limits": {"nvidia.com/gpu": 8}}}]}}), efa(&json!({}))], None)]
    #[case::unknown_claims(&[gpus(&json!({}), &json!({"resourceClaims": [{"name": "a", "resourceClaimTemplateName": "a"}]})), efa(&json!({}))], None)]
    fn roles_request_the_same_adapters(#[case] pods: &[Value], #[case] expected: Option<&str>) {
        check(pods, without_adapter, expected);
    }
}
