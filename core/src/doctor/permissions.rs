//! Checks the permissions of the service accounts, which `charts/trainmesh/templates/*/rbac.yaml` grants.

mod list;
mod rules;

use std::borrow::Cow;

use super::{CheckFinding, Code, Servers};
use crate::cluster_facts::ReferencedObjects;
use crate::config::Configuration;
use list::list;
use rules::{WATCH, rules};

/// One of the two servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Server {
    /// `trainmesh webhook`
    Webhook,
    /// `trainmesh controller`
    Controller,
}

/// A permission of a service account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permission {
    /// Server that uses the account.
    pub server: Server,
    /// Verb, such as `get`.
    pub verb: &'static str,
    /// API group; empty for the core group.
    pub group: &'static str,
    /// Resource, optionally with a subresource: `pods/exec`.
    pub resource: &'static str,
    /// Name of the object; empty for all objects.
    pub name: Cow<'static, str>,
    /// Namespace; `None` for all namespaces and for cluster-scoped resources.
    pub namespace: Option<String>,
}

/// Returns the permissions that `servers` in `namespace` require with `configuration`.
#[must_use]
pub fn required_permissions(configuration: &Configuration, servers: &Servers, namespace: &str) -> Vec<Permission> {
    let installed = |server| server == Server::Webhook || servers.controller;
    let rules = rules().filter(|rule| rule.applies(configuration, servers) && installed(rule.server));
    rules.flat_map(|rule| rule.permissions(namespace)).chain(permissions_for_profiles(configuration)).collect()
}

/// Returns the permissions on pods that `configuration` does not use. They are a risk if the account's token leaks.
#[must_use]
pub fn unused_permissions(configuration: &Configuration, servers: &Servers) -> Vec<Permission> {
    let on_pods = rules().filter(|rule| rule.resource.starts_with("pods/"));
    on_pods.filter(|rule| !rule.applies(configuration, servers)).flat_map(|rule| rule.permissions("")).collect()
}

/// Returns the permissions of the webhook to watch the objects that profiles refer to, in all namespaces.
fn permissions_for_profiles(configuration: &Configuration) -> Vec<Permission> {
    if !configuration.fabric.enabled {
        return Vec::new();
    }
    let ReferencedObjects { config_maps } = ReferencedObjects::from_profiles(&configuration.fabric.profiles);
    let permissions = config_maps.into_iter().flat_map(|name| {
        let name = Cow::<str>::Owned(name);
        WATCH.iter().map(move |verb| Permission {
            server: Server::Webhook,
            verb,
            group: "",
            resource: "configmaps",
            name: name.clone(),
            namespace: None,
        })
    });
    permissions.collect()
}

/// Returns the namespaced permissions that can replace a permission denied for all namespaces: on pods, the controller
/// needs permissions only in namespaces that have opted in. `None` if there is no replacement.
#[must_use]
pub fn narrow_to_namespaces(denied: &Permission, opted_in: &[String]) -> Option<Vec<Permission>> {
    let narrow = denied.namespace.is_none() && denied.resource.starts_with("pods/");
    narrow.then(|| opted_in.iter().map(|name| Permission { namespace: Some(name.clone()), ..denied.clone() }).collect())
}

pub(super) fn check(denied: &[Permission], unused: &[Permission]) -> Vec<CheckFinding> {
    let found = match denied {
        [] => (Code::RightsGranted, String::new()),
        denied => (Code::RightsMissing, list(denied)),
    };
    let unused = (!unused.is_empty()).then(|| (Code::RightsUnneeded, list(unused)));
    std::iter::once(found).chain(unused).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rstest::rstest;

    use super::rules::READ;
    use super::*;

    const NO_FABRIC: &str = "enabled: false";

    fn configuration(termination: &str, fabric: &str) -> Configuration {
        let head = "apiVersion: config.trainmesh.dev/v1alpha1\nkind: TrainmeshConfiguration\n";
        Configuration::parse(&format!(
            "{head}termination: {{{termination}}}\nfabric: {{{fabric}}}\ngang: {{enabled: false}}\n"
        ))
        .unwrap()
    }

    fn describe_one(permission: &Permission) -> String {
        list(std::slice::from_ref(permission))
    }

    /// The required permissions include all of `with`, and none contains a part of `without`.
    #[rstest]
    #[case::all("portForward: true", "", true, &["webhook: get secrets trainmesh-webhook-tls in home", "controller: create pods/portforward", "controller: patch mutatingwebhookconfigurations.admissionregistration.k8s.io 0-trainmesh"], &[])]
    #[case::certificates_not_managed("", NO_FABRIC, false, &["controller: create pods/exec"], &["secrets", "mutatingwebhook"])]
    #[case::port_forward_disabled("", NO_FABRIC, true, &["controller: get pods/exec"], &["portforward"])]
    #[case::termination_and_fabric_disabled("enabled: false", NO_FABRIC, true, &["controller: create events.events.k8s.io in home"], &[" pods", "portforward", "nodes", "trainmesh-fabric"])]
    #[case::fabric_only("enabled: false", "", true, &["controller: watch pods", "controller: patch configmaps trainmesh-fabric in home", "webhook: watch nodes", "webhook: list mutatingwebhookconfigurations.admissionregistration.k8s.io network-resources-injector-config"], &["pods/"])]
    #[case::custom_profile("", "profiles: [{name: own, transport: ib, volumes: {configMaps: [{name: topology, mountPath: /t}]}}]", true, &["webhook: watch configmaps topology"], &[])]
    #[case::claims("", "", true, &["webhook: watch deviceclasses.resource.k8s.io", "webhook: list resourceclaims.resource.k8s.io", "webhook: watch resourceclaimtemplates.resource.k8s.io"], &[])]
    #[case::claims_not_counted("", "resourceClaims: false", true, &["webhook: watch nodes"], &["resourceclaim", "deviceclass"])]
    fn required_permissions_follow_the_features(
        #[case] text: &str,
        #[case] fabric: &str,
        #[case] own: bool,
        #[case] with: &[&str],
        #[case] without: &[&str],
    ) {
        let servers = Servers { own_certificate: own, ..Servers::default() };
        let required = required_permissions(&configuration(text, fabric), &servers, "home");
        let required: Vec<String> = required.iter().map(describe_one).collect();
        assert!(with.iter().all(|permission| required.iter().any(|other| other == permission)), "{required:?}");
        assert!(without.iter().all(|part| required.iter().all(|other| !other.contains(part))), "{required:?}");
    }

    /// Every permission that gangs require, so that a new kind, or another verb, is a change of this list.
    #[test]
    fn gangs_require_podgroups_and_workloads() {
        use Server::{Controller, Webhook};

        let gang = Configuration::embedded();
        let without = Configuration { gang: crate::config::Gang { enabled: false, ..gang.gang }, ..gang.clone() };
        let permissions = |configuration: &Configuration| -> BTreeSet<String> {
            let required = required_permissions(configuration, &Servers::default(), "home");
            required.iter().map(|it| format!("{:?} {} {}.{}", it.server, it.verb, it.resource, it.group)).collect()
        };
        let groups = ["scheduling.k8s.io", "scheduling.volcano.sh", "scheduling.x-k8s.io"];
        let groups = groups.map(|group| (Controller, "podgroups", group, "list watch create patch delete"));
        let others =
            ["scheduling.run.ai", "scheduling.sigs.k8s.io"].map(|group| (Controller, "podgroups", group, "list"));
        let workloads = [
            ("jobs", "batch"),
            ("jobs", "batch.volcano.sh"),
            ("jobsets", "jobset.x-k8s.io"),
            ("jaxjobs", "kubeflow.org"),
            ("mpijobs", "kubeflow.org"),
            ("paddlejobs", "kubeflow.org"),
            ("pytorchjobs", "kubeflow.org"),
            ("tfjobs", "kubeflow.org"),
            ("xgboostjobs", "kubeflow.org"),
            ("leaderworkersets", "leaderworkerset.x-k8s.io"),
            ("rayclusters", "ray.io"),
        ];
        let read = workloads.map(|(resource, group)| (Controller, resource, group, "list watch"));
        let get = workloads.map(|(resource, group)| (Webhook, resource, group, "get"));
        let lease = [(Webhook, "leases", "coordination.k8s.io", "list watch")];
        let expected: BTreeSet<String> = groups
            .into_iter()
            .chain(others)
            .chain(read)
            .chain(get)
            .chain(lease)
            .flat_map(|(server, resource, group, verbs)| {
                verbs.split(' ').map(move |verb| format!("{server:?} {verb} {resource}.{group}"))
            })
            .collect();
        let (with, without) = (permissions(&gang), permissions(&without));
        assert_eq!(with.difference(&without).cloned().collect::<BTreeSet<_>>(), expected);
    }

    #[test]
    fn the_webhook_alone_has_no_write_permissions_and_reads_no_pods() {
        let servers = Servers { own_certificate: false, controller: false, ..Servers::default() };
        let required = required_permissions(&configuration("enabled: false", ""), &servers, "home");
        for Permission { server, verb, resource, .. } in &required {
            assert!(*server == Server::Webhook && READ.contains(verb), "{server:?} {verb} {resource}");
            assert!(!resource.starts_with("pods") && *resource != "secrets", "{verb} {resource}");
        }
        assert!(!required.is_empty());
    }

    #[test]
    fn the_chart_grants_the_objects_of_built_in_profiles() {
        let chart = crate::yaml::parse(include_str!("../../../charts/trainmesh/files/fabric.yaml")).unwrap();
        let ReferencedObjects { config_maps } =
            ReferencedObjects::from_profiles(&Configuration::embedded().fabric.profiles);
        assert_eq!(chart, serde_json::json!({"configMaps": config_maps}));
    }

    #[test]
    fn only_permissions_on_pods_are_narrowed() {
        let permission = |resource| Permission {
            server: Server::Controller,
            verb: "create",
            group: "",
            resource,
            name: "".into(),
            namespace: None,
        };
        assert_eq!(narrow_to_namespaces(&permission("namespaces"), &["a".to_owned()]), None);
        let narrowed = narrow_to_namespaces(&permission("pods/exec"), &["a".to_owned()]).unwrap();
        assert_eq!(list(&narrowed), "controller: create pods/exec in a");
        let namespaced = Permission { namespace: Some("a".to_owned()), ..permission("pods/exec") };
        assert_eq!(narrow_to_namespaces(&namespaced, &["b".to_owned()]), None);
    }

    #[test]
    fn lists_all_denied_permissions() {
        let denied = required_permissions(&Configuration::embedded(), &Servers::default(), "home");
        let (code, evidence) = check(&denied, &[]).remove(0);
        assert_eq!(code, Code::RightsMissing);
        assert!(
            evidence.starts_with("controller: get, create pods/exec; webhook: get, list, watch namespaces; "),
            "{evidence}"
        );
        assert!(denied.iter().all(|permission| evidence.contains(permission.resource)), "{evidence}");
        assert_eq!(check(&[], &[])[0].0, Code::RightsGranted);
    }

    #[rstest]
    #[case::by_default("", "controller: get, create pods/portforward")]
    #[case::port_forward_enabled("portForward: true", "")]
    #[case::without_termination(
        "enabled: false",
        "controller: get, create pods/exec; controller: get, create pods/portforward"
    )]
    fn reports_unused_permissions(#[case] text: &str, #[case] expected: &str) {
        let unused = unused_permissions(&configuration(text, ""), &Servers::default());
        assert_eq!(list(&unused), expected);
        let codes: Vec<Code> = check(&[], &unused).into_iter().map(|(code, _)| code).collect();
        assert_eq!(codes.contains(&Code::RightsUnneeded), !expected.is_empty());
    }
}
