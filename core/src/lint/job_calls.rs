//! FP054 for calls between the pods of one job: direct calls to a port of another pod that Envoy captures, and that
//! requires mTLS.

use std::collections::BTreeMap;

use super::mutual_role::{MutualRole, PatchedRole};
use super::services::CallText;
use super::sink::FindingSink;
use super::{JobContext, LintInput};
use crate::finding::Severity;
use crate::mesh_objects::MeshView;
use crate::own_keys::excerpt;

const FIX: &str = "list the port in traffic.sidecar.istio.io/excludeInboundPorts of the called pods, which then accept plain \
                   connections to it; or call them by a Service with a cluster IP; or set the mode of the port to PERMISSIVE";

impl JobContext {
    /// Adds the Services of `roles`, and their ports that require mTLS, according to `mesh`.
    #[must_use]
    pub fn with_mesh<'a>(self, roles: impl Iterator<Item = PatchedRole<'a>>, mesh: MeshView<'a>) -> Self {
        if mesh.objects.is_none() {
            return self;
        }
        let mut job = self;
        for role in roles {
            job.services.extend(mesh.services_of(role.pod).map(|service| service.name.clone()));
            job.mutual_roles.extend(MutualRole::new(role, mesh));
        }
        job
    }
}

/// Reports the addresses in `texts`, those of the pod, at which another pod of the job requires mTLS.
pub(super) fn check(input: &LintInput<'_>, texts: &[CallText<'_>], findings: &mut FindingSink<'_>) {
    let roles = input.job.map_or(&[][..], |job| &job.mutual_roles);
    if roles.is_empty() {
        return;
    }
    let is_self = |role: &&MutualRole| role.is_single && input.role == Some(role.name.as_str());
    // The first text with an address has the finding.
    let mut named: BTreeMap<(&str, u16), &CallText<'_>> = BTreeMap::new();
    for text in texts {
        for address in addresses(text.value) {
            named.entry(address).or_insert(text);
        }
    }
    for ((host, port), text) in named {
        let called = roles.iter().filter(|role| !is_self(role)).find(|role| role.has_port_at(host, port));
        if let Some(role) = called {
            let (host, name) = (excerpt(host), &role.name);
            let message = format!("{host}:{port}: {name} requires mTLS, which direct calls do not have");
            findings.push_with_fix(Severity::Warning, text.pointer(), message, FIX);
        }
    }
}

/// Returns the hosts in `text` that a port follows.
fn addresses(text: &str) -> impl Iterator<Item = (&str, u16)> {
    let is_part = |next: char| next.is_ascii_alphanumeric() || matches!(next, '-' | '.' | ':');
    text.split(move |next| !is_part(next)).filter_map(|word| {
        let (host, port) = word.rsplit_once(':')?;
        Some((host, port.parse().ok()?))
    })
}
