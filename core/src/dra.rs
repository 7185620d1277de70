//! Dynamic resource allocation: the devices that the claims of a pod provide.
//!
//! A pod names `ResourceClaims` or `ResourceClaimTemplates`, and its containers refer to them. [`PodClaims`] combines
//! the pod with the known objects ([`ClaimView`]), and counts accelerators, adapters and channels for each container.
//! Missing facts stay visible: a count is a range ([`Count`]), an unknown claim has no list of requests, and the
//! devices of an unknown class have no kind.
//!
//! Facts about the API: kubernetes/api, `resource/v1/types.go` at 10b39a39b, 2026-07-24; KEP-5004 in
//! kubernetes/enhancements at 64765b4b0, 2026-07-24.
//!
//! Pure: no I/O, clock or client.

mod classes;
mod count;
mod facts;
mod kind;
mod objects;
mod pod_claims;
mod selectors;
mod spec;
mod unknown_cause;

pub use classes::{CLASS_RESOURCE_PREFIX, DeviceClass, DeviceClasses};
pub use count::Count;
pub use facts::{ClaimFacts, ClaimSpecs, ClaimView, MAX_ALL_SPECS, MAX_ALL_SPECS_SIZE, MAX_SPECS, MAX_SPECS_SIZE};
pub use kind::{AcceleratorKind, AdapterKind, DeviceKind};
pub use objects::ClaimObjects;
pub use pod_claims::{ClaimSource, ClaimUncertainty, ClaimedDevices, PodClaim, PodClaims, template_devices};
pub use spec::{ClaimContent, ClaimSpec, GROUP, is_generated};
pub use unknown_cause::UnknownCause;
