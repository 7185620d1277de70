//! Renders pod 0 of a clique: in replica 0 of the set and, if the clique is in a scaling group, in replica 0 of the
//! group.

use serde_json::{Map, Value, json};

use super::{
    API_VERSION, CLIQUE, GANG, POD_INDEX, SCALING_GROUP, SCALING_GROUP_REPLICA, SET, SET_REPLICA, ScalingGroup, Set,
};
use crate::workload::template::{
    Draft, Field, ZERO_HASH, all_containers, env, env_from_field, list_mut, require_pod_spec, text,
};
use crate::workload::{RenderError, RolePod};

/// Annotation of a clique that its pods do not inherit.
const TOPOLOGY_NAME: &str = "grove.io/topology-name";
/// Annotation of a clique or set that requests a `ComputeDomain`.
const MNNVL_GROUP: &str = "grove.io/mnnvl-group";
/// Default of `schedulerName`; the operator's configuration can set another one.
const DEFAULT_SCHEDULER: &str = "default-scheduler";

/// One entry of `spec.template.cliques`.
pub(super) struct Clique<'a> {
    pub(super) name: &'a str,
    pub(super) replicas: u64,
    pub(super) min_available: u64,
    pub(super) starts_after: Vec<&'a str>,
    field: Field<'a>,
}

impl<'a> Clique<'a> {
    pub(super) fn read(field: Field<'a>) -> Result<Self, RenderError> {
        let spec = field.get("spec");
        let replicas = spec.get("replicas").count()?.unwrap_or(0);
        let mut starts_after = Vec::new();
        for name in spec.get("startsAfter").items()? {
            starts_after.push(name.required_text()?);
        }
        Ok(Self {
            name: field.get("name").required_text()?,
            replicas: replicas.max(1),
            // Defaults to `replicas` as written in the manifest, not to the minimum of 1.
            min_available: spec.get("minAvailable").count()?.unwrap_or(replicas),
            starts_after,
            field,
        })
    }
}

impl<'a> Set<'a> {
    /// Renders the clique at `index`.
    pub(super) fn role(&self, index: usize) -> Result<RolePod, RenderError> {
        let clique = &self.cliques[index];
        let group = self.group_of(clique.name);
        let owner = group.map_or_else(|| self.replica_name(), |group| format!("{}-0", self.group_name(group)));
        let name = format!("{owner}-{}", clique.name);
        let mut draft = self.draft(clique, &name)?;
        self.add_labels(&mut draft, &name, group);
        add_scheduler(&mut draft, &name);
        self.add_env(&mut draft, &name, group);
        draft.set("hostname", format!("{name}-0"));
        draft.set("subdomain", self.replica_name());
        self.add_startup_order(&mut draft, index)?;
        self.add_notes(&mut draft, clique, group);
        let groups = group.map_or(1, |group| group.replicas);
        let replicas = self.replicas.saturating_mul(groups).saturating_mul(clique.replicas);
        Ok(draft.into_role(clique.name, replicas))
    }

    /// Creates the pod of the `PodClique` `name`.
    fn draft(&self, clique: &Clique<'_>, name: &str) -> Result<Draft, RenderError> {
        let (field, pod_spec) = (&clique.field, clique.field.get("spec").get("podSpec"));
        require_pod_spec(&pod_spec)?;
        let template = json!({
            "metadata": {"labels": field.get("labels").cloned_object()?, "annotations": field.get("annotations").cloned_object()?},
            "spec": pod_spec.required_object()?,
        });
        let path = field.get("spec").path().to_owned();
        let template = Field::with_path(&template, path);
        let owner = self.owner.child(API_VERSION, "PodClique", name.to_owned());
        let mut draft = Draft::new(&template, &owner, self.namespace)?;
        draft.annotations.remove(TOPOLOGY_NAME);
        draft.set_default("restartPolicy", "Always");
        draft.spec.entry("terminationGracePeriodSeconds").or_insert_with(|| 30.into());
        draft.set("schedulingGates", json!([{"name": "grove.io/podgang-pending-creation"}]));
        Ok(draft)
    }

    fn add_labels(&self, draft: &mut Draft, name: &str, group: Option<&ScalingGroup<'a>>) {
        let set = self.owner.name.as_str();
        let component = if group.is_some() { "pcsg-podclique" } else { "pcs-podclique" };
        for (key, value) in [
            ("app.kubernetes.io/managed-by", "grove-operator"),
            (SET, set),
            ("app.kubernetes.io/name", name),
            ("app.kubernetes.io/component", component),
            (SET_REPLICA, "0"),
            (GANG, &self.gang(group)),
            ("grove.io/pod-template-hash", ZERO_HASH),
            (CLIQUE, name),
            (POD_INDEX, "0"),
        ] {
            draft.label(key, value);
        }
        if let Some(group) = group {
            draft.label(SCALING_GROUP, self.group_name(group));
            draft.label(SCALING_GROUP_REPLICA, "0");
        }
    }

    /// Returns the name of the gang of replica 0: the gang of the set, or that of the scaling group if its
    /// `minAvailable` is 0.
    fn gang(&self, group: Option<&ScalingGroup<'a>>) -> String {
        match group {
            Some(group) if group.min_available == 0 => format!("{}-0", self.group_name(group)),
            _ => self.replica_name(),
        }
    }

    /// Adds Grove's variables before those of each container. They replace variables of the same name.
    fn add_env(&self, draft: &mut Draft, name: &str, group: Option<&ScalingGroup<'a>>) {
        let service = format!("{}.{}.svc.cluster.local", self.replica_name(), self.namespace);
        let mut variables = vec![
            env("GROVE_PCS_NAME", self.owner.name.as_str()),
            env("GROVE_PCS_INDEX", "0"),
            env("GROVE_PCLQ_NAME", name),
            env("GROVE_HEADLESS_SERVICE", service),
            from_label("GROVE_PCLQ_POD_INDEX", POD_INDEX),
        ];
        if let Some(group) = group {
            variables.extend([
                from_label("GROVE_PCSG_NAME", SCALING_GROUP),
                env("GROVE_PCSG_TEMPLATE_NUM_PODS", group.pods(&self.cliques).to_string()),
                from_label("GROVE_PCSG_INDEX", SCALING_GROUP_REPLICA),
            ]);
        }
        all_containers(&mut draft.spec).for_each(|container| prepend(container, &variables));
    }

    fn add_notes(&self, draft: &mut Draft, clique: &Clique<'_>, group: Option<&ScalingGroup<'a>>) {
        draft.add_note("the hash of the pod template is shown as zeros");
        if text(&draft.spec, "schedulerName") == DEFAULT_SCHEDULER {
            draft.add_note("the scheduler is Grove's default, unless its configuration has another one");
        }
        let annotations = [clique.field.get("annotations"), self.annotations.clone()];
        if annotations.iter().any(|annotations| annotations.get(MNNVL_GROUP).is_present()) {
            draft.add_note("the claim of a ComputeDomain that Grove adds is not shown");
        }
        let shares = |field: &Field<'_>| field.get("resourceSharing").is_present();
        let in_group = group.is_some_and(|group| group.shares_resources);
        if shares(&clique.field) || shares(&self.template) || in_group {
            draft.add_note("shared resource claims that Grove adds are not shown");
        }
    }
}

/// Adds the labels and annotations that the pod's scheduler needs.
fn add_scheduler(draft: &mut Draft, name: &str) {
    draft.set_default("schedulerName", DEFAULT_SCHEDULER);
    let gang = text(&draft.labels, GANG).to_owned();
    match text(&draft.spec, "schedulerName") {
        "kai-scheduler" => {
            draft.annotate("kai.scheduler/skip-podgrouper", "true");
            draft.annotate("pod-group-name", gang);
            draft.label("kai.scheduler/subgroup-name", name);
        }
        "volcano" => {
            draft.annotate("scheduling.volcano.sh/group-name", gang.as_str());
            draft.annotate("scheduling.k8s.io/group-name", gang);
        }
        _ => {}
    }
}

fn from_label(name: &str, label: &str) -> Value {
    env_from_field(name, &format!("metadata.labels['{label}']"))
}

/// Adds `variables` before those of `container`, and removes the container's variables of the same names.
fn prepend(container: &mut Map<String, Value>, variables: &[Value]) {
    if let Some(list) = list_mut(container, "env") {
        let is_replaced = |variable: &Value| variables.iter().any(|added| added.get("name") == variable.get("name"));
        list.retain(|variable| !is_replaced(variable));
        list.splice(0..0, variables.iter().cloned());
    }
}
