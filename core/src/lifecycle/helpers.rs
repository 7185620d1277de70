//! Whether a pod to come has helpers that will have to be ended.

use super::catalogue;
use super::roles::{PORT_FORWARD_OFF, Roles};
use super::{Catalogue, PodFacts};
use crate::config::Termination;
use crate::keys;
use crate::pod::{ContainerKind, Pod};

/// What a pod has of helpers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Helpers {
    /// None, neither by annotation nor by the names of the catalogue.
    None,
    /// Some, but its payload never ends.
    OfEndlessPayload,
    /// Some, to be ended after the payload.
    ToEnd {
        /// Those that need a port-forward, which the settings do not allow: they keep running.
        without_method: Vec<Box<str>>,
    },
}

/// What `pod`, of which nothing runs yet, has of helpers.
#[must_use]
pub fn helpers(pod: Pod<'_>, settings: &Termination) -> Helpers {
    let declared = pod.annotation(keys::HELPER_CONTAINERS).is_some_and(|text| !text.trim().is_empty());
    let known = |name: &str| catalogue::knows(settings, name);
    let mut app = pod.containers().filter(|container| container.kind == ContainerKind::App);
    // Most pods have none: they cost no more than a look at the names.
    if !declared && !app.any(|container| known(container.name())) {
        return Helpers::None;
    }
    let facts = PodFacts::read(pod);
    let catalogue = Catalogue::new(settings);
    let roles = Roles::of(&facts, settings.proxy_container.as_str(), &catalogue);
    if roles.helpers.is_empty() && roles.findings.is_empty() {
        return Helpers::None;
    }
    let ends = !roles.payload.is_empty() && roles.payload.iter().all(|container| container.can_end());
    if !ends {
        return Helpers::OfEndlessPayload;
    }
    let without_method = roles.findings.into_iter().filter(|report| report.detail == PORT_FORWARD_OFF);
    Helpers::ToEnd { without_method: without_method.filter_map(|report| report.container).collect() }
}
