//! Traffic mode that the profile requests. The label `trainmesh.dev/mesh-traffic` takes precedence over the profile,
//! and annotations of the user take precedence over both.

use super::planner::Planner;
use crate::config::Traffic;
use crate::config::profile::{InterfaceName, IstioBypass};
use crate::keys;
use crate::pod::Injection;

pub(super) fn plan(planner: &mut Planner<'_>) {
    let context = planner.context;
    let has_label = planner.pod.label(keys::MESH_TRAFFIC).is_some()
        || context.snapshot.namespace_labels.contains_key(keys::MESH_TRAFFIC);
    if has_label || !context.snapshot.config.mesh.enabled {
        return;
    }
    match planner.profile.mesh.istio {
        IstioBypass::None => {}
        IstioBypass::DisableCapture => planner.plan.set_traffic(Traffic::DisableCapture),
        IstioBypass::DisableInjection => planner.plan.set_traffic(Traffic::DisableInjection),
        IstioBypass::ExcludeInterfaces => {
            planner.plan.set_traffic(Traffic::Leave);
            exclude_interfaces(planner);
        }
    }
}

fn exclude_interfaces(planner: &mut Planner<'_>) {
    let names: Vec<&str> = planner.profile.mesh.interfaces.iter().map(InterfaceName::as_str).collect();
    let names = names.join(",");
    match planner.pod.annotation(keys::EXCLUDE_INTERFACES) {
        Some(own) if own == names => {}
        Some(_) => planner.note_kept(format!("annotation {}", keys::EXCLUDE_INTERFACES)),
        // Istio reads the annotation only at injection.
        None if planner.context.proxy.is_none() && planner.context.injection == Injection::Expected => {
            planner.plan.set_annotation(keys::EXCLUDE_INTERFACES, names.as_str());
            planner.note_added(format!("annotation {}: {names}", keys::EXCLUDE_INTERFACES));
        }
        None => {}
    }
}
