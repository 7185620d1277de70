//! What each container is to its pod: proxy, helper or payload.

use super::catalogue::{Catalogue, Entry};
use super::{ContainerFacts, Finding, PodFacts, Report};
use crate::pod::ContainerKind;

/// What each container is to its pod.
#[derive(Debug)]
pub(super) struct Roles<'a> {
    /// The mesh's proxy.
    pub(super) proxy: Proxy<'a>,
    /// The helpers that can be ended, in the order in which they are.
    pub(super) helpers: Vec<(&'a ContainerFacts, &'a Entry)>,
    /// Those whose end decides. Nothing where it is not known which they are.
    pub(super) payload: Vec<&'a ContainerFacts>,
    /// Names in `trainmesh.dev/payload-containers` that no container of the application has.
    pub(super) strangers: Vec<&'a str>,
    /// What does not fit in `trainmesh.dev/helper-containers`.
    pub(super) findings: Vec<Report>,
}

/// The mesh's proxy.
#[derive(Clone, Copy, Debug)]
pub(super) enum Proxy<'a> {
    /// An application container.
    Classic(&'a ContainerFacts),
    /// An application container that the kubelet starts again whenever it ends.
    NeverEnds(&'a ContainerFacts),
    /// A native sidecar, which the kubelet ends.
    Native,
    /// There is none.
    Absent,
}

/// A container that the pod's author calls a helper.
struct Declared<'a> {
    container: &'a str,
    entry: &'a str,
}

impl<'a> Roles<'a> {
    /// Reads the roles: what the annotations say, then what the catalogue knows by name, then payload.
    pub(super) fn of(facts: &'a PodFacts, proxy_container: &str, catalogue: &'a Catalogue) -> Self {
        let proxy = Proxy::of(facts, proxy_container);
        let is_proxy = |container: &ContainerFacts| matches!(proxy, Proxy::Classic(it) | Proxy::NeverEnds(it) if it.name == container.name);
        let app = || {
            let containers = facts.containers.iter().filter(|container| container.kind == ContainerKind::App);
            containers.filter(move |container| !is_proxy(container))
        };
        let wanted: Option<Vec<&str>> = facts.declared.payload.as_deref().map(|text| names(text).collect());
        let declared: Vec<Declared<'_>> =
            facts.declared.helpers.as_deref().map(declared).into_iter().flatten().collect();

        let mut roles =
            Self { proxy, helpers: Vec::new(), payload: Vec::new(), strangers: Vec::new(), findings: Vec::new() };
        let mut helpers = Vec::new();
        for container in app() {
            let by_author = declared.iter().find(|helper| *helper.container == *container.name);
            let entry = by_author.map_or(&*container.name, |helper| helper.entry);
            let in_payload = wanted.as_ref().map(|wanted| wanted.contains(&&*container.name));
            match (in_payload, by_author, catalogue.find(entry)) {
                (Some(true), _, _) | (None, None, None) => roles.payload.push(container),
                (_, _, Some(_)) if container.takes_all_when_ended() => {
                    let report = Report::about(Finding::HelperHasNoMethod, &container.name);
                    roles.findings.push(report.detail("ending it would start all containers again"));
                }
                (_, _, Some(_)) if !container.can_end() => {
                    let report = Report::about(Finding::HelperHasNoMethod, &container.name);
                    roles.findings.push(report.detail("the kubelet would start it again"));
                }
                (_, _, Some((_, entry))) if !catalogue.allows(entry) => {
                    let report = Report::about(Finding::HelperHasNoMethod, &container.name);
                    roles.findings.push(report.detail("it needs a port-forward, and termination.portForward is off"));
                }
                (_, _, Some((place, entry))) => helpers.push((place, container, entry)),
                (_, Some(helper), None) => {
                    let report = Report::about(Finding::HelperHasNoMethod, &container.name);
                    roles.findings.push(report.detail(format!("no entry {:?}", helper.entry)));
                }
                (Some(false), None, None) => {}
            }
        }
        helpers.sort_by_key(|(place, _, _)| *place);
        roles.helpers = helpers.into_iter().map(|(_, container, entry)| (container, entry)).collect();

        let exists = |name: &str| app().any(|container| *container.name == *name);
        roles.strangers = wanted.into_iter().flatten().filter(|name| !exists(name)).collect();
        let unknown = |helper: &&Declared<'_>| !facts.containers.iter().any(|it| *it.name == *helper.container);
        let unknown: Vec<&str> = declared.iter().filter(unknown).map(|helper| helper.container).collect();
        if !unknown.is_empty() {
            roles.findings.push(Report::new(Finding::HelperUnknown).detail(unknown.join(", ")));
        }
        roles
    }
}

impl Roles<'_> {
    /// How often the payload has been started again, all containers together.
    pub(super) fn payload_restarts(&self) -> u64 {
        self.payload.iter().map(|container| u64::from(container.restarts)).sum()
    }
}

impl<'a> Proxy<'a> {
    /// The injector's own list decides where it can be read, because a user may give the name to a container of theirs.
    fn of(facts: &'a PodFacts, name: &str) -> Self {
        let listed = facts.injected.as_ref().is_none_or(|listed| listed.iter().any(|it| **it == *name));
        let named = |kind: ContainerKind| facts.containers.iter().find(move |it| it.kind == kind && *it.name == *name);
        match (named(ContainerKind::App), named(ContainerKind::NativeSidecar)) {
            (Some(container), _) if listed && container.can_end() => Self::Classic(container),
            (Some(container), _) if listed => Self::NeverEnds(container),
            (_, Some(_)) => Self::Native,
            _ => Self::Absent,
        }
    }
}

/// The names in a list with commas.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|name| !name.is_empty())
}

/// `a=entry,b`: an entry is that of the container's own name unless it is given.
fn declared(text: &str) -> impl Iterator<Item = Declared<'_>> {
    names(text).map(|item| match item.split_once('=') {
        Some((container, entry)) => Declared { container: container.trim(), entry: entry.trim() },
        None => Declared { container: item, entry: item },
    })
}
