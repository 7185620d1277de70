//! `--cluster`: the state of workloads that already exist, and of their `PodGroups`, and the queues of those that name none.

use std::collections::{BTreeSet, HashSet, VecDeque};

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
/// Maximum number of objects that the object of a manifest has created and that are read: a `CronJob` that does not limit concurrency
/// may have any number of active Jobs. Each costs a request, and one for the `PodGroup` of each scheduler.
const MAX_CREATED: usize = 8;

/// Reads the workloads of the input that exist, each once, and those that they have created. Those that cannot be read are shown as new
/// ones, with a note for each kind and namespace.
pub(super) fn read_workloads(live: &LiveCluster, inputs: &Inputs, namespace: &str, context: &mut ManifestContext) {
    let mut reader = Reader { live, unreadable: HashSet::new(), requests: 0 };
    let mut read: HashSet<WorkloadKey> = HashSet::new();
    let documents = inputs.documents().flatten();
    for key in documents.filter_map(|document| LiveWorkload::key(&document, namespace)) {
        if reader.is_unreadable(&key, true) || !read.insert(key.clone()) {
            continue;
        }
        if reader.requests >= MAX_WORKLOADS {
            note(&format!("the state in the cluster is shown for the first {MAX_WORKLOADS} workloads only"));
            return;
        }
        let workloads = reader.workloads(&key);
        if !workloads.is_empty() {
            context.add_live_workloads(key, workloads);
        }
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

/// Reads workloads from a cluster.
struct Reader<'a> {
    live: &'a LiveCluster,
    /// Kinds that cannot be read in a namespace, and whether the object is that of a manifest.
    unreadable: HashSet<(String, &'static str, bool)>,
    requests: usize,
}

impl Reader<'_> {
    /// Reads the object of a manifest, and those that it has created; none if it does not exist.
    fn workloads(&mut self, root: &WorkloadKey) -> Vec<LiveWorkload> {
        let mut workloads = Vec::new();
        let mut pending = VecDeque::from([root.clone()]);
        while let Some(key) = pending.pop_front() {
            let Some(object) = self.read(&key, root) else { continue };
            workloads.push(LiveWorkload::new(&key, &object));
            let created = LiveWorkload::created(&key, &object);
            let free = (1 + MAX_CREATED).saturating_sub(workloads.len() + pending.len());
            if created.len() > free {
                let WorkloadKey { kind, namespace, name, .. } = &key;
                note(&format!(
                    "{kind} {namespace}/{name} has created {} workloads, of which {free} are shown",
                    created.len()
                ));
            }
            pending.extend(created.into_iter().take(free));
        }
        workloads
    }

    /// Reads the object that `key` identifies: that of `root`, or one that it has created. `None` if it does not exist, or cannot be
    /// read.
    fn read(&mut self, key: &WorkloadKey, root: &WorkloadKey) -> Option<Value> {
        let is_root = key == root;
        if self.is_unreadable(key, is_root) {
            return None;
        }
        self.requests += 1;
        match self.live.workload(key) {
            Ok(object) => object,
            Err(error) => {
                self.unreadable.insert((key.namespace.clone(), key.kind, is_root));
                let consequence = if is_root {
                    format!("{}s that exist are shown as new ones", key.kind)
                } else {
                    format!("{}s that {}s have created are not shown", key.kind, root.kind)
                };
                note(&format!("{error:#}: {consequence}"));
                None
            }
        }
    }

    fn is_unreadable(&self, key: &WorkloadKey, is_root: bool) -> bool {
        self.unreadable.contains(&(key.namespace.clone(), key.kind, is_root))
    }
}

/// Reads the `PodGroups` of the workloads of `reports` that exist.
pub(super) fn read_groups(live: &LiveCluster, reports: &mut [PodReport]) {
    let Some(first) = reports.first_mut() else { return };
    let Some(state) = &mut first.cluster else { return };
    // The cluster serves the object of the controller in any version of its group.
    let planned = state.group_names.iter().map(|(group, name)| (Some(*group), name.clone()));
    let of_operators = state.names_of_operators().map(|name| (None, name.to_owned()));
    let names: Vec<(Option<&str>, String)> = planned.chain(of_operators).collect();
    let mut unreadable: HashSet<&'static str> = HashSet::new();
    for (group, name) in names {
        for api in GroupApi::ALL {
            let is_known = |found: &LiveGroup| found.name == name && found.api_version.starts_with(api.group());
            if group.is_some_and(|group| group != api.group())
                || unreadable.contains(api.group())
                || state.pod_groups.iter().any(is_known)
            {
                continue;
            }
            match live.pod_group(api, &first.namespace, &name) {
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
