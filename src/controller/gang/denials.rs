//! Objects that the apiserver denies to create, and what is therefore not announced: pods would wait for them.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::cluster::request::{Denial, RequestError};
use trainmesh_core::gang::object::{Announcement, GroupApi, NewGroup};
use trainmesh_core::objects::WriteOutcome;

/// Time after which a denied object is checked again.
const CHECK_DELAY: SignedDuration = SignedDuration::from_mins(1);
/// Maximum number of namespaces to check of which it is not known whether objects are denied.
const MAX_SUSPECTED: usize = 256;
/// Maximum number of namespaces with a known object. Tenants have fewer.
const MAX_SAMPLES: usize = 1_000;

/// Namespaces with the time of the next check.
type Checks = BTreeMap<(GroupApi, String), Timestamp>;

/// Denied objects, until a check finds that they are permitted.
#[derive(Debug, Default)]
pub(super) struct Denials {
    /// APIs that are not announced: the namespace of the denied object, and the time of the next check.
    apis: BTreeMap<GroupApi, (String, Timestamp)>,
    /// Namespaces in which objects are denied.
    namespaces: Checks,
    /// Namespaces in which a policy has denied an object, maybe no other one.
    suspected: Checks,
    /// An object that the apiserver has created in a namespace, otherwise one that it has denied there, without its queue.
    samples: BTreeMap<(GroupApi, String), NewGroup>,
}

/// Result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CheckResult {
    /// Objects are permitted, or the namespace is deleted.
    Permitted,
    /// They are denied.
    Denied(Denial),
    /// The check failed for another reason, such as a busy apiserver.
    Unknown,
}

impl CheckResult {
    /// Returns the result of a request to create an object as a dry run.
    pub(super) fn new(response: &Result<WriteOutcome, RequestError>) -> Self {
        match response {
            Ok(_) => Self::Permitted,
            Err(error) if error.is_namespace_deleted() => Self::Permitted,
            Err(error) => error.denial().map_or(Self::Unknown, Self::Denied),
        }
    }
}

impl Denials {
    /// Records that the apiserver denied to create `object`. A policy may deny only this one: a scheduler denies those of
    /// unknown queues. A check of another object decides about the namespace.
    pub(super) fn record_denied(
        &mut self,
        api: GroupApi,
        namespace: String,
        denial: Denial,
        object: &NewGroup,
        now: Timestamp,
    ) {
        // A repeated write does not delay the check.
        if self.apis.contains_key(&api) {
            return;
        }
        let key = (api, namespace);
        if denial == Denial::Permission {
            self.record(key, denial, now);
        } else if !self.namespaces.contains_key(&key) && self.suspected.len() < MAX_SUSPECTED {
            let object = NewGroup { queue: Box::default(), ..object.clone() };
            self.add_sample(key.clone(), object, false);
            self.suspected.entry(key).or_insert(now);
        }
    }

    /// Records that the apiserver created `object`: others are permitted, too.
    pub(super) fn record_created(&mut self, api: GroupApi, namespace: String, object: &NewGroup) {
        self.remove(api, &namespace);
        self.add_sample((api, namespace), object.clone(), true);
    }

    /// Records the result of a check.
    pub(super) fn record_check(&mut self, api: GroupApi, namespace: String, result: CheckResult, now: Timestamp) {
        match result {
            CheckResult::Permitted => self.remove(api, &namespace),
            CheckResult::Denied(denial) => self.record((api, namespace), denial, now),
            CheckResult::Unknown => {
                let check_at = next_check(now);
                if let Some((_, time)) = self.apis.get_mut(&api).filter(|(denied, _)| *denied == namespace) {
                    *time = check_at;
                }
                let key = (api, namespace);
                for checks in [&mut self.namespaces, &mut self.suspected] {
                    if let Some(time) = checks.get_mut(&key) {
                        *time = check_at;
                    }
                }
            }
        }
    }

    /// Records that objects are denied. A missing permission applies to all namespaces, because the controller's are cluster-wide.
    /// So does a policy if no more namespaces can be announced.
    fn record(&mut self, key: (GroupApi, String), denial: Denial, now: Timestamp) {
        self.remove(key.0, &key.1);
        let check_at = next_check(now);
        if denial == Denial::Policy && self.namespaces.len() < Announcement::MAX_DENIED {
            self.namespaces.insert(key, check_at);
        } else {
            self.apis.insert(key.0, (key.1, check_at));
        }
    }

    /// Removes what was recorded about this namespace.
    fn remove(&mut self, api: GroupApi, namespace: &str) {
        let key = (api, namespace.to_owned());
        self.namespaces.remove(&key);
        self.suspected.remove(&key);
        if self.apis.get(&api).is_some_and(|(denied, _)| denied == namespace) {
            self.apis.remove(&api);
        }
    }

    fn add_sample(&mut self, key: (GroupApi, String), object: NewGroup, replace: bool) {
        if self.samples.len() >= MAX_SAMPLES && !self.samples.contains_key(&key) {
            let Self { namespaces, suspected, samples, .. } = self;
            samples.retain(|key, _| namespaces.contains_key(key) || suspected.contains_key(key));
        }
        let sample = NewGroup { minimum: Some(1), owned: false, release: None, ..object };
        if replace {
            self.samples.insert(key, sample);
        } else {
            self.samples.entry(key).or_insert(sample);
        }
    }

    /// Returns the objects to check, with their namespaces.
    pub(super) fn due(&self, now: Timestamp) -> Vec<(GroupApi, String, NewGroup)> {
        let due = self.all().filter(|(.., check_at)| *check_at <= now);
        let due = due.map(|(api, namespace, _)| {
            let sample = self.samples.get(&(api, namespace.to_owned())).cloned();
            (api, namespace.to_owned(), sample.unwrap_or_else(any_group))
        });
        due.collect()
    }

    /// Returns the time of the next check.
    pub(super) fn next_check(&self) -> Option<Timestamp> {
        self.all().map(|(.., check_at)| check_at).min()
    }

    /// Removes what is denied from an announcement.
    pub(super) fn withhold(&self, announcement: &mut Announcement) {
        announcement.apis.retain(|api| !self.apis.contains_key(api));
        let denied = self.namespaces.keys().filter(|(api, _)| announcement.apis.contains(api));
        announcement.denied = denied.map(|(api, namespace)| (api.mode(), namespace.clone())).collect();
    }

    fn all(&self) -> impl Iterator<Item = (GroupApi, &str, Timestamp)> {
        let apis = self.apis.iter().map(|(api, (namespace, check_at))| (*api, namespace.as_str(), *check_at));
        let namespaces = self.namespaces.iter().chain(&self.suspected);
        apis.chain(namespaces.map(|((api, namespace), check_at)| (*api, namespace.as_str(), *check_at)))
    }
}

/// Returns the object of a job about which nothing is known.
fn any_group() -> NewGroup {
    NewGroup {
        minimum: Some(1),
        owned: false,
        priority_class: Box::default(),
        queue: Box::default(),
        topology: None,
        release: None,
    }
}

fn next_check(now: Timestamp) -> Timestamp {
    now.saturating_add(CHECK_DELAY).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests;
