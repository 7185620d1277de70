//! What the two servers' accounts must be allowed to do, as `charts/trainmesh/templates/*/rbac.yaml` grants it.

mod rules;

use std::borrow::Cow;
use std::fmt;

use super::{Code, Found, Servers, several};
use crate::cluster_facts::ReferencedObjects;
use crate::config::Configuration;
use rules::{RULES, WATCH};

/// One of the two servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Server {
    /// `trainmesh webhook`
    Webhook,
    /// `trainmesh controller`
    Controller,
}

/// Something that an account must be allowed to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Right {
    /// Whose account.
    pub server: Server,
    /// `get`, `create`, …
    pub verb: &'static str,
    /// The API group; empty for the core.
    pub group: &'static str,
    /// The resource, perhaps with a subresource: `pods/exec`.
    pub resource: &'static str,
    /// The one object; empty for all.
    pub name: Cow<'static, str>,
    /// The namespace; `None` for all, and for what lies in none.
    pub namespace: Option<String>,
}

/// The rights that `servers` in `namespace` need under `configuration`.
#[must_use]
pub fn needed(configuration: &Configuration, servers: &Servers, namespace: &str) -> Vec<Right> {
    let installed = |server| server == Server::Webhook || servers.controller;
    let rules = RULES.iter().filter(|rule| rule.applies(configuration, servers) && installed(rule.server));
    rules.flat_map(|rule| rule.rights(namespace)).chain(named_by_profiles(configuration)).collect()
}

/// Permissions in pods that nothing needs under `configuration`: whoever has the account's token has them.
#[must_use]
pub fn unneeded(configuration: &Configuration, servers: &Servers) -> Vec<Right> {
    let into_pods = RULES.iter().filter(|rule| rule.resource.starts_with("pods/"));
    into_pods.filter(|rule| !rule.applies(configuration, servers)).flat_map(|rule| rule.rights("")).collect()
}

/// The webhook looks, in all namespaces, for the objects that profiles name.
fn named_by_profiles(configuration: &Configuration) -> Vec<Right> {
    if !configuration.fabric.enabled {
        return Vec::new();
    }
    let ReferencedObjects { config_maps, claim_templates } = ReferencedObjects::of(&configuration.fabric.profiles);
    let maps = config_maps.into_iter().map(|name| ("", "configmaps", name));
    let claims = claim_templates.into_iter().map(|name| ("resource.k8s.io", "resourceclaimtemplates", name));
    let rights = maps.chain(claims).flat_map(|(group, resource, name)| {
        let name = Cow::<str>::Owned(name);
        WATCH.iter().map(move |verb| Right {
            server: Server::Webhook,
            verb,
            group,
            resource,
            name: name.clone(),
            namespace: None,
        })
    });
    rights.collect()
}

/// What is to be asked instead of a right that is `denied` for all namespaces: into pods the controller may be let in some
/// namespaces alone, and needs no more than those that opt in.
#[must_use]
pub fn narrowed(denied: &Right, opted_in: &[String]) -> Option<Vec<Right>> {
    let narrow = denied.namespace.is_none() && denied.resource.starts_with("pods/");
    narrow.then(|| opted_in.iter().map(|name| Right { namespace: Some(name.clone()), ..denied.clone() }).collect())
}

pub(super) fn check(denied: &[Right], unneeded: &[Right]) -> Vec<Found> {
    let found = match denied {
        [] => (Code::RightsGranted, String::new()),
        denied => (Code::RightsMissing, several(denied)),
    };
    let more = (!unneeded.is_empty()).then(|| (Code::RightsUnneeded, several(unneeded)));
    std::iter::once(found).chain(more).collect()
}

impl fmt::Display for Right {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { server, verb, group: _, resource, name, namespace } = self;
        let server = match server {
            Server::Webhook => "webhook",
            Server::Controller => "controller",
        };
        write!(formatter, "{server}: {verb} {resource}")?;
        if !name.is_empty() {
            write!(formatter, " {name}")?;
        }
        namespace.iter().try_for_each(|namespace| write!(formatter, " in {namespace}"))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::rules::READ;
    use super::*;

    const NO_FABRIC: &str = "enabled: false";

    fn configuration(termination: &str, fabric: &str) -> Configuration {
        let head = "apiVersion: config.trainmesh.dev/v1alpha1\nkind: TrainmeshConfiguration\n";
        Configuration::parse(&format!("{head}termination: {{{termination}}}\nfabric: {{{fabric}}}\n")).unwrap()
    }

    /// What is asked for under a configuration holds all of `with` and none of `without`.
    #[rstest]
    #[case::all("portForward: true", "", true, &["webhook: get secrets trainmesh-webhook-tls in home", "controller: create pods/portforward", "controller: patch mutatingwebhookconfigurations 0-trainmesh"], &[])]
    #[case::certificates_by_others("", NO_FABRIC, false, &["controller: create pods/exec"], &["secrets", "mutatingwebhook"])]
    #[case::no_port_forward("", NO_FABRIC, true, &["controller: get pods/exec"], &["portforward"])]
    #[case::neither("enabled: false", NO_FABRIC, true, &["controller: create events in home"], &[" pods", "portforward", "nodes", "trainmesh-fabric"])]
    #[case::fabric_alone("enabled: false", "", true, &["controller: watch pods", "controller: patch configmaps trainmesh-fabric in home", "webhook: watch nodes", "webhook: list mutatingwebhookconfigurations network-resources-injector-config"], &["pods/"])]
    #[case::own_profile("", "profiles: [{name: own, transport: ib, dra: {claims: [{name: rdma, resourceClaimTemplateName: nics}]}}]", true, &["webhook: watch resourceclaimtemplates nics"], &[])]
    fn by_feature(
        #[case] text: &str,
        #[case] fabric: &str,
        #[case] own: bool,
        #[case] with: &[&str],
        #[case] without: &[&str],
    ) {
        let servers = Servers { own_certificate: own, ..Servers::default() };
        let needed = needed(&configuration(text, fabric), &servers, "home");
        let needed: Vec<String> = needed.iter().map(ToString::to_string).collect();
        assert!(with.iter().all(|right| needed.iter().any(|it| it == right)), "{needed:?}");
        assert!(without.iter().all(|part| needed.iter().all(|it| !it.contains(part))), "{needed:?}");
    }

    #[test]
    fn the_webhook_alone_writes_nothing_and_reads_no_pods() {
        let servers = Servers { own_certificate: false, controller: false, ..Servers::default() };
        let needed = needed(&configuration("enabled: false", ""), &servers, "home");
        for Right { server, verb, resource, .. } in &needed {
            assert!(*server == Server::Webhook && READ.contains(verb), "{server:?} {verb} {resource}");
            assert!(!resource.starts_with("pods") && *resource != "secrets", "{verb} {resource}");
        }
        assert!(!needed.is_empty());
    }

    #[test]
    fn the_chart_names_what_built_in_profiles_do() {
        let chart = crate::yaml::parse(include_str!("../../../charts/trainmesh/files/fabric.yaml")).unwrap();
        let ReferencedObjects { config_maps, claim_templates } =
            ReferencedObjects::of(&Configuration::embedded().fabric.profiles);
        assert_eq!(chart, serde_json::json!({"configMaps": config_maps, "claimTemplates": claim_templates}));
    }

    #[test]
    fn only_what_reaches_into_pods_is_narrowed() {
        let right = |resource| Right {
            server: Server::Controller,
            verb: "create",
            group: "",
            resource,
            name: "".into(),
            namespace: None,
        };
        assert_eq!(narrowed(&right("namespaces"), &["a".to_owned()]), None);
        let names: Vec<String> =
            narrowed(&right("pods/exec"), &["a".to_owned()]).unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(names, ["controller: create pods/exec in a"]);
        let inside = Right { namespace: Some("a".to_owned()), ..right("pods/exec") };
        assert_eq!(narrowed(&inside, &["b".to_owned()]), None);
    }

    #[test]
    fn the_denied_are_named_and_counted() {
        let denied = needed(&Configuration::embedded(), &Servers::default(), "home");
        let (code, about) = check(&denied, &[]).remove(0);
        assert_eq!(code, Code::RightsMissing);
        assert!(
            about.starts_with("webhook: get namespaces, ")
                && about.ends_with(&format!("and {} more", denied.len() - 8)),
            "{about}"
        );
        assert_eq!(check(&[], &[])[0].0, Code::RightsGranted);
    }

    #[rstest]
    #[case::by_default("", &["controller: get pods/portforward", "controller: create pods/portforward"])]
    #[case::on("portForward: true", &[])]
    #[case::without_termination("enabled: false", &["controller: get pods/exec", "controller: create pods/exec", "controller: get pods/portforward", "controller: create pods/portforward"])]
    fn permissions_in_pods_that_nothing_needs(#[case] text: &str, #[case] expected: &[&str]) {
        let unneeded = unneeded(&configuration(text, ""), &Servers::default());
        assert_eq!(unneeded.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
        let codes: Vec<Code> = check(&[], &unneeded).into_iter().map(|(code, _)| code).collect();
        assert_eq!(codes.contains(&Code::RightsUnneeded), !expected.is_empty());
    }
}
