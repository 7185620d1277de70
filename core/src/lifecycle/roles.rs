//! What each container is to its pod: proxy, helper or payload.

use std::collections::{HashMap, HashSet};

use super::catalogue::{Catalogue, Entry};
use super::{ContainerFacts, PodFacts, Report, ReportCode};
use crate::pod::ContainerKind;

/// The sandbox's process ends at the signal, and the kubelet then kills every container of the pod.
const SHARED_PROCESSES: &str =
    "with shareProcessNamespace or hostPID, process 1 is not its own, and its command signals process 1";
/// What a report says of a helper that needs a port-forward where none may be used.
pub(super) const PORT_FORWARD_OFF: &str = "it needs a port-forward, and termination.portForward is false";

/// What each container is to its pod.
#[derive(Debug)]
pub(super) struct Roles<'a> {
    /// The mesh's proxy.
    pub(super) proxy: Proxy<'a>,
    /// The helpers that can be ended, in the order in which they are.
    pub(super) helpers: Vec<(&'a ContainerFacts, &'a Entry)>,
    /// Those whose end decides. Nothing where it is not known which they are.
    pub(super) payload: Vec<&'a ContainerFacts>,
    /// What in `trainmesh.dev/payload-containers` is no container of the application; `None` where all are.
    pub(super) unknown_payload: Option<String>,
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

impl<'a> Roles<'a> {
    /// Reads the roles: what the annotations say, then what the catalogue knows by name, then payload.
    pub(super) fn of(facts: &'a PodFacts, proxy_container: &str, catalogue: &'a Catalogue) -> Self {
        let proxy = Proxy::of(facts, proxy_container);
        let is_proxy = |container: &ContainerFacts| matches!(proxy, Proxy::Classic(it) | Proxy::NeverEnds(it) if it.name == container.name);
        let app = || {
            let containers = facts.containers.iter().filter(|container| container.kind == ContainerKind::App);
            containers.filter(move |container| !is_proxy(container))
        };
        // A list that exceeds its bounds names no container: no subset of it may count as the payload.
        let wanted: Option<HashSet<&str>> =
            facts.declared.payload.as_ref().map(|text| text.iter().flat_map(|text| names(text)).collect());
        let declared: HashMap<&str, &str> = match &facts.declared.helpers {
            Some(Ok(text)) => declared(text).collect(),
            Some(Err(_)) | None => HashMap::new(),
        };

        let mut roles =
            Self { proxy, helpers: Vec::new(), payload: Vec::new(), unknown_payload: None, findings: Vec::new() };
        let mut helpers = Vec::new();
        for container in app() {
            let by_author = declared.get(&*container.name).copied();
            let entry = by_author.unwrap_or(&container.name);
            let in_payload = wanted.as_ref().map(|wanted| wanted.contains(&*container.name));
            match (in_payload, by_author, catalogue.find(entry)) {
                (Some(true), _, _) | (None, None, None) => roles.payload.push(container),
                (_, _, Some(_)) if container.rules.restarts_all_when_terminated => {
                    let report = Report::about(ReportCode::HelperHasNoMethod, &container.name);
                    roles.findings.push(report.detail("ending it would start all containers again"));
                }
                (_, _, Some(_)) if !container.can_end() => {
                    let report = Report::about(ReportCode::HelperHasNoMethod, &container.name);
                    roles.findings.push(report.detail("the kubelet would start it again"));
                }
                (_, _, Some((_, entry))) if !catalogue.allows(entry) => {
                    let report = Report::about(ReportCode::HelperHasNoMethod, &container.name);
                    roles.findings.push(report.detail(PORT_FORWARD_OFF));
                }
                (_, _, Some((_, entry))) if facts.shared_processes && entry.signals_process_1() => {
                    let report = Report::about(ReportCode::HelperHasNoMethod, &container.name);
                    roles.findings.push(report.detail(SHARED_PROCESSES));
                }
                (_, _, Some((place, entry))) => helpers.push((place, container, entry)),
                (_, Some(entry), None) => {
                    let report = Report::about(ReportCode::HelperHasNoMethod, &container.name);
                    roles.findings.push(report.detail(format!("no entry {entry:?}")));
                }
                (Some(false), None, None) => {}
            }
        }
        helpers.sort_by_key(|(place, _, _)| *place);
        roles.helpers = helpers.into_iter().map(|(_, container, entry)| (container, entry)).collect();

        roles.unknown_payload = unknown_payload(facts, app().map(|container| &*container.name));
        if let Some(unknown) = unknown_helpers(facts) {
            roles.findings.push(Report::new(ReportCode::HelperUnknown).detail(unknown));
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

/// `a=entry,b`: each container and its entry, which is that of the container's own name unless it is given. The first of
/// several for one container counts.
fn declared(text: &str) -> impl Iterator<Item = (&str, &str)> {
    // Collected into a map, the last one wins.
    names(text).collect::<Vec<_>>().into_iter().rev().map(|item| match item.split_once('=') {
        Some((container, entry)) => (container.trim(), entry.trim()),
        None => (item, item),
    })
}

/// The names in `trainmesh.dev/payload-containers` that are none of `app`, or how the annotation exceeds its bounds.
fn unknown_payload<'a>(facts: &PodFacts, app: impl Iterator<Item = &'a str>) -> Option<String> {
    let text = match facts.declared.payload.as_ref()? {
        Ok(text) => text,
        Err(excess) => return Some(excess.to_string()),
    };
    let app: HashSet<&str> = app.collect();
    join(names(text).filter(|name| !app.contains(name)))
}

/// The containers in `trainmesh.dev/helper-containers` that the pod does not have, or how it exceeds its bounds.
fn unknown_helpers(facts: &PodFacts) -> Option<String> {
    let text = match facts.declared.helpers.as_ref()? {
        Ok(text) => text,
        Err(excess) => return Some(excess.to_string()),
    };
    let known: HashSet<&str> = facts.containers.iter().map(|container| &*container.name).collect();
    let containers = names(text).map(|item| item.split_once('=').map_or(item, |(container, _)| container.trim()));
    join(containers.filter(|container| !known.contains(container)))
}

fn join<'a>(names: impl Iterator<Item = &'a str>) -> Option<String> {
    let names: Vec<&str> = names.collect();
    (!names.is_empty()).then(|| names.join(", "))
}
