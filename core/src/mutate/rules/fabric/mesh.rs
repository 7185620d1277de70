//! What of the pod's traffic goes through Envoy, as its fabric wants it. The label `trainmesh.dev/mesh-traffic` beats the
//! profile, and the user's own annotations beat both.

use super::work::Work;
use crate::config::Traffic;
use crate::config::profile::{InterfaceName, Istio};
use crate::keys;
use crate::pod::Injection;

pub(super) fn plan(work: &mut Work<'_>) {
    let facts = work.facts;
    let labelled =
        work.pod.label(keys::MESH_TRAFFIC).is_some() || facts.snapshot.labels.contains_key(keys::MESH_TRAFFIC);
    if labelled || !facts.snapshot.config.mesh.enabled {
        return;
    }
    match work.profile.mesh.istio {
        Istio::None => {}
        Istio::DisableCapture => work.plan.want_traffic(Traffic::DisableCapture),
        Istio::DisableInjection => work.plan.want_traffic(Traffic::DisableInjection),
        Istio::ExcludeInterfaces => {
            work.plan.want_traffic(Traffic::Leave);
            exclude_interfaces(work);
        }
    }
}

fn exclude_interfaces(work: &mut Work<'_>) {
    let names: Vec<&str> = work.profile.mesh.interfaces.iter().map(InterfaceName::as_str).collect();
    let names = names.join(",");
    match work.pod.annotation(keys::EXCLUDE_INTERFACES) {
        Some(own) if own == names => {}
        Some(_) => work.kept(format!("annotation {}", keys::EXCLUDE_INTERFACES)),
        // After injection the annotation is no longer read.
        None if work.facts.proxy.is_none() && work.facts.injection == Injection::Expected => {
            work.plan.set_annotation(keys::EXCLUDE_INTERFACES, names.as_str());
            work.added(format!("{names} kept out of Envoy"));
        }
        None => {}
    }
}
