//! Findings of successive diagnoses: which of them are new, which are gone, and what they have cost since.

use std::collections::{BTreeMap, BTreeSet, HashSet, btree_map::Entry};

use jiff::{SignedDuration, Timestamp};

use super::job::Jobs;
use super::snapshot::reference::ObjectKey;
use super::{
    ClusterSnapshot, Diagnosis, DiagnosisCode, DiagnosisReport, Layer, PublishedFinding, RelatedObjects, WasteCause,
    WorkloadName,
};
use crate::finding::Severity;

/// Time for which a finding must be absent until it counts as resolved: a container that crashes runs in between.
const RESOLVE_DELAY: SignedDuration = SignedDuration::from_mins(5);
/// Maximum number of findings that are tracked. Further ones are neither published nor counted: those of the namespaces with
/// most, so that no namespace takes the place of others.
pub const MAX_TRACKED: usize = 10_000;
/// Layers whose objects the controller reads.
const LAYERS: [Layer; 3] = [Layer::Kubernetes, Layer::Mesh, Layer::Fabric];
/// Findings about gangs in other layers.
const GANGS: [DiagnosisCode; 1] = [DiagnosisCode::LauncherAwaitsGang];

/// Findings of the namespaces of a cluster.
#[derive(Debug)]
pub struct FindingTracker {
    /// Time from which idle accelerators are counted.
    started: Timestamp,
    namespaces: BTreeMap<String, NamespaceFindings>,
}

/// A finding that is tracked.
pub type FindingKey = (WorkloadName, DiagnosisCode);

/// The difference of a diagnosis to the one before.
#[derive(Debug, Default)]
pub struct TrackedChanges<'a> {
    /// Findings that have not been published.
    pub unpublished: Vec<&'a Diagnosis>,
    /// Published findings that are resolved, with the object of the event. They are returned until they are marked.
    pub resolved: Vec<(FindingKey, PublishedFinding)>,
    /// Accelerator-seconds that were lost since the diagnosis before.
    pub wasted: BTreeMap<WasteCause, u64>,
}

#[derive(Debug, Default)]
struct NamespaceFindings {
    findings: BTreeMap<FindingKey, TrackedFinding>,
    /// Times until which the idle accelerators of workloads are counted.
    counted: BTreeMap<WorkloadName, Timestamp>,
    /// Time of the last finding that was dropped although it existed. What it has cost until then may be counted.
    dropped: Option<Timestamp>,
}

#[derive(Debug)]
struct TrackedFinding {
    last_seen: Timestamp,
    is_present: bool,
    published: Option<PublishedFinding>,
}

impl FindingTracker {
    /// Creates a tracker that counts idle accelerators from `now` on.
    #[must_use]
    pub fn new(now: Timestamp) -> Self {
        Self { started: now, namespaces: BTreeMap::new() }
    }

    /// Records the diagnosis of the workloads of `namespace`. A workload that it does not contain has no findings. Findings that
    /// need `unread` objects may still exist.
    pub fn record<'a>(
        &mut self,
        namespace: &str,
        report: &'a DiagnosisReport,
        unread: &[RelatedObjects],
    ) -> TrackedChanges<'a> {
        let now = report.now;
        let found: Vec<&Diagnosis> =
            report.diagnoses.iter().filter(|found| is_published(found.code, found.finding.severity)).collect();
        if found.is_empty() && !self.namespaces.contains_key(namespace) {
            return TrackedChanges::default();
        }
        let mut remaining = self.make_space(namespace, &found, now);
        let known = self.namespaces.entry(namespace.to_owned()).or_default();
        for ((_, code), finding) in &mut known.findings {
            // What the report leaves out may still exist.
            finding.is_present &= report.omitted > 0 || unread.iter().any(|objects| objects.prove(*code));
        }
        let mut changes = TrackedChanges::default();
        for found in &found {
            let finding = match known.findings.entry((found.workload.clone(), found.code)) {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(_) if remaining == 0 => continue,
                Entry::Vacant(entry) => {
                    remaining -= 1;
                    entry.insert(TrackedFinding { last_seen: now, is_present: true, published: None })
                }
            };
            (finding.last_seen, finding.is_present) = (now, true);
            if finding.published.is_none() {
                changes.unpublished.push(found);
            }
        }
        changes.wasted = known.count_waste(&found, self.started, now);
        let is_resolved =
            |finding: &TrackedFinding| !finding.is_present && now.duration_since(finding.last_seen) >= RESOLVE_DELAY;
        known.findings.retain(|_, finding| finding.published.is_some() || !is_resolved(finding));
        let resolved = known.findings.iter().filter(|(_, finding)| is_resolved(finding));
        let resolved = resolved.filter_map(|(key, finding)| Some((key.clone(), finding.published.clone()?)));
        changes.resolved = resolved.collect();
        known.counted.retain(|workload, _| known.findings.keys().any(|(known, _)| known == workload));
        if known.findings.is_empty() {
            self.namespaces.remove(namespace);
        }
        changes
    }

    /// Records that the workloads whose pods `snapshot` lacks have no findings any more, also those whose objects are `unread`.
    pub fn forget_deleted(&mut self, namespace: &str, snapshot: &ClusterSnapshot, unread: &[RelatedObjects]) {
        let Some(known) = self.namespaces.get_mut(namespace) else { return };
        let workloads = workloads_of_pods(namespace, snapshot);
        // Without the workloads, their owners are unknown, and findings are about the outermost one.
        let are_owners_unknown = unread.contains(&RelatedObjects::Workloads) && !workloads.is_empty();
        for ((workload, _), finding) in &mut known.findings {
            let has_pods = || workloads.contains(&workload.key());
            finding.is_present &= match &finding.published {
                Some(PublishedFinding { workload: Some(own), .. }) => has_pods() || workloads.contains(&own.key()),
                Some(_) => true,
                None => has_pods() || are_owners_unknown,
            };
        }
    }

    /// Records that a finding was published.
    pub fn mark_published(&mut self, namespace: &str, found: &Diagnosis, published: PublishedFinding) {
        let known = self.namespaces.get_mut(namespace).map(|known| &mut known.findings);
        if let Some(finding) = known.and_then(|known| known.get_mut(&(found.workload.clone(), found.code))) {
            finding.published = Some(published);
        }
    }

    /// Removes a finding whose resolution was published.
    pub fn mark_resolved(&mut self, namespace: &str, key: &FindingKey) {
        let Some(known) = self.namespaces.get_mut(namespace) else { return };
        known.findings.remove(key);
        if known.findings.is_empty() {
            self.namespaces.remove(namespace);
        }
    }

    /// Makes space for those of `found` that are new, and returns for how many there is space. Beyond the limit, findings of the
    /// namespaces with most are dropped, as long as these keep as many as `namespace` gets.
    fn make_space(&mut self, namespace: &str, found: &[&Diagnosis], now: Timestamp) -> usize {
        let (mut total, mut own) = (0, 0);
        let mut wanted: BTreeSet<(&WorkloadName, DiagnosisCode)> =
            found.iter().map(|found| (&found.workload, found.code)).collect();
        for (name, known) in &self.namespaces {
            total += known.findings.len();
            if name == namespace {
                own = known.findings.len();
                wanted.retain(|(workload, code)| !known.findings.contains_key(&((*workload).clone(), *code)));
            }
        }
        let wanted = wanted.len();
        let mut granted = wanted.min(MAX_TRACKED.saturating_sub(total));
        while granted < wanted {
            let others = self.namespaces.iter_mut().filter(|(name, _)| *name != namespace);
            let largest = others.map(|(_, known)| known).max_by_key(|known| known.findings.len());
            match largest.filter(|known| known.findings.len() > own + granted + 1) {
                Some(known) => known.drop_one(now),
                None => break,
            }
            granted += 1;
        }
        granted
    }

    /// Returns the namespaces with findings, or with findings that may be resolved.
    pub fn namespaces(&self) -> impl Iterator<Item = &str> {
        self.namespaces.keys().map(String::as_str)
    }

    /// Returns true if the last diagnosis of `namespace` has findings.
    #[must_use]
    pub fn has_findings(&self, namespace: &str) -> bool {
        let known = self.namespaces.get(namespace).into_iter();
        known.flat_map(|known| known.findings.values()).any(|finding| finding.is_present)
    }

    /// Returns the number of findings of each code that is tracked.
    #[must_use]
    pub fn counts(&self) -> BTreeMap<DiagnosisCode, usize> {
        let codes = DiagnosisCode::ALL.iter().filter(|code| is_published(**code, code.severity()));
        let mut counts: BTreeMap<DiagnosisCode, usize> = codes.map(|code| (*code, 0)).collect();
        for ((_, code), finding) in self.namespaces.values().flat_map(|known| &known.findings) {
            *counts.entry(*code).or_default() += usize::from(finding.is_present);
        }
        counts
    }
}

impl NamespaceFindings {
    /// Drops the finding whose loss matters least: one without an event before one that is about to be resolved, and that before
    /// one whose event would be published twice.
    fn drop_one(&mut self, now: Timestamp) {
        let importance = |finding: &TrackedFinding| (finding.published.is_some(), finding.is_present);
        let least = self.findings.iter().rev().min_by_key(|(_, finding)| importance(finding));
        if let Some(key) = least.map(|(key, _)| key.clone()) {
            self.findings.remove(&key);
            self.dropped = Some(now);
        }
    }

    /// Returns the accelerator-seconds that the workloads have lost since they were last counted, or since `started`. An
    /// accelerator counts for one cause: of the findings about a workload, the one that costs most.
    fn count_waste(&mut self, found: &[&Diagnosis], started: Timestamp, now: Timestamp) -> BTreeMap<WasteCause, u64> {
        let mut worst: BTreeMap<&WorkloadName, &Diagnosis> = BTreeMap::new();
        let cost = |found: &Diagnosis| found.waste.map_or(0, |waste| waste.accelerator_seconds);
        // Others would be counted from the start again each time.
        let is_tracked = |found: &&Diagnosis| self.findings.contains_key(&(found.workload.clone(), found.code));
        for found in found.iter().copied().filter(|found| found.waste_cause().is_some()).filter(is_tracked) {
            let worst = worst.entry(&found.workload).or_insert(found);
            if cost(found) > cost(worst) {
                *worst = found;
            }
        }
        let start = self.dropped.map_or(started, |dropped| dropped.max(started));
        let mut wasted = BTreeMap::new();
        for (workload, found) in worst {
            let (Some(waste), Some(cause)) = (found.waste, found.waste_cause()) else { continue };
            let since = self.counted.insert(workload.clone(), now).unwrap_or(start);
            let seconds = u64::try_from(now.duration_since(since).as_secs()).unwrap_or_default();
            // What was lost before was counted then, or by the leader before.
            let lost = waste.accelerator_seconds.min(waste.accelerators.saturating_mul(seconds));
            let sum: &mut u64 = wasted.entry(cause).or_default();
            *sum = sum.saturating_add(lost);
        }
        wasted
    }
}

/// Returns the workloads of the pods in `namespace`: those that the pods name, and their outermost owners as far as they are known.
fn workloads_of_pods<'a>(namespace: &str, snapshot: &'a ClusterSnapshot) -> HashSet<ObjectKey<'a>> {
    let jobs = Jobs::new(snapshot);
    let pods = snapshot.pods.iter().filter(|pod| *pod.namespace == *namespace);
    pods.flat_map(|pod| [pod.workload(), jobs.key_of(pod)]).collect()
}

/// Returns true for findings that the controller publishes. Notes need no action.
fn is_published(code: DiagnosisCode, severity: Severity) -> bool {
    (LAYERS.contains(&code.layer()) || GANGS.contains(&code)) && severity <= Severity::Warning
}
