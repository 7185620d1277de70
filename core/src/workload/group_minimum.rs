//! The minimum of a `PodGroup`, on which the checks of gangs depend.

use serde_json::Value;

use super::RenderError;
use super::template::Field;

/// Rejects a `PodGroup` of any API whose minimum is not a whole number, as the apiserver does.
pub(crate) fn validate_group(group: &Value) -> Result<(), RenderError> {
    let spec = Field::root(group).get("spec");
    spec.get("minMember").count()?;
    spec.get("schedulingPolicy").get("gang").get("minCount").count()?;
    Ok(())
}
