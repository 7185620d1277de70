//! Devices, claims and networks that a profile adds to pods.

use super::{Amount, MachinePattern, Profile, Ratios, Resource, ResourceName};

impl Profile {
    /// Returns true if the profile adds RDMA adapters to pods, by resources, claims or networks. Adapters of a pod's own would
    /// then be a second set.
    #[must_use]
    pub fn adds_adapters(&self) -> bool {
        let by_resource =
            self.resources.iter().any(|resource| !resource.opt_in) || self.dra.extended_resource.is_some();
        self.is_rdma() && (by_resource || !self.dra.claims.is_empty() || self.attaches_networks())
    }

    /// Returns true if the profile attaches networks of Multus or GKE to pods.
    #[must_use]
    pub fn attaches_networks(&self) -> bool {
        !(self.networks.multus.attach.is_empty() && self.networks.gke.interfaces.is_empty())
    }

    /// Returns true if the profile adds claims from the `ResourceClaimTemplate` called `template`.
    #[must_use]
    pub fn names_template(&self, template: &str) -> bool {
        self.dra.claims.iter().any(|claim| claim.resource_claim_template_name.as_str() == template)
    }

    /// Returns true if the profile adds the extended resource called `name`.
    #[must_use]
    pub fn requests_resource(&self, name: &str) -> bool {
        let names = self.resources.iter().map(|resource| &resource.name).chain(&self.dra.extended_resource);
        names.map(ResourceName::as_str).any(|known| known == name)
    }

    /// Returns true if both profiles add a device, claim or network of the same name.
    #[must_use]
    pub fn shares_devices(&self, other: &Self) -> bool {
        self.device_names().any(|name| other.device_names().any(|found| found == name))
    }

    /// Returns true if the profile names exactly `machine` or its family, for itself or for a number of devices. Patterns may match
    /// similar names of other providers.
    #[must_use]
    pub fn names_machine(&self, machine: &str) -> bool {
        let is_named = |name: &str| MachinePattern::parse(name).is_some_and(|pattern| pattern.matches(machine));
        let has_ratio = |resource: &Resource| match &resource.amount {
            Amount::Devices { ratio: Ratios::ByInstanceType(ratios), .. } => ratios.keys().any(|name| is_named(name)),
            Amount::Devices { .. } | Amount::Memory { .. } => false,
        };
        let is_exact = |pattern: &&MachinePattern| !pattern.as_str().ends_with('*');
        self.matches.machines.iter().filter(is_exact).any(|pattern| pattern.matches(machine))
            || self.resources.iter().any(has_ratio)
    }

    /// Returns the names of machines that the profile lists exactly, for itself or for a number of devices.
    pub fn exact_machines(&self) -> impl Iterator<Item = &str> {
        let listed = self.matches.machines.iter().map(MachinePattern::as_str);
        listed.filter(|name| !name.ends_with('*')).chain(self.ratio_machines())
    }

    /// Returns the first machine with a number of devices to which the profile does not apply.
    #[must_use]
    pub fn excluded_machine(&self) -> Option<&str> {
        let is_excluded = |name: &&str| {
            let pattern = MachinePattern::parse(name);
            pattern.is_some_and(|pattern| !MachinePattern::overlap(&self.matches.machines, &[pattern]))
        };
        self.ratio_machines().find(is_excluded)
    }

    /// Returns the names of the machines with a number of devices.
    fn ratio_machines(&self) -> impl Iterator<Item = &str> {
        let ratios = self.resources.iter().filter_map(|resource| match &resource.amount {
            Amount::Devices { ratio: Ratios::ByInstanceType(ratios), .. } => Some(ratios.keys().map(String::as_str)),
            Amount::Devices { .. } | Amount::Memory { .. } => None,
        });
        ratios.flatten()
    }

    fn device_names(&self) -> impl Iterator<Item = &str> {
        let is_device = |resource: &&Resource| matches!(resource.amount, Amount::Devices { .. });
        let resources = self.resources.iter().filter(is_device).map(|resource| &resource.name);
        let claims = self.dra.claims.iter().map(|claim| claim.resource_claim_template_name.as_str());
        let networks = self.networks.multus.attach.iter().map(|attach| attach.name.as_str());
        let interfaces = self.networks.gke.interfaces.iter().map(|interface| interface.network.as_str());
        let resources = resources.chain(&self.dra.extended_resource).map(ResourceName::as_str);
        resources.chain(claims).chain(networks).chain(interfaces)
    }
}
