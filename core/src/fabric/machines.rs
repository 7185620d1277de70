//! Devices of machines, as far as they are known: those of AWS's instance types with GPUs.

use std::borrow::Cow;

use crate::hint::{MAX_COMPARED, nearest};

/// Devices of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MachineDevices {
    /// Number of NVIDIA GPUs.
    pub gpus: u64,
    /// Number of Elastic Fabric Adapters; `None` if it is not known.
    pub efa: Option<u64>,
}

/// Instance types of AWS, each with its numbers of GPUs and of Elastic Fabric Adapters (aws/karpenter-provider-aws,
/// `website/content/en/preview/reference/instance-types.md`, 1d927085dd81, 2026-08-21).
#[rustfmt::skip]
const INSTANCE_TYPES: [(&str, u64, u64); 54] = [
    ("g4dn.xlarge", 1, 0),
    ("g4dn.2xlarge", 1, 0),
    ("g4dn.4xlarge", 1, 0),
    ("g4dn.8xlarge", 1, 1),
    ("g4dn.12xlarge", 4, 1),
    ("g4dn.16xlarge", 1, 1),
    ("g4dn.metal", 8, 1),
    ("g5.xlarge", 1, 0),
    ("g5.2xlarge", 1, 0),
    ("g5.4xlarge", 1, 0),
    ("g5.8xlarge", 1, 1),
    ("g5.12xlarge", 4, 1),
    ("g5.16xlarge", 1, 1),
    ("g5.24xlarge", 4, 1),
    ("g5.48xlarge", 8, 1),
    ("g6.xlarge", 1, 0),
    ("g6.2xlarge", 1, 0),
    ("g6.4xlarge", 1, 0),
    ("g6.8xlarge", 1, 1),
    ("g6.12xlarge", 4, 1),
    ("g6.16xlarge", 1, 1),
    ("g6.24xlarge", 4, 1),
    ("g6.48xlarge", 8, 1),
    ("g6e.xlarge", 1, 0),
    ("g6e.2xlarge", 1, 0),
    ("g6e.4xlarge", 1, 0),
    ("g6e.8xlarge", 1, 1),
    ("g6e.12xlarge", 4, 1),
    ("g6e.16xlarge", 1, 1),
    ("g6e.24xlarge", 4, 2),
    ("g6e.48xlarge", 8, 4),
    ("g7.2xlarge", 1, 0),
    ("g7.4xlarge", 1, 0),
    ("g7.8xlarge", 1, 1),
    ("g7.12xlarge", 2, 1),
    ("g7.24xlarge", 4, 1),
    ("g7.48xlarge", 8, 2),
    ("g7e.2xlarge", 1, 0),
    ("g7e.4xlarge", 1, 0),
    ("g7e.8xlarge", 1, 1),
    ("g7e.12xlarge", 2, 1),
    ("g7e.24xlarge", 4, 2),
    ("g7e.48xlarge", 8, 4),
    ("gr6.4xlarge", 1, 0),
    ("gr6.8xlarge", 1, 1),
    ("p3dn.24xlarge", 8, 1),
    ("p4d.24xlarge", 8, 4),
    ("p4de.24xlarge", 8, 4),
    ("p5.4xlarge", 1, 1),
    ("p5.48xlarge", 8, 32),
    ("p5e.48xlarge", 8, 32),
    ("p5en.48xlarge", 8, 16),
    ("p6-b200.48xlarge", 8, 8),
    ("p6-b300.48xlarge", 8, 16),
];

/// Instance types that this list lacks, each with its number of GPUs. Sources differ about their adapters: manifests of
/// awslabs/awsome-distributed-ai request 4 on a p6e-gb200, and aws/aws-parallelcluster adds one for each network card.
const WITHOUT_ADAPTERS: [(&str, u64); 1] = [("p6e-gb200.36xlarge", 4)];

/// Returns the devices of `machine`, the value of the node label for instance types; `None` if they are not known.
#[must_use]
pub fn machine_devices(machine: &str) -> Option<MachineDevices> {
    let listed = INSTANCE_TYPES.iter().map(|(name, gpus, efa)| (*name, *gpus, Some(*efa)));
    let others = WITHOUT_ADAPTERS.iter().map(|(name, gpus)| (*name, *gpus, None));
    let (_, gpus, efa) = listed.chain(others).find(|(name, ..)| *name == machine)?;
    Some(MachineDevices { gpus, efa })
}

/// Unit of the sizes of instance types.
const UNIT: &str = "xlarge";

/// Returns the instance type that `machine`, the name of none, is meant to be: one whose name has the same letters and digits, or one of
/// the same family whose size is similar. A size that has the form of one may be new.
#[must_use]
pub fn misspelled_machine(machine: &str) -> Option<Cow<'static, str>> {
    if machine.len() > MAX_COMPARED || machine_devices(machine).is_some() {
        return None;
    }
    let others = WITHOUT_ADAPTERS.iter().map(|(name, _)| *name);
    let mut names = INSTANCE_TYPES.iter().map(|(name, ..)| *name).chain(others);
    if let Some(same) = names.find(|name| folded(name) == folded(machine)) {
        return Some(same.into());
    }
    let (family, size) = machine.split_once('.').filter(|(_, size)| !is_size(size))?;
    let of_family = |name: &&str| name.split_once('.').is_some_and(|(start, _)| start == family);
    let names: Vec<&'static str> = INSTANCE_TYPES.iter().map(|(name, ..)| *name).filter(of_family).collect();
    let without_unit = names.iter().find(|name| name.strip_suffix(UNIT) == Some(machine)).copied();
    let count = size.trim_end_matches(|character: char| character.is_ascii_alphabetic());
    let is_count = !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit());
    let is_misspelled = is_count && strsim::osa_distance(&size[count.len()..], UNIT) <= 2;
    let with_unit = (is_misspelled && is_family(family)).then(|| format!("{family}.{count}{UNIT}"));
    // The number is more likely to be right than the most similar name: `48large` resembles `4xlarge` as much as `48xlarge`.
    let of_count = names.iter().find(|name| with_unit.as_deref() == Some(**name)).copied();
    if let Some(near) = without_unit.or(of_count).or_else(|| nearest(machine, &names)) {
        return Some(near.into());
    }
    with_unit.map(Cow::from)
}

/// Returns the letters and digits of `name`, which identify an instance type.
fn folded(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase()
}

/// Returns true if `family` has the form of the first part of an AWS instance type, such as `trn1` or `p6-b200`: letters with a number.
fn is_family(family: &str) -> bool {
    let rest = family.trim_start_matches(|character: char| character.is_ascii_lowercase());
    rest.len() < family.len() && rest.starts_with(|character: char| character.is_ascii_digit())
}

/// Returns true if `size` is the second part of an AWS instance type, such as `48xlarge` or `metal-24xl`. A type with
/// another suffix is misspelled, and no node has it. Only `xlarge` has a number in front. Source: "Amazon EC2 instance type naming
/// conventions" of AWS's documentation, read in November 2026.
pub(crate) fn is_size(size: &str) -> bool {
    let unit = size.trim_start_matches(|character: char| character.is_ascii_digit());
    let is_plain = ["nano", "micro", "small", "medium", "large", "metal"].contains(&size);
    is_plain || unit == UNIT || size.starts_with("metal-")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::config::Profiles;
    use crate::config::profile::{Amount, Ratios};

    #[rstest]
    #[case::several("p5en.48xlarge", Some((8, Some(16))))]
    #[case::one("p5.4xlarge", Some((1, Some(1))))]
    #[case::without_adapters("g5.xlarge", Some((1, Some(0))))]
    #[case::unknown_adapters("p6e-gb200.36xlarge", Some((4, None)))]
    #[case::family("p5en", None)]
    #[case::another_size("p5en.24xlarge", None)]
    fn devices_are_those_of_the_instance_type(#[case] machine: &str, #[case] expected: Option<(u64, Option<u64>)>) {
        assert_eq!(machine_devices(machine).map(|devices| (devices.gpus, devices.efa)), expected);
    }

    #[rstest]
    #[case::suffix("p5.48xlrge", Some("p5.48xlarge"))]
    #[case::first_letter_of_the_unit("p5.48large", Some("p5.48xlarge"))]
    #[case::first_letter_of_one_with_another_size("p4d.24large", Some("p4d.24xlarge"))]
    #[case::first_letter_behind_a_dash("p6-b200.48large", Some("p6-b200.48xlarge"))]
    #[case::first_letter_in_another_family("trn1.32large", Some("trn1.32xlarge"))]
    #[case::number_before_another_unit("c7i.2metal", None)]
    #[case::large("m7i.large", None)]
    #[case::xlarge("m7i.xlarge", None)]
    #[case::medium("t3.medium", None)]
    #[case::metal("c5.metal", None)]
    #[case::case_of_letters("P5.48xlarge", Some("p5.48xlarge"))]
    #[case::dash("p5-48xlarge", Some("p5.48xlarge"))]
    #[case::underscore("p5_48xlarge", Some("p5.48xlarge"))]
    #[case::dash_missing("p6b200.48xlarge", Some("p6-b200.48xlarge"))]
    #[case::unit_missing("p5.48", Some("p5.48xlarge"))]
    #[case::family_without_gpus("trn1.32xlage", Some("trn1.32xlarge"))]
    #[case::other_family("trn1.32xlarge", None)]
    #[case::family_of_processors("m7i.metal-24xl", None)]
    #[case::size_of_another_cloud("h100-80gb-sxm-ib.8x", None)]
    #[case::shape("BM.GPU.H100.8", None)]
    #[case::machine_of_gke("a3-ultragpu-8g", None)]
    #[case::machine_of_azure("Standard_ND96isr_H100_v5", None)]
    #[case::empty("", None)]
    #[case::long(&"p5.".repeat(1_000), None)]
    #[case::right("p5.48xlarge", None)]
    #[case::another_size("p5.24xlarge", None)]
    #[case::new_family("p9.48xlrge", Some("p9.48xlarge"))]
    #[case::no_type("dgx-h100", None)]
    fn misspelled_sizes_have_a_suggestion(#[case] machine: &str, #[case] expected: Option<&str>) {
        assert_eq!(misspelled_machine(machine).as_deref(), expected);
    }

    #[test]
    fn the_ratios_of_built_in_profiles_give_these_adapters() {
        let profiles = Profiles::default();
        for name in ["eks-efa", "eks-efa-dra"] {
            let resource = &profiles.find(name).unwrap().profile.resources[0];
            let Amount::Devices { ratio: Ratios::ByInstanceType(ratios), .. } = &resource.amount else {
                panic!("{name}")
            };
            for (machine, ratio) in ratios {
                let Some(devices) = machine_devices(machine).filter(|devices| devices.efa.is_some()) else { continue };
                assert_eq!(ratio.devices_for(devices.gpus), devices.efa, "{name} on {machine}");
            }
        }
    }
}
