//! Commands in a fix, completed with the names of its finding.

use super::{Diagnosis, Evidence, WorkloadName};
use crate::dns::{is_label, is_subdomain};

/// Placeholder of a command that concerns a pod which is not known.
const POD: &str = "POD";
/// Text before the name of a claim in messages of the scheduler.
const CLAIM: &str = "persistentvolumeclaim \"";

impl Diagnosis {
    /// Returns the fix. Its commands name the namespace and the first pod of the evidence, so that they can be pasted.
    #[must_use]
    pub fn fix(&self) -> Option<String> {
        let fix = self.finding.fix?;
        let WorkloadName { kind, namespace, name, qualifier } = &self.workload;
        // A dump may contain anything, and a shell would interpret it.
        if !is_label(namespace) {
            return Some(fix.to_owned());
        }
        let pod = self.object("Pod").unwrap_or(POD);
        let group = self.object("PodGroup").unwrap_or_default();
        let kind = kind.to_ascii_lowercase();
        let workload = match *qualifier {
            _ if !is_label(&kind) || !is_subdomain(name) => String::new(),
            "" => format!(" {kind}/{name}"),
            qualifier => format!(" {kind}.{qualifier}/{name}"),
        };
        let container = self.container().unwrap_or("CONTAINER");
        let kubectl = format!("kubectl -n {namespace}");
        // Five APIs have PodGroups.
        let described_group = format!("{kubectl} describe podgroup.scheduling.volcano.sh {group}");
        // A container that is not restarted has no earlier log.
        let previous = if self.shows_last_run() { "" } else { " --previous" };
        let fix = fix
            .replace("trainmesh sweep --apply", &format!("trainmesh sweep -n {namespace} --apply"))
            .replace("trainmesh preview POD -n NAMESPACE", &format!("trainmesh preview {pod} -n {namespace}"))
            .replace("kubectl logs --previous", &format!("kubectl logs{previous}"))
            .replace("kubectl logs", &format!("{kubectl} logs {pod}"))
            .replace("-c CONTAINER", &format!("-c {container}"))
            .replace("kubectl label pod POD", &format!("{kubectl} label pod {pod}"))
            .replace("kubectl exec …", &format!("{kubectl} exec {pod}"))
            .replace("kubectl describe pvc", format!("{kubectl} describe pvc {}", self.volume_claim()).trim_end())
            .replace("kubectl describe podgroup.scheduling.volcano.sh", described_group.trim_end())
            .replace("kubectl describe pod", &format!("{kubectl} describe pod {pod}"))
            .replace("kubectl describe", &format!("{kubectl} describe{workload}"));
        Some(fix)
    }

    /// Returns the name of the first object of `kind` in the evidence.
    fn object(&self, kind: &str) -> Option<&str> {
        self.evidence.iter().find_map(|evidence| self.object_in(kind, evidence))
    }

    /// Returns the name of the object of a piece of evidence, if it has this kind.
    fn object_in<'a>(&self, kind: &str, evidence: &'a Evidence) -> Option<&'a str> {
        let (own, path) = evidence.object.split_once(' ')?;
        let (of, name) = path.split_once('/')?;
        (own == kind && *of == *self.workload.namespace && is_subdomain(name)).then_some(name)
    }

    /// Returns the fields of the first pod in the evidence.
    fn fields(&self) -> impl Iterator<Item = &str> {
        let pod = self.object("Pod");
        let of_pod = self.evidence.iter().filter(move |evidence| self.object_in("Pod", evidence) == pod);
        of_pod.map(|evidence| &*evidence.field)
    }

    /// Returns the name of the first container of this pod.
    fn container(&self) -> Option<&str> {
        self.fields().find_map(|field| {
            let (_, rest) = field.split_once("Statuses[")?;
            rest.split_once(']').map(|(name, _)| name).filter(|name| is_label(name))
        })
    }

    /// Returns true if a container of this pod has terminated, and none runs again.
    fn shows_last_run(&self) -> bool {
        let mut terminations = self.fields().filter(|field| field.ends_with(".terminated")).peekable();
        terminations.peek().is_some() && terminations.all(|field| !field.contains(".lastState."))
    }

    /// Returns the name of the claim in a message of the scheduler; empty if it contains none.
    fn volume_claim(&self) -> &str {
        let mut names = self.evidence.iter().filter_map(|evidence| {
            let (_, rest) = evidence.value.split_once(CLAIM)?;
            rest.split_once('"').map(|(name, _)| name).filter(|name| is_subdomain(name))
        });
        names.next().unwrap_or_default()
    }
}
