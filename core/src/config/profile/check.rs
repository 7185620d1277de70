//! Constraints between the fields of a profile.

use super::{
    Amount, AttachCount, EnvName, FailClosed, MachinePattern, Namespaces, Networks, PodSettings, Resource, Setting,
    Transport, Volumes,
};
use crate::config::fields::Fields;
use crate::fabric::nccl;

/// Fields of a profile with constraints. They are checked whether or not the others are valid, so that all problems are reported
/// at once.
pub(super) struct Parts<'a> {
    /// `None` if it is missing or invalid.
    pub(super) transport: Option<Transport>,
    pub(super) env: &'a [Setting],
    pub(super) resources: &'a [Resource],
    pub(super) networks: &'a Networks,
    pub(super) volumes: &'a Volumes,
    pub(super) pod: &'a PodSettings,
    pub(super) fail_closed: &'a FailClosed,
    pub(super) namespaces: Option<&'a Namespaces>,
}

impl Parts<'_> {
    /// Reports the constraints that the profile violates.
    pub(super) fn check(&self, fields: &mut Fields<'_>) {
        for name in ambiguous(self.env) {
            let expected = "expected unique names, or conditions on different machines";
            fields.report_problem("env", format!("duplicate entry for {name}: {expected}"));
        }
        for (list, name) in [("resources", "name"), ("sidecars", "ref")] {
            let names: Vec<String> =
                duplicates(fields.texts(list, name).into_iter().flatten()).into_iter().map(str::to_owned).collect();
            for name in names {
                fields.report_problem(list, format!("duplicate entry for {name}: expected unique names"));
            }
        }
        let mounts = self.volumes.host_paths.iter().map(|path| &path.mount_path);
        let mounts = mounts.chain(self.volumes.config_maps.iter().map(|map| &map.mount_path));
        let mounts = mounts.chain(self.volumes.shm.iter().map(|shm| &shm.mount));
        for path in duplicates(mounts.map(|path| path.as_str().trim_end_matches('/'))) {
            fields.report_problem("volumes", format!("duplicate mount path {path}: expected unique paths"));
        }
        if self.pod.pod_anti_affinity.is_some() && self.pod.labels.is_empty() && !fields.has_problem("pod.labels") {
            fields.report_problem("pod", "podAntiAffinity requires at least one label".to_owned());
        }
        if self.namespaces.is_some_and(Namespaces::is_empty) && !fields.has_problem("namespaces") {
            let problem = "expected names, a selector, or both";
            fields.report_problem("namespaces", problem.to_owned());
        }
        if let Some(problem) = nccl::check_combination(|name| self.value(name)) {
            fields.report_problem("env", problem);
        }
        if let Some(transport) = self.transport {
            self.check_transport(transport, fields);
        }
        let counted = self.resources.iter().any(|resource| matches!(resource.amount, Amount::Devices { .. }));
        let per_resource = self.networks.multus.attach.iter().any(|attach| attach.count == AttachCount::PerResource);
        if per_resource && !counted && !fields.has_problem("resources") {
            fields.report_problem("networks", "count: perResource requires a device in resources".to_owned());
        }
    }

    /// Reports settings with which no pod could use the transport.
    fn check_transport(&self, transport: Transport, fields: &mut Fields<'_>) {
        for Setting { name, value, .. } in self.env {
            if let Some(problem) = transport.contradiction(name.as_str(), value.as_str()) {
                fields.report_problem("env", format!("{name}={value} {problem}; the transport is {transport}"));
            }
        }
        if let Some(net) = &self.fail_closed.nccl_net
            && let Some(problem) = transport.contradiction("NCCL_NET", net)
        {
            fields.report_problem("failClosed", format!("ncclNet={net} {problem}; the transport is {transport}"));
        }
    }

    fn value(&self, name: &str) -> Option<&str> {
        self.env.iter().find(|setting| setting.name.as_str() == name).map(|setting| setting.value.as_str())
    }
}

/// Returns the names of settings of which two may both apply to a pod.
fn ambiguous(settings: &[Setting]) -> Vec<&EnvName> {
    let machines = |setting: &'_ Setting| setting.when.as_ref().map(|when| when.sku.clone()).unwrap_or_default();
    let is_ambiguous = |(index, setting): &(usize, &Setting)| {
        let mut earlier = settings.iter().take(*index).filter(|earlier| earlier.name == setting.name);
        earlier.any(|earlier| MachinePattern::overlap(&machines(earlier), &machines(setting)))
    };
    let mut names: Vec<&EnvName> =
        settings.iter().enumerate().filter(is_ambiguous).map(|(_, setting)| &setting.name).collect();
    names.dedup();
    names
}

/// Returns the items that occur more than once.
fn duplicates<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
    let (mut seen, mut found) = (Vec::new(), Vec::new());
    for item in items {
        if !seen.contains(&item) {
            seen.push(item);
        } else if !found.contains(&item) {
            found.push(item);
        }
    }
    found
}
