//! What others may do: one `SubjectAccessReview` for each right.

use futures::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::api::PostParams;
use kube::{Api, Client};

use super::super::request::{RequestError, send};
use trainmesh_core::doctor::{Right, Server, Servers, narrowed};

/// The apiserver answers from memory; more at once would only wait for its priority level.
const AT_ONCE: usize = 8;

/// Those of `needed` that the accounts of `servers` in `home` lack; into pods it is enough to reach those of `opted_in`.
pub(super) async fn denied(
    client: &Client,
    servers: &Servers,
    home: &str,
    needed: Vec<Right>,
    opted_in: &[String],
) -> Result<Vec<Right>, RequestError> {
    let mut lacking = Vec::new();
    let mut narrow = Vec::new();
    for right in ask(client, servers, home, needed).await? {
        match narrowed(&right, opted_in) {
            Some(rights) => narrow.extend(rights),
            None => lacking.push(right),
        }
    }
    lacking.extend(ask(client, servers, home, narrow).await?);
    Ok(lacking)
}

/// Those of `rights` that the accounts of `servers` in `home` have.
pub(super) async fn granted(
    client: &Client,
    servers: &Servers,
    home: &str,
    mut rights: Vec<Right>,
) -> Result<Vec<Right>, RequestError> {
    let denied = ask(client, servers, home, rights.clone()).await?;
    rights.retain(|right| !denied.contains(right));
    Ok(rights)
}

/// Those of `rights` that are not allowed, in their order.
async fn ask(client: &Client, servers: &Servers, home: &str, rights: Vec<Right>) -> Result<Vec<Right>, RequestError> {
    let api: Api<SubjectAccessReview> = Api::all(client.clone());
    let asked = stream::iter(rights).map(|right| {
        let (api, review) = (api.clone(), review(&right, servers, home));
        async move {
            let step = "ask what the servers' accounts may do (create SubjectAccessReviews)";
            let reviewed = send(step, api.create(&PostParams::default(), &review)).await?;
            Ok((!reviewed.status.is_some_and(|status| status.allowed)).then_some(right))
        }
    });
    asked.buffered(AT_ONCE).try_filter_map(|right| async { Ok(right) }).try_collect().await
}

fn review(right: &Right, servers: &Servers, home: &str) -> SubjectAccessReview {
    let Right { server, verb, group, resource, name, namespace } = right;
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
    // The groups that the apiserver gives each service account: RBAC may bind to them as well.
    let groups = [
        "system:serviceaccounts".to_owned(),
        format!("system:serviceaccounts:{home}"),
        "system:authenticated".to_owned(),
    ];
    let spec = SubjectAccessReviewSpec {
        user: Some(format!("system:serviceaccount:{home}:{account}")),
        groups: Some(groups.into()),
        resource_attributes: Some(attributes),
        ..SubjectAccessReviewSpec::default()
    };
    SubjectAccessReview { spec, ..SubjectAccessReview::default() }
}
