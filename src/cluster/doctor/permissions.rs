//! Checks the permissions of the servers' service accounts: one `SubjectAccessReview` for each.

use futures::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::api::PostParams;
use kube::{Api, Client};

use super::super::request::{RequestError, send};
use trainmesh_core::doctor::{Permission, Server, Servers, narrow_to_namespaces};

/// Maximum number of concurrent reviews. The apiserver responds from memory; more would only queue in its priority
/// level.
const CONCURRENCY: usize = 8;

/// Returns those of `required` that the service accounts of `servers` lack. A permission on pods counts as granted if
/// it is granted in every namespace of `opted_in`.
pub(super) async fn denied(
    client: &Client,
    servers: &Servers,
    installed_in: &str,
    required: Vec<Permission>,
    opted_in: &[String],
) -> Result<Vec<Permission>, RequestError> {
    let mut missing = Vec::new();
    let mut narrowed = Vec::new();
    for permission in not_allowed(client, servers, installed_in, required).await? {
        match narrow_to_namespaces(&permission, opted_in) {
            Some(permissions) => narrowed.extend(permissions),
            None => missing.push(permission),
        }
    }
    missing.extend(not_allowed(client, servers, installed_in, narrowed).await?);
    Ok(missing)
}

/// Returns those of `permissions` that the service accounts of `servers` have.
pub(super) async fn granted(
    client: &Client,
    servers: &Servers,
    installed_in: &str,
    mut permissions: Vec<Permission>,
) -> Result<Vec<Permission>, RequestError> {
    let denied = not_allowed(client, servers, installed_in, permissions.clone()).await?;
    permissions.retain(|permission| !denied.contains(permission));
    Ok(permissions)
}

/// Returns those of `permissions` that are not allowed, in order.
async fn not_allowed(
    client: &Client,
    servers: &Servers,
    installed_in: &str,
    permissions: Vec<Permission>,
) -> Result<Vec<Permission>, RequestError> {
    let api: Api<SubjectAccessReview> = Api::all(client.clone());
    let reviews = stream::iter(permissions).map(|permission| {
        let (api, review) = (api.clone(), review(&permission, servers, installed_in));
        async move {
            let step = "check the permissions of the servers' service accounts (create SubjectAccessReviews)";
            let reviewed = send(step, api.create(&PostParams::default(), &review)).await?;
            Ok((!reviewed.status.is_some_and(|status| status.allowed)).then_some(permission))
        }
    });
    reviews.buffered(CONCURRENCY).try_filter_map(|permission| async { Ok(permission) }).try_collect().await
}

fn review(permission: &Permission, servers: &Servers, installed_in: &str) -> SubjectAccessReview {
    let Permission { server, verb, group, resource, name, namespace } = permission;
    let account = match server {
        Server::Webhook => &servers.webhook_account,
        Server::Controller => &servers.controller_account,
    };
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    let text = |text: &str| Some(text.to_owned());
    let attributes = ResourceAttributes {
        verb: text(verb),
        group: text(group),
        resource: text(resource),
        subresource: text(subresource),
        name: text(name),
        namespace: namespace.clone(),
        ..ResourceAttributes::default()
    };
    // The groups of every service account: RBAC can bind to them as well.
    let groups = [
        "system:serviceaccounts".to_owned(),
        format!("system:serviceaccounts:{installed_in}"),
        "system:authenticated".to_owned(),
    ];
    let spec = SubjectAccessReviewSpec {
        user: Some(format!("system:serviceaccount:{installed_in}:{account}")),
        groups: Some(groups.into()),
        resource_attributes: Some(attributes),
        ..SubjectAccessReviewSpec::default()
    };
    SubjectAccessReview { spec, ..SubjectAccessReview::default() }
}
