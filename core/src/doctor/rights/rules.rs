//! The RBAC rules of both servers.

use std::borrow::Cow;

use super::Server::{Controller, Webhook};
use super::{Right, Server};
use crate::config::Configuration;
use crate::doctor::Servers;
use crate::objects::{
    CA_SECRET, CONFIG_MAP, FABRIC_CONFIG_MAP, LEASE, NETWORK_RESOURCES_INJECTOR, SERVING_SECRET, WEBHOOK_CONFIGURATION,
};

/// When a right is needed.
type When = fn(&Configuration) -> bool;

/// A rule of RBAC.
#[derive(Clone, Copy)]
pub(super) struct Rule {
    pub(super) server: Server,
    when: When,
    /// Whether it is needed only where the controller makes the certificate.
    certificate: bool,
    group: &'static str,
    pub(super) resource: &'static str,
    names: &'static [&'static str],
    /// Whether it holds in our namespace alone.
    home: bool,
    verbs: &'static [&'static str],
}

const ALWAYS: When = |_| true;
const TERMINATION: When = |configuration| configuration.termination.enabled;
const PORT_FORWARD: When = |configuration| configuration.termination.enabled && configuration.termination.port_forward;
const FABRIC: When = |configuration| configuration.fabric.enabled;
const TERMINATION_OR_FABRIC: When = |configuration| configuration.termination.enabled || configuration.fabric.enabled;

/// No name limits them.
const ANY: &[&str] = &[""];
pub(super) const WATCH: &[&str] = &["list", "watch"];
pub(super) const READ: &[&str] = &["get", "list", "watch"];
const KEEP: &[&str] = &["get", "list", "watch", "patch"];
/// A WebSocket opens by GET; Kubernetes 1.35 wants `create` as well.
const OPEN: &[&str] = &["get", "create"];

pub(super) const RULES: &[Rule] = &[
    rule(Webhook, ALWAYS, ("", "namespaces"), ANY, false, READ),
    rule(Webhook, ALWAYS, ("", "configmaps"), &[CONFIG_MAP], true, WATCH),
    for_certificate(rule(Webhook, ALWAYS, ("", "secrets"), &[SERVING_SECRET], true, READ)),
    rule(Webhook, FABRIC, ("", "nodes"), ANY, false, WATCH),
    rule(Webhook, FABRIC, ("", "resourcequotas"), ANY, false, WATCH),
    rule(Webhook, FABRIC, ("", "configmaps"), &[FABRIC_CONFIG_MAP], true, WATCH),
    rule(
        Webhook,
        FABRIC,
        ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"),
        &[NETWORK_RESOURCES_INJECTOR],
        false,
        WATCH,
    ),
    rule(Controller, ALWAYS, ("", "namespaces"), ANY, false, WATCH),
    rule(Controller, ALWAYS, ("", "configmaps"), &[CONFIG_MAP], true, WATCH),
    rule(Controller, ALWAYS, ("coordination.k8s.io", "leases"), ANY, true, &["create"]),
    rule(Controller, ALWAYS, ("coordination.k8s.io", "leases"), &[LEASE], true, &["get", "update"]),
    rule(Controller, ALWAYS, ("events.k8s.io", "events"), ANY, true, &["create", "patch"]),
    for_certificate(rule(Controller, ALWAYS, ("", "secrets"), &[CA_SECRET, SERVING_SECRET], true, KEEP)),
    for_certificate(rule(
        Controller,
        ALWAYS,
        ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"),
        &[WEBHOOK_CONFIGURATION],
        false,
        KEEP,
    )),
    rule(Controller, TERMINATION_OR_FABRIC, ("", "pods"), ANY, false, READ),
    rule(Controller, TERMINATION_OR_FABRIC, ("events.k8s.io", "events"), ANY, false, &["create", "patch"]),
    rule(Controller, FABRIC, ("", "configmaps"), &[FABRIC_CONFIG_MAP], true, &["get", "patch"]),
    rule(Controller, TERMINATION, ("", "pods/exec"), ANY, false, OPEN),
    rule(Controller, PORT_FORWARD, ("", "pods/portforward"), ANY, false, OPEN),
];

impl Rule {
    /// Whether `servers` need it under `configuration`.
    pub(super) fn applies(&self, configuration: &Configuration, servers: &Servers) -> bool {
        (self.when)(configuration) && (servers.own_certificate || !self.certificate)
    }

    /// Each verb on each name; `home` is our namespace.
    pub(super) fn rights(&self, home: &str) -> impl Iterator<Item = Right> {
        let Self { server, group, resource, names, verbs, .. } = *self;
        let namespace = self.home.then(|| home.to_owned());
        let pairs = names.iter().flat_map(move |name| verbs.iter().map(move |verb| (*name, *verb)));
        pairs.map(move |(name, verb)| Right {
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
    when: When,
    (group, resource): (&'static str, &'static str),
    names: &'static [&'static str],
    home: bool,
    verbs: &'static [&'static str],
) -> Rule {
    Rule { server, when, certificate: false, group, resource, names, home, verbs }
}

/// The same, needed only where the controller makes the certificate.
const fn for_certificate(rule: Rule) -> Rule {
    Rule { certificate: true, ..rule }
}
