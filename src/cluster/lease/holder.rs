//! The lease object that a candidate writes.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};

use trainmesh_core::gang::object::{Announcement, GANG_APIS, GANG_DENIED};
use trainmesh_core::objects::LEASE;

/// Returns `lease`, or a new one, held by `identity` for `lease_duration`. Its timestamps are informational: no
/// candidate relies on another's clock.
pub(super) fn with_holder(lease: Option<Lease>, identity: &str, lease_duration: Duration) -> Lease {
    let now = MicroTime(Timestamp::now());
    let mut lease = lease.unwrap_or_else(|| Lease {
        metadata: ObjectMeta { name: Some(LEASE.to_owned()), ..ObjectMeta::default() },
        ..Lease::default()
    });
    let mut spec = lease.spec.take().unwrap_or_default();
    if spec.holder_identity.as_deref() != Some(identity) {
        spec.lease_transitions = Some(spec.lease_transitions.unwrap_or_default().saturating_add(1));
        spec.acquire_time = Some(now.clone());
    }
    lease.spec = Some(LeaseSpec {
        holder_identity: Some(identity.to_owned()),
        // Whole seconds, at least one.
        lease_duration_seconds: Some(i32::try_from(lease_duration.as_secs()).unwrap_or(i32::MAX).max(1)),
        renew_time: Some(now),
        ..spec
    });
    lease
}

/// Returns `lease` with the announcement of its holder, or without one that another holder has left.
pub(super) fn with_announcement(mut lease: Lease, announcement: &Announcement, holder: &str) -> Lease {
    let annotations = lease.metadata.annotations.get_or_insert_default();
    let (apis, denied) = announcement.to_texts(holder);
    let apis = (*announcement != Announcement::default()).then_some(apis);
    for (key, text) in [(GANG_APIS, apis), (GANG_DENIED, denied)] {
        match text {
            Some(text) => annotations.insert(key.to_owned(), text),
            None => annotations.remove(key),
        };
    }
    lease
}
