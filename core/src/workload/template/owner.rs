//! The object that makes a pod, as the pod refers to it.

use serde_json::{Value, json};

use super::{Field, ZERO_SUFFIX, ZERO_UID, truncate};
use crate::workload::{Manifest, RenderError};

/// The longest `generateName` that the apiserver keeps whole before it adds a random suffix.
const LONGEST_GENERATED_BASE: usize = 58;
/// The longest name of a pod (a DNS subdomain).
const LONGEST_NAME: usize = 253;

/// The object that controls a pod.
#[derive(Clone, Debug)]
pub(in crate::workload) struct Owner<'a> {
    /// Its name; a `generateName` is completed with [`ZERO_SUFFIX`].
    pub(in crate::workload) name: String,
    /// Its uid, or [`ZERO_UID`].
    pub(in crate::workload) uid: &'a str,
    /// Whether the apiserver completes its name, or that of the workload that makes it.
    pub(in crate::workload) name_is_generated: bool,
    api_version: &'static str,
    kind: &'static str,
}

impl<'a> Owner<'a> {
    /// The object of the manifest itself. Its group and version are those that the operator writes, which need not
    /// be those of the manifest.
    pub(in crate::workload) fn of(
        manifest: &Manifest<'a>,
        api_version: &'static str,
        kind: &'static str,
    ) -> Result<Self, RenderError> {
        let metadata = Field::root(manifest.raw).get("metadata");
        let uid = metadata.get("uid").text()?.unwrap_or(ZERO_UID);
        if let Some(name) = metadata.get("name").text()? {
            return Ok(Self { name: name.to_owned(), uid, api_version, kind, name_is_generated: false });
        }
        let base = metadata.get("generateName").text()?.ok_or_else(|| metadata.get("name").missing())?;
        let name = format!("{}{ZERO_SUFFIX}", truncate(base, LONGEST_GENERATED_BASE));
        Ok(Self { name, uid, api_version, kind, name_is_generated: true })
    }

    /// An object that the operator creates between this one and the pod.
    pub(in crate::workload) fn makes(&self, api_version: &'static str, kind: &'static str, name: String) -> Self {
        Self { name, uid: ZERO_UID, api_version, kind, name_is_generated: self.name_is_generated }
    }

    /// The reference by which a pod names this object as its controller.
    pub(super) fn reference(&self) -> Value {
        json!({
            "apiVersion": self.api_version,
            "kind": self.kind,
            "name": self.name,
            "uid": self.uid,
            "controller": true,
            "blockOwnerDeletion": true,
        })
    }

    /// The `generateName` of its pods.
    pub(super) fn generate_name(&self) -> String {
        if self.name.len() < LONGEST_NAME { format!("{}-", self.name) } else { self.name.clone() }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::workload::Runtimes;

    #[rstest]
    #[case::whole(json!({"name": "llama", "uid": "u1"}), "llama", "u1")]
    #[case::generated(json!({"generateName": "llama-"}), "llama-00000", ZERO_UID)]
    #[case::empty_name(json!({"name": "", "generateName": "llama-"}), "llama-00000", ZERO_UID)]
    #[case::cut_by_the_apiserver(
        json!({"generateName": "n".repeat(60)}), &format!("{}00000", "n".repeat(58)), ZERO_UID
    )]
    fn names(#[case] metadata: Value, #[case] name: &str, #[case] uid: &str) {
        let raw = json!({"metadata": metadata});
        let manifest = Manifest { raw: &raw, namespace: "team", runtimes: &Runtimes::default() };
        let owner = Owner::of(&manifest, "batch/v1", "Job").unwrap();
        assert_eq!((owner.name.as_str(), owner.uid), (name, uid));
        assert_eq!(owner.makes("v1", "Pod", "made".to_owned()).uid, ZERO_UID);
    }
}
