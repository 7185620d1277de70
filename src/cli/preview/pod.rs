//! `trainmesh preview POD --cluster`: explains a pod that exists in the cluster.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::bail;

use super::super::live::LiveCluster;
use super::super::terminal::stdout_layout;
use super::super::{Status, stderr};
use super::Arguments;
use super::fail_on::{Causes, PodCauses};
use crate::manifest;
use trainmesh_core::config::Configuration;
use trainmesh_core::dns;
use trainmesh_core::preview::{LivePod, ManifestContext, Preview};
use trainmesh_core::render::{Closing, Premise, TextOptions};

/// Resource names before the slash, as kubectl takes them.
const POD_RESOURCES: [&str; 3] = ["pod", "pods", "po"];

/// Explains the pod `target`: its name, or `pod/NAME`.
pub(super) fn run(arguments: &Arguments, target: &str) -> anyhow::Result<Status> {
    if !arguments.cluster {
        bail!("a pod is read from the cluster: add --cluster; to read the manifest '{target}', use '-f {target}'");
    }
    let name = pod_name(target)?;
    let Some(format) = arguments.output.without_patch() else {
        bail!("a pod that exists has no patch: use -o explain or -o json");
    };
    let live = LiveCluster::connect(arguments.context.as_deref(), &arguments.installation)?;
    let namespace = arguments.input.given_namespace().unwrap_or_else(|| live.default_namespace()).to_owned();
    let Some(pod) = live.pod(&namespace, name)? else {
        let hint = if manifest::has_extension(Path::new(name)) {
            format!("; to read a manifest, use '-f {target}'")
        } else {
            String::new()
        };
        bail!("pod {namespace}/{name} not found{hint}");
    };
    let configuration = live.permitted_configuration()?;
    let found = live.namespace(&namespace)?.unwrap_or_default();
    let mut context = ManifestContext::new(None);
    context.set_labels(namespace.clone(), found.labels);
    let live_pod = LivePod {
        namespace: &namespace,
        pod: &pod,
        opted_in_since: found.opted_in_since,
        webhook_absence: live.webhook_absence(),
        is_configuration_known: configuration.is_some(),
    };
    let facts = configuration.as_ref().map(|known| live.facts(known, &BTreeSet::from([namespace.clone()])));
    let preview = Preview::new(configuration.unwrap_or_else(Configuration::embedded), context, namespace.clone())
        .with_facts(facts.unwrap_or_default())
        .with_installation(live.installation().clone());
    let reports = [preview.live_pod(&live_pod)];
    let mut causes = Causes::default();
    causes.add(PodCauses::new(&arguments.conditions, &reports));
    let options = TextOptions { layout: stdout_layout(), verbose: arguments.verbose, premise: Premise::default() };
    let mut printer = format.printer(arguments.color.into(), options, &preview);
    printer.sink().write_workload(&reports)?;
    printer.sink().finish(&Closing::default())?;
    causes.print(&mut stderr(arguments.color.into()));
    Ok(if causes.occur() { Status::Findings } else { Status::Success })
}

/// Returns the name of the pod in `target`.
fn pod_name(target: &str) -> anyhow::Result<&str> {
    let name = match target.split_once('/') {
        None => target,
        Some((resource, name)) if POD_RESOURCES.contains(&resource) => name,
        Some(_) => bail!(
            "'{target}' is not a pod: for another object, use 'kubectl get {target} -o yaml | trainmesh preview -f - \
             --cluster'; to read manifests, use '-f {target}'"
        ),
    };
    if dns::is_subdomain(name) { Ok(name) } else { bail!("'{name}' is not a valid pod name") }
}
