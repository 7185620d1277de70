//! Constraints between the fields of a profile.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Amount, AttachCount, FailClosed, MachinePattern, Namespaces, Networks, PodSettings, Resource, Setting, Transport,
    Volumes,
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
        let settings = self.settings(fields);
        for (index, Setting { name, .. }) in ambiguous(&settings) {
            let expected = "expected unique names, or conditions on different machines";
            fields.report_item("env", index, "name", format!("duplicate entry for {name}: {expected}"));
        }
        for (list, name) in [
            ("resources", "name"),
            ("sidecars", "ref"),
            ("networks.multus.attach", "ifName"),
            ("networks.gke.interfaces", "interfaceName"),
        ] {
            for (index, text) in duplicates(fields.texts(list, name)) {
                fields.report_item(list, index, name, format!("duplicate entry for {text}: expected unique names"));
            }
        }
        let shared_memory = self.volumes.shm.as_ref().map(|shm| shm.mount.as_str());
        report_duplicate_mounts(shared_memory, &["volumes.hostPaths", "volumes.configMaps"], fields);
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
            self.check_transport(transport, &settings, fields);
        }
        let counted = self.resources.iter().any(|resource| matches!(resource.amount, Amount::Devices { .. }));
        let per_resource = self.networks.multus.attach.iter().any(|attach| attach.count == AttachCount::PerResource);
        if per_resource && !counted && !fields.has_problem("resources") {
            fields.report_problem("networks", "count: perResource requires a device in resources".to_owned());
        }
    }

    /// Reports settings with which no pod could use the transport.
    fn check_transport(&self, transport: Transport, settings: &[(usize, &Setting)], fields: &mut Fields<'_>) {
        for (index, Setting { name, value, .. }) in settings {
            if let Some(problem) = transport.contradiction(name.as_str(), value.as_str()) {
                let message = format!("{name}={value} {problem}; the transport is {transport}");
                fields.report_item("env", *index, "value", message);
            }
        }
        if let Some(net) = &self.fail_closed.nccl_net
            && let Some(problem) = transport.contradiction("NCCL_NET", net)
        {
            fields.report_problem("failClosed", format!("ncclNet={net} {problem}; the transport is {transport}"));
        }
    }

    /// Returns the settings, each with its index in the list `env` of the file, of which invalid items are left out.
    fn settings(&self, fields: &Fields<'_>) -> Vec<(usize, &Setting)> {
        let mut items = fields.texts("env", "name").into_iter().zip(fields.texts("env", "value")).enumerate();
        let index_of = |setting: &Setting| {
            let written = (Some(setting.name.as_str()), Some(setting.value.as_str()));
            items.find(|(_, item)| *item == written).map(|(index, _)| index)
        };
        self.env.iter().map(index_of).zip(self.env).filter_map(|(index, setting)| Some((index?, setting))).collect()
    }

    fn value(&self, name: &str) -> Option<&str> {
        self.env.iter().find(|setting| setting.name.as_str() == name).map(|setting| setting.value.as_str())
    }
}

/// Reports the host paths and volumes of the lists at `lists` whose `mountPath` is `other` or that of an earlier one: the apiserver
/// rejects such a pod.
pub(super) fn report_duplicate_mounts(other: Option<&str>, lists: &[&str], fields: &mut Fields<'_>) {
    let normalized = |path: &'_ str| path.trim_end_matches('/').to_owned();
    let mut seen: BTreeSet<String> = other.map(normalized).into_iter().collect();
    for list in lists {
        for (index, path) in fields.texts(list, "mountPath").into_iter().enumerate() {
            if let Some(path) = path.filter(|path| !seen.insert(normalized(path))) {
                let message = format!("duplicate mount path {path}: expected unique paths");
                fields.report_item(list, index, "mountPath", message);
            }
        }
    }
}

/// Returns the settings that may apply to a pod to which an earlier one of the same name applies.
fn ambiguous<'a>(settings: &[(usize, &'a Setting)]) -> Vec<(usize, &'a Setting)> {
    let mut earlier: BTreeMap<&str, Vec<&[MachinePattern]>> = BTreeMap::new();
    let mut found = Vec::new();
    for &(index, setting) in settings {
        let machines = setting.when.as_ref().map(|when| when.sku.as_slice()).unwrap_or_default();
        let same = earlier.entry(setting.name.as_str()).or_default();
        if same.iter().any(|other| MachinePattern::overlap(other, machines)) {
            found.push((index, setting));
        }
        same.push(machines);
    }
    found
}

/// Returns the texts that equal an earlier one, each with its index.
fn duplicates(texts: Vec<Option<&str>>) -> Vec<(usize, &str)> {
    let mut seen = BTreeSet::new();
    let texts = texts.into_iter().enumerate().filter_map(|(index, text)| Some((index, text?)));
    texts.filter(|(_, text)| !seen.insert(*text)).collect()
}
