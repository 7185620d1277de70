//! `trainmesh preview`: shows the patches of a manifest's pods, offline.

mod cluster_state;
mod compute;
mod fail_on;
mod pod;
mod show;

use std::collections::BTreeSet;

use super::color::Color;
use super::config::InstallationFacts;
use super::input::InputArguments;
use super::installation::InstallationArguments;
use super::live::LiveCluster;
use super::output::Format;
use super::runtime;
use super::{Status, config, print_warning, stderr};
use crate::manifest::Inputs;
use fail_on::Conditions;
use show::show;
use trainmesh_core::cluster_facts::ClusterFacts;
use trainmesh_core::preview::{ManifestContext, Preview, namespace_of};

/// Show the patch that the pods of a manifest would get, and why.
///
/// Reads Pods, training jobs and every other kind that creates pods, computes the pods as their operator would create
/// them (one for each role), and applies the webhook's rules to them. Needs no cluster.
///
/// Namespace documents in the input set the labels of their namespace. A namespace without known labels is assumed to
/// be opted in and injected (trainmesh.dev/inject=enabled,istio-injection=enabled).
///
/// With the name of a pod and --cluster, explains a pod that exists: what was applied and refused when it was created,
/// which fabric revision it has, and whether the webhook missed it. Its namespace is -n, or that of the context.
#[allow(clippy::struct_excessive_bools, reason = "the flags are independent of each other")]
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Show a diff for each role, with the reasons of the rules
  trainmesh preview -f pytorchjob.yaml

  # Show a table of the rules
  trainmesh preview -f pytorchjob.yaml -o explain

  # Print the patched pods of a manifest from standard input
  kubectl get job a -o yaml | trainmesh preview -f - -o yaml

  # Compare with a dry run in the cluster
  trainmesh preview -f pytorchjob.yaml --cluster

  # Preview a fabric profile before labeling the namespace
  trainmesh preview -f pytorchjob.yaml --fabric ib-shared

  # Preview gang scheduling before labeling the namespace
  trainmesh preview -f pytorchjob.yaml --gang koordinator

  # Compare the requests of a job with quotas, queues and nodes
  trainmesh preview -f pytorchjob.yaml --cluster --quota

  # Fail a pipeline if a rule is refused or a kind or profile is unknown
  trainmesh preview -f jobs/ -R --summary --fail-on refused,unknown

  # Replace placeholders such as ${NUM_NODES}, as envsubst does
  trainmesh preview -f nccl-tests.yaml --set NUM_NODES=2 --set GPU_PER_NODE=8

  # Preview the templates of a Helm chart
  helm template train charts/train -n team-a | trainmesh preview -f - -n team-a

  # Preview a repository without its vendored files
  trainmesh preview -f . -R --exclude vendor --summary

  # Give the runtime of a TrainJob, or the version of Kubeflow Trainer
  trainmesh preview -f trainjob.yaml --runtime runtime.yaml
  trainmesh preview -f trainjob.yaml --runtime v2.1

  # Explain what was applied and refused when a pod was created, and why
  trainmesh preview llama-worker-0 -n team-a --cluster

  # Print the patch of one role
  trainmesh preview -f pytorchjob.yaml --role Worker -o patch

  # Preview in a namespace that is injected by another revision of Istio
  trainmesh preview -f jobs/ -R \\
    --namespace-labels trainmesh.dev/inject=enabled,istio.io/rev=canary

Exit codes:
  0  success
  1  a condition of --fail-on or --exit-code occurs
  2  an error")]
pub(super) struct Arguments {
    /// Name of a pod in the cluster, to explain what was applied and refused when it was created
    #[arg(
        value_name = "POD",
        group = "manifests",
        conflicts_with_all = ["recursive", "set", "runtime", "fabric", "gang", "role", "summary"]
    )]
    pod: Option<String>,
    #[command(flatten)]
    input: InputArguments,
    /// Read labels, configuration and training runtimes from the cluster, and compare each pod with a server-side dry run
    #[arg(long, conflicts_with_all = ["namespace_labels", "config"])]
    cluster: bool,
    /// Name of the kubeconfig context to use
    #[arg(long, value_name = "CONTEXT", requires = "cluster")]
    context: Option<String>,
    /// Compare the requests of each job, with all that webhooks add, with the quotas, queues and nodes of the cluster
    #[arg(long, requires = "cluster", conflicts_with_all = ["pod", "role", "summary"])]
    quota: bool,
    #[command(flatten)]
    installation: InstallationArguments,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = Format::Diff)]
    output: Format,
    /// Show only the pods with this role, for example Worker
    #[arg(long, value_name = "ROLE")]
    role: Option<String>,
    /// Print only the number of roles in each file and in total; each role of a workload has one pod template
    #[arg(long, conflicts_with = "output")]
    summary: bool,
    #[command(flatten)]
    conditions: Conditions,
    /// When to color the output
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    color: Color,
    /// Show the messages of skipped rules, and list the documents that create no pods and the files that are skipped
    #[arg(short, long)]
    verbose: bool,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    if let Some(name) = &arguments.pod {
        return pod::run(arguments, name);
    }
    let live = arguments
        .cluster
        .then(|| LiveCluster::connect(arguments.context.as_deref(), &arguments.installation))
        .transpose()?;
    let configuration = match &live {
        Some(live) => Some((live.configuration()?, InstallationFacts::default())),
        None => config::load_with_installation(&arguments.input.config)?,
    };
    let Some((configuration, of_values)) = configuration else { return Ok(Status::Failed) };
    arguments.input.require_profile(&configuration)?;
    let namespace = arguments.input.namespace();
    let inputs = arguments.input.open()?;
    let mut context = arguments.input.read_context(&inputs)?;
    let mut facts = ClusterFacts::default();
    if let Some(live) = &live {
        let namespaces = read_namespace_labels(live, &inputs, namespace, &mut context)?;
        facts = live.facts(&configuration, &namespaces);
        runtime::read_from_cluster(live, &inputs, namespace, &mut context)?;
        cluster_state::read_default_queues(live, &configuration, &namespaces, &mut context);
        cluster_state::read_workloads(live, &inputs, namespace, &mut context);
    }
    let installation = match &live {
        Some(live) => of_values.add_to(live.installation().clone()),
        None => arguments.installation.offline_with(of_values),
    };
    let preview =
        Preview::new(configuration, context, namespace.to_owned()).with_facts(facts).with_installation(installation);
    if let Some(absence) = live.as_ref().and_then(LiveCluster::webhook_absence) {
        print_warning(
            &mut stderr(arguments.color.into()),
            format_args!("{absence}: the cluster changes no pods: run trainmesh doctor"),
        );
    }
    let shown = show(arguments, &inputs, &preview, live.as_ref())?;
    Ok(if !shown.errors.is_empty() || shown.comparison_failed {
        Status::Failed
    } else if shown.causes.occur() {
        Status::Findings
    } else {
        Status::Success
    })
}

/// Reads the labels of the input's namespaces from the cluster, and returns the namespaces.
fn read_namespace_labels(
    live: &LiveCluster,
    inputs: &Inputs,
    namespace: &str,
    context: &mut ManifestContext,
) -> anyhow::Result<BTreeSet<String>> {
    let documents = inputs.documents().flatten();
    let namespaces: BTreeSet<String> =
        documents.map(|document| namespace_of(&document, namespace).to_owned()).collect();
    for namespace in &namespaces {
        if let Some(found) = live.namespace(namespace)? {
            context.set_labels(namespace.clone(), found.labels);
        }
    }
    Ok(namespaces)
}
