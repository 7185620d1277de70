//! Checks of training jobs as a whole: each with a manifest that triggers it and one that almost does.

use rstest::rstest;
use serde_json::Value;
use trainmesh_core::config::{CheckId, Configuration};
use trainmesh_core::finding::Finding;
use trainmesh_core::manifest::Document;
use trainmesh_core::preview::{DocumentPreview, ManifestContext, PodReport, Preview};
use trainmesh_core::yaml;

/// Returns the findings about the training jobs of a manifest with several documents: the code and the message.
pub fn lint(text: &str) -> Vec<(String, String)> {
    lint_with(Configuration::embedded(), text)
}

fn lint_with(configuration: Configuration, text: &str) -> Vec<(String, String)> {
    let parse = |part: &str| yaml::parse(part).unwrap_or_else(|error| panic!("{error}: {part}"));
    let documents = text.split("---\n").map(|part| Document::generated("a.yaml", parse(part)));
    let documents: Vec<Document> = documents.collect();
    let mut context = ManifestContext::new(None);
    for document in &documents {
        context.add(document, "team");
    }
    let preview = Preview::new(configuration, context, "team".to_owned());
    let mut found = Vec::new();
    for document in &documents {
        let Ok(DocumentPreview::Pods { reports, warnings, .. }) = preview.document(document) else { continue };
        for report in &reports {
            let findings = preview.lint(report);
            let training = findings.iter().filter(|finding| is_training(finding.code));
            found.extend(training.map(|finding| message(finding, report)));
        }
        let warnings = warnings.into_iter().filter_map(|warning| Some((warning.check?.to_owned(), warning.message)));
        found.extend(warnings.filter(|(code, _)| is_training(code)));
    }
    found
}

/// Returns the code and the message of a finding, whose field must exist in the pod, or its parent. Findings about fields of other
/// objects have a line.
fn message(finding: &Finding, report: &PodReport) -> (String, String) {
    let field = finding.subject.as_str();
    let (parent, _) = field.rsplit_once('/').unwrap_or_default();
    let is_known = report.original.pointer(parent).is_some() || finding.line.is_some();
    assert!(is_known, "{} has no field {field}", report.original);
    (finding.code.to_owned(), finding.message.to_string())
}

fn is_training(code: &str) -> bool {
    CheckId::parse(code).is_some_and(CheckId::is_training)
}

fn check(id: &str, text: &str, expected: Option<&str>) {
    let found = lint(text);
    let message = found.iter().find(|(code, _)| code == id).map(|(_, message)| message.as_str());
    assert_eq!(message, expected, "{found:#?}\n{text}");
}

/// Returns a `PyTorchJob` whose roles have this number of pods, and these fields in their container.
fn job(roles: &[(&str, u64, &str)]) -> String {
    kubeflow("", roles, "")
}

/// Like [`job`], with fields of the spec and of the pods.
fn kubeflow(spec: &str, roles: &[(&str, u64, &str)], pod: &str) -> String {
    let role = |(name, replicas, container): &(&str, u64, &str)| {
        format!(
            "    {name}: {{replicas: {replicas}, template: {{spec: {{{pod} containers: [{{name: pytorch, image: i, {container}}}]}}}}}}\n"
        )
    };
    let roles: String = roles.iter().map(role).collect();
    format!(
        "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {{name: llama}}\nspec:\n  pytorchReplicaSpecs:\n{roles}{spec}"
    )
}

/// Returns a `PyTorchJob` of three pods with fields of its spec and of its pods.
fn kubeflow_schedulers(spec: &str, master: &str, worker: &str) -> String {
    let template = |pod: &str| format!("template: {{spec: {{{pod} containers: [{{name: pytorch, image: i}}]}}}}");
    format!(
        "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {{name: llama}}\nspec:\n  {spec}\n  pytorchReplicaSpecs:\n    Master: \
         {{replicas: 1, {}}}\n    Worker: {{replicas: 2, {}}}\n",
        template(master),
        template(worker)
    )
}

/// Returns a `JobSet` with `jobs` Jobs of `pods` pods each.
fn job_set(jobs: u64, pods: u64, spec: &str, job: &str, container: &str) -> String {
    format!(
        "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {{name: llama}}\nspec:\n  {spec}\n  replicatedJobs:\n  \
         - name: node\n    replicas: {jobs}\n    template: {{spec: {{{job} parallelism: {pods}, completions: {pods}, template: \
         {{spec: {{restartPolicy: Never, containers: [{{name: a, image: i, {container}}}]}}}}}}}}\n"
    )
}

/// Returns a `Volcano` Job of two tasks with a task's fields each, and fields of the spec.
fn volcano(spec: &str, master: &str, worker: &str) -> String {
    format!(
        "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {{name: llama}}\nspec:\n  {spec}\n  tasks:\n  \
         - {{name: master, replicas: 1, {master}}}\n  - {{name: worker, replicas: 3, {worker}}}\n"
    )
}

fn torchrun(options: &str) -> String {
    format!("args: [torchrun, {options} train.py]")
}

/// Options of torchrun for a store in rank 0.
const AT_RANK_0: &str = "--rdzv-backend=c10d, '--rdzv-endpoint=rank0:29400',";

fn workers(pods: u64, options: &str) -> String {
    job(&[("Worker", pods, &torchrun(options))])
}

fn pair(master: &str, worker: &str) -> String {
    job(&[("Master", 1, &torchrun(master)), ("Worker", 2, &torchrun(worker))])
}

const STATIC: &str = "the ranks never meet";

#[rstest]
#[case::port(
    pair("--master-port=29500,", "--master_port, '29501',"),
    Some("container pytorch: --master-port is 29501, but 29500 for Master: the ranks never meet")
)]
#[case::port_of_the_operator(
    pair("", "--master-port=29501,"),
    Some(
        "container pytorch: --master-port is 29501, but the port of the operator is 23456 for Master: the ranks never meet"
    )
)]
#[case::endpoint_for_the_port_of_the_operator(
    pair("", "'--rdzv-endpoint=llama-master-0:1',"),
    Some(
        "container pytorch: --rdzv-endpoint is llama-master-0:1, but the port of the operator is 23456 for Master: the ranks \
         never meet"
    )
)]
#[case::backend(
    pair("--rdzv-backend=c10d,", "--rdzv-backend=etcd-v2,"),
    Some("container pytorch: --rdzv-backend is etcd-v2, but c10d for Master: the ranks never meet")
)]
#[case::identifier(
    pair("--rdzv-backend=c10d, --rdzv-id=a,", "--rdzv-backend=c10d, --rdzv-id=b,"),
    Some("container pytorch: --rdzv-id is b, but a for Master: the ranks never meet")
)]
#[case::endpoint(
    pair(
        "--rdzv-backend=c10d, '--rdzv-endpoint=localhost:1',",
        "--rdzv-backend=c10d, '--rdzv-endpoint=llama-master-0:2',"
    ),
    Some("container pytorch: --rdzv-endpoint is llama-master-0:2, but localhost:1 for Master: the ranks never meet")
)]
#[case::the_master_by_its_own_name(
    pair(
        "--rdzv-backend=c10d, '--rdzv-endpoint=localhost:1',",
        "--rdzv-backend=c10d, '--rdzv-endpoint=llama-master-0:1',"
    ),
    None
)]
#[case::unused_port(pair("--rdzv-backend=c10d, --master-port=1,", "--rdzv-backend=c10d, --master-port=2,"), None)]
#[case::computed(pair("--master-port=29500,", "--master-port=$PORT,"), None)]
#[case::computed_backend(pair("--rdzv-backend=$BACKEND,", ""), None)]
#[case::a_condition_selects_one(
    job(&[("Master", 1, &torchrun("--master-port=1,")), ("Worker", 1, "command: [sh, -c, 'if a; then torchrun --master-port=1 a.py; else torchrun --master-port=2 a.py; fi']")]),
    None
)]
#[case::same(pair("--master-port=29500,", "--master-port=29500,"), None)]
#[case::another_program(job(&[("Master", 1, "args: [python, --master-port=1]"), ("Worker", 1, "args: [python, --master-port=2]")]), None)]
fn tr001_settings_of_the_roles(#[case] text: String, #[case] expected: Option<&str>) {
    check("TR001", &text, expected);
    assert_eq!(expected.is_some(), expected.is_some_and(|message| message.ends_with(STATIC)));
}

/// Returns an indexed Job that names the Service `rank0`, and this Service.
fn job_with_service(address: &str, service: &str) -> String {
    format!(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: llama}}\nspec:\n  completionMode: Indexed\n  completions: 2\n  parallelism: 2\n  \
         template:\n    metadata: {{labels: {{app: llama}}}}\n    spec:\n      restartPolicy: Never\n      containers:\n      - name: a\n        \
         image: i\n        ports: [{{name: c10d, containerPort: 23456}}]\n        env: [{{name: MASTER_ADDR, value: {address}}}, \
         {{name: MASTER_PORT, value: '29500'}}]\n---\napiVersion: v1\nkind: Service\nmetadata: {{name: rank0}}\nspec: {{{service}}}\n"
    )
}

#[rstest]
#[case::another_selector(
    "rank0",
    "clusterIP: None, selector: {app: lama}",
    Some("container a: MASTER_ADDR names Service rank0, which selects no pod of the job")
)]
#[case::qualified(
    "rank0.team.svc.cluster.local",
    "clusterIP: None, selector: {app: lama}",
    Some("container a: MASTER_ADDR names Service rank0, which selects no pod of the job")
)]
#[case::another_namespace("rank0.other", "clusterIP: None, selector: {app: lama}", None)]
#[case::another_service("rank1", "clusterIP: None, selector: {app: lama}", None)]
#[case::selected("rank0", "clusterIP: None, selector: {app: llama}", None)]
#[case::one_index(
    "rank0",
    "clusterIP: None, selector: {app: llama, batch.kubernetes.io/job-completion-index: '1'}",
    None
)]
#[case::own_endpoints("rank0", "clusterIP: None", None)]
#[case::other_port(
    "rank0",
    "selector: {app: llama}, ports: [{port: 23456}]",
    Some("container a: MASTER_PORT is 29500, which Service rank0 does not forward")
)]
#[case::any_port_of_a_headless_service(
    "rank0",
    "clusterIP: None, selector: {app: llama}, ports: [{port: 23456}]",
    None
)]
#[case::external("rank0", "type: ExternalName, ports: [{port: 23456}]", None)]
#[case::port("rank0", "selector: {app: llama}, ports: [{port: 29500}]", None)]
#[case::target(
    "rank0",
    "selector: {app: llama}, ports: [{port: 29500, targetPort: 1}]",
    Some("container a: MASTER_PORT is 29500, which Service rank0 forwards to port 1 of the pods")
)]
#[case::named_target(
    "rank0",
    "selector: {app: llama}, ports: [{port: 29500, targetPort: c10d}]",
    Some("container a: MASTER_PORT is 29500, which Service rank0 forwards to port 23456 of the pods")
)]
#[case::unknown_target("rank0", "selector: {app: llama}, ports: [{port: 29500, targetPort: other}]", None)]
fn tr001_service_of_rank_0(#[case] address: &str, #[case] service: &str, #[case] expected: Option<&str>) {
    check("TR001", &job_with_service(address, service), expected);
}

/// Returns an Indexed Job of two pods with fields of its pods and its container, and the Service `rank0`.
fn indexed(pod: &str, container: &str, service: &str) -> String {
    format!(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: llama}}\nspec:\n  completionMode: Indexed\n  completions: 2\n  parallelism: 2\n  \
         template: {{metadata: {{labels: {{app: llama}}}}, spec: {{{pod} restartPolicy: Never, containers: [{{name: a, image: i, \
         {container}}}]}}}}\n---\napiVersion: v1\nkind: Service\nmetadata: {{name: rank0}}\nspec: {{{service}}}\n"
    )
}

/// Returns [`indexed`] with this subdomain and address of rank 0, and a headless Service.
fn named(subdomain: &str, address: &str) -> String {
    let container = format!("env: [{{name: MASTER_ADDR, value: {address}}}]");
    indexed(subdomain, &container, "clusterIP: None, selector: {app: llama}")
}

const IN_SERVICE: &str = "subdomain: rank0,";

#[rstest]
#[case::resolves(named(IN_SERVICE, "llama-0.rank0"), None)]
#[case::complete_name(named(IN_SERVICE, "llama-0.rank0.team.svc.cluster.local"), None)]
#[case::no_subdomain(
    named("", "llama-0.rank0"),
    Some(
        "container a: MASTER_ADDR is llama-0.rank0, but the pods have no subdomain, so that the name does not resolve"
    )
)]
#[case::no_subdomain_of_a_complete_name(
    named("", "llama-0.rank0.team.svc"),
    Some(
        "container a: MASTER_ADDR is llama-0.rank0.team.svc, but the pods have no subdomain, so that the name does not resolve"
    )
)]
#[case::another_subdomain(
    named("subdomain: rnak0,", "llama-0.rank0"),
    Some(
        "container a: MASTER_ADDR is llama-0.rank0, but the pods have the subdomain rnak0, so that the name does not resolve"
    )
)]
#[case::another_service(
    named(IN_SERVICE, "llama-0.rnak0"),
    Some(
        "container a: MASTER_ADDR is llama-0.rnak0, but the pods have the subdomain rank0, so that the name does not resolve"
    )
)]
#[case::another_selector(
    named(IN_SERVICE, "llama-0.rank0").replace("selector: {app: llama", "selector: {app: lama"),
    Some("container a: MASTER_ADDR names Service rank0, which selects no pod of the job")
)]
#[case::misspelled_service(
    named("subdomain: rnak0,", "llama-0.rnak0"),
    Some(
        "container a: MASTER_ADDR is llama-0.rnak0, but the input has no Service rnak0: did you mean rank0, which selects the pods?"
    )
)]
#[case::misspelled_service_of_other_pods(
    named("subdomain: rnak0,", "llama-0.rnak0").replace("selector: {app: llama", "selector: {app: lama"), None
)]
#[case::service_outside_of_the_input(named("subdomain: other,", "llama-0.other"), None)]
#[case::own_endpoints(named("", "llama-0.rank0").replace("selector: {app: llama}", "a: b"), None)]
#[case::any_port_of_a_pod(
    named(IN_SERVICE, "llama-0.rank0").replace("clusterIP: None,", "ports: [{port: 1}],"), None
)]
#[case::pod_of_another_job(named("", "gpt-0.rank0"), None)]
#[case::no_index(named("", "llama-a.rank0"), None)]
#[case::service_of_the_name_in_its_namespace(named("", "llama-0.team"), None)]
#[case::subdomain_named_like_the_namespace(
    named("", "llama-0.team.team"),
    Some(
        "container a: MASTER_ADDR is llama-0.team.team, but the pods have no subdomain, so that the name does not resolve"
    )
)]
#[case::in_another_namespace(named("", "llama-0.rank0.other"), None)]
#[case::not_indexed(named("", "llama-0.rank0").replace("completionMode: Indexed", "completionMode: NonIndexed"), None)]
fn tr001_name_of_a_pod(#[case] text: String, #[case] expected: Option<&str>) {
    check("TR001", &text, expected);
}

/// Returns [`indexed`] that runs torchrun with these options, and a Service with a cluster IP.
fn with_options(options: &str, service: &str) -> String {
    indexed(IN_SERVICE, &torchrun(options), service)
}

#[rstest]
#[case::port(
    with_options("--master-addr=rank0, --master-port=29500,", "selector: {app: llama}, ports: [{port: 29501}]"),
    Some("container a: --master-port is 29500, which Service rank0 does not forward")
)]
#[case::default_port(
    with_options("--master_addr, rank0,", "selector: {app: llama}, ports: [{port: 29501}]"),
    Some("container a: --master-port is 29500, which Service rank0 does not forward")
)]
#[case::selector(
    with_options("--master-addr=rank0,", "selector: {app: lama}, ports: [{port: 29500}]"),
    Some("container a: --master-addr names Service rank0, which selects no pod of the job")
)]
#[case::name_of_a_pod(
    with_options("--master-addr=llama-0.other,", "selector: {app: llama}"),
    Some(
        "container a: --master-addr is llama-0.other, but the pods have the subdomain rank0, so that the name does not resolve"
    )
)]
#[case::endpoint(
    with_options("--rdzv-backend=c10d, '--rdzv-endpoint=llama-0.other:29400',", "selector: {app: llama}"),
    Some(
        "container a: --rdzv-endpoint is llama-0.other, but the pods have the subdomain rank0, so that the name does not resolve"
    )
)]
#[case::pod_of_the_former_job(
    with_options("--nnodes=2, --master-addr=gpt-0.rank0,", "clusterIP: None, selector: {job-name: gpt}"),
    Some("container a: --master-addr is gpt-0.rank0, but no pod of the job has this name")
)]
#[case::index_of_no_pod(
    with_options(
        "--nnodes=2, --master-addr=llama-7.rank0.team.svc.cluster.local,",
        "clusterIP: None, selector: {app: llama}"
    ),
    Some("container a: --master-addr is llama-7.rank0.team.svc.cluster.local, but no pod of the job has this name")
)]
#[case::name_without_an_index(
    with_options("--nnodes=2, --master-addr=llama.rank0,", "clusterIP: None, selector: {app: llama}"),
    Some("container a: --master-addr is llama.rank0, but no pod of the job has this name")
)]
#[case::service_of_the_name_in_its_namespace(
    with_options("--nnodes=2, --master-addr=rank0.team,", "clusterIP: None, selector: {app: llama}")
        .replace(IN_SERVICE, "subdomain: team,"),
    None
)]
#[case::pod_of_the_former_job_in_a_subdomain_named_like_the_namespace(
    with_options("--nnodes=2, --master-addr=gpt-0.team.team,", "clusterIP: None, selector: {app: llama}")
        .replace(IN_SERVICE, "subdomain: team,"),
    Some("container a: --master-addr is gpt-0.team.team, but no pod of the job has this name")
)]
#[case::second_pod(
    with_options("--nnodes=2, --master-addr=llama-1.rank0,", "clusterIP: None, selector: {app: llama}"),
    None
)]
#[case::group_with_another_job(
    with_options("--nnodes=4, --master-addr=gpt-0.rank0,", "clusterIP: None, selector: {app: llama}"),
    None
)]
#[case::number_of_nodes_is_not_known(
    with_options("--master-addr=gpt-0.rank0,", "clusterIP: None, selector: {app: llama}"),
    None
)]
#[case::pod_in_another_subdomain(
    with_options("--nnodes=2, --master-addr=gpt-0.gpt,", "clusterIP: None, selector: {app: llama}"),
    None
)]
#[case::pod_before_a_prefix(
    with_options("--nnodes=2, --master-addr=llama-0.llama,", "clusterIP: None, selector: {app: llama}")
        .replace("{name: llama}", "{name: prod-llama}")
        .replace(IN_SERVICE, ""),
    Some("container a: --master-addr is llama-0.llama, but no pod of the job has this name")
)]
#[case::pod_before_a_suffix_in_another_subdomain(
    with_options("--nnodes=2, --master-addr=llama-0.llama.team,", "clusterIP: None, selector: {app: llama}")
        .replace("{name: llama}", "{name: llama-prod}")
        .replace(IN_SERVICE, "subdomain: llama-prod,"),
    Some("container a: --master-addr is llama-0.llama.team, but no pod of the job has this name")
)]
#[case::pod_of_another_job_before_a_prefix(
    with_options("--nnodes=4, --master-addr=llama-0.llama,", "clusterIP: None, selector: {app: llama}")
        .replace("{name: llama}", "{name: prod-llama}"),
    None
)]
#[case::name_from_a_variable(
    with_options("--nnodes=2, '--master-addr=$(MASTER)-0.rank0',", "clusterIP: None, selector: {app: llama}"),
    None
)]
#[case::store_in_no_pod(
    with_options(
        "--nnodes=2, --rdzv-backend=c10d, '--rdzv-endpoint=llama-7.rank0:29400',",
        "clusterIP: None, selector: {app: llama}"
    ),
    Some("container a: --rdzv-endpoint is llama-7.rank0, but no pod of the job has this name")
)]
#[case::pod_of_a_job_set(job_set(2, 2, "", "", &torchrun("--nnodes=4, --master-addr=llama-node-1-1.llama,")), None)]
#[case::role_that_a_job_set_lacks(
    job_set(2, 2, "", "", &torchrun("--nnodes=4, --master-addr=llama-nodes-0-0.llama,")),
    Some("container a: --master-addr is llama-nodes-0-0.llama, but no pod of the job has this name")
)]
#[case::job_that_a_job_set_lacks(
    job_set(2, 2, "", "", &torchrun("--nnodes=4, --rdzv-backend=c10d, '--rdzv-endpoint=llama-node-2-0.llama:29400',")),
    Some("container a: --rdzv-endpoint is llama-node-2-0.llama, but no pod of the job has this name")
)]
#[case::pod_that_a_job_set_lacks(
    job_set(2, 2, "", "", "env: [{name: MASTER_ADDR, value: llama-node-0-2.llama}]"),
    Some("container a: MASTER_ADDR is llama-node-0-2.llama, but no pod of the job has this name")
)]
#[case::common_subdomain_of_job_sets(
    job_set(2, 2, "network: {subdomain: net}", "", &torchrun("--rdzv-backend=c10d, '--rdzv-endpoint=gpt-node-0-0.net:29400',")),
    None
)]
#[case::service_in_a_namespace_with_the_name_of_the_job_set(
    job_set(2, 2, "", "", &torchrun("--rdzv-backend=c10d, '--rdzv-endpoint=rdzv.llama:29400',")),
    None
)]
#[case::job_set_without_names(
    job_set(2, 2, "network: {enableDNSHostnames: false}", "", &torchrun("--nnodes=4, --master-addr=llama-nodes-0-0.llama,")),
    None
)]
#[case::store_of_another_job(
    with_options(
        "--nnodes=2, --rdzv-backend=c10d, '--rdzv-endpoint=gpt-0.rank0:29400',",
        "clusterIP: None, selector: {app: llama}"
    ),
    None
)]
#[case::forwarded(with_options("--master-addr=rank0,", "selector: {app: llama}, ports: [{port: 29500}]"), None)]
#[case::computed_port(
    with_options("--master-addr=rank0, --master-port=$PORT,", "selector: {app: llama}, ports: [{port: 1}]"),
    None
)]
#[case::unused_address(
    with_options(
        "--rdzv-backend=c10d, '--rdzv-endpoint=llama-0.rank0:1', --master-addr=rank0,",
        "selector: {app: lama}"
    ),
    Some("container a: --rdzv-endpoint names Service rank0, which selects no pod of the job")
)]
#[case::store_in_another_pod(
    with_options("--rdzv-backend=c10d, '--rdzv-endpoint=rank0:1',", "selector: {app: store}"),
    None
)]
#[case::etcd(with_options("--rdzv-backend=etcd-v2, '--rdzv-endpoint=rank0:2379',", "selector: {app: etcd}"), None)]
#[case::another_program(indexed(IN_SERVICE, "args: [python, --master-addr=rank0]", "selector: {app: lama}"), None)]
fn tr001_address_in_options(#[case] text: String, #[case] expected: Option<&str>) {
    check("TR001", &text, expected);
}

const CHECKPOINTS: &str = "args: [--checkpoint-dir=/data/ckpt]";

#[rstest]
#[case::never(
    job(&[("Worker", 2, CHECKPOINTS)]).replace("template", "restartPolicy: Never, template"),
    Some("restartPolicy: Never: the job fails with its first rank, although it writes checkpoints to /data/ckpt")
)]
#[case::exit_code(job(&[("Worker", 2, CHECKPOINTS)]).replace("template", "restartPolicy: ExitCode, template"), None)]
#[case::default(job(&[("Worker", 2, CHECKPOINTS)]), None)]
#[case::without_checkpoints(job(&[("Worker", 2, "args: [a]")]).replace("template", "restartPolicy: Never, template"), None)]
#[case::reads_a_checkpoint(
    job(&[("Worker", 2, "args: [--load-checkpoint=/data/ckpt]")]).replace("template", "restartPolicy: Never, template"),
    None
)]
#[case::job_set(
    job_set(2, 1, "", "backoffLimit: 0,", CHECKPOINTS),
    Some(
        "backoffLimit: 0 without a failurePolicy: the job fails with its first rank, although it writes checkpoints to /data/ckpt"
    )
)]
#[case::job_set_with_restarts(job_set(2, 1, "failurePolicy: {maxRestarts: 3}", "backoffLimit: 0,", CHECKPOINTS), None)]
#[case::job_set_with_retries(job_set(2, 1, "", "", CHECKPOINTS), None)]
#[case::volcano(
    volcano("", "template: {spec: {containers: [{name: a}]}}", &format!("template: {{spec: {{restartPolicy: Never, containers: [{{name: a, {CHECKPOINTS}}}]}}}}")),
    Some(
        "restartPolicy: Never without a policy that restarts: the job fails with its first rank, although it writes checkpoints to /data/ckpt"
    )
)]
#[case::volcano_with_a_policy(
    volcano("policies: [{event: PodFailed, action: RestartJob}]", "template: {spec: {containers: [{name: a}]}}", &format!("template: {{spec: {{restartPolicy: Never, containers: [{{name: a, {CHECKPOINTS}}}]}}}}")),
    None
)]
#[case::volcano_with_a_policy_of_the_task(
    volcano("", "template: {spec: {containers: [{name: a}]}}", &format!("policies: [{{event: PodFailed, action: RestartTask}}], template: {{spec: {{restartPolicy: Never, containers: [{{name: a, {CHECKPOINTS}}}]}}}}")),
    None
)]
fn tr002_checkpoints_without_a_restart(#[case] text: String, #[case] expected: Option<&str>) {
    check("TR002", &text, expected);
}

fn with_claim(pods: u64, mode: &str, pod: &str) -> String {
    let pod = format!("{pod} volumes: [{{name: data, persistentVolumeClaim: {{claimName: data}}}}],");
    format!(
        "{}---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: data}}\nspec: {{accessModes: [{mode}], \
         storageClassName: fast-nfs}}\n",
        kubeflow("", &[("Worker", pods, "args: [a]")], &pod)
    )
}

#[rstest]
#[case::several(
    with_claim(2, "ReadWriteOnce", ""),
    Some("2 pods use claim data, which is ReadWriteOnce: all run on one node, or some never start")
)]
#[case::one_pod(
    with_claim(2, "ReadWriteOncePod", ""),
    Some("2 pods use claim data, which is ReadWriteOncePod: all but one stay Pending")
)]
#[case::single(with_claim(1, "ReadWriteOnce", ""), None)]
#[case::many(with_claim(2, "ReadWriteMany", ""), None)]
#[case::either(with_claim(2, "ReadWriteOnce, ReadWriteMany", ""), None)]
#[case::one_node(with_claim(2, "ReadWriteOnce", "nodeSelector: {kubernetes.io/hostname: a},"), None)]
#[case::named_node(with_claim(2, "ReadWriteOnce", "nodeName: a,"), None)]
#[case::beside_each_other(
    with_claim(
        2,
        "ReadWriteOnce",
        "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname}]}},"
    ),
    None
)]
#[case::another_claim(with_claim(2, "ReadWriteOnce", "").replace("metadata: {name: data}", "metadata: {name: other}"), None)]
fn tr003_claim_of_several_pods(#[case] text: String, #[case] expected: Option<&str>) {
    check("TR003", &text, expected);
}

#[rstest]
#[case::claim(with_claim(9, "ReadWriteMany", ""), Some("9 pods share the NFS volume data"))]
#[case::few(with_claim(8, "ReadWriteMany", ""), None)]
#[case::another_class(with_claim(9, "ReadWriteMany", "").replace("fast-nfs", "lustre"), None)]
#[case::volume(
    kubeflow("", &[("Master", 1, "args: [a]"), ("Worker", 8, "args: [a]")], "volumes: [{name: a, nfs: {server: s, path: /}}],"),
    Some("9 pods share the NFS volume a")
)]
fn tr004_nfs(#[case] text: String, #[case] expected: Option<&str>) {
    check("TR004", &text, expected);
}

/// Returns a job whose container has these fields, with an emptyDir `out`, a claim `data`, and other containers.
fn with_volumes(container: &str, others: &str) -> String {
    let pod = format!(
        "volumes: [{{name: out, emptyDir: {{}}}}, {{name: ckpts, emptyDir: {{}}}}, {{name: data, persistentVolumeClaim: \
         {{claimName: d}}}}], {others}"
    );
    kubeflow("", &[("Worker", 2, container)], &pod)
}

const MOUNTS: &str = "volumeMounts: [{name: out, mountPath: /out}, {name: data, mountPath: /out/data}]";

#[rstest]
#[case::option(
    with_volumes(&format!("args: [a, --checkpoint-dir, /out/a], {MOUNTS}"), ""),
    Some("container pytorch: --checkpoint-dir at /out/a is on volume out, an emptyDir, which is deleted with the pod")
)]
#[case::variable(
    with_volumes(&format!("env: [{{name: CKPT_DIR, value: /out}}], {MOUNTS}"), ""),
    Some("container pytorch: CKPT_DIR at /out is on volume out, an emptyDir, which is deleted with the pod")
)]
#[case::volume(
    with_volumes("volumeMounts: [{name: ckpts, mountPath: /a}]", ""),
    Some("container pytorch: the mount at /a is on volume ckpts, an emptyDir, which is deleted with the pod")
)]
#[case::read_only(with_volumes("volumeMounts: [{name: ckpts, mountPath: /a, readOnly: true}]", ""), None)]
#[case::on_the_claim(with_volumes(&format!("args: [a, --checkpoint-dir=/out/data/a], {MOUNTS}"), ""), None)]
#[case::next_to_the_volume(with_volumes(&format!("args: [a, --checkpoint-dir=/output], {MOUNTS}"), ""), None)]
#[case::reads(with_volumes(&format!("args: [a, --resume-from-checkpoint=/out/a], {MOUNTS}"), ""), None)]
#[case::relative(with_volumes(&format!("args: [a, --checkpoint-interval=100], {MOUNTS}"), ""), None)]
#[case::copied_by_a_sidecar(
    with_volumes(&format!("args: [a, --checkpoint-dir=/out/a], {MOUNTS}"), "initContainers: [{name: copy, volumeMounts: [{name: out, mountPath: /a}]}],"),
    None
)]
fn tr005_checkpoints_in_the_pod(#[case] text: String, #[case] expected: Option<&str>) {
    check("TR005", &text, expected);
}

/// Returns a `CronJob` with these fields in its metadata and in the template of its Jobs.
fn cron_job(metadata: &str, job: &str) -> String {
    format!(
        "apiVersion: batch/v1\nkind: CronJob\nmetadata: {{name: a, {metadata}}}\nspec:\n  schedule: '@daily'\n  jobTemplate: \
         {{{job} spec: {{template: {{spec: {{restartPolicy: Never, containers: [{{name: a, image: i}}]}}}}}}}}\n"
    )
}

fn labeled(metadata: &str) -> String {
    job(&[("Worker", 2, "args: [a]")]).replace("name: llama}", &format!("name: llama, {metadata}}}"))
}

#[rstest]
#[case::istio(
    labeled("labels: {sidecar.istio.io/inject: 'false'}"),
    Some(
        "PyTorchJob team/llama: sidecar.istio.io/inject has no effect in .metadata.labels: move it to \
         .spec.pytorchReplicaSpecs.Worker.template.metadata.labels"
    )
)]
#[case::traffic(
    labeled("annotations: {traffic.sidecar.istio.io/excludeInboundPorts: '29500'}"),
    Some(
        "PyTorchJob team/llama: traffic.sidecar.istio.io/excludeInboundPorts has no effect in .metadata.annotations: move it to \
         .spec.pytorchReplicaSpecs.Worker.template.metadata.annotations"
    )
)]
#[case::gang(
    labeled("labels: {scheduling.x-k8s.io/pod-group: g}"),
    Some(
        "PyTorchJob team/llama: scheduling.x-k8s.io/pod-group has no effect in .metadata.labels: move it to \
         .spec.pytorchReplicaSpecs.Worker.template.metadata.labels"
    )
)]
#[case::dataplane_mode(
    labeled("labels: {istio.io/dataplane-mode: none}"),
    Some(
        "PyTorchJob team/llama: istio.io/dataplane-mode has no effect in .metadata.labels: move it to \
         .spec.pytorchReplicaSpecs.Worker.template.metadata.labels"
    )
)]
#[case::queue_of_pods(
    labeled("").replace("template: {", "template: {metadata: {labels: {kueue.x-k8s.io/queue-name: gpu}}, "),
    Some(
        "PyTorchJob team/llama: kueue.x-k8s.io/queue-name has no effect in \
         .spec.pytorchReplicaSpecs.Worker.template.metadata.labels with Kueue's integration kubeflow.org/pytorchjob, which reads \
         the label of the PyTorchJob: move it to .metadata.labels"
    )
)]
#[case::queue_of_a_cron_job(
    cron_job("labels: {kueue.x-k8s.io/queue-name: gpu}", ""),
    Some(
        "CronJob team/a: kueue.x-k8s.io/queue-name has no effect in .metadata.labels with Kueue's integration batch/job, which reads \
         the label of the Jobs: move it to .spec.jobTemplate.metadata.labels"
    )
)]
#[case::queue_of_its_jobs(cron_job("", "metadata: {labels: {kueue.x-k8s.io/queue-name: gpu}},"), None)]
#[case::queue_of_both(
    labeled("labels: {kueue.x-k8s.io/queue-name: gpu}")
        .replace("template: {", "template: {metadata: {labels: {kueue.x-k8s.io/queue-name: gpu}}, "),
    None
)]
#[case::read_from_the_job(labeled("labels: {kueue.x-k8s.io/queue-name: q}"), None)]
#[case::restart_policy(
    kubeflow("", &[("Worker", 2, "args: [a]")], "restartPolicy: Never,"),
    Some("restartPolicy: Never of the pod template has no effect: the pods get OnFailure")
)]
#[case::same_restart_policy(kubeflow("", &[("Worker", 2, "args: [a]")], "restartPolicy: OnFailure,"), None)]
#[case::level_of_a_job(job_set(1, 1, "", "", "args: [a]"), None)]
#[case::copied_by_the_operator(
    volcano("", "template: {spec: {containers: [{name: a}]}}", "template: {spec: {containers: [{name: a}]}}")
        .replace("name: llama}", "name: llama, annotations: {volcano.sh/preemptable: 'true'}}"),
    None
)]
fn tr006_settings_on_the_wrong_level(#[case] text: String, #[case] expected: Option<&str>) {
    check("TR006", &text, expected);
}

/// Returns a pod as the training-operator creates it.
fn pod_of_a_job() -> String {
    let labels = "training.kubeflow.org/job-name: llama, training.kubeflow.org/replica-type: worker, \
                  training.kubeflow.org/operator-name: pytorchjob-controller";
    let owner = "{apiVersion: kubeflow.org/v1, kind: PyTorchJob, name: llama, uid: a, controller: true}";
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: a, labels: {{{labels}}}, ownerReferences: [{owner}]}}\n\
         spec: {{containers: [{{name: a, command: [torchrun, t.py], env: [{{name: PET_NNODES, value: '4'}}]}}]}}\n"
    )
}

/// Returns an indexed Job of 4 pods with this kind of controller, and these labels of its pods.
fn job_of(kind: &str, labels: &str) -> String {
    let owner = format!("{{apiVersion: x/v1, kind: {kind}, name: s, uid: a, controller: true}}");
    format!(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: a, ownerReferences: [{owner}]}}\n\
         spec:\n  parallelism: 4\n  completions: 4\n  completionMode: Indexed\n  template:\n    metadata: {{labels: {{{labels}}}}}\n    \
         spec: {{restartPolicy: Never, containers: [{{name: a, command: [torchrun, --nnodes=8, t.py]}}]}}\n"
    )
}

#[rstest]
#[case::too_many(
    workers(2, "--nnodes=4,"),
    Some("container pytorch: --nnodes=4, but the job has 2 pods: the group never forms")
)]
#[case::too_few(
    workers(4, "--nnodes=2,"),
    Some("container pytorch: --nnodes=2, but the job has 4 pods: some take no part")
)]
#[case::one_pod(
    workers(1, "--nnodes=4,"),
    Some("container pytorch: --nnodes=4, but the job has 1 pod: the group never forms")
)]
#[case::range(
    workers(2, "'--nnodes=3:4',"),
    Some("container pytorch: --nnodes=3:4, but the job has 2 pods: the group never forms")
)]
#[case::within_the_range(workers(2, "'--nnodes=1:4',"), None)]
#[case::all_roles(pair("--nnodes=3,", "--nnodes=3,"), None)]
#[case::workers_alone(job(&[("Master", 1, "args: [a]"), ("Worker", 2, &torchrun("--nnodes=2,"))]), None)]
#[case::another_role_runs_python(
    job(&[("Master", 1, "command: [python, eval.py]"), ("Worker", 2, &torchrun("--nnodes=3,"))]),
    Some("container pytorch: --nnodes=3, but torchrun runs in at most 2 pods: the group never forms")
)]
#[case::another_role_runs_a_launcher(
    job(&[("Master", 1, "command: [python3, launch.py]"), ("Worker", 2, &torchrun("--nnodes=3,"))]),
    None
)]
#[case::another_role_runs_a_script(
    job(&[("Master", 1, "command: [bash, train.sh]"), ("Worker", 2, &torchrun("--nnodes=3,"))]),
    None
)]
#[case::another_role_runs_the_image(job(&[("Master", 1, "args: [a]"), ("Worker", 2, &torchrun("--nnodes=3,"))]), None)]
#[case::by_the_operator(workers(2, ""), None)]
#[case::elastic(
    kubeflow("  elasticPolicy: {minReplicas: 4, maxReplicas: 8}\n", &[("Worker", 2, &torchrun(""))], ""),
    Some("container pytorch: PET_NNODES=4:8, but the job has 2 pods: the group never forms")
)]
#[case::elastic_within_the_range(
    kubeflow("  elasticPolicy: {minReplicas: 1, maxReplicas: 8}\n", &[("Worker", 2, &torchrun(""))], ""),
    None
)]
#[case::elastic_with_an_autoscaler(
    kubeflow(
        "  elasticPolicy: {minReplicas: 4, maxReplicas: 8, metrics: [{type: Resource}]}\n",
        &[("Worker", 2, &torchrun(""))],
        ""
    ),
    None
)]
#[case::variable_of_the_container(
    job_set(4, 1, "", "", "command: [torchrun, t.py], env: [{name: PET_NNODES, value: '8'}]"),
    Some("container a: PET_NNODES=8, but the job has 4 pods: the group never forms")
)]
#[case::of_a_group(
    groups_of_torchrun(1, "--nnodes=8,"),
    Some("container train: --nnodes=8, but each group has 4 pods: the ranks never meet")
)]
#[case::of_a_part_of_another_group(
    groups_of_torchrun(2, "--nnodes=6,"),
    Some("container train: --nnodes=6, but each group has 4 pods: the ranks never meet")
)]
#[case::of_two_groups(groups_of_torchrun(2, "--nnodes=8,"), None)]
#[case::of_a_whole_group(groups_of_torchrun(2, "--nnodes=4,"), None)]
#[case::of_a_part_of_a_group(groups_of_torchrun(2, "--nnodes=2,"), None)]
#[case::computed(workers(2, "--nnodes=$NODES,"), None)]
#[case::not_a_number(
    workers(2, "--nnodes=many,"),
    Some("container pytorch: --nnodes=many is not a number: torchrun rejects it")
)]
#[case::of_a_template(workers(2, "--nnodes=NUM_NODES,"), None)]
#[case::of_a_command(workers(2, "--nnodes=$(nodes),"), None)]
#[case::one_of_several(
    workers(2, "--nnodes=1,"),
    Some("container pytorch: --nnodes=1, but the job has 2 pods: some take no part")
)]
#[case::independent_pods(job_set(4, 1, "", "", &torchrun("--nnodes=1,")), None)]
#[case::of_each_job(job_set(4, 2, "", "", &torchrun("--nnodes=2,")), None)]
#[case::of_all_jobs(job_set(4, 2, "", "", &torchrun("--nnodes=8,")), None)]
#[case::neither(
    job_set(4, 2, "", "", &torchrun("--nnodes=16,")),
    Some("container a: --nnodes=16, but the job has 8 pods: the group never forms")
)]
#[case::another_program(job(&[("Worker", 2, "args: [sglang, --nnodes=4]")]), None)]
#[case::a_single_pod("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, args: [torchrun, --nnodes=2]}]}\n".to_owned(), None)]
#[case::a_pod_of_a_job(pod_of_a_job(), None)]
#[case::a_job_of_a_job_set(
    job_of(
        "JobSet",
        "jobset.sigs.k8s.io/replicatedjob-replicas: '1', jobset.sigs.k8s.io/replicatedjob-name: a, jobset.sigs.k8s.io/jobset-name: s"
    ),
    None
)]
#[case::a_job_of_a_workflow(
    job_of("Workflow", ""),
    Some("container a: --nnodes=8, but the job has 4 pods: the group never forms")
)]
fn tr007_number_of_nodes(#[case] text: String, #[case] expected: Option<&str>) {
    check("TR007", &text, expected);
}

/// Returns a job of two pods, each with GPUs, that runs this.
fn with_gpus(gpus: &str, command: &str) -> String {
    job(&[("Worker", 2, &format!("{command}, resources: {{limits: {{{gpus}}}}}"))])
}

/// Returns a TrainJob with this number of processes for eight GPUs, and another field of its trainer.
fn train_job(processes: u64, trainer: &str) -> String {
    format!(
        "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {{name: a}}\nspec:\n  runtimeRef: {{name: torch-distributed}}\n  \
         trainer: {{numNodes: 2, numProcPerNode: {processes}, {trainer}, resourcesPerNode: {{limits: {{nvidia.com/gpu: 8}}}}}}\n"
    )
}

const FEWER: Option<&str> =
    Some("container pytorch: --nproc-per-node=4, but it has 8 GPUs: the others are idle, unless a rank uses several");
const MORE: Option<&str> = Some(
    "container pytorch: --nproc-per-node=16, but it has 8 GPUs: some ranks have none, or share one, which NCCL rejects",
);
const EIGHT: &str = "nvidia.com/gpu: 8";

#[rstest]
#[case::fewer(with_gpus(EIGHT, &torchrun("--nproc-per-node=4,")), FEWER)]
#[case::more(with_gpus(EIGHT, &torchrun("--nproc_per_node, '16',")), MORE)]
#[case::of_amd(with_gpus("amd.com/gpu: 8", &torchrun("--nproc-per-node=16,")), MORE)]
#[case::by_the_operator(
    with_gpus(EIGHT, &torchrun("")).replace("spec:\n  pytorch", "spec:\n  nprocPerNode: '4'\n  pytorch"),
    Some("container pytorch: nprocPerNode=4, but it has 8 GPUs: the others are idle, unless a rank uses several")
)]
#[case::all(with_gpus(EIGHT, &torchrun("--nproc-per-node=8,")), None)]
#[case::word(with_gpus(EIGHT, &torchrun("--nproc-per-node=gpu,")), None)]
#[case::one_process(with_gpus(EIGHT, &torchrun("--nproc-per-node=1,")), None)]
#[case::computed(with_gpus(EIGHT, &torchrun("--nproc-per-node=$N,")), None)]
#[case::no_gpus(with_gpus("cpu: 8", &torchrun("--nproc-per-node=16,")), None)]
#[case::shares(with_gpus("nvidia.com/gpu.shared: 8", &torchrun("--nproc-per-node=16,")), None)]
#[case::two_agents(
    with_gpus(EIGHT, "args: [sh, -c, 'torchrun --nproc-per-node=4 a.py & torchrun --nproc-per-node=4 b.py']"),
    None
)]
#[case::hidden_gpus(
    with_gpus(EIGHT, "args: [sh, -c, 'CUDA_VISIBLE_DEVICES=0,1,2,3 torchrun --nproc-per-node=4 a.py']"),
    None
)]
#[case::hidden_by_the_environment(
    with_gpus(EIGHT, &format!("{}, env: [{{name: CUDA_VISIBLE_DEVICES, value: '0,1,2,3'}}]", torchrun("--nproc-per-node=4,"))),
    None
)]
#[case::claims(with_gpus("nvidia.com/gpu: 8}, claims: [{name: a}], requests: {cpu: 1", &torchrun("--nproc-per-node=4,")), None)]
#[case::another_program(with_gpus(EIGHT, "args: [accelerate, launch, --nproc-per-node=4]"), None)]
#[case::train_job_without_command(
    train_job(16, "image: i"),
    Some(
        "container node: numProcPerNode=16, but it has 8 GPUs: some ranks have none, or share one, which NCCL rejects"
    )
)]
#[case::train_job_with_torchrun(
    train_job(4, "command: [torchrun, t.py]"),
    Some("container node: numProcPerNode=4, but it has 8 GPUs: the others are idle, unless a rank uses several")
)]
#[case::fewer_without_command(train_job(4, "image: i"), None)]
#[case::train_job_with_python(train_job(16, "command: [python, t.py]"), None)]
fn tr007_number_of_processes(#[case] text: String, #[case] expected: Option<&str>) {
    check("TR007", &text, expected);
}

/// Returns an Indexed Job of two pods that runs a script, with fields of its container.
fn script(script: &str, container: &str) -> String {
    indexed(IN_SERVICE, &format!("args: [sh, -c, '{script}'], {container}"), "clusterIP: None")
}

const DEFAULT_ADDRESS: Option<&str> =
    Some("container a: without --master-addr, torchrun uses 127.0.0.1, the pod itself: the pods never meet");
const SAME_RANK: Option<&str> = Some("container a: without --node-rank, all 2 pods have rank 0: the group never forms");
const RANK: &str = "--node-rank=$JOB_COMPLETION_INDEX";

#[rstest]
#[case::no_address(script(&format!("torchrun --nnodes=2 {RANK} t.py"), ""), DEFAULT_ADDRESS)]
#[case::nothing(script("torchrun --nnodes 2 t.py", ""), DEFAULT_ADDRESS)]
#[case::module(script("python -m torch.distributed.run --nnodes=2 t.py", ""), DEFAULT_ADDRESS)]
#[case::variable_that_torchrun_ignores(
    script("torchrun --nnodes=2 t.py", "env: [{name: MASTER_ADDR, value: llama-0.rank0}]"),
    DEFAULT_ADDRESS
)]
#[case::explicit_backend(script("torchrun --nnodes=2 --rdzv-backend=static t.py", ""), DEFAULT_ADDRESS)]
#[case::no_rank(script("torchrun --nnodes=2 --master-addr=llama-0.rank0 t.py", ""), SAME_RANK)]
#[case::same_rank(
    script("torchrun --nnodes=2 --master-addr=llama-0.rank0 --node_rank=0 t.py", ""),
    Some("container a: --node-rank=0 in all 2 pods: the group never forms")
)]
#[case::own_host(
    script("torchrun --nnodes=2 --rdzv-backend=c10d --rdzv-endpoint=$(hostname):29400 t.py", ""),
    Some("container a: --rdzv-endpoint is $(hostname):29400, the pod itself: the pods never meet")
)]
#[case::own_address(
    script("torchrun --nnodes=2 --rdzv-backend=c10d --rdzv-endpoint=$(hostname -i):29400 t.py", ""),
    Some("container a: --rdzv-endpoint is $(hostname -i):29400, the pod itself: the pods never meet")
)]
#[case::complete(script(&format!("torchrun --nnodes=2 --master-addr=llama-0.rank0 {RANK} t.py"), ""), None)]
#[case::rank_of_the_kubelet(
    script("torchrun --nnodes=2 --master-addr=llama-0.rank0 --node-rank $(JOB_COMPLETION_INDEX) t.py", ""),
    None
)]
#[case::variables(
    script(
        "torchrun --nnodes=2 t.py",
        "env: [{name: PET_MASTER_ADDR, value: llama-0.rank0}, {name: PET_NODE_RANK, valueFrom: {fieldRef: {fieldPath: a}}}]"
    ),
    None
)]
#[case::rank_of_a_variable(
    script(
        "torchrun --nnodes=2 --master-addr=llama-0.rank0 t.py",
        "env: [{name: PET_NODE_RANK, valueFrom: {fieldRef: {fieldPath: a}}}]"
    ),
    None
)]
#[case::exported(script("export PET_MASTER_ADDR=a PET_NODE_RANK=$I; torchrun --nnodes=2 t.py", ""), None)]
#[case::from_a_config_map(script("torchrun --nnodes=2 t.py", "envFrom: [{configMapRef: {name: a}}]"), None)]
#[case::options_of_an_expansion(script("torchrun --nnodes=2 $ARGS t.py", ""), None)]
#[case::options_of_an_array(script("torchrun --nnodes=2 \"${ARGS[@]}\" t.py", ""), None)]
#[case::rank_by_a_condition(
    script(
        "if a; then torchrun --nnodes=2 --master-addr=b --node-rank=0 t.py; else torchrun --nnodes=2 --master-addr=b --node-rank=1 t.py; fi",
        ""
    ),
    None
)]
#[case::host_by_a_condition(
    script(
        "if a; then torchrun --nnodes=2 --rdzv-backend=c10d --rdzv-endpoint=$(hostname):1 t.py; else torchrun --nnodes=2 \
         --rdzv-backend=c10d --rdzv-endpoint=llama-0.rank0:1 t.py; fi",
        ""
    ),
    None
)]
#[case::host_derived_from_the_own_one(
    script("torchrun --nnodes=2 --rdzv-backend=c10d --rdzv-endpoint=${HOSTNAME%-*}-0.rank0:1 t.py", ""),
    None
)]
#[case::rank_without_effect(
    script("torchrun --nnodes=2 --rdzv-backend=c10d --rdzv-endpoint=llama-0.rank0:1 t.py", ""),
    None
)]
#[case::backend_of_a_variable(
    script("torchrun --nnodes=2 t.py", "env: [{name: PET_RDZV_BACKEND, valueFrom: {fieldRef: {fieldPath: a}}}]"),
    None
)]
#[case::one_node(script("torchrun --nnodes=1 t.py", ""), None)]
#[case::no_number_of_nodes(script("torchrun t.py", ""), None)]
#[case::standalone(script("torchrun --standalone --nnodes=2 t.py", ""), None)]
#[case::one_pod(script("torchrun --nnodes=2 t.py", "").replace("completions: 2", "completions: 1"), None)]
#[case::another_launcher(script("hyperpodrun --nnodes=2 t.py", ""), None)]
#[case::settings_of_the_operator(pair("", ""), None)]
#[case::two_pods_with_the_settings_of_one(
    job(&[("Master", 1, &torchrun("--nnodes=2, --node-rank=0,")), ("Worker", 1, &torchrun("--nnodes=2, --node-rank=1,"))]), None
)]
#[case::operator_without_a_master(
    workers(2, ""),
    Some("container pytorch: without --master-addr, torchrun uses 127.0.0.1, the pod itself: the pods never meet")
)]
#[case::elastic_job(kubeflow("  elasticPolicy: {minReplicas: 1, maxReplicas: 2}\n", &[("Worker", 2, &torchrun(""))], ""), None)]
fn tr008_address_and_rank_by_default(#[case] text: String, #[case] expected: Option<&str>) {
    check("TR008", &text, expected);
}

/// Options of torchrun whose rank is the completion index.
const BY_INDEX: &str = "--master-addr=a, '--node-rank=$(JOB_COMPLETION_INDEX)',";

#[rstest]
#[case::indexed(script(&format!("torchrun --nnodes=2 --master-addr=a {RANK} t.py"), ""), None)]
#[case::not_indexed(
    script(&format!("torchrun --nnodes=2 --master-addr=a {RANK} t.py"), "").replace("completionMode: Indexed", "completionMode: NonIndexed"),
    Some("container a: --node-rank is the completion index, which only Indexed Jobs have: torchrun rejects it, unless the image sets it")
)]
#[case::own_variable(
    script(&format!("torchrun --nnodes=2 --master-addr=a {RANK} t.py"), "env: [{name: JOB_COMPLETION_INDEX, valueFrom: {fieldRef: {fieldPath: a}}}]")
        .replace("completionMode: Indexed", "completionMode: NonIndexed"),
    None
)]
#[case::assigned(
    script(&format!("JOB_COMPLETION_INDEX=1 torchrun --nnodes=2 --master-addr=a {RANK} t.py"), "")
        .replace("completionMode: Indexed", "completionMode: NonIndexed"),
    None
)]
#[case::set_by_a_file(
    script(&format!("source /env.sh; torchrun --nnodes=2 --master-addr=a {RANK} t.py"), "")
        .replace("completionMode: Indexed", "completionMode: NonIndexed"),
    None
)]
#[case::set_by_a_command(
    script(&format!("eval $(cat /env); torchrun --nnodes=2 --master-addr=a {RANK} t.py"), "")
        .replace("completionMode: Indexed", "completionMode: NonIndexed"),
    None
)]
#[case::set_by_a_loop(
    script(&format!("for JOB_COMPLETION_INDEX in 0 1; do torchrun --nnodes=2 --master-addr=a {RANK} t.py; done"), "")
        .replace("completionMode: Indexed", "completionMode: NonIndexed"),
    None
)]
#[case::more_completions(
    script(&format!("torchrun --nnodes=2 --master-addr=a {RANK} t.py"), "").replace("completions: 2", "completions: 4"),
    Some("container a: --node-rank is the completion index, up to 3, but --nnodes is 2: the later pods fail")
)]
#[case::several_jobs(
    job_set(2, 1, "", "", &torchrun(&format!("--nnodes=2, {BY_INDEX}"))),
    Some("container a: --node-rank is the completion index, which each of the 2 Jobs counts from 0: the group never forms")
)]
#[case::several_jobs_of_several_pods(
    job_set(2, 2, "", "", &torchrun(&format!("--nnodes=4, {BY_INDEX}"))),
    Some("container a: --node-rank is the completion index, which each of the 2 Jobs counts from 0: the group never forms")
)]
#[case::group_of_each_job(job_set(2, 2, "", "", &torchrun(&format!("--nnodes=2, {BY_INDEX}"))), None)]
#[case::one_job(job_set(1, 2, "", "", &torchrun(&format!("--nnodes=2, {BY_INDEX}"))), None)]
#[case::another_backend(job_set(2, 1, "", "", &torchrun(&format!("--nnodes=2, --rdzv-backend=c10d, '--rdzv-endpoint=b:1', {BY_INDEX}"))), None)]
fn tr008_completion_index(#[case] text: String, #[case] expected: Option<&str>) {
    check("TR008", &text, expected);
}

#[rstest]
#[case::no_host(
    workers(2, "'--rdzv-endpoint=:29400',"),
    Some("container pytorch: the endpoint :29400 has no host: torchrun rejects it")
)]
#[case::no_host_of_one_pod(
    workers(1, "'--rdzv-endpoint=:29400',"),
    Some("container pytorch: the endpoint :29400 has no host: torchrun rejects it")
)]
#[case::loopback(
    workers(2, "--nnodes=2, --rdzv-backend=c10d, '--rdzv_endpoint=localhost:29400',"),
    Some("container pytorch: --rdzv-endpoint is localhost:29400, the pod itself: the pods never meet")
)]
#[case::static_address(
    workers(2, "--nnodes=2, --master-addr=127.0.0.1,"),
    Some("container pytorch: --master-addr is 127.0.0.1, the pod itself: the pods never meet")
)]
#[case::no_endpoint(
    workers(2, "--nnodes=2, --rdzv-backend=c10d,"),
    Some("container pytorch: the backend c10d without an endpoint uses localhost: the pods never meet")
)]
#[case::no_endpoint_by_the_operator(
    pair("--rdzv-backend=c10d,", "--rdzv-backend=c10d,"),
    Some("container pytorch: the backend c10d without an endpoint uses localhost: the pods never meet")
)]
#[case::of_rank_0(
    pair(
        "--nnodes=3, --rdzv-backend=c10d, '--rdzv-endpoint=localhost:1',",
        "--nnodes=3, --rdzv-backend=c10d, '--rdzv-endpoint=llama-master-0:1',"
    ),
    None
)]
#[case::of_both_roles(
    job(&[("Master", 1, &torchrun("--nnodes=2, --rdzv-backend=c10d, '--rdzv-endpoint=localhost:1',")), ("Worker", 1, &torchrun("--nnodes=2, --rdzv-backend=c10d, '--rdzv-endpoint=localhost:1',"))]),
    Some("container pytorch: --rdzv-endpoint is localhost:1, the pod itself: the pods never meet")
)]
#[case::one_node(workers(2, "--nnodes=1, --rdzv-backend=c10d, '--rdzv-endpoint=localhost:0',"), None)]
#[case::one_pod(workers(1, "--nnodes=1, --rdzv-backend=c10d,"), None)]
#[case::standalone(workers(2, "--standalone, --rdzv-backend=c10d, --nnodes=2,"), None)]
#[case::computed(workers(2, "--nnodes=2, --rdzv-backend=c10d, '--rdzv-endpoint=$(MASTER_ADDR):29400',"), None)]
#[case::another_backend(workers(2, "--nnodes=2, --rdzv-backend=etcd-v2,"), None)]
#[case::elastic(kubeflow("  elasticPolicy: {rdzvBackend: c10d}\n", &[("Worker", 2, &torchrun(""))], ""), None)]
#[case::another_host(workers(2, "--nnodes=2, --rdzv-backend=c10d, '--rdzv-endpoint=localhost.example.com:1',"), None)]
fn tr008_rendezvous_address(#[case] text: String, #[case] expected: Option<&str>) {
    check("TR008", &text, expected);
}

/// Returns a job with this backend, a Service `etcd` with this selector, and a `StatefulSet` with this image and arguments.
fn with_etcd(backend: &str, selector: &str, image: &str, arguments: &str) -> String {
    let spec = format!("  elasticPolicy: {{rdzvBackend: {backend}, rdzvHost: etcd.team.svc, rdzvPort: 2379}}\n");
    format!(
        "{}---\napiVersion: v1\nkind: Service\nmetadata: {{name: etcd}}\nspec: {{selector: {{{selector}}}}}\n---\napiVersion: apps/v1\n\
         kind: StatefulSet\nmetadata: {{name: etcd}}\nspec: {{template: {{metadata: {{labels: {{app: etcd}}}}, spec: {{containers: [{{name: \
         etcd, image: '{image}', args: [{arguments}]}}]}}}}}}\n",
        kubeflow(&spec, &[("Worker", 2, &torchrun(""))], "")
    )
}

const WITHOUT_V2: &str = "container pytorch: the backend etcd-v2 uses version 2 of etcd's API, which Service etcd \
                          (quay.io/coreos/etcd:v3.6.9) does not serve";

#[rstest]
#[case::newer(with_etcd("etcd-v2", "app: etcd", "quay.io/coreos/etcd:v3.6.9", ""), Some(WITHOUT_V2))]
#[case::disabled(
    with_etcd("etcd", "app: etcd", "etcd:3.5.1", ""),
    Some(
        "container pytorch: the backend etcd uses version 2 of etcd's API, which Service etcd (etcd:3.5.1) does not serve"
    )
)]
#[case::enabled(with_etcd("etcd", "app: etcd", "etcd:3.5.1", "--enable-v2=true"), None)]
#[case::older(with_etcd("etcd", "app: etcd", "etcd:3.3.8", ""), None)]
#[case::another_backend(with_etcd("c10d", "app: etcd", "etcd:3.6.9", ""), None)]
#[case::another_etcd(with_etcd("etcd", "app: other", "etcd:3.6.9", ""), None)]
#[case::no_selector(with_etcd("etcd", "", "etcd:3.6.9", ""), None)]
#[case::no_version(with_etcd("etcd", "app: etcd", "etcd", ""), None)]
fn tr009_store_without_v2(#[case] text: String, #[case] expected: Option<&str>) {
    check("TR009", &text, expected);
}

/// Returns an `MPIJob` of two workers.
fn mpi(spec: &str, annotations: &str) -> String {
    format!(
        "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmetadata: {{name: llama}}\nspec:\n  {spec}\n  mpiReplicaSpecs:\n    Launcher: \
         {{template: {{spec: {{containers: [{{name: a, image: i}}]}}}}}}\n    Worker: {{replicas: 2, template: {{metadata: {{annotations: \
         {{{annotations}}}}}, spec: {{containers: [{{name: a, image: i}}]}}}}}}\n"
    )
}

const WAITS: &str = "launcherCreationPolicy: WaitForWorkersReady";

fn group(minimum: u64) -> String {
    format!(
        "---\napiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\nmetadata: {{name: g}}\nspec: {{minMember: {minimum}}}\n"
    )
}

#[rstest]
#[case::counted(
    mpi(&format!("{WAITS}\n  runPolicy: {{schedulingPolicy: {{minAvailable: 3}}}}"), ""),
    Some("the gang needs 3 pods, but only 2 workers exist before the launcher is created, which waits for the workers (WaitForWorkersReady)")
)]
#[case::by_default(
    mpi(&format!("{WAITS}\n  runPolicy: {{schedulingPolicy: {{queue: q}}}}"), ""),
    Some("the operator's gang has 3 pods with the launcher, but only 2 workers exist before the launcher is created, which waits for the workers (WaitForWorkersReady)")
)]
#[case::group_of_the_user(
    mpi(WAITS, "scheduling.k8s.io/group-name: g") + &group(3),
    Some("the gang needs 3 pods, but only 2 workers exist before the launcher is created, which waits for the workers (WaitForWorkersReady)")
)]
#[case::workers(mpi(&format!("{WAITS}\n  runPolicy: {{schedulingPolicy: {{minAvailable: 2}}}}"), ""), None)]
#[case::no_gang(mpi(WAITS, ""), None)]
#[case::at_startup(mpi("runPolicy: {schedulingPolicy: {minAvailable: 3}}", ""), None)]
fn tr010_launcher_in_the_gang(#[case] text: String, #[case] expected: Option<&str>) {
    check("TR010", &text, expected);
}

const MEMBER: &str = "template: {metadata: {annotations: {scheduling.k8s.io/group-name: g}}, spec: {containers: [{name: pytorch, image: i}]}}";

/// Returns a Volcano Job with these minimums of its tasks.
fn tasks(master: u64, worker: u64) -> String {
    let template = "template: {spec: {containers: [{name: a}]}}";
    volcano("", &format!("minAvailable: {master}, {template}"), &format!("minAvailable: {worker}, {template}"))
        .replace("replicas: 1", "replicas: 2")
        .replace("replicas: 3", "replicas: 4")
}

fn member_job() -> String {
    format!(
        "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {{name: llama}}\nspec:\n  pytorchReplicaSpecs:\n    Master: {{{MEMBER}}}\n    \
         Worker: {{replicas: 3, {MEMBER}}}\n"
    )
}

#[rstest]
#[case::policy(
    kubeflow("  runPolicy: {schedulingPolicy: {minAvailable: 4}}\n", &[("Worker", 3, "args: [a]")], ""),
    Some("minAvailable is 4, but the job has 3 pods: none starts in a gang that the operator creates")
)]
#[case::all(kubeflow("  runPolicy: {schedulingPolicy: {minAvailable: 3}}\n", &[("Worker", 3, "args: [a]")], ""), None)]
#[case::volcano(
    volcano(
        "minAvailable: 5",
        "template: {spec: {containers: [{name: a}]}}",
        "template: {spec: {containers: [{name: a}]}}"
    ),
    Some("minAvailable is 5, but the job has 4 pods: none starts")
)]
#[case::one_pod(
    kubeflow("  runPolicy: {schedulingPolicy: {minAvailable: 2}}\n", &[("Worker", 1, "args: [a]")], ""),
    Some("minAvailable is 2, but the job has 1 pod: none starts in a gang that the operator creates")
)]
#[case::task_of_one_pod(tasks(2, 2).replacen("replicas: 2", "replicas: 1", 1), Some("minAvailable of task master is 2, but it has 1 pod: none starts"))]
#[case::volcano_of_all(
    volcano(
        "minAvailable: 4",
        "template: {spec: {containers: [{name: a}]}}",
        "template: {spec: {containers: [{name: a}]}}"
    ),
    None
)]
#[case::group(member_job() + &group(5), Some("PodGroup g requires 5 pods, but the job has 4: none starts"))]
#[case::group_of_all(member_job() + &group(4), None)]
#[case::another_group(member_job() + &group(5).replace("name: g}", "name: h}"), None)]
#[case::another_scheduler(member_job() + &group(5).replace("volcano.sh/v1beta1", "x-k8s.io/v1alpha1"), None)]
#[case::task(tasks(2, 9), Some("minAvailable of task worker is 9, but it has 4 pods: none starts"))]
#[case::task_without_a_name(
    tasks(2, 9).replace("name: worker, ", ""),
    Some("minAvailable of task default1 is 9, but it has 4 pods: none starts")
)]
#[case::first_task(tasks(3, 4), Some("minAvailable of task master is 3, but it has 2 pods: none starts"))]
#[case::tasks(tasks(2, 4), None)]
#[case::tasks_of_another_kind(tasks(2, 9).replace("batch.volcano.sh/v1alpha1", "example.com/v1"), None)]
fn tr011_minimum_above_the_pods(#[case] text: String, #[case] expected: Option<&str>) {
    check("TR011", &text, expected);
}

/// Returns [`labeled_roles`] whose pods have these annotations.
fn annotated(master: &str, worker: &str) -> String {
    let annotations = |text: &str| format!("}}, annotations: {{{text}");
    labeled_roles(&annotations(master), &annotations(worker), "")
}

/// Returns the annotations of a gang of Koordinator.
fn koordinator(name: &str, minimum: &str) -> String {
    format!("gang.scheduling.koordinator.sh/name: {name}, gang.scheduling.koordinator.sh/min-available: '{minimum}'")
}

/// Returns the annotations of a task group of `YuniKorn`.
fn task_group(name: &str, groups: &str) -> String {
    format!("yunikorn.apache.org/task-group-name: {name}, yunikorn.apache.org/task-groups: '{groups}'")
}

const NINE: &str = r#"[{"name": "g", "minMember": 9, "minResource": {}}]"#;
const FOUR: &str = r#"[{"name": "other", "minMember": 9}, {"name": "g", "minMember": 4}]"#;

#[rstest]
#[case::koordinator(
    annotated(&koordinator("g", "9"), &koordinator("g", "9")),
    Some("gang g of Koordinator requires 9 pods, but the job has 4: none starts")
)]
#[case::koordinator_of_a_role(
    annotated("", &koordinator("g", "4")),
    Some("gang g of Koordinator requires 4 pods, but the job has 3: none starts")
)]
#[case::koordinator_of_all(annotated(&koordinator("g", "4"), &koordinator("g", "4")), None)]
#[case::koordinator_of_two_gangs(annotated(&koordinator("a", "1"), &koordinator("b", "3")), None)]
#[case::koordinator_without_a_number(annotated(&koordinator("g", "all"), &koordinator("g", "all")), None)]
#[case::koordinator_without_a_name(annotated("", "gang.scheduling.koordinator.sh/min-available: '9'"), None)]
#[case::yunikorn(
    annotated(&task_group("g", NINE), &task_group("g", NINE)),
    Some(
        "task group g of YuniKorn has 9 members, but the job has 4 pods: the pods wait for resources that none of them uses"
    )
)]
#[case::yunikorn_of_all(annotated(&task_group("g", FOUR), &task_group("g", FOUR)), None)]
#[case::yunikorn_of_another_group(annotated(&task_group("a", NINE), &task_group("a", NINE)), None)]
#[case::yunikorn_without_a_group(annotated("", &format!("yunikorn.apache.org/task-groups: '{NINE}'")), None)]
#[case::yunikorn_with_broken_text(
    annotated("", &task_group("g", "[{name: g}")),
    Some("the task groups of YuniKorn are no list in JSON: it places the pods one by one")
)]
#[case::yunikorn_with_an_object(
    annotated("", &task_group("g", "{}")),
    Some("the task groups of YuniKorn are no list in JSON: it places the pods one by one")
)]
#[case::added_by_trainmesh(
    labeled_roles("trainmesh.dev/gang: koordinator", "trainmesh.dev/gang: koordinator", ""),
    None
)]
fn tr011_minimum_in_annotations(#[case] text: String, #[case] expected: Option<&str>) {
    check("TR011", &text, expected);
}

/// Returns a job with GPUs and the profile `ib-shared`.
fn with_fabric(resources: &str) -> String {
    format!(
        "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {{name: llama}}\nspec:\n  runPolicy: {{schedulingPolicy: \
         {{minResources: {resources}}}}}\n  pytorchReplicaSpecs:\n    Worker:\n      replicas: 2\n      template:\n        metadata: {{labels: \
         {{trainmesh.dev/fabric: ib-shared}}}}\n        spec: {{containers: [{{name: pytorch, image: i, resources: {{limits: \
         {{nvidia.com/gpu: 8}}}}}}]}}\n"
    )
}

#[rstest]
#[case::policy(
    with_fabric("{nvidia.com/gpu: 16}"),
    Some("minResources of schedulingPolicy does not reserve rdma/hca_shared_devices_a, which trainmesh adds")
)]
#[case::reserved(with_fabric("{nvidia.com/gpu: 16, rdma/hca_shared_devices_a: 2}"), None)]
#[case::no_resources(with_fabric("null"), None)]
#[case::no_profile(with_fabric("{nvidia.com/gpu: 16}").replace("trainmesh.dev/fabric: ib-shared", "a: b"), None)]
fn tr012_devices_that_trainmesh_adds(#[case] text: String, #[case] expected: Option<&str>) {
    check("TR012", &text, expected);
}

#[rstest]
#[case::volcano(
    volcano(
        "",
        "template: {spec: {containers: [{name: a}]}}",
        "template: {spec: {schedulerName: other, containers: [{name: a}]}}"
    ),
    Some(
        "the pods of the gang have the schedulers other, volcano: each sees a part of the gang, and waits for the rest"
    )
)]
#[case::one(
    volcano("", "template: {spec: {containers: [{name: a}]}}", "template: {spec: {containers: [{name: a}]}}"),
    None
)]
#[case::no_gang(
    job(&[("Master", 1, "args: [a]"), ("Worker", 1, "args: [a]")]).replacen("spec: { containers", "spec: {schedulerName: a, containers", 1),
    None
)]
#[case::gang_of_an_operator(
    kubeflow_schedulers(
        "runPolicy: {schedulingPolicy: {minAvailable: 3}}",
        "schedulerName: volcano,",
        "schedulerName: default-scheduler,"
    ),
    Some(
        "the pods of the gang have the schedulers default-scheduler, volcano: each sees a part of the gang, and waits for the rest"
    )
)]
#[case::one_scheduler_of_an_operator(
    kubeflow_schedulers(
        "runPolicy: {schedulingPolicy: {minAvailable: 3}}",
        "schedulerName: volcano,",
        "schedulerName: volcano,"
    ),
    None
)]
#[case::scheduler_that_the_operator_sets(
    kubeflow_schedulers("runPolicy: {schedulingPolicy: {minAvailable: 3}}", "schedulerName: volcano,", ""),
    None
)]
#[case::operator_without_a_gang(
    kubeflow_schedulers(
        "runPolicy: {schedulingPolicy: {queue: q}}",
        "schedulerName: volcano,",
        "schedulerName: default-scheduler,"
    ),
    None
)]
#[case::minimum_without_the_pods_of_the_default_scheduler(
    kubeflow_schedulers(
        "runPolicy: {schedulingPolicy: {minAvailable: 2}}",
        "schedulerName: default-scheduler,",
        "schedulerName: volcano,"
    ),
    None
)]
#[case::minimum_of_the_default_scheduler(
    kubeflow_schedulers(
        "runPolicy: {schedulingPolicy: {minAvailable: 2}}",
        "schedulerName: volcano,",
        "schedulerName: default-scheduler,"
    ),
    Some(
        "the pods of the gang have the schedulers default-scheduler, volcano: each sees a part of the gang, and waits for the rest"
    )
)]
#[case::scheduler_that_mpi_operator_sets(
    kubeflow_schedulers(
        "runPolicy: {schedulingPolicy: {minAvailable: 3}}",
        "schedulerName: default-scheduler,",
        "schedulerName: volcano,"
    )
    .replace("kubeflow.org/v1", "kubeflow.org/v2beta1")
    .replace("PyTorchJob", "MPIJob")
    .replace("pytorchReplicaSpecs", "mpiReplicaSpecs")
    .replace("Master", "Launcher"),
    None
)]
fn tr013_schedulers(#[case] text: String, #[case] expected: Option<&str>) {
    check("TR013", &text, expected);
}

/// Returns a job of a master and three workers, whose pods have these labels and this `schedulerName`.
fn labeled_roles(master: &str, worker: &str, scheduler: &str) -> String {
    let role = |labels: &str, scheduler: &str| {
        format!(
            "template: {{metadata: {{labels: {{{labels}}}}}, spec: {{{scheduler}containers: [{{name: pytorch, image: i}}]}}}}"
        )
    };
    format!(
        "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {{name: llama}}\nspec: {{pytorchReplicaSpecs: {{Master: {{{}}}, \
         Worker: {{replicas: 3, {}}}}}}}\n",
        role(master, ""),
        role(worker, scheduler)
    )
}

const PARTIAL: Option<&str> =
    Some("Master joins the gang (volcano), which needs 4 pods, but not Worker: it waits for them in vain");

const PARTIAL_GROUP: Option<&str> =
    Some("worker joins the gang (volcano), which needs 4 pods, but not leader: it waits for them in vain");

/// Returns a set of groups of a leader and three workers, whose pods have these labels.
fn groups(count: u64, leader: &str, worker: &str) -> String {
    let template = |labels: &str| {
        format!("{{metadata: {{labels: {{{labels}}}}}, spec: {{containers: [{{name: train, image: i}}]}}}}")
    };
    format!(
        "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {{name: llama}}\nspec: {{replicas: {count}, \
         leaderWorkerTemplate: {{size: 4, leaderTemplate: {}, workerTemplate: {}}}}}\n",
        template(leader),
        template(worker)
    )
}

/// Like [`groups`], for pods that run torchrun with these options.
fn groups_of_torchrun(count: u64, options: &str) -> String {
    groups(count, "", "").replace("image: i", &format!("image: i, {}", torchrun(options)))
}

/// Sets the minimum of the gang of a job.
fn with_minimum(job: &str, pods: u64) -> String {
    job.replace(
        "spec: {pytorch",
        &format!("spec: {{runPolicy: {{schedulingPolicy: {{minAvailable: {pods}}}}}, pytorch"),
    )
}

#[rstest]
#[case::one_role(labeled_roles("trainmesh.dev/gang: volcano", "", ""), PARTIAL)]
#[case::opted_out(labeled_roles("trainmesh.dev/gang: volcano", "trainmesh.dev/gang: none", ""), PARTIAL)]
#[case::excluded(
    labeled_roles("trainmesh.dev/gang: volcano", "trainmesh.dev/gang: volcano, trainmesh.dev/inject: disabled", ""),
    Some(
        "Master joins the gang (volcano), which needs 4 pods, but not Worker, whose pods have opted out (trainmesh.dev/inject): it waits for them in vain"
    )
)]
#[case::another_scheduler(
    labeled_roles("trainmesh.dev/gang: volcano", "trainmesh.dev/gang: volcano", "schedulerName: other, "),
    Some(
        "Master joins the gang (volcano), which needs 4 pods, but not Worker, whose scheduler is other: it waits for them in vain"
    )
)]
#[case::misspelled_scheduler(
    labeled_roles("trainmesh.dev/gang: volcano", "trainmesh.dev/gang: volcano", "schedulerName: volcanoo, "),
    Some(
        "Master joins the gang (volcano), which needs 4 pods, but not Worker, whose scheduler is volcanoo: it waits for them in vain: did you mean volcano?"
    )
)]
#[case::key_of_another_gang(
    labeled_roles("trainmesh.dev/gang: volcano", "trainmesh.dev/gang: volcano, scheduling.x-k8s.io/pod-group: x", ""),
    Some(
        "Master joins the gang (volcano), which needs 4 pods, but not Worker, which already has the label scheduling.x-k8s.io/pod-group: it waits for them in vain"
    )
)]
#[case::gated(
    labeled_roles("trainmesh.dev/gang: volcano", "trainmesh.dev/gang: volcano", "schedulingGates: [{name: a}], "),
    Some(
        "Master joins the gang (volcano), which needs 4 pods, but not Worker, which has scheduling gates: it waits for them in vain"
    )
)]
#[case::the_other_role(
    labeled_roles("", "trainmesh.dev/gang: native", ""),
    Some("Worker joins the gang (native), which needs 4 pods, but not Master: it waits for them in vain")
)]
#[case::minimum_in_the_pods(
    labeled_roles("", "trainmesh.dev/gang: koordinator", ""),
    Some("Worker joins the gang (koordinator), but not Master: it starts without them")
)]
#[case::above_the_minimum(
    with_minimum(&labeled_roles("trainmesh.dev/gang: volcano", "", ""), 2),
    Some("Master joins the gang (volcano), which needs 2 pods, but not Worker: it waits for them in vain")
)]
#[case::minimum(with_minimum(&labeled_roles("trainmesh.dev/gang: volcano", "", ""), 1), None)]
#[case::minimum_of_the_other_role(with_minimum(&labeled_roles("", "trainmesh.dev/gang: volcano", ""), 3), None)]
#[case::both(labeled_roles("trainmesh.dev/gang: volcano", "trainmesh.dev/gang: volcano", ""), None)]
#[case::rejected_pods(
    labeled_roles("trainmesh.dev/gang: volcano}, annotations: {a: 30", "trainmesh.dev/gang: volcano", ""),
    None
)]
#[case::none(labeled_roles("", "", ""), None)]
#[case::no_pods(labeled_roles("trainmesh.dev/gang: volcano", "", "").replace("replicas: 3", "replicas: 0"), None)]
#[case::group_of_a_set(groups(1, "a: b", "trainmesh.dev/gang: volcano"), PARTIAL_GROUP)]
#[case::groups_of_a_set(groups(2, "a: b", "trainmesh.dev/gang: volcano"), PARTIAL_GROUP)]
#[case::complete_groups(groups(2, "trainmesh.dev/gang: volcano", "trainmesh.dev/gang: volcano"), None)]
fn tr014_roles_outside_the_gang(#[case] text: String, #[case] expected: Option<&str>) {
    check("TR014", &text, expected);
}

#[test]
fn tr014_reports_the_gang_of_each_mode() {
    let found = lint(&labeled_roles("trainmesh.dev/gang: volcano", "trainmesh.dev/gang: native", ""));
    let messages: Vec<&str> =
        found.iter().filter(|(code, _)| code == "TR014").map(|(_, message)| message.as_str()).collect();
    let of_master = "Worker joins the gang (native), which needs 4 pods, but not Master: it waits for them in vain";
    assert_eq!(messages, [of_master, PARTIAL.unwrap()]);
}

/// Returns a job of a master and three workers in a gang of this mode, whose pods have these fields.
fn prioritized(mode: &str, master: &str, worker: &str) -> String {
    let labels = format!("trainmesh.dev/gang: {mode}");
    labeled_roles(&labels, &labels, worker).replacen("spec: {containers", &format!("spec: {{{master}containers"), 1)
}

const HIGH: &str = "priorityClassName: high, ";
const RELEASED: Option<&str> = Some(
    "the pods of the gang have the priorities high, none: the controller releases gangs with different values, and the pods are \
     placed one by one",
);

#[rstest]
#[case::native(prioritized("native", HIGH, ""), RELEASED)]
#[case::volcano(prioritized("volcano", "", HIGH), RELEASED)]
#[case::coscheduling(prioritized("coscheduling", HIGH, ""), RELEASED)]
#[case::two_classes(
    prioritized("native", "priorityClassName: a, ", "priorityClassName: b, "),
    Some(
        "the pods of the gang have the priorities a, b: the controller releases gangs with different values, and the pods are placed one by one"
    )
)]
#[case::values(
    prioritized("native", "priority: 10, ", "priority: 20, "),
    Some(
        "the pods of the gang have the priorities 10, 20: the controller releases gangs with different values, and the pods are placed one by one"
    )
)]
#[case::classes_with_the_same_value(
    prioritized("native", "priorityClassName: a, priority: 10, ", "priorityClassName: b, priority: 10, "),
    None
)]
#[case::same(prioritized("native", HIGH, HIGH), None)]
#[case::none(prioritized("native", "", ""), None)]
#[case::empty(prioritized("native", "priorityClassName: '', ", ""), None)]
#[case::no_object(prioritized("koordinator", HIGH, ""), None)]
#[case::no_gang(prioritized("none", HIGH, ""), None)]
#[case::group_of_the_user(member_job().replacen("spec: {containers", "spec: {priorityClassName: high, containers", 1), None)]
#[case::another_gang(labeled_roles("trainmesh.dev/gang: native", "trainmesh.dev/gang: volcano", HIGH), None)]
#[case::no_pods(prioritized("native", HIGH, "").replace("replicas: 3", "replicas: 0"), None)]
#[case::later_stage(ordered_jobs("priorityClassName: high,"), None)]
fn tr015_priorities(#[case] text: String, #[case] expected: Option<&str>) {
    check("TR015", &text, expected);
}

/// Returns a `JobSet` of two Jobs that run one after the other, the first of which has this field in its pods.
fn ordered_jobs(first: &str) -> String {
    let job = |name: &str, order: &str, field: &str| {
        format!(
            "  - name: {name}\n    {order}\n    template: {{spec: {{parallelism: 2, completions: 2, completionMode: Indexed, template: \
             {{metadata: {{labels: {{trainmesh.dev/gang: native}}}}, spec: {{{field} restartPolicy: Never, containers: [{{name: a, image: \
             i}}]}}}}}}}}\n"
        )
    };
    format!(
        "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {{name: llama}}\nspec:\n  replicatedJobs:\n{}{}",
        job("data", "replicas: 1", first),
        job("train", "dependsOn: [{name: data, status: Complete}]", "")
    )
}

#[test]
fn checks_can_be_disabled() {
    let command = torchrun(&format!("--nnodes=4, {AT_RANK_0}"));
    let text = labeled("labels: {sidecar.istio.io/inject: 'false'}").replace("args: [a]", &command);
    assert_eq!(lint(&text).iter().map(|(code, _)| code.as_str()).collect::<Vec<_>>(), ["TR007", "TR006"]);
    let mut configuration = Configuration::embedded();
    configuration.fabric.lint.disable = ["TR006", "TR007"].map(|id| CheckId::parse(id).unwrap()).to_vec();
    assert_eq!(lint_with(configuration, &text), []);
}

#[test]
fn malformed_jobs_have_no_findings() {
    for field in ["5", "[]", "{}", "'a'", "null"] {
        let value = |path: &str, key: &str| {
            let mut value: Value = yaml::parse(&pair("--nnodes=3,", "--nnodes=3,")).unwrap();
            value.pointer_mut(path).unwrap()[key] = yaml::parse(field).unwrap();
            value
        };
        for (path, key) in
            [("", "metadata"), ("/spec", "runPolicy"), ("/spec/pytorchReplicaSpecs/Worker", "restartPolicy")]
        {
            let found = lint(&value(path, key).to_string());
            assert!(found.is_empty(), "{path}/{key}={field}: {found:?}");
        }
    }
}
