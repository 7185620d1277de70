//! `--cluster`: the state of workloads that already exist, and of their `PodGroups`, and the queues of those that name none.

use std::collections::{BTreeSet, HashSet};

use anstream::ColorChoice;
use serde_json::Value;

use super::super::live::LiveCluster;
use super::super::{print_note, stderr};
use crate::manifest::Inputs;
use trainmesh_core::config::Configuration;
use trainmesh_core::gang::object::GroupApi;
use trainmesh_core::gang::{GangMode, WorkloadKey};
use trainmesh_core::keys;
use trainmesh_core::preview::{LiveGroup, LiveWorkload, ManifestContext, PodReport};

/// Maximum number of workloads that are read, one request each. Each of their pods costs another request for the dry run.
const MAX_WORKLOADS: usize = 1_000;
/// Maximum number of `PodGroups` of one workload that are read: a `LeaderWorkerSet` has one for each group.
const MAX_GROUPS: usize = 16;

/// Reads the workloads of the input that exist, each once. Those that cannot be read are shown as new ones, with a note for
/// each kind.
pub(super) fn read_workloads(live: &LiveCluster, inputs: &Inputs, namespace: &str, context: &mut ManifestContext) {
    let mut read: HashSet<WorkloadKey> = HashSet::new();
    let mut unreadable: HashSet<&'static str> = HashSet::new();
    let documents = inputs.documents().flatten();
    for key in documents.filter_map(|document| LiveWorkload::key(&document, namespace)) {
        if unreadable.contains(key.kind) || read.contains(&key) {
            continue;
        }
        if read.len() == MAX_WORKLOADS {
            note(&format!("the state in the cluster is shown for the first {MAX_WORKLOADS} workloads only"));
            return;
        }
        match live.workload(&key) {
            Ok(Some(object)) => context.add_live_workload(key.clone(), LiveWorkload::new(&key, &object)),
            Ok(None) => {}
            Err(error) => {
                unreadable.insert(key.kind);
                note(&format!("{error:#}: a {} that exists is shown as a new one", key.kind));
            }
        }
        read.insert(key);
    }
}

/// Reads, in each of `namespaces` that selects the gang mode `kueue`, whether it has a `LocalQueue` for jobs that name none.
pub(super) fn read_default_queues(
    live: &LiveCluster,
    configuration: &Configuration,
    namespaces: &BTreeSet<String>,
    context: &mut ManifestContext,
) {
    for namespace in namespaces {
        let label = context.labels(namespace).get(keys::GANG).map(String::as_str);
        if label.unwrap_or(configuration.gang.default.name()) != GangMode::Kueue.name() {
            continue;
        }
        match live.has_default_queue(namespace) {
            Ok(true) => context.add_default_queue(namespace.clone()),
            Ok(false) => {}
            Err(error) => return note(&format!("{error:#}")),
        }
    }
}

/// Reads the `PodGroups` of the workload of `reports`, if it exists.
pub(super) fn read_groups(live: &LiveCluster, reports: &mut [PodReport]) {
    let Some(first) = reports.first_mut() else { return };
    let (namespace, planned) = (first.namespace.as_str(), &first.objects);
    let Some(state) = &mut first.cluster else { return };
    let text =
        |object: &Value, pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    // Of one group, the cluster serves the object of the controller in any version, and operators call theirs like the job.
    let planned = planned.iter().take(MAX_GROUPS).map(|object| {
        let group = text(object, "/apiVersion").split('/').next().unwrap_or_default().to_owned();
        (Some(group), text(object, "/metadata/name"))
    });
    let names: Vec<(Option<String>, String)> = planned.chain([(None, state.workload.name.clone())]).collect();
    let mut unreadable: HashSet<&'static str> = HashSet::new();
    for (group, name) in names {
        for api in GroupApi::ALL {
            let is_known = |found: &LiveGroup| found.name == name && found.api_version.starts_with(api.group());
            if group.as_deref().is_some_and(|group| group != api.group())
                || unreadable.contains(api.group())
                || state.pod_groups.iter().any(is_known)
            {
                continue;
            }
            match live.pod_group(api, namespace, &name) {
                Ok(Some(object)) => state.pod_groups.push(LiveGroup::new(api, &object)),
                Ok(None) => {}
                Err(error) => {
                    unreadable.insert(api.group());
                    note(&format!("{error:#}"));
                }
            }
        }
    }
}

fn note(text: &str) {
    print_note(&mut stderr(ColorChoice::Auto), format_args!("{text}"));
}
