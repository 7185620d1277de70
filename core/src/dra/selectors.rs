//! Kind of devices, as far as the selectors of a class or request show it. The expressions are not evaluated: only equality
//! with a known driver or type counts.

use std::fmt;

use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::kind::{AcceleratorKind, AdapterKind, DeviceKind};

/// Driver and variant that selectors require.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Traits {
    pub(super) driver: Option<Driver>,
    pub(super) variant: Option<Variant>,
}

/// Field `selectors` of a class or request, reduced while it is decoded.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Selectors(pub(super) Traits);

#[derive(Deserialize)]
struct Selector {
    cel: Option<Cel>,
}

#[derive(Deserialize)]
struct Cel {
    expression: Option<Expression>,
}

/// A single expression.
struct Expression(Traits);

struct SelectorsVisitor;

struct ExpressionVisitor;

/// Driver of devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Driver {
    Accelerator(AcceleratorKind),
    /// NVIDIA's driver for channels and daemons of `ComputeDomains`.
    ComputeDomain,
    /// A driver for network interfaces, with or without RDMA.
    Network,
}

/// Subset of a driver's devices. Of two, the greater is the more specific.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Variant {
    /// Interfaces without RDMA.
    Plain,
    /// Interfaces with RDMA.
    Rdma,
    /// Adapters of Google's managed RDMA network.
    Gib,
    /// Elastic Fabric Adapters.
    Efa,
    Partition,
    /// Devices for virtual machines.
    Passthrough,
    /// Devices for the driver's own pods.
    Daemon,
}

/// Drivers, by the name that they publish: NVIDIA/k8s-dra-driver-gpu at 22407113, ROCm/k8s-gpu-dra-driver at 2622427,
/// intel/intel-resource-drivers-for-kubernetes at 1da939f, kubernetes-sigs/dra-driver-google-tpu at f5a9d8c,
/// kubernetes-sigs/dranet at f258477, k8snetworkplumbingwg/dra-driver-sriov at cd9404f, and the EKS user guide for Neuron.
const DRIVERS: [(&str, Driver); 9] = [
    ("gpu.nvidia.com", Driver::Accelerator(AcceleratorKind::Nvidia)),
    ("gpu.amd.com", Driver::Accelerator(AcceleratorKind::Amd)),
    ("gpu.intel.com", Driver::Accelerator(AcceleratorKind::Intel)),
    ("gaudi.intel.com", Driver::Accelerator(AcceleratorKind::Gaudi)),
    ("neuron.aws.com", Driver::Accelerator(AcceleratorKind::Neuron)),
    ("tpu.google.com", Driver::Accelerator(AcceleratorKind::Tpu)),
    ("compute-domain.nvidia.com", Driver::ComputeDomain),
    ("dra.net", Driver::Network),
    ("sriovnetwork.k8snetworkplumbingwg.io", Driver::Network),
];

/// Fragments of expressions, without spaces and with single quotes, that require a variant.
const VARIANTS: [(&str, Variant); 6] = [
    ("=='mig'", Variant::Partition),
    ("=='amdgpu-partition'", Variant::Partition),
    ("=='vfio'", Variant::Passthrough),
    ("=='vfio-pci'", Variant::Passthrough),
    ("=='daemon'", Variant::Daemon),
    ("ElasticFabricAdapter", Variant::Efa),
];

/// Maximum number of selectors (`DeviceSelectorsMaxSize` in kubernetes/api).
const MAX_SELECTORS: usize = 32;
/// Maximum length of an expression in bytes (`CELSelectorExpressionMaxLength` in kubernetes/api).
const MAX_EXPRESSION: usize = 10 * 1024;

impl Traits {
    pub(super) const fn new(driver: Driver, variant: Option<Variant>) -> Self {
        Self { driver: Some(driver), variant }
    }

    /// Reads the field `selectors` of a class or request.
    pub(super) fn from_selectors(selectors: Option<&Value>) -> Self {
        let read = selectors.and_then(|selectors| Selectors::deserialize(selectors).ok());
        read.map(|Selectors(traits)| traits).unwrap_or_default()
    }

    /// Returns what two conditions require together.
    pub(super) fn and(self, other: Self) -> Self {
        Self { driver: self.driver.or(other.driver), variant: self.variant.max(other.variant) }
    }

    /// Returns the kind of the devices; `None` if the driver is unknown.
    pub(super) fn kind(self) -> Option<DeviceKind> {
        Some(match (self.driver?, self.variant) {
            (Driver::Accelerator(_), Some(Variant::Partition)) => DeviceKind::Partition,
            (Driver::Accelerator(_), Some(Variant::Passthrough)) | (Driver::ComputeDomain, Some(Variant::Daemon)) => {
                DeviceKind::Other
            }
            (Driver::Accelerator(kind), _) => DeviceKind::Accelerator(kind),
            (Driver::ComputeDomain, _) => DeviceKind::Channel,
            (Driver::Network, Some(Variant::Efa)) => DeviceKind::Adapter(AdapterKind::Efa),
            (Driver::Network, Some(Variant::Gib)) => DeviceKind::Adapter(AdapterKind::Gib),
            (Driver::Network, Some(Variant::Rdma)) => DeviceKind::Adapter(AdapterKind::Any),
            (Driver::Network, Some(Variant::Plain)) => DeviceKind::Other,
            (Driver::Network, _) => DeviceKind::Interface,
        })
    }

    fn from_expression(expression: &str) -> Self {
        let text: String = expression.chars().filter(|char| !char.is_whitespace()).collect();
        let text = text.replace('"', "'");
        let named = DRIVERS.iter().filter(|(name, _)| text.contains(&format!("device.driver=='{name}'")));
        let mut drivers = named.map(|(_, driver)| *driver);
        // An expression with two drivers has alternatives.
        let driver = drivers.next().filter(|first| drivers.all(|other| other == *first));
        let variants = VARIANTS.iter().filter(|(fragment, _)| text.contains(fragment)).map(|(_, variant)| *variant);
        Self { driver, variant: variants.chain(rdma_variant(&text)).max() }
    }
}

impl<'de> Deserialize<'de> for Selectors {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(SelectorsVisitor)
    }
}

impl<'de> Visitor<'de> for SelectorsVisitor {
    type Value = Selectors;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of selectors")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut traits = Traits::default();
        for _ in 0..MAX_SELECTORS {
            let Some(selector) = list.next_element::<Selector>()? else { return Ok(Selectors(traits)) };
            if let Some(Expression(other)) = selector.cel.and_then(|cel| cel.expression) {
                // All selectors must be satisfied.
                traits = traits.and(other);
            }
        }
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Selectors(traits))
    }
}

impl<'de> Deserialize<'de> for Expression {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(ExpressionVisitor)
    }
}

impl Visitor<'_> for ExpressionVisitor {
    type Value = Expression;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an expression")
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        let is_read = text.len() <= MAX_EXPRESSION;
        Ok(Expression(if is_read { Traits::from_expression(text) } else { Traits::default() }))
    }
}

/// Returns whether the expression requires RDMA or excludes it, by dranet's attributes or by the name of an interface such
/// as `gpu0rdma0`.
fn rdma_variant(text: &str) -> Option<Variant> {
    let excludes = |rest: &str| {
        let rest = rest.trim_start_matches(['\'', ']']);
        ["==false", "!=true", ".bool==false", ".bool!=true"].iter().any(|end| rest.starts_with(end))
    };
    let variants = text.split("rdma").skip(1).map(|rest| if excludes(rest) { Variant::Plain } else { Variant::Rdma });
    variants.max()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    const NVIDIA: DeviceKind = DeviceKind::Accelerator(AcceleratorKind::Nvidia);
    const ADAPTER: DeviceKind = DeviceKind::Adapter(AdapterKind::Any);

    #[rstest]
    #[case::gpu(&["device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'gpu'"], Some(NVIDIA))]
    #[case::mig(&["device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'mig'"], Some(DeviceKind::Partition))]
    #[case::not_mig(&["device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type != 'mig'"], Some(NVIDIA))]
    #[case::amd(&[r#"device.driver == "gpu.amd.com""#], Some(DeviceKind::Accelerator(AcceleratorKind::Amd)))]
    #[case::amd_partition(&[r#"device.driver=="gpu.amd.com""#, r#"device.attributes["gpu.amd.com"].type == "amdgpu-partition""#], Some(DeviceKind::Partition))]
    #[case::passthrough(&["device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'vfio'"], Some(DeviceKind::Other))]
    #[case::channel(&["device.driver == 'compute-domain.nvidia.com' && device.attributes['compute-domain.nvidia.com'].type == 'channel'"], Some(DeviceKind::Channel))]
    #[case::daemon(&["device.driver == 'compute-domain.nvidia.com' && device.attributes['compute-domain.nvidia.com'].type == 'daemon'"], Some(DeviceKind::Other))]
    #[case::interface(&[r#"device.driver == "dra.net""#], Some(DeviceKind::Interface))]
    #[case::rdma(&[r#"device.driver == "dra.net""#, r#"device.attributes["dra.net"].rdma"#], Some(ADAPTER))]
    #[case::rdma_of_several(&["device.driver == 'dra.net' && device.attributes['dra.net']['rdma'] == true && device.attributes['dra.net'].virtual == false"], Some(ADAPTER))]
    #[case::without_rdma(&["device.driver == 'dra.net' && device.attributes['dra.net']['rdma'] == false"], Some(DeviceKind::Other))]
    #[case::interface_name(&["device.driver == 'dra.net'", "device.attributes['dra.net'].ifName == 'gpu1rdma0'"], Some(ADAPTER))]
    #[case::efa(&["device.driver == 'dra.net' &&\n  device.attributes['dra.net'].pciDevice == 'Elastic Fabric Adapter (EFA)'"], Some(DeviceKind::Adapter(AdapterKind::Efa)))]
    #[case::two_drivers(&["device.driver == 'gpu.nvidia.com' || device.driver == 'gpu.amd.com'"], None)]
    #[case::other_driver(&["device.driver == 'qat.intel.com'"], None)]
    #[case::none(&[], None)]
    fn selectors_show_the_kind(#[case] expressions: &[&str], #[case] expected: Option<DeviceKind>) {
        let selectors: Value = expressions.iter().map(|text| json!({"cel": {"expression": text}})).collect();
        assert_eq!(Traits::from_selectors(Some(&selectors)).kind(), expected);
    }

    #[rstest]
    #[case::selectors(json!(vec![json!({"cel": {"expression": "x"}}); MAX_SELECTORS]), MAX_SELECTORS)]
    #[case::expression(json!([]), 0)]
    fn selectors_are_bounded(#[case] mut selectors: Value, #[case] listed: usize) {
        let gpu = json!({"cel": {"expression": "device.driver == 'gpu.nvidia.com'"}});
        let list = selectors.as_array_mut().unwrap();
        if listed == MAX_SELECTORS {
            list.push(gpu);
        } else {
            list.push(json!({"cel": {"expression": format!("device.driver == 'gpu.nvidia.com'{}", " ".repeat(MAX_EXPRESSION))}}));
        }
        assert_eq!(Traits::from_selectors(Some(&selectors)).kind(), None);
    }
}
