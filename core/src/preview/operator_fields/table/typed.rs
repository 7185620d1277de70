//! Objects that checks read: only the fields whose types are checked.

use super::super::{Fields, Shape};

/// Returns the fields of `spec` of a kind.
pub(super) fn spec_of(api_version: &str, kind: &str) -> Option<&'static Fields> {
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    Some(match (group, kind) {
        ("", "Service") => &SERVICE,
        ("", "PersistentVolumeClaim") => &VOLUME_CLAIM,
        ("resource.k8s.io", "DeviceClass") => &DEVICE_CLASS,
        ("resource.k8s.io", "ResourceClaim") => &CLAIM,
        ("resource.k8s.io", "ResourceClaimTemplate") => &CLAIM_OF_TEMPLATE,
        ("resource.nvidia.com", "ComputeDomain") => &COMPUTE_DOMAIN,
        _ => return None,
    })
}

/// Creates fields of which only the types are checked.
const fn fields(owner: &'static str, nested: &'static [(&'static str, Shape)]) -> Fields {
    Fields { owner, names: &[], nested }
}

static SERVICE_PORT: Fields = fields(
    "ServicePort",
    &[("name", Shape::Text), ("port", Shape::Number), ("protocol", Shape::Text), ("targetPort", Shape::NumberOrText)],
);
static SERVICE: Fields = fields(
    "ServiceSpec",
    &[
        ("clusterIP", Shape::Text),
        ("ports", Shape::List(&SERVICE_PORT)),
        ("selector", Shape::Texts),
        ("type", Shape::Text),
    ],
);

static VOLUME_CLAIM: Fields =
    fields("PersistentVolumeClaimSpec", &[("accessModes", Shape::TextList), ("storageClassName", Shape::Text)]);

static CEL: Fields = fields("CELDeviceSelector", &[("expression", Shape::Text)]);
static SELECTOR: Fields = fields("DeviceSelector", &[("cel", Shape::Object(&CEL))]);
static DEVICE_CLASS: Fields =
    fields("DeviceClassSpec", &[("extendedResourceName", Shape::Text), ("selectors", Shape::List(&SELECTOR))]);
static DEVICES: Fields = fields(
    "ExactDeviceRequest",
    &[
        ("allocationMode", Shape::Text),
        ("count", Shape::Number),
        ("deviceClassName", Shape::Text),
        ("selectors", Shape::List(&SELECTOR)),
    ],
);
/// A request of any version: `v1beta1` has the fields of `exactly` beside `name`.
static DEVICE_REQUEST: Fields = fields(
    "DeviceRequest",
    &[
        ("allocationMode", Shape::Text),
        ("count", Shape::Number),
        ("deviceClassName", Shape::Text),
        ("exactly", Shape::Object(&DEVICES)),
        ("firstAvailable", Shape::List(&DEVICES)),
        ("name", Shape::Text),
        ("selectors", Shape::List(&SELECTOR)),
    ],
);
static DEVICE_CLAIM: Fields = fields("DeviceClaim", &[("requests", Shape::List(&DEVICE_REQUEST))]);
static CLAIM: Fields = fields("ResourceClaimSpec", &[("devices", Shape::Object(&DEVICE_CLAIM))]);
static CLAIM_OF_TEMPLATE: Fields = fields("ResourceClaimTemplateSpec", &[("spec", Shape::Object(&CLAIM))]);

static CLAIM_TEMPLATE: Fields = fields("ComputeDomainResourceClaimTemplate", &[("name", Shape::Text)]);
static CHANNEL: Fields =
    fields("ComputeDomainChannelSpec", &[("resourceClaimTemplate", Shape::Object(&CLAIM_TEMPLATE))]);
static COMPUTE_DOMAIN: Fields =
    fields("ComputeDomainSpec", &[("channel", Shape::Object(&CHANNEL)), ("numNodes", Shape::Number)]);
