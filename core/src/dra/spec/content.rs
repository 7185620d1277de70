//! Decodes claims and keeps only the fields that describe devices. Selectors are reduced to the driver and the variant
//! that they require. Decoded as JSON values, the largest objects that a tenant can create would take 30 times the
//! memory of their text.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::super::count::Count;
use super::super::selectors::Selectors;
use super::{Alternative, DeviceRequest, FLAT_VERSION, MAX_ALTERNATIVES, MAX_COUNT, MAX_REQUESTS};

/// Field `spec` of a `ResourceClaim` or `ResourceClaimTemplate` of any version.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ClaimContent {
    devices: Option<Devices>,
    /// The claim of a template.
    spec: Option<Claim>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Claim {
    devices: Option<Devices>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Devices {
    requests: Option<Bounded<Request, MAX_REQUESTS>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Request {
    name: Option<Box<str>>,
    exactly: Option<ClassDevices>,
    first_available: Option<Bounded<ClassDevices, MAX_ALTERNATIVES>>,
    // The fields of `exactly` in `v1beta1`. `serde(flatten)` would copy all fields.
    device_class_name: Option<Box<str>>,
    selectors: Option<Selectors>,
    allocation_mode: Option<Box<str>>,
    count: Option<i64>,
    admin_access: Option<bool>,
}

/// Devices of one class.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ClassDevices {
    device_class_name: Option<Box<str>>,
    selectors: Option<Selectors>,
    allocation_mode: Option<Box<str>>,
    count: Option<i64>,
    admin_access: Option<bool>,
}

/// A list; `None` if it has more than `MAX` items.
#[derive(Clone, Debug)]
struct Bounded<T, const MAX: usize>(Option<Vec<T>>);

struct BoundedVisitor<T, const MAX: usize>(PhantomData<T>);

impl ClaimContent {
    /// Returns the requests of a claim; `None` if the apiserver would reject one, or if there are too many.
    pub(super) fn claim_requests(self, version: &str) -> Option<Box<[DeviceRequest]>> {
        self.devices?.read(version)
    }

    /// Like [`Self::claim_requests`], for a template.
    pub(super) fn template_requests(self, version: &str) -> Option<Box<[DeviceRequest]>> {
        self.spec?.devices?.read(version)
    }
}

impl Devices {
    fn read(self, version: &str) -> Option<Box<[DeviceRequest]>> {
        self.requests?.0?.into_iter().map(|request| request.read(version)).collect()
    }
}

impl Request {
    fn read(self, version: &str) -> Option<DeviceRequest> {
        let Self { name, exactly, first_available, .. } = self;
        let Self { device_class_name, selectors, allocation_mode, count, admin_access, .. } = self;
        let exactly = if version == FLAT_VERSION {
            let device_class_name = device_class_name.filter(|class| !class.is_empty());
            device_class_name.is_some().then_some(ClassDevices {
                device_class_name,
                selectors,
                allocation_mode,
                count,
                admin_access,
            })
        } else {
            exactly
        };
        let listed = match first_available {
            None => Vec::new(),
            Some(Bounded(listed)) => listed?,
        };
        let is_admin = exactly.as_ref().and_then(|exactly| exactly.admin_access) == Some(true);
        let alternatives: Box<[Alternative]> = match exactly {
            Some(exactly) if listed.is_empty() => Box::new([exactly.read()?]),
            None if !listed.is_empty() => listed.into_iter().map(ClassDevices::read).collect::<Option<_>>()?,
            _ => return None,
        };
        Some(DeviceRequest { name: name?, alternatives, is_admin })
    }
}

impl ClassDevices {
    fn read(self) -> Option<Alternative> {
        let count = match self.allocation_mode.as_deref().unwrap_or_default() {
            // The number depends on the node. At least one must exist.
            "All" => Count::at_least(1),
            // The apiserver's default for an absent count and for 0.
            "" | "ExactCount" => match u64::try_from(self.count.unwrap_or(1)).ok()? {
                0 => Count::exactly(1),
                count if count <= MAX_COUNT => Count::exactly(count),
                _ => return None,
            },
            // Kubernetes requires clients not to interpret unknown modes, so the number is unknown.
            _ => Count::UNKNOWN,
        };
        let Selectors(traits) = self.selectors.unwrap_or_default();
        Some(Alternative { class: self.device_class_name?, count, traits })
    }
}

impl<'de, T: Deserialize<'de>, const MAX: usize> Deserialize<'de> for Bounded<T, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(BoundedVisitor(PhantomData))
    }
}

impl<'de, T: Deserialize<'de>, const MAX: usize> Visitor<'de> for BoundedVisitor<T, MAX> {
    type Value = Bounded<T, MAX>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while items.len() < MAX {
            let Some(item) = list.next_element()? else { return Ok(Bounded(Some(items))) };
            items.push(item);
        }
        let mut is_longer = false;
        while list.next_element::<IgnoredAny>()?.is_some() {
            is_longer = true;
        }
        Ok(Bounded((!is_longer).then_some(items)))
    }
}
