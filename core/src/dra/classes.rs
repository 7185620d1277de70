//! Device classes: the objects of the cluster or the input, and a table of the classes that drivers install.

use std::cmp::Reverse;
use std::collections::HashMap;

use serde_json::Value;

use super::kind::{AcceleratorKind, DeviceKind};
use super::selectors::{Driver, Traits, Variant};
use crate::hint::nearest;

/// Known `DeviceClasses`. The classes that drivers install are known even if their objects are not read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceClasses {
    by_name: HashMap<String, ClassEntry>,
    /// Names of the classes that extended resources stand for.
    by_resource: HashMap<String, String>,
}

/// A `DeviceClass`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceClass {
    name: String,
    entry: ClassEntry,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct ClassEntry {
    traits: Traits,
    extended_resource: Option<String>,
    /// Creation time (RFC 3339); empty in manifests.
    created: String,
}

/// Prefix of the extended resource that stands for a class by its name (KEP-5004, `ResourceDeviceClassPrefix` in
/// kubernetes/api).
pub const CLASS_RESOURCE_PREFIX: &str = "deviceclass.resource.kubernetes.io/";

/// Maximum number of classes. Only administrators create them, a few for each driver.
const MAX_CLASSES: usize = 1000;
/// Maximum length of a name in bytes: a domain and a label, as in extended resources.
const MAX_NAME: usize = 320;

const NVIDIA: Driver = Driver::Accelerator(AcceleratorKind::Nvidia);
const INTEL: Driver = Driver::Accelerator(AcceleratorKind::Intel);

/// Classes by name: those that the drivers listed at `selectors::DRIVERS` install, and those of dranet's examples at
/// f258477. The classes `mrdma.google.com` and `netdev.google.com` belong to Google's managed dranet (GKE
/// documentation, "Allocate network resources by using GKE managed DRANET", 2026).
const CLASSES: [(&str, Traits); 25] = [
    ("gpu.nvidia.com", Traits::new(NVIDIA, None)),
    ("mig.nvidia.com", Traits::new(NVIDIA, Some(Variant::Partition))),
    ("vfio.gpu.nvidia.com", Traits::new(NVIDIA, Some(Variant::Passthrough))),
    ("compute-domain-default-channel.nvidia.com", Traits::new(Driver::ComputeDomain, None)),
    ("compute-domain-daemon.nvidia.com", Traits::new(Driver::ComputeDomain, Some(Variant::Daemon))),
    // NVIDIA's driver used this class before it had ComputeDomains.
    ("imex.nvidia.com", Traits::new(Driver::ComputeDomain, None)),
    ("gpu.amd.com", Traits::new(Driver::Accelerator(AcceleratorKind::Amd), None)),
    ("gpu.intel.com", Traits::new(INTEL, None)),
    ("gpu-vfio.intel.com", Traits::new(INTEL, Some(Variant::Passthrough))),
    ("gaudi.intel.com", Traits::new(Driver::Accelerator(AcceleratorKind::Gaudi), None)),
    ("neuron.aws.com", Traits::new(Driver::Accelerator(AcceleratorKind::Neuron), None)),
    ("tpu.google.com", Traits::new(Driver::Accelerator(AcceleratorKind::Tpu), None)),
    ("efa.networking.k8s.aws", Traits::new(Driver::Network, Some(Variant::Efa))),
    ("mrdma.google.com", Traits::new(Driver::Network, Some(Variant::Gib))),
    ("netdev.google.com", Traits::new(Driver::Network, Some(Variant::Plain))),
    ("dra.net", Traits::new(Driver::Network, None)),
    ("dranet.net", Traits::new(Driver::Network, None)),
    ("dranet", Traits::new(Driver::Network, None)),
    ("dranet-cloud", Traits::new(Driver::Network, None)),
    ("multinic", Traits::new(Driver::Network, None)),
    ("sriovnetwork.k8snetworkplumbingwg.io", Traits::new(Driver::Network, None)),
    ("dranet-rdma-for-mpi", Traits::new(Driver::Network, Some(Variant::Rdma))),
    ("rdma", Traits::new(Driver::Network, Some(Variant::Rdma))),
    ("rdma-net", Traits::new(Driver::Network, Some(Variant::Rdma))),
    ("erdma.alibaba.dra.net", Traits::new(Driver::Network, Some(Variant::Rdma))),
];

impl DeviceClass {
    /// Parses a `DeviceClass` of any version. Returns `None` if it has no usable name.
    #[must_use]
    pub fn parse(object: &Value) -> Option<Self> {
        let text = |value: &Value| value.as_str().filter(|text| text.len() <= MAX_NAME).map(str::to_owned);
        let metadata = object.get("metadata")?;
        let name = metadata.get("name").and_then(text)?;
        let spec = object.get("spec");
        let entry = ClassEntry {
            traits: Traits::from_selectors(spec.and_then(|spec| spec.get("selectors"))),
            extended_resource: spec.and_then(|spec| spec.get("extendedResourceName")).and_then(text),
            created: metadata.get("creationTimestamp").and_then(text).unwrap_or_default(),
        };
        Some(Self { name, entry })
    }
}

impl DeviceClasses {
    /// Adds a class, unless there are too many.
    pub fn insert(&mut self, class: DeviceClass) {
        let DeviceClass { name, entry } = class;
        if self.by_name.len() >= MAX_CLASSES && !self.by_name.contains_key(&name) {
            return;
        }
        if let Some(former) = self.by_name.remove(&name).and_then(|entry| entry.extended_resource)
            && self.by_resource.get(&former) == Some(&name)
        {
            self.by_resource.remove(&former);
        }
        if let Some(resource) = &entry.extended_resource {
            // If two classes name the same resource, the scheduler uses the newer one; of equal age, the first by name. A class of a
            // manifest is about to be created, and so is the newest.
            let order = |name: &str, entry: &ClassEntry| {
                (entry.created.is_empty(), entry.created.clone(), Reverse(name.to_owned()))
            };
            let known = self.by_resource.get(resource);
            let known = known.and_then(|known| Some(order(known, self.by_name.get(known)?)));
            if known.is_none_or(|known| known < order(&name, &entry)) {
                self.by_resource.insert(resource.clone(), name.clone());
            }
        }
        self.by_name.insert(name, entry);
    }

    /// Returns the kind of the devices of class `name` that also satisfy `selected`, the selectors of a request.
    pub(super) fn kind(&self, name: &str, selected: Traits) -> Option<DeviceKind> {
        let object = self.by_name.get(name);
        let listed = CLASSES.iter().find(|(known, _)| *known == name).map(|(_, traits)| *traits);
        let of_object = object.map(|entry| entry.traits).unwrap_or_default();
        // An administrator may use a listed name for the devices of another driver.
        let is_same = |listed: &Traits| of_object.driver.is_none() || of_object.driver == listed.driver;
        let traits = listed.filter(is_same).unwrap_or_default().and(of_object);
        let by_resource = || DeviceKind::of_resource(object?.extended_resource.as_deref()?);
        traits.and(selected).kind().or_else(by_resource)
    }

    /// Returns the known class whose name is most similar to `name`, which is no class of the cluster or the input.
    #[must_use]
    pub fn similar<'a>(&'a self, name: &str) -> Option<&'a str> {
        if self.by_name.contains_key(name) {
            return None;
        }
        let mut known: Vec<&str> = self.by_name.keys().map(String::as_str).collect();
        known.sort_unstable();
        known.extend(CLASSES.iter().map(|(name, _)| *name));
        nearest(name, &known)
    }

    /// Returns the class that extended resource `resource` stands for.
    #[must_use]
    pub fn class_of_resource<'a>(&'a self, resource: &'a str) -> Option<&'a str> {
        let implicit = resource.strip_prefix(CLASS_RESOURCE_PREFIX);
        implicit.or_else(|| self.by_resource.get(resource).map(String::as_str))
    }

    /// Returns the kind of the devices that extended resource `resource` stands for, if it stands for a class.
    #[must_use]
    pub fn kind_of_resource(&self, resource: &str) -> Option<DeviceKind> {
        self.kind(self.class_of_resource(resource)?, Traits::default())
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::super::kind::AdapterKind;
    use super::*;

    const NVIDIA: DeviceKind = DeviceKind::Accelerator(AcceleratorKind::Nvidia);

    fn classes(objects: &[Value]) -> DeviceClasses {
        let mut classes = DeviceClasses::default();
        objects.iter().filter_map(DeviceClass::parse).for_each(|class| classes.insert(class));
        classes
    }

    fn class(name: &str, driver: &str, resource: &str, created: &str) -> Value {
        json!({"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass",
            "metadata": {"name": name, "creationTimestamp": created},
            "spec": {"selectors": [{"cel": {"expression": format!("device.driver == '{driver}'")}}], "extendedResourceName": resource}})
    }

    #[rstest]
    #[case::gpu("gpu.nvidia.com", Some(NVIDIA))]
    #[case::mig("mig.nvidia.com", Some(DeviceKind::Partition))]
    #[case::amd("gpu.amd.com", Some(DeviceKind::Accelerator(AcceleratorKind::Amd)))]
    #[case::channel("compute-domain-default-channel.nvidia.com", Some(DeviceKind::Channel))]
    #[case::efa("efa.networking.k8s.aws", Some(DeviceKind::Adapter(AdapterKind::Efa)))]
    #[case::google("mrdma.google.com", Some(DeviceKind::Adapter(AdapterKind::Gib)))]
    #[case::dranet("dranet.net", Some(DeviceKind::Interface))]
    #[case::unknown("h100", None)]
    fn classes_of_drivers_are_known_without_their_object(#[case] name: &str, #[case] expected: Option<DeviceKind>) {
        assert_eq!(DeviceClasses::default().kind(name, Traits::default()), expected);
    }

    #[rstest]
    #[case::by_driver(class("h100", "gpu.nvidia.com", "example.com/h100", ""), Some(NVIDIA))]
    #[case::by_resource(class("h100", "gpu.example.com", "nvidia.com/gpu", ""), Some(NVIDIA))]
    #[case::partition(class("h100", "gpu.example.com", "nvidia.com/mig-1g.12gb", ""), Some(DeviceKind::Partition))]
    #[case::neither(class("h100", "gpu.example.com", "example.com/gpu", ""), None)]
    #[case::incomplete(json!({"metadata": {"name": "h100"}}), None)]
    #[case::long_name(class(&"h".repeat(MAX_NAME + 1), "gpu.nvidia.com", "", ""), None)]
    fn a_class_object_shows_its_kind(#[case] object: Value, #[case] expected: Option<DeviceKind>) {
        assert_eq!(classes(&[object]).kind("h100", Traits::default()), expected);
    }

    #[rstest]
    #[case::same_driver("dra.net", Some(DeviceKind::Adapter(AdapterKind::Any)))]
    #[case::other_driver("gpu.nvidia.com", Some(NVIDIA))]
    #[case::unknown_driver("gpu.example.com", None)]
    fn the_object_of_a_listed_class_takes_precedence(#[case] driver: &str, #[case] expected: Option<DeviceKind>) {
        let object = class("rdma", driver, "example.com/x", "");
        assert_eq!(classes(&[object]).kind("rdma", Traits::default()), expected);
    }

    #[rstest]
    #[case::implicit("deviceclass.resource.kubernetes.io/gpu.nvidia.com", &[], Some(NVIDIA))]
    #[case::implicit_of_an_object("deviceclass.resource.kubernetes.io/h100", &[("h100", "gpu.nvidia.com", "")], Some(NVIDIA))]
    #[case::explicit("example.com/gpu", &[("h100", "gpu.nvidia.com", "")], Some(NVIDIA))]
    #[case::unknown("example.com/other", &[("h100", "gpu.nvidia.com", "")], None)]
    #[case::newest("example.com/gpu", &[("a", "gpu.nvidia.com", "2026-01-01T00:00:00Z"), ("b", "gpu.amd.com", "2026-01-02T00:00:00Z")], Some(DeviceKind::Accelerator(AcceleratorKind::Amd)))]
    #[case::of_a_manifest("example.com/gpu", &[("a", "gpu.nvidia.com", "2026-01-01T00:00:00Z"), ("b", "gpu.amd.com", "")], Some(DeviceKind::Accelerator(AcceleratorKind::Amd)))]
    #[case::first_by_name("example.com/gpu", &[("b", "gpu.amd.com", ""), ("a", "gpu.nvidia.com", "")], Some(NVIDIA))]
    fn resources_stand_for_classes(
        #[case] resource: &str,
        #[case] objects: &[(&str, &str, &str)],
        #[case] expected: Option<DeviceKind>,
    ) {
        let objects: Vec<Value> =
            objects.iter().map(|(name, driver, created)| class(name, driver, "example.com/gpu", created)).collect();
        assert_eq!(classes(&objects).kind_of_resource(resource), expected);
    }

    #[rstest]
    #[case::of_a_driver("efa.networking.k8s.awz", Some("efa.networking.k8s.aws"))]
    #[case::of_the_input("h100-bg", Some("h100-big"))]
    #[case::existing("h100-small", None)]
    #[case::unrelated("npu.example.com", None)]
    fn suggests_a_similar_class(#[case] name: &str, #[case] expected: Option<&str>) {
        let objects = ["h100-big", "h100-small"].map(|name| class(name, "example.com", "", ""));
        assert_eq!(classes(&objects).similar(name), expected);
    }

    #[test]
    fn a_replaced_class_loses_its_resource() {
        let before = class("h100", "gpu.nvidia.com", "example.com/h100", "");
        let after = class("h100", "gpu.nvidia.com", "example.com/other", "");
        let classes = classes(&[before, after]);
        assert_eq!(classes.class_of_resource("example.com/h100"), None);
        assert_eq!(classes.class_of_resource("example.com/other"), Some("h100"));
    }

    #[test]
    fn the_number_of_classes_is_bounded() {
        let objects: Vec<Value> =
            (0..=MAX_CLASSES).map(|index| class(&index.to_string(), "gpu.nvidia.com", "", "")).collect();
        let classes = classes(&objects);
        assert_eq!(classes.kind(&(MAX_CLASSES - 1).to_string(), Traits::default()), Some(NVIDIA));
        assert_eq!(classes.kind(&MAX_CLASSES.to_string(), Traits::default()), None);
    }
}
