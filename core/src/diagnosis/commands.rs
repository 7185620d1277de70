//! Commands in a fix, completed with the names of its finding.

use std::collections::BTreeSet;

use super::{Diagnosis, WorkloadName};
use crate::dns::{is_label, is_subdomain};

/// Placeholder of a command that concerns several pods, or one that is not known.
const POD: &str = "POD";

impl Diagnosis {
    /// Returns the fix. Its commands name the namespace and, if the evidence is about one pod, this pod, so that they can be pasted.
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
        let fix = fix
            .replace("trainmesh sweep --apply", &format!("trainmesh sweep -n {namespace} --apply"))
            .replace("trainmesh preview POD -n NAMESPACE", &format!("trainmesh preview {pod} -n {namespace}"))
            .replace("kubectl logs", &format!("{kubectl} logs {pod}"))
            .replace("-c CONTAINER", &format!("-c {container}"))
            .replace("kubectl exec …", &format!("{kubectl} exec {pod}"))
            .replace("kubectl describe podgroup", format!("{kubectl} describe podgroup {group}").trim_end())
            .replace("kubectl describe pod", &format!("{kubectl} describe pod {pod}"))
            .replace("kubectl describe", &format!("{kubectl} describe{workload}"));
        Some(fix)
    }

    /// Returns the name of the only object of `kind` in the evidence.
    fn object(&self, kind: &str) -> Option<&str> {
        let namespace = &*self.workload.namespace;
        self.only(self.evidence.iter().filter_map(|evidence| {
            let (own, path) = evidence.object.split_once(' ')?;
            let (of, name) = path.split_once('/')?;
            (own == kind && of == namespace && is_subdomain(name)).then_some(name)
        }))
    }

    /// Returns the name of the only container in the evidence.
    fn container(&self) -> Option<&str> {
        self.only(self.evidence.iter().filter_map(|evidence| {
            let (_, rest) = evidence.field.split_once("Statuses[")?;
            rest.split_once(']').map(|(name, _)| name).filter(|name| is_label(name))
        }))
    }

    /// Returns the only name, if the list is complete.
    fn only<'a>(&self, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
        let mut names: BTreeSet<&str> = names.collect();
        names.pop_first().filter(|_| names.is_empty() && self.more_evidence == 0)
    }
}
