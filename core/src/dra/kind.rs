//! Kinds of devices, as far as they matter to fabrics.

use crate::fabric::is_rdma_resource;

/// Kind of the devices of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceKind {
    /// Whole accelerators.
    Accelerator(AcceleratorKind),
    /// Partitions of accelerators, which NCCL does not connect by RDMA.
    Partition,
    /// RDMA adapters.
    Adapter(AdapterKind),
    /// Network interfaces; the claim does not show whether they support RDMA.
    Interface,
    /// Channels of a `ComputeDomain`, for `NVLink` between nodes.
    Channel,
    /// Other devices.
    Other,
}

/// Product family of accelerators, such as GPUs of one vendor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcceleratorKind {
    /// GPUs of NVIDIA.
    Nvidia,
    /// GPUs of AMD.
    Amd,
    /// GPUs of Intel.
    Intel,
    /// Gaudi of Intel.
    Gaudi,
    /// Trainium and Inferentia of AWS.
    Neuron,
    /// TPUs of Google.
    Tpu,
}

/// Kind of RDMA adapters: some work only with certain transports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdapterKind {
    /// Elastic Fabric Adapter of AWS.
    Efa,
    /// Adapters of Google's managed RDMA network, for the plugin gIB.
    Gib,
    /// The claim does not show the transport.
    Any,
}

/// Prefix of MIG devices of the device plugin.
const MIG_PREFIX: &str = "nvidia.com/mig-";

const ACCELERATORS: [AcceleratorKind; 6] = [
    AcceleratorKind::Nvidia,
    AcceleratorKind::Amd,
    AcceleratorKind::Intel,
    AcceleratorKind::Gaudi,
    AcceleratorKind::Neuron,
    AcceleratorKind::Tpu,
];

impl DeviceKind {
    /// Returns the kind that extended resource `name` stands for, if it is known.
    #[must_use]
    pub fn of_resource(name: &str) -> Option<Self> {
        let accelerator = ACCELERATORS.into_iter().find(|kind| kind.resources().contains(&name));
        accelerator
            .map(Self::Accelerator)
            .or_else(|| name.starts_with(MIG_PREFIX).then_some(Self::Partition))
            .or_else(|| is_rdma_resource(name).then_some(Self::Adapter(AdapterKind::Any)))
    }

    /// Returns the extended resources that device plugins use for the same devices, the usual one first. Returns the
    /// prefix of the resources for partitions, and nothing for other kinds.
    #[must_use]
    pub fn accelerator_resources(self) -> &'static [&'static str] {
        match self {
            Self::Accelerator(kind) => kind.resources(),
            Self::Partition => &[MIG_PREFIX],
            Self::Adapter(_) | Self::Interface | Self::Channel | Self::Other => &[],
        }
    }

    /// Returns true for accelerators.
    #[must_use]
    pub fn is_accelerator(self) -> bool {
        matches!(self, Self::Accelerator(_))
    }

    /// Returns true for RDMA adapters.
    #[must_use]
    pub fn is_adapter(self) -> bool {
        matches!(self, Self::Adapter(_))
    }
}

impl AcceleratorKind {
    /// Returns the extended resources of device plugins for these accelerators.
    #[must_use]
    pub fn resources(self) -> &'static [&'static str] {
        match self {
            Self::Nvidia => &["nvidia.com/gpu"],
            Self::Amd => &["amd.com/gpu"],
            Self::Intel => &["gpu.intel.com/xe", "gpu.intel.com/i915"],
            Self::Gaudi => &["habana.ai/gaudi"],
            Self::Neuron => &["aws.amazon.com/neuron"],
            Self::Tpu => &["google.com/tpu"],
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::pod::is_accelerator;

    #[rstest]
    #[case("nvidia.com/gpu", Some(DeviceKind::Accelerator(AcceleratorKind::Nvidia)))]
    #[case("gpu.intel.com/i915", Some(DeviceKind::Accelerator(AcceleratorKind::Intel)))]
    #[case("nvidia.com/mig-1g.12gb", Some(DeviceKind::Partition))]
    #[case("rdma/ib", Some(DeviceKind::Adapter(AdapterKind::Any)))]
    #[case("example.com/fpga", None)]
    fn resources_stand_for_kinds(#[case] resource: &str, #[case] expected: Option<DeviceKind>) {
        assert_eq!(DeviceKind::of_resource(resource), expected);
    }

    #[test]
    fn every_vendor_has_a_resource_that_counts_as_accelerator() {
        for kind in ACCELERATORS {
            assert!(kind.resources().iter().all(|resource| is_accelerator(resource)), "{kind:?}");
        }
    }
}
