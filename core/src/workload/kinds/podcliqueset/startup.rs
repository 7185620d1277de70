//! The order in which cliques start: an init container waits for the preceding cliques.

use serde_json::json;

use super::{GANG, Set};
use crate::workload::RenderError;
use crate::workload::template::{Draft, append};

/// Name of the init container, which reads pods from the apiserver.
const INIT_CONTAINER: &str = "grove-initc";
/// Maximum number of `PodCliques` of a scaling group that the arguments list. For a larger group, a note is added.
const MAX_DEPENDENCIES: u64 = 64;

impl Set<'_> {
    /// Adds the init container if the clique at `index` starts after others.
    pub(super) fn add_startup_order(&self, draft: &mut Draft, index: usize) -> Result<(), RenderError> {
        let before = match self.template.get("cliqueStartupType").text()? {
            Some("CliqueStartupTypeInOrder") => {
                index.checked_sub(1).map(|before| self.cliques[before].name).into_iter().collect()
            }
            Some("CliqueStartupTypeExplicit") => self.cliques[index].starts_after.clone(),
            _ => Vec::new(),
        };
        let mut arguments = Vec::new();
        for name in before {
            let Some(parent) = self.cliques.iter().find(|clique| clique.name == name) else { continue };
            let names = match self.group_of(name) {
                Some(group) => {
                    if group.min_available > MAX_DEPENDENCIES {
                        draft.add_note(format!(
                            "the init container waits for {} PodCliques of {name}; the first ones are shown",
                            group.min_available
                        ));
                    }
                    let replicas = 0..group.min_available.min(MAX_DEPENDENCIES);
                    replicas.map(|replica| format!("{}-{replica}-{name}", self.group_name(group))).collect()
                }
                None => vec![format!("{}-{name}", self.replica_name())],
            };
            arguments.extend(names.iter().map(|name| format!("--podcliques={name}:{}", parent.min_available)));
        }
        if !arguments.is_empty() {
            self.add_init_container(draft, &arguments);
        }
        Ok(())
    }

    fn add_init_container(&self, draft: &mut Draft, arguments: &[String]) {
        let secret = json!({"secretName": format!("{}-ic-sat", self.owner.name), "defaultMode": 420});
        let items = json!([
            {"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}},
            {"path": "podgangname", "fieldRef": {"fieldPath": format!("metadata.labels['{GANG}']")}},
        ]);
        let volumes = [
            json!({"name": "sa-token-secret-vol", "secret": secret}),
            json!({"name": "pod-info-vol", "downwardAPI": {"items": items}}),
        ];
        append(&mut draft.spec, "volumes", volumes);
        let container = json!({
            "name": INIT_CONTAINER,
            "image": INIT_CONTAINER,
            "args": arguments,
            "volumeMounts": [
                {"name": "pod-info-vol", "readOnly": true, "mountPath": "/var/grove/pod-info"},
                {"name": "sa-token-secret-vol", "readOnly": true, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"},
            ],
        });
        append(&mut draft.spec, "initContainers", [container]);
        draft.add_note("the registry and the version of the image grove-initc are those of the operator");
    }
}
