//! Network topology that the pods of a gang request.

use serde_json::{Value, json};

use crate::pod::Pod;

/// Annotation with the mode of Volcano's network topology.
const MODE: &str = "volcano.sh/network-topology-mode";
/// Annotation with the highest tier that the pods of a gang may span.
const HIGHEST_TIER: &str = "volcano.sh/network-topology-highest-tier";
/// Annotations by which a pod requests a network topology of Volcano.
pub const VOLCANO_TOPOLOGY: [&str; 2] = [MODE, HIGHEST_TIER];

/// Network topology of a gang, as Volcano's own controller reads it from the annotations of a pod (volcano 1.14.1,
/// `pkg/controllers/podgroup`). It creates no `PodGroup` for pods that name one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NetworkTopology {
    /// True if pods may span more tiers if they do not fit otherwise.
    is_soft: bool,
    highest_tier: Option<u32>,
}

impl NetworkTopology {
    /// Reads the annotations of `pod`; `None` if it has none. As for Volcano, only `soft` is soft, and a tier that is no number
    /// is absent.
    #[must_use]
    pub fn read(pod: Pod<'_>) -> Option<Self> {
        let [mode, tier] = VOLCANO_TOPOLOGY.map(|key| pod.annotation(key));
        mode.or(tier)?;
        Some(Self {
            is_soft: mode.is_some_and(|mode| mode.eq_ignore_ascii_case("soft")),
            highest_tier: tier.and_then(|tier| tier.parse::<i32>().ok()).and_then(|tier| u32::try_from(tier).ok()),
        })
    }

    /// Returns the field `networkTopology` of a `PodGroup`.
    #[must_use]
    pub fn to_json(self) -> Value {
        let mode = if self.is_soft { "soft" } else { "hard" };
        match self.highest_tier {
            Some(tier) => json!({"mode": mode, "highestTierAllowed": tier}),
            None => json!({"mode": mode}),
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::none(json!({"other": "soft"}), None)]
    #[case::soft(json!({(MODE): "Soft"}), Some(json!({"mode": "soft"})))]
    #[case::soft_with_tier(json!({(MODE): "soft", (HIGHEST_TIER): "2"}), Some(json!({"mode": "soft", "highestTierAllowed": 2})))]
    #[case::tier_alone(json!({(HIGHEST_TIER): "1"}), Some(json!({"mode": "hard", "highestTierAllowed": 1})))]
    #[case::unknown_mode(json!({(MODE): "loose"}), Some(json!({"mode": "hard"})))]
    #[case::invalid_tier(json!({(MODE): "hard", (HIGHEST_TIER): "-1"}), Some(json!({"mode": "hard"})))]
    #[case::huge_tier(json!({(HIGHEST_TIER): "99999999999"}), Some(json!({"mode": "hard"})))]
    fn annotations_are_read_as_volcano_does(#[case] annotations: Value, #[case] expected: Option<Value>) {
        let pod = json!({"metadata": {"annotations": annotations}});
        assert_eq!(NetworkTopology::read(Pod::new(&pod)).map(NetworkTopology::to_json), expected);
    }
}
