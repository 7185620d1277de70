//! The RBAC rules of both servers.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::Server::{Controller, Webhook};
use super::{Permission, Server};
use crate::config::Configuration;
use crate::doctor::Servers;
use crate::dra::GROUP;
use crate::gang::object::GroupApi;
use crate::objects::{
    CA_SECRET, CONFIG_MAP, FABRIC_CONFIG_MAP, LEASE, NETWORK_RESOURCES_INJECTOR, SERVING_SECRET, WEBHOOK_CONFIGURATION,
};
use crate::workload::KINDS;

/// Condition under which a rule is required.
type Condition = fn(&Configuration) -> bool;

/// An RBAC rule.
#[derive(Clone, Copy)]
pub(super) struct Rule {
    pub(super) server: Server,
    condition: Condition,
    /// True if the rule is required only for certificates issued by the controller.
    own_certificate: bool,
    group: &'static str,
    pub(super) resource: &'static str,
    names: &'static [&'static str],
    /// True if the rule is limited to the namespace of the installation.
    own_namespace: bool,
    verbs: &'static [&'static str],
}

const ALWAYS: Condition = |_| true;
const TERMINATION: Condition = |configuration| configuration.termination.enabled;
const PORT_FORWARD: Condition =
    |configuration| configuration.termination.enabled && configuration.termination.port_forward;
const FABRIC: Condition = |configuration| configuration.fabric.enabled;
const CLAIMS: Condition = |configuration| configuration.fabric.enabled && configuration.fabric.resource_claims;
const GANG: Condition = |configuration| configuration.gang.enabled;
const FABRIC_OR_GANG: Condition = |configuration| configuration.fabric.enabled || configuration.gang.enabled;
const TERMINATION_FABRIC_OR_GANG: Condition =
    |configuration| configuration.termination.enabled || configuration.fabric.enabled || configuration.gang.enabled;

/// All names.
const ANY: &[&str] = &[""];
const LIST: &[&str] = &["list"];
pub(super) const WATCH: &[&str] = &["list", "watch"];
pub(super) const READ: &[&str] = &["get", "list", "watch"];
const GET: &[&str] = &["get"];
const MANAGE_GROUPS: &[&str] = &["list", "watch", "create", "patch", "delete"];
const MANAGE: &[&str] = &["get", "list", "watch", "patch"];
/// A WebSocket is opened with GET; Kubernetes 1.35 also requires `create`.
const CONNECT: &[&str] = &["get", "create"];

/// Returns all rules.
pub(super) fn rules() -> impl Iterator<Item = Rule> {
    RULES.iter().copied().chain(for_pod_groups()).chain(for_workloads())
}

/// Returns the rules for the `PodGroups` of gangs. Versions of an API have the same group.
fn for_pod_groups() -> impl Iterator<Item = Rule> {
    let groups: BTreeSet<&str> = GroupApi::ALL.into_iter().map(GroupApi::group).collect();
    groups.into_iter().map(|group| rule(Controller, GANG, (group, GroupApi::PLURAL), ANY, false, MANAGE_GROUPS))
}

/// Returns the rules for the workloads that contain the sizes of gangs. Versions of a kind have the same resource.
fn for_workloads() -> impl Iterator<Item = Rule> {
    let kinds = KINDS.iter().filter(|kind| kind.gang.contains_sizes());
    let resources: BTreeSet<_> = kinds.map(|kind| (kind.group, kind.resource)).collect();
    resources.into_iter().flat_map(|resource| {
        [rule(Webhook, GANG, resource, ANY, false, GET), rule(Controller, GANG, resource, ANY, false, WATCH)]
    })
}

const RULES: &[Rule] = &[
    rule(Webhook, ALWAYS, ("", "namespaces"), ANY, false, READ),
    rule(Webhook, ALWAYS, ("", "configmaps"), &[CONFIG_MAP], true, WATCH),
    for_certificate(rule(Webhook, ALWAYS, ("", "secrets"), &[SERVING_SECRET], true, READ)),
    rule(Webhook, FABRIC, ("", "nodes"), ANY, false, WATCH),
    rule(Webhook, FABRIC, ("", "resourcequotas"), ANY, false, WATCH),
    rule(Webhook, FABRIC_OR_GANG, ("", "configmaps"), &[FABRIC_CONFIG_MAP], true, WATCH),
    rule(Webhook, CLAIMS, (GROUP, "deviceclasses"), ANY, false, WATCH),
    rule(Webhook, CLAIMS, (GROUP, "resourceclaims"), ANY, false, WATCH),
    rule(Webhook, CLAIMS, (GROUP, "resourceclaimtemplates"), ANY, false, WATCH),
    rule(
        Webhook,
        FABRIC,
        ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"),
        &[NETWORK_RESOURCES_INJECTOR],
        false,
        WATCH,
    ),
    rule(Webhook, GANG, ("coordination.k8s.io", "leases"), &[LEASE], true, WATCH),
    rule(Controller, ALWAYS, ("", "namespaces"), ANY, false, WATCH),
    rule(Controller, ALWAYS, ("", "configmaps"), &[CONFIG_MAP], true, WATCH),
    rule(Controller, ALWAYS, ("coordination.k8s.io", "leases"), ANY, true, &["create"]),
    rule(Controller, ALWAYS, ("coordination.k8s.io", "leases"), &[LEASE], true, &["get", "update"]),
    rule(Controller, ALWAYS, ("events.k8s.io", "events"), ANY, true, &["create", "patch"]),
    for_certificate(rule(Controller, ALWAYS, ("", "secrets"), &[CA_SECRET, SERVING_SECRET], true, MANAGE)),
    for_certificate(rule(
        Controller,
        ALWAYS,
        ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"),
        &[WEBHOOK_CONFIGURATION],
        false,
        MANAGE,
    )),
    rule(Controller, TERMINATION_FABRIC_OR_GANG, ("", "pods"), ANY, false, READ),
    rule(Controller, TERMINATION_FABRIC_OR_GANG, ("events.k8s.io", "events"), ANY, false, &["create", "patch"]),
    rule(Controller, TERMINATION_FABRIC_OR_GANG, ("", "nodes"), ANY, false, WATCH),
    rule(Controller, CLAIMS, (GROUP, "resourceclaims"), ANY, false, LIST),
    // Of schedulers for which the controller creates no objects.
    rule(Controller, GANG, ("scheduling.run.ai", GroupApi::PLURAL), ANY, false, LIST),
    rule(Controller, GANG, ("scheduling.sigs.k8s.io", GroupApi::PLURAL), ANY, false, LIST),
    rule(Controller, FABRIC_OR_GANG, ("", "configmaps"), &[FABRIC_CONFIG_MAP], true, &["get", "patch"]),
    rule(Controller, TERMINATION, ("", "pods/exec"), ANY, false, CONNECT),
    rule(Controller, PORT_FORWARD, ("", "pods/portforward"), ANY, false, CONNECT),
];

impl Rule {
    /// Returns true if `servers` require the rule with `configuration`.
    pub(super) fn applies(&self, configuration: &Configuration, servers: &Servers) -> bool {
        (self.condition)(configuration) && (servers.own_certificate || !self.own_certificate)
    }

    /// Expands the rule to one permission for each verb and name, for an installation in `namespace`.
    pub(super) fn permissions(self, namespace: &str) -> impl Iterator<Item = Permission> {
        let Self { server, group, resource, names, verbs, .. } = self;
        let namespace = self.own_namespace.then(|| namespace.to_owned());
        let pairs = names.iter().flat_map(move |name| verbs.iter().map(move |verb| (*name, *verb)));
        pairs.map(move |(name, verb)| Permission {
            server,
            verb,
            group,
            resource,
            name: Cow::Borrowed(name),
            namespace: namespace.clone(),
        })
    }
}

const fn rule(
    server: Server,
    condition: Condition,
    (group, resource): (&'static str, &'static str),
    names: &'static [&'static str],
    own_namespace: bool,
    verbs: &'static [&'static str],
) -> Rule {
    Rule { server, condition, own_certificate: false, group, resource, names, own_namespace, verbs }
}

/// Limits a rule to certificates issued by the controller.
const fn for_certificate(rule: Rule) -> Rule {
    Rule { own_certificate: true, ..rule }
}
