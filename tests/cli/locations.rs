//! The lines of findings, warnings and errors: each is that of the field or label which the user has to change.

use rstest::rstest;
use serde_json::Value;
use trainmesh_testing::cli::trainmesh;

/// Opted-in namespace with this additional label.
fn namespace(label: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: team\n  labels:\n    trainmesh.dev/inject: enabled\n    \
         istio-injection: enabled\n    {label}\n---\n"
    )
}

/// Pod with 8 GPUs and these fields of its spec.
fn pod(spec: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  namespace: team\nspec:\n{spec}  containers:\n  - name: a\n    \
         image: i\n    resources:\n      limits:\n        nvidia.com/gpu: 8\n"
    )
}

/// Node affinity for a list of instance types.
fn affinity(values: &[&str]) -> String {
    let values: Vec<String> = values.iter().map(|value| format!("            - {value}\n")).collect();
    let values = values.concat();
    format!(
        "  affinity:\n    nodeAffinity:\n      requiredDuringSchedulingIgnoredDuringExecution:\n        nodeSelectorTerms:\n        \
         - matchExpressions:\n          - key: node.kubernetes.io/instance-type\n            operator: In\n            values:\n{values}"
    )
}

fn selector(entry: &str) -> String {
    format!("  nodeSelector:\n    kubernetes.io/os: linux\n    {entry}\n")
}

/// Returns the line of `input` of the first finding, warning or error of `lint` whose message contains `part`.
fn located(input: &str, part: &str) -> String {
    let run = trainmesh(&["lint", "-f", "-", "-o", "json"], input);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let results = report["results"].as_array().unwrap().iter();
    let findings = results.flat_map(|result| result["lint"].as_array().unwrap());
    let others = ["warnings", "errors"].into_iter().flat_map(|list| report[list].as_array().unwrap());
    let is_found = |found: &&Value| found["message"].as_str().unwrap().contains(part);
    let found = findings.chain(others).find(is_found).unwrap_or_else(|| panic!("{part} in {run:#?}"));
    let line = usize::try_from(found["line"].as_u64().unwrap()).unwrap();
    input.lines().nth(line - 1).unwrap().trim().to_owned()
}

fn check(input: &str, part: &str, expected: &str) {
    assert_eq!(located(input, part), expected, "{input}");
}

/// Components of one `AppWrapper` with equal pods, beside a Service with the name of the second.
const COMPONENTS: &str = "\
apiVersion: workload.codeflare.dev/v1beta2
kind: AppWrapper
metadata: {name: a}
spec:
  components:
  - template:
      apiVersion: v1
      kind: Service
      metadata: {name: second}
  - template:
      apiVersion: batch/v1
      kind: Job
      metadata: {name: first}
      spec:
        template:
          spec:
            restartPolicy: Never
            containers:
            - {name: a, image: first, VALUE}
  - template:
      apiVersion: batch/v1
      kind: Job
      metadata: {name: second}
      spec:
        template:
          spec:
            restartPolicy: Never
            containers:
            - {name: a, image: second, VALUE}
  - template:
      apiVersion: kubeflow.org/v1
      kind: PyTorchJob
      metadata: {generateName: third-}
      spec:
        pytorchReplicaSpecs:
          Worker:
            template:
              spec:
                containers:
                - {name: pytorch, image: third, VALUE}
";

#[test]
fn findings_about_a_component_have_its_lines() {
    let input = COMPONENTS.replace("VALUE", "env: [{name: NCCL_NVLS_ENABLE, value: 'true'}]");
    let run = trainmesh(&["lint", "-f", "-", "-o", "json"], &input);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let lines: Vec<&str> = input.lines().collect();
    let located = report["results"].as_array().unwrap().iter().map(|result| {
        let finding = result["lint"].as_array().unwrap().iter().find(|finding| finding["id"] == "FP004").unwrap();
        let line = lines[usize::try_from(finding["line"].as_u64().unwrap()).unwrap() - 1];
        (result["role"].as_str().unwrap(), line.split(", ").nth(1).unwrap())
    });
    let expected = [("first", "image: first"), ("second", "image: second"), ("third-/Worker", "image: third")];
    assert_eq!(located.collect::<Vec<_>>(), expected);
}

#[rstest]
#[case::unknown_adapters(
    "eks-efa",
    selector("node.kubernetes.io/instance-type: g5.xlarge"),
    "unknown number of",
    "node.kubernetes.io/instance-type: g5.xlarge"
)]
#[case::misspelled(
    "eks-efa",
    selector("node.kubernetes.io/instance-type: p5.49xlarge"),
    "did you mean p5.48xlarge?",
    "node.kubernetes.io/instance-type: p5.49xlarge"
)]
#[case::former_label(
    "eks-efa",
    selector("beta.kubernetes.io/instance-type: ml.g5.xlarge"),
    "unknown number of",
    "beta.kubernetes.io/instance-type: ml.g5.xlarge"
)]
#[case::family(
    "eks-efa",
    selector("karpenter.k8s.aws/instance-family: p5"),
    "depends on the instance type",
    "karpenter.k8s.aws/instance-family: p5"
)]
#[case::misspelled_in_affinity("eks-efa", affinity(&["p5.48xlarge", "p5.49xlarge"]), "did you mean p5.48xlarge?", "- p5.49xlarge")]
#[case::different_machines("eks-efa", affinity(&["p5.48xlarge", "p5en.48xlarge"]), "differs between", "- p5en.48xlarge")]
#[case::another_profile(
    "coreweave-ib",
    selector("node.coreweave.cloud/type: gb200-4x"),
    "not for gb200-4x",
    "node.coreweave.cloud/type: gb200-4x"
)]
#[case::another_profile_in_affinity("coreweave-ib", affinity(&["b200-8x", "gb200-4x"]), "not for gb200-4x", "- gb200-4x")]
#[case::no_machine("eks-efa", selector("a: b"), "depends on the instance type", "spec:")]
#[case::no_profile(
    "none",
    selector("node.kubernetes.io/instance-type: p5.48xlrge"),
    "no instance type is called",
    "node.kubernetes.io/instance-type: p5.48xlrge"
)]
fn refusals_because_of_a_machine_have_the_line_that_selects_it(
    #[case] profile: &str,
    #[case] spec: String,
    #[case] part: &str,
    #[case] expected: &str,
) {
    check(&format!("{}{}", namespace(&format!("trainmesh.dev/fabric: {profile}")), pod(&spec)), part, expected);
    // The label of the pod is not what the user has to change.
    let labeled =
        pod(&spec).replace("  namespace: team\n", &format!("  labels:\n    trainmesh.dev/fabric: {profile}\n"));
    let expected = if expected == "spec:" { "trainmesh.dev/fabric: eks-efa" } else { expected };
    check(&labeled, part, expected);
}

#[rstest]
#[case::traffic("trainmesh.dev/mesh-traffic: drect", "UnknownTrafficMode")]
#[case::gang("trainmesh.dev/gang: vulcano", "UnknownGangMode")]
#[case::fabric("trainmesh.dev/fabric: eks-efaa", "UnknownFabric")]
fn refusals_because_of_a_namespace_have_the_line_of_its_label(#[case] label: &str, #[case] reason: &str) {
    let input = format!("{}{}", namespace(label), pod(""));
    check(&input, reason, label);
    let line = input.lines().position(|line| line.trim() == label).unwrap() + 1;
    let run = trainmesh(&["preview", "-f", "-", "-o", "explain", "--fail-on", "refused"], &input);
    // The field is that of the Namespace, also in lint.
    let (key, _) = label.split_once(':').unwrap();
    let place = format!("stdin:{line} /metadata/labels/{}\n", key.replace('/', "~1"));
    assert!(run.stdout.contains(&place), "{run:#?}");
    let lint = trainmesh(&["lint", "-f", "-"], &input);
    assert!(lint.stdout.contains(&place), "{lint:#?}");
    assert!(run.stderr.contains(&format!("failed: refused: stdin:{line}: Pod team/a: ")), "{run:#?}");
    // The label of a pod takes precedence.
    let pod = pod("").replace("  namespace: team\n", &format!("  namespace: team\n  labels:\n    {label}\n"));
    check(&format!("{}{pod}", namespace("a: b")), reason, label);
}

/// `PyTorchJob` with these lines in the replica spec of its master and in its pod.
fn pytorch_job(replica: &str, pod: &str) -> String {
    format!(
        "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata:\n  name: a\nspec:\n  runPolicy:\n    schedulingPolicy:\n      \
         queue: q\n  pytorchReplicaSpecs:\n    Master:\n{replica}      template:\n        spec:\n{pod}          containers:\n          \
         - name: pytorch\n            image: i\n"
    )
}

/// The restart policy of a replica spec replaces that of its pod template.
#[rstest]
#[case::replica("      restartPolicy: Nevr\n", "", "restartPolicy=Nevr", "restartPolicy: Nevr")]
#[case::both(
    "      restartPolicy: Nevr\n",
    "          restartPolicy: Never\n",
    "restartPolicy=Nevr",
    "restartPolicy: Nevr"
)]
#[case::template_of_both(
    "      restartPolicy: Nevr\n",
    "          restartPolicy: Never\n",
    "restartPolicy: Never of the pod template has no effect: the pods get Nevr",
    "restartPolicy: Never"
)]
#[case::default(
    "",
    "          restartPolicy: Always\n",
    "Always of the pod template has no effect: the pods get OnFailure",
    "restartPolicy: Always"
)]
fn restart_policies_have_their_own_line(
    #[case] replica: &str,
    #[case] pod: &str,
    #[case] part: &str,
    #[case] expected: &str,
) {
    check(&pytorch_job(replica, pod), part, expected);
}

const MPI_JOB: &str = "\
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: a}
spec:
  runPolicy:
    schedulingPolicy:
      minAvailable: \"5\"
  mpiReplicaSpecs:
    Launcher: {template: {spec: {containers: [{name: l, image: i}]}}}
    Worker: {replicas: 2, template: {spec: {containers: [{name: w, image: i}]}}}
";
const VOLCANO_JOB: &str = "\
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: a}
spec:
  minAvailable: 2
  tasks:
  - name: w
    replicas: 2
    minAvailable: 2
    template: {spec: {containers: [{name: w, image: i}]}}
";

/// The apiserver rejects these, whether a gang mode is selected or not.
#[rstest]
#[case::kubeflow(&pytorch_job("", "").replace("queue: q", "minAvailable: '5'"), "spec.runPolicy.schedulingPolicy.minAvailable is \"5\": expected", "minAvailable: '5'")]
#[case::mpi(MPI_JOB, "spec.runPolicy.schedulingPolicy.minAvailable is \"5\": expected", "minAvailable: \"5\"")]
#[case::volcano(&VOLCANO_JOB.replace("  minAvailable: 2\n  tasks", "  minAvailable: '6'\n  tasks"), "spec.minAvailable is \"6\": expected", "minAvailable: '6'")]
#[case::volcano_task(&VOLCANO_JOB.replace("    minAvailable: 2", "    minAvailable: '4'"), "spec.tasks[0].minAvailable is \"4\": expected", "minAvailable: '4'")]
#[case::pod_group(
    "apiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\nmetadata: {name: a}\nspec:\n  minMember: '9'\n",
    "spec.minMember is \"9\": expected",
    "minMember: '9'"
)]
#[case::coscheduling(
    "apiVersion: scheduling.x-k8s.io/v1alpha1\nkind: PodGroup\nmetadata: {name: a}\nspec:\n  minMember: '9'\n",
    "spec.minMember is \"9\": expected",
    "minMember: '9'"
)]
fn a_quoted_minimum_is_an_error(#[case] input: &str, #[case] part: &str, #[case] expected: &str) {
    check(input, part, expected);
    let namespace = trainmesh(&["lint", "-f", "-", "--namespace-labels", ""], input);
    assert!(namespace.code == Some(2) && namespace.stderr.contains(part), "{namespace:#?}");
}

/// Options of a command in block style, and entries of the environment.
#[rstest]
#[case::option("          - --nnodes=5\n", "", "--nnodes=5", "- --nnodes=5")]
#[case::separate_value("          - --nnodes\n          - '5'\n", "", "--nnodes=5", "- --nnodes")]
#[case::script("          - |\n              torchrun --nnodes=5 a.py\n", "", "--nnodes=5", "torchrun --nnodes=5 a.py")]
#[case::checkpoints(
    "          - --nnodes=1\n          - --checkpoint-dir=/tmp/ckpt\n",
    "            volumeMounts: [{name: t, mountPath: /tmp}]\n          volumes: [{name: t, emptyDir: {}}]\n",
    "--checkpoint-dir at /tmp/ckpt",
    "- --checkpoint-dir=/tmp/ckpt"
)]
fn options_have_the_line_of_their_text(
    #[case] arguments: &str,
    #[case] fields: &str,
    #[case] part: &str,
    #[case] expected: &str,
) {
    let command = format!(
        "            command:\n            - torchrun\n{}",
        arguments.replace("          - ", "            - ")
    );
    check(&format!("{}{command}{fields}", pytorch_job("", "")), part, expected);
}

#[test]
fn variables_of_the_process_group_have_the_line_of_their_entry() {
    let service = "---\napiVersion: v1\nkind: Service\nmetadata: {name: master}\nspec:\n  ports: [{port: 23456}]\n";
    let env = |address: &str| {
        format!(
            "            env:\n            - name: A\n              value: b\n            - name: MASTER_PORT\n              value: '29500'\n            - name: MASTER_ADDR\n              value: {address}\n"
        )
    };
    let job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec:\n  completionMode: Indexed\n  completions: 2\n  parallelism: 2\n  \
               template:\n        spec:\n          restartPolicy: Never\n          containers:\n          - name: a\n            image: i\n";
    check(&format!("{job}{}{service}", env("master")), "which Service master does not forward", "- name: MASTER_PORT");
    let service = service.replace("spec:\n", "spec:\n  selector: {a: b}\n");
    check(&format!("{job}{}{service}", env("master")), "which selects no pod of the job", "- name: MASTER_ADDR");
}

/// An error of a document or of an item has the line of the field with the mistake.
#[rstest]
#[case::kind(
    "apiVersion: kubeflow.org/v1\nkind: PytorchJobb\nmetadata: {name: a}\n",
    "did you mean PyTorchJob?",
    "kind: PytorchJobb"
)]
#[case::version(
    "apiVersion: kubeflow.org/v2\nkind: PyTorchJob\nmetadata: {name: a}\n",
    "is not supported: use",
    "apiVersion: kubeflow.org/v2"
)]
#[case::case_of_the_kind(
    "apiVersion: kubeflow.org/v1\nkind: PytorchJob\nmetadata: {name: a}\n",
    "kubeflow.org/v1 PytorchJob does not exist: did you mean PyTorchJob?",
    "kind: PytorchJob"
)]
#[case::group(
    "kind: PyTorchJob\napiVersion: kubeflow.og/v1\nmetadata: {name: a}\n",
    "did you mean kubeflow.org/v1",
    "apiVersion: kubeflow.og/v1"
)]
#[case::core(
    "kind: Service\napiVersion: core/v1\nmetadata: {name: a}\n",
    "did you mean v1 Service?",
    "apiVersion: core/v1"
)]
#[case::no_version("metadata: {name: a}\nkind: Pod\n", "it has no `apiVersion`", "metadata: {name: a}")]
#[case::number(
    "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec:\n  parallelism: x\n  template: {spec: {containers: []}}\n",
    "spec.parallelism",
    "parallelism: x"
)]
fn errors_have_the_line_of_their_field(#[case] object: &str, #[case] part: &str, #[case] expected: &str) {
    const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: b}\nspec: {containers: [{name: b}]}\n";
    check(&format!("# A comment.\n{object}"), part, expected);
    check(&format!("{POD}---\n{object}"), part, expected);
    let items = [POD, object].map(|text| format!("- {}\n", text.trim_end().replace('\n', "\n  "))).concat();
    for list in
        [format!("apiVersion: v1\nkind: List\nitems:\n{items}"), format!("apiVersion: v1\nitems:\n{items}kind: List\n")]
    {
        assert_eq!(located(&list, part).trim_start_matches("- "), expected, "{list}");
    }
}

/// A pod whose containers are missing or misspelled has no containers by which its template is recognized.
#[rstest]
#[case::pod(
    "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: # of the pod\n  contianers:\n  - name: a\n",
    "contianers:"
)]
#[case::job(
    "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec:\n  parallelism: 2\n  template:\n    spec: # of the pod\n      \
     container:\n      - name: a\n",
    "container:"
)]
#[case::job_set(
    "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: a}\nspec:\n  replicatedJobs:\n  - name: ok\n    \
     template: {spec: {template: {spec: {containers: [{name: a}]}}}}\n  - name: x\n    template:\n      spec:\n        template:\n          \
     spec: # of the pod\n            container:\n            - name: a\n",
    "container:"
)]
#[case::volume(
    "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec:\n  template:\n    spec: # of the pod\n      volumes:\n      - name: v\n        \
     ephemeral: {volumeClaimTemplate: {spec: {}}}\n      container:\n      - name: a\n",
    "container:"
)]
fn pods_without_containers_have_the_lines_of_their_fields(#[case] text: &str, #[case] misspelled: &str) {
    for input in [text.to_owned(), format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: b}}\n---\n{text}")] {
        check(&input, "a pod without containers", "spec: # of the pod");
        check(&input, "has no field cont", misspelled);
    }
}

/// The role with another scheduler than the gang is the one to change.
#[rstest]
#[case::first("other", "volcano", "schedulerName: other")]
#[case::second("volcano", "other", "schedulerName: other")]
#[case::fewer_pods("x", "y", "schedulerName: x")]
fn mixed_schedulers_have_the_line_of_the_role_that_differs(
    #[case] first: &str,
    #[case] second: &str,
    #[case] expected: &str,
) {
    let task = |name: &str, replicas: u64, scheduler: &str| {
        format!(
            "  - name: {name}\n    replicas: {replicas}\n    template:\n      spec:\n        schedulerName: {scheduler}\n        \
             containers: [{{name: a}}]\n"
        )
    };
    let tasks = task("a", 1, first) + &task("b", 2, second);
    let input =
        format!("apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {{name: a}}\nspec:\n  tasks:\n{tasks}");
    check(&input, "have the schedulers", expected);
}

/// The reason why a role does not join the gang of the others is the field to change.
#[rstest]
#[case::scheduler("spec:\n          schedulerName: volcanoo", "did you mean volcano?", "schedulerName: volcanoo")]
#[case::opted_out(
    "metadata:\n          labels:\n            trainmesh.dev/inject: disabled\n        spec:",
    "opted out",
    "trainmesh.dev/inject: disabled"
)]
#[case::key(
    "metadata:\n          annotations:\n            scheduling.k8s.io/group-name: x\n        spec:",
    "already has the annotation",
    "scheduling.k8s.io/group-name: x"
)]
#[case::mode(
    "metadata:\n          labels:\n            trainmesh.dev/gang: none\n        spec:",
    "but not Worker: it waits",
    "trainmesh.dev/gang: none"
)]
fn roles_outside_a_gang_have_the_line_of_the_reason(#[case] spec: &str, #[case] part: &str, #[case] expected: &str) {
    let job = pytorch_job("", "").replace("name: a\nspec", "name: a\n  namespace: team\nspec");
    let worker = format!(
        "    Worker:\n      replicas: 3\n      template:\n        {spec}\n          containers:\n          - name: pytorch\n            image: i\n"
    );
    check(&format!("{}{job}{worker}", namespace("trainmesh.dev/gang: volcano")), part, expected);
}

/// A job that gang mode `kueue` leaves to Kueue has one warning, at the label that should name its queue.
#[rstest]
#[case::misspelled(
    "labels:\n    kueue.x-k8s.io/queuename: q",
    "use kueue.x-k8s.io/queue-name",
    "kueue.x-k8s.io/queuename: q"
)]
#[case::another_name(
    "labels:\n    kueue.x-k8s.io/queue_name: q",
    "use kueue.x-k8s.io/queue-name",
    "kueue.x-k8s.io/queue_name: q"
)]
#[case::another_domain(
    "labels:\n    kueue.k8s.io/queue-name: q",
    "use kueue.x-k8s.io/queue-name",
    "kueue.k8s.io/queue-name: q"
)]
#[case::annotation("annotations:\n    kueue.x-k8s.io/queue-name: q", "make it a label", "kueue.x-k8s.io/queue-name: q")]
#[case::empty(
    "labels:\n    kueue.x-k8s.io/queue-name: ''",
    "set it to the name of a LocalQueue",
    "kueue.x-k8s.io/queue-name: ''"
)]
#[case::other_labels("labels:\n    app: a", "set the label kueue.x-k8s.io/queue-name in .metadata.labels", "labels:")]
#[case::no_labels("namespace: team", "set the label kueue.x-k8s.io/queue-name in .metadata.labels", "metadata:")]
fn jobs_without_a_queue_are_reported_once(#[case] metadata: &str, #[case] part: &str, #[case] expected: &str) {
    let job = pytorch_job("", "").replace("name: a\n", &format!("name: a\n  {metadata}\n"));
    let worker = "    Worker:\n      replicas: 3\n      template: {spec: {containers: [{name: pytorch, image: i}]}}\n";
    let (flag, input) = ("--gang=kueue", format!("{job}{worker}"));
    let run = trainmesh(&["lint", "-f", "-", "-n", "team", flag, "-o", "json", "--fail-on", "W"], &input);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let warnings: Vec<&Value> =
        report["warnings"].as_array().unwrap().iter().filter(|warning| warning["id"] == "TR016").collect();
    let [warning] = warnings.as_slice() else { panic!("{run:#?}") };
    let line = usize::try_from(warning["line"].as_u64().unwrap()).unwrap();
    assert_eq!((run.code, input.lines().nth(line - 1).unwrap().trim()), (Some(1), expected), "{run:#?}");
    assert!(warning["message"].as_str().unwrap().contains(part), "{warning}");
    let run = trainmesh(&["preview", "-f", "-", "-n", "team", flag, "--fail-on", "warning"], &input);
    let causes: Vec<&str> = run.stderr.lines().filter(|line| line.starts_with("failed: warning")).collect();
    assert_eq!(causes.iter().filter(|cause| cause.contains("ueue")).count(), 1, "{run:#?}");
}

/// Kueue labels jobs without a queue if their namespace has a `LocalQueue` called `default`.
#[rstest]
#[case::default("default", "team", "kubeflow.org", true)]
#[case::another_queue("gpu", "team", "kubeflow.org", false)]
#[case::another_namespace("default", "other", "kubeflow.org", false)]
#[case::kind_without_integration("default", "team", "sagemaker.amazonaws.com", false)]
fn jobs_in_a_default_queue_need_no_label(
    #[case] queue: &str,
    #[case] namespace: &str,
    #[case] group: &str,
    #[case] is_queued: bool,
) {
    let queue = format!(
        "---\napiVersion: kueue.x-k8s.io/v1beta1\nkind: LocalQueue\nmetadata: {{name: {queue}, namespace: {namespace}}}\n"
    );
    let job = match group {
        "kubeflow.org" => pytorch_job("", ""),
        _ => "apiVersion: sagemaker.amazonaws.com/v1\nkind: HyperPodPyTorchJob\nmetadata: {name: a}\nspec:\n  replicaSpecs:\n  - name: pods\n    replicas: 2\n    template: {spec: {containers: [{name: a, image: i}]}}\n".to_owned(),
    };
    let input = job + &queue;
    let run = trainmesh(&["lint", "-f", "-", "-n", "team", "--gang=kueue", "-o", "json"], &input);
    assert_eq!(run.stdout.contains("TR016"), !is_queued, "{run:#?}");
    let exception = "unless the namespace has a LocalQueue called default: set the label";
    assert_eq!(run.stdout.contains(exception), !is_queued && group == "kubeflow.org", "{run:#?}");
    let run = trainmesh(&["preview", "-f", "-", "-n", "team", "--gang=kueue", "--fail-on", "warning"], &input);
    assert_eq!(run.code, Some(i32::from(!is_queued)), "{run:#?}");
}

/// Each misspelled label of a queue is reported in every mode, also if the pod template has the right one.
#[rstest]
#[case::job(
    "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a, labels: {kueue.x-k8s.io/queuename: q}}\nspec: {template: {metadata: {labels: {kueue.x-k8s.io/queue-name: q}}, spec: {restartPolicy: Never, containers: [{name: a, image: i}]}}}\n",
    1
)]
#[case::two(
    "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a, labels: {kueue.x-k8s.io/queuename: q, kueue.x-k8s.io/queue: q}}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: i}]}}}\n",
    2
)]
#[case::beside_the_right_one(
    "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a, labels: {kueue.x-k8s.io/queuename: q, kueue.x-k8s.io/queue-name: q}}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: i}]}}}\n",
    0
)]
#[case::pod(
    "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {kueue.x-k8s.io/queuename: q}}\nspec: {containers: [{name: a, image: i}]}\n",
    1
)]
#[case::pod_of_an_admitted_job(
    "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {kueue.x-k8s.io/local-queue-name: q, kueue.x-k8s.io/cluster-queue-name: c}}\nspec: {containers: [{name: a, image: i}]}\n",
    0
)]
#[case::job_with_a_label_of_pods(
    "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a, labels: {kueue.x-k8s.io/local-queue-name: q}}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: i}]}}}\n",
    1
)]
#[case::deployment(
    "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, labels: {kueue.x-k8s.io/queue-nam: q}}\nspec: {selector: {}, template: {spec: {containers: [{name: a, image: i}]}}}\n",
    1
)]
#[case::daemon_set(
    "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: a, labels: {kueue.x-k8s.io/queuename: q}}\nspec: {selector: {}, template: {spec: {containers: [{name: a, image: i}]}}}\n",
    0
)]
#[case::pod_template(
    "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {template: {metadata: {labels: {kueue.x-k8s.io/queue-nam: q}}, spec: {restartPolicy: Never, containers: [{name: a, image: i}]}}}\n",
    1
)]
#[case::pod_template_of_an_admitted_job(
    "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {template: {metadata: {labels: {kueue.x-k8s.io/local-queue-name: q}}, spec: {restartPolicy: Never, containers: [{name: a, image: i}]}}}\n",
    0
)]
fn misspelled_labels_of_queues_are_reported(#[case] input: &str, #[case] count: usize) {
    let run = trainmesh(&["lint", "-f", "-"], input);
    assert_eq!(run.stderr.matches("names no queue: use kueue.x-k8s.io/queue-name").count(), count, "{run:#?}");
}

/// A queue in an annotation of the pod template is reported with the place of the label.
#[test]
fn annotations_of_pod_templates_name_no_queue() {
    let template = "{metadata: {annotations: {kueue.x-k8s.io/queue-name: q}}, spec: {restartPolicy: Never, containers: [{name: a, image: i}]}}";
    let job = format!(
        "apiVersion: batch/v1\nkind: CronJob\nmetadata: {{name: a}}\nspec: {{schedule: '0 0 * * *', jobTemplate: {{spec: {{template: {template}}}}}}}\n"
    );
    let run = trainmesh(&["lint", "-f", "-"], &job);
    let expected = "line 4: TR016: CronJob default/a: annotation kueue.x-k8s.io/queue-name names no queue: set the label in \
                    .spec.jobTemplate.metadata.labels";
    assert!(run.stderr.contains(expected), "{run:#?}");
}

/// Other labels, other modes and jobs with a queue are not reported.
#[rstest]
#[case::queue("labels: {kueue.x-k8s.io/queue-name: q}", "kueue")]
#[case::priority("labels: {kueue.x-k8s.io/queue-name: q, kueue.x-k8s.io/priority-class: p}", "kueue")]
#[case::another_mode("labels: {app: a}", "native")]
#[case::priority_in_another_mode("labels: {kueue.x-k8s.io/priority-class: p, team/queue: x}", "native")]
#[case::empty("labels: {kueue.x-k8s.io/queue-name: ''}", "native")]
fn jobs_of_other_modes_need_no_queue(#[case] metadata: &str, #[case] mode: &str) {
    let job = pytorch_job("", "").replace("name: a\n", &format!("name: a\n  {metadata}\n"));
    let run = trainmesh(&["lint", "-f", "-", "--gang", mode, "-o", "json"], &job);
    assert!(!run.stdout.contains("TR016"), "{run:#?}");
}

/// All pods of a namespace have the finding about its label.
#[test]
fn a_label_of_a_namespace_is_reported_once() {
    let pods: String =
        ["b", "c"].map(|name| format!("---\n{}", pod("").replace("name: a", &format!("name: {name}")))).concat();
    let input = format!("{}{}{pods}", namespace("trainmesh.dev/fabric: eks-efaa"), pod(""));
    let run = trainmesh(&["lint", "-f", "-", "-o", "json"], &input);
    assert_eq!(run.stdout.matches("\"id\":\"FP046\"").count(), 1, "{run:#?}");
    // Without its Namespace in the input, the label is that of each pod's namespace.
    let labels = "trainmesh.dev/inject=enabled,trainmesh.dev/fabric=eks-efaa";
    let run =
        trainmesh(&["lint", "-f", "-", "-o", "json", "--namespace-labels", labels], &format!("{}{pods}", pod("")));
    assert_eq!(run.stdout.matches("\"id\":\"FP046\"").count(), 3, "{run:#?}");
}

/// Without its Namespace in the input, the label has the line of the namespace of the workload.
#[test]
fn a_label_is_located_at_the_namespace_of_the_workload() {
    let job = pytorch_job("", "").replace("  name: a\n", "  name: a\n  namespace: team\n");
    let labels = "trainmesh.dev/inject=enabled,trainmesh.dev/fabric=eks-efaa";
    let run = trainmesh(&["lint", "-f", "-", "-o", "sarif", "--namespace-labels", labels], &job);
    let line = job.lines().position(|line| line == "  namespace: team").unwrap() + 1;
    assert!(run.stdout.contains(&format!("\"region\":{{\"startLine\":{line}}}")), "{run:#?}");
}

/// The namespace of a workload that resembles a Namespace of the input is probably misspelled.
#[rstest]
#[case::misspelled("tema", "did you mean team?")]
#[case::another("research", "")]
fn namespaces_like_those_of_the_input_are_warnings(#[case] name: &str, #[case] part: &str) {
    let pod = pod("").replace("namespace: team", &format!("namespace: {name}"));
    let input = format!("{}{pod}", namespace("a: b"));
    let run = trainmesh(&["lint", "-f", "-", "-o", "sarif", "--fail-on", "W"], &input);
    let line = input.lines().position(|line| line.trim() == format!("namespace: {name}")).unwrap() + 1;
    assert_eq!(run.stdout.contains(&format!("\"region\":{{\"startLine\":{line}}}")), !part.is_empty(), "{run:#?}");
    assert!(run.stdout.contains(part), "{run:#?}");
    let first = input.lines().position(|line| line == "---").unwrap() + 2;
    let hint = if part.is_empty() { String::new() } else { format!("; {part}") };
    let note = format!("unlike others: {name} (stdin:{first}{hint})\n");
    assert!(run.stderr.contains(&note), "{note} in {run:#?}");
}

/// The operator copies the labels of the job to its master, which has no template.
#[test]
fn a_copied_label_is_located_on_the_job() {
    let job = "\
apiVersion: elastic.iml.github.io/v1alpha1
kind: ElasticJob
metadata:
  name: a
  labels:
    trainmesh.dev/fabrik: tcp
spec:
  replicaSpecs:
    worker:
      replicas: 2
      template:
        spec: {containers: [{name: main, image: i}]}
";
    check(job, "label trainmesh.dev/fabrik has no effect", "trainmesh.dev/fabrik: tcp");
}

/// Objects with which connections to the ranks fail.
const MESH: &str = "\
apiVersion: v1
kind: Service
metadata:
  name: tb
spec:
  PORTS
  selector: {app: train}
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: tb}
spec:
  host: tb
  trafficPolicy:
    tls:
      mode: ISTIO_MUTUAL
---
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: default}
spec: {mtls: {mode: STRICT}}
---
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: js}
spec:
  replicatedJobs:
  - name: w
    template:
      spec:
        parallelism: 2
        completions: 2
        template:
          metadata:
            labels: {app: train, trainmesh.dev/mesh-traffic: MODE}
          spec:
            containers: [{name: a, image: i, ports: [{containerPort: 6006}]}]
";

/// Claims of a job whose domain has another number of nodes.
const CLAIMS: &str = "\
apiVersion: resource.nvidia.com/v1beta1
kind: ComputeDomain
metadata: {name: cd}
spec:
  numNodes: 8
  channel: {resourceClaimTemplate: {name: channel}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: gpus}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com, count: 4}}]}}
---
apiVersion: v1
kind: Namespace
metadata: {name: default, labels: {trainmesh.dev/inject: enabled, trainmesh.dev/fabric: tcp}}
---
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: j}
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 4
      template:
        spec:
          resourceClaims:
          - {name: gpu, resourceClaimName: gpus}
          - {name: other, resourceClaimTemplateName: nope}
          - {name: channels, resourceClaimTemplateName: channel}
          containers:
          - name: pytorch
            image: i
            resources:
              claims:
              - name: channels
              - name: other
              - name: gpu
";

/// The object that is wrong is often in another file than the job.
#[rstest]
#[case::service("clusterIP: None", "leave", "has no ports", "clusterIP: None")]
#[case::rule(
    "ports: [{port: 80, targetPort: 6006}]",
    "disableCapture",
    "DestinationRule default/tb requires mTLS",
    "mode: ISTIO_MUTUAL"
)]
fn objects_of_the_mesh(#[case] ports: &str, #[case] mode: &str, #[case] part: &str, #[case] expected: &str) {
    check(&MESH.replace("PORTS", ports).replace("MODE", mode), part, expected);
}

#[rstest]
#[case::domain("ComputeDomain cd has numNodes 8", "numNodes: 8")]
#[case::shared("by claim gpus", "- name: gpu")]
#[case::unknown("template nope is unknown", "- name: other")]
fn claims(#[case] part: &str, #[case] expected: &str) {
    check(CLAIMS, part, expected);
}
