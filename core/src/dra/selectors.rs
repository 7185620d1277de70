//! Kind of devices, as far as the selectors of a class or request show it. The expressions are not evaluated: only equality
//! with a known driver or type counts.

mod decode;
#[cfg(test)]
mod tests;

use serde::Deserialize as _;
use serde_json::Value;

use super::kind::{AcceleratorKind, AdapterKind, DeviceKind};
pub(super) use decode::Selectors;

/// Driver and variant that selectors require.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Traits {
    pub(super) driver: Option<Driver>,
    pub(super) variant: Option<Variant>,
}

/// Driver of devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Driver {
    /// A driver that is not listed.
    Other,
    Accelerator(AcceleratorKind),
    /// NVIDIA's driver for channels and daemons of `ComputeDomains`.
    ComputeDomain,
    /// A driver for network interfaces, with or without RDMA.
    Network,
}

/// Subset of a driver's devices, ordered from the least to the most specific.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Variant {
    /// A condition with alternatives or a negation mentions a subset.
    Unclear,
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
const VARIANTS: [(&str, Variant); 7] = [
    ("=='mig'", Variant::Partition),
    ("=='amdgpu-partition'", Variant::Partition),
    ("=='vfio'", Variant::Passthrough),
    ("=='vfio-pci'", Variant::Passthrough),
    ("=='daemon'", Variant::Daemon),
    ("=='ElasticFabricAdapter", Variant::Efa),
    ("('ElasticFabricAdapter", Variant::Efa),
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

    /// Returns the requirements of both conditions.
    pub(super) fn and(self, other: Self) -> Self {
        Self { driver: self.driver.or(other.driver), variant: self.variant.max(other.variant) }
    }

    /// Returns the kind of the devices; `None` if the driver is unknown.
    pub(super) fn kind(self) -> Option<DeviceKind> {
        Some(match (self.driver?, self.variant) {
            (Driver::Other, _) | (Driver::Accelerator(_) | Driver::ComputeDomain, Some(Variant::Unclear)) => {
                return None;
            }
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
        conditions(&text).into_iter().map(Self::from_condition).fold(Self::default(), Self::and)
    }

    /// Reads one of the conditions that an expression joins by `&&`. A condition with alternatives or a negation
    /// requires no driver; if it mentions a variant, the variant is [`Variant::Unclear`].
    fn from_condition(text: &str) -> Self {
        if text.contains("||") || text.contains('?') || has_negation(text) {
            let literal = |fragment: &str| text.contains(fragment.trim_start_matches(['=', '(']));
            let is_unclear = text.contains("rdma") || VARIANTS.iter().any(|(fragment, _)| literal(fragment));
            return Self { driver: None, variant: is_unclear.then_some(Variant::Unclear) };
        }
        let driver = text
            .split_once("device.driver=='")
            .and_then(|(_, rest)| rest.split('\'').next())
            .map(|name| DRIVERS.iter().find(|(known, _)| *known == name).map_or(Driver::Other, |(_, driver)| *driver));
        let variants = VARIANTS.iter().filter(|(fragment, _)| text.contains(fragment)).map(|(_, variant)| *variant);
        Self { driver, variant: variants.chain(rdma_variant(text)).max() }
    }
}

/// Splits an expression at the `&&` outside of parentheses and strings.
fn conditions(text: &str) -> Vec<&str> {
    let (mut found, mut start, mut depth, mut is_quoted) = (Vec::new(), 0_usize, 0_u32, false);
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            b'\'' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            b'(' | b'[' => depth = depth.saturating_add(1),
            b')' | b']' => depth = depth.saturating_sub(1),
            b'&' if depth == 0 && index >= start => {
                found.extend(text.get(start..index));
                start = index.saturating_add(2);
            }
            _ => {}
        }
    }
    found.extend(text.get(start..));
    // `a || b && c` is `a || (b && c)`: the parts around `&&` are not independent conditions.
    let has_alternatives = found.iter().any(|condition| is_alternative(condition));
    if has_alternatives { vec![text] } else { found }
}

/// Returns true if the text has an operator `||` or `?` outside of parentheses and strings.
fn is_alternative(text: &str) -> bool {
    let (mut depth, mut is_quoted) = (0_u32, false);
    text.bytes().any(|byte| {
        match byte {
            b'\'' => is_quoted = !is_quoted,
            b'(' | b'[' if !is_quoted => depth = depth.saturating_add(1),
            b')' | b']' if !is_quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        !is_quoted && depth == 0 && matches!(byte, b'|' | b'?')
    })
}

/// Returns true if the condition contains the operator `!`.
fn has_negation(text: &str) -> bool {
    let next = text.bytes().skip(1).chain([b' ']);
    text.bytes().zip(next).any(|(byte, next)| byte == b'!' && next != b'=')
}

/// Returns whether the condition requires RDMA or excludes it, by dranet's attributes or by the name of an interface such
/// as `gpu0rdma0`.
fn rdma_variant(text: &str) -> Option<Variant> {
    let excludes = |rest: &str| {
        let rest = rest.trim_start_matches(['\'', ']']);
        ["==false", "!=true", ".bool==false", ".bool!=true"].iter().any(|end| rest.starts_with(end))
    };
    let variants = text.split("rdma").skip(1).map(|rest| if excludes(rest) { Variant::Plain } else { Variant::Rdma });
    variants.max()
}
