//! The master of an `ElasticJob`. The operator creates it from the job's template, or from a default template.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{JOB, Job, MASTER, REPLICA_INDEX, ROLE};
use crate::workload::template::{Draft, Field, containers, list_mut};
use crate::workload::{RenderError, RolePod};

/// Port of the master.
pub(super) const PORT: u16 = 50001;
/// Image of the master: the default of the operator's flag `--master-image`.
const IMAGE: &str = "registry.cn-hangzhou.aliyuncs.com/intell-ai/dlrover:latest";
/// Annotations of the job that the master gets as arguments.
const ARGUMENTS: [&str; 8] = [
    "pending_timeout",
    "pending_fail_strategy",
    "service_type",
    "pre_check_ops",
    "pre_check_bypass",
    "training_elastic_mode",
    "enable_dashboard",
    "dashboard_port",
];

impl Job<'_> {
    /// Renders the job's master. `template` is that of the job, which may be absent.
    pub(super) fn master(&self, template: &Field<'_>) -> Result<RolePod, RenderError> {
        let default = self.master_template()?;
        let is_default = !template.is_present();
        let default = Field::with_path(&default, template.path());
        let mut draft = Draft::new(if is_default { &default } else { template }, &self.owner, self.namespace)?;
        draft.finalizers.clear();
        draft.set_name(format!("elasticjob-{}-{MASTER}-0", self.owner.name));
        draft.label("app.kubernetes.io/name", "elasticjob");
        draft.label(JOB, self.owner.name.as_str());
        draft.labels.extend(self.metadata.get("labels").cloned_object()?);
        draft.annotations.extend(self.metadata.get("annotations").cloned_object()?);
        draft.label(ROLE, MASTER);
        draft.label(REPLICA_INDEX, "0");
        let address =
            json!({"name": "POD_IP", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}});
        match containers(&mut draft.spec).next() {
            Some(container) => _ = list_mut(container, "env").map(|list| list.push(address)),
            None => return Err(template.get("spec").get("containers").missing()),
        }
        if is_default {
            draft.add_note("the image is that of the operator's flag --master-image, shown with its default");
        }
        Ok(draft.into_role(MASTER, 1))
    }

    fn master_template(&self) -> Result<Value, RenderError> {
        let mut command = format!(
            "python -m dlrover.python.master.main --platform pyk8s --namespace {} --job_name {} --port {PORT}",
            self.namespace, self.owner.name
        );
        let annotations = self.metadata.get("annotations");
        for argument in ARGUMENTS {
            if let Some(value) = annotations.get(argument).raw_text()? {
                // Writing to a string cannot fail.
                let _ = write!(command, " --{argument} {value}");
            }
        }
        let amounts = json!({"cpu": "1", "memory": "2Gi", "ephemeral-storage": "2Gi"});
        let container = json!({
            "name": "main",
            "image": IMAGE,
            "imagePullPolicy": "Always",
            "command": ["/bin/bash", "-c", command],
            "resources": {"requests": amounts, "limits": amounts},
        });
        Ok(json!({"spec": {"containers": [container], "restartPolicy": "Never"}}))
    }
}
