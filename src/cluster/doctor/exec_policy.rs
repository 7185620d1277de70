//! Reads the policy that limits the controller's exec. Kubernetes 1.29 does not serve it, which reads as absent.

use k8s_openapi::api::admissionregistration::v1::{ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding};
use kube::api::ApiResource;
use kube::core::{NotUsed, Object};
use kube::{Api, Client};
use serde::Deserialize;

use super::super::request::{RequestError, find};
use trainmesh_core::doctor::ExecPolicy;
use trainmesh_core::objects::EXEC_POLICY;

/// Spec of a `ValidatingAdmissionPolicy`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PolicySpec {
    match_conditions: Vec<MatchCondition>,
}

/// A condition for the requests that the policy checks.
#[derive(Clone, Debug, Deserialize)]
struct MatchCondition {
    expression: String,
}

/// Spec of a `ValidatingAdmissionPolicyBinding`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct BindingSpec {
    validation_actions: Vec<String>,
}

/// Reads the policy and its binding, which have the same name.
pub(super) async fn read(client: &Client) -> Result<ExecPolicy, RequestError> {
    let resource = ApiResource::erase::<ValidatingAdmissionPolicy>(&());
    let policies: Api<Object<PolicySpec, NotUsed>> = Api::all_with(client.clone(), &resource);
    let policy = find(&format!("read ValidatingAdmissionPolicy {EXEC_POLICY}"), policies.get(EXEC_POLICY)).await?;
    let resource = ApiResource::erase::<ValidatingAdmissionPolicyBinding>(&());
    let bindings: Api<Object<BindingSpec, NotUsed>> = Api::all_with(client.clone(), &resource);
    let step = format!("read ValidatingAdmissionPolicyBinding {EXEC_POLICY}");
    let binding = find(&step, bindings.get(EXEC_POLICY)).await?;
    let expressions =
        |spec: PolicySpec| spec.match_conditions.into_iter().map(|condition| condition.expression).collect();
    Ok(ExecPolicy {
        conditions: policy.map(|policy| expressions(policy.spec)),
        actions: binding.map(|binding| binding.spec.validation_actions),
    })
}
