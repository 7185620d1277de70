//! The line of each finding: that of the field that causes it, in the examples of the checks.

use serde_json::{Value, json};
use trainmesh_core::config::{Configuration, LintSettings};
use trainmesh_core::lint::checks;
use trainmesh_core::manifest::{Document, DocumentText};
use trainmesh_core::preview::{DocumentPreview, ManifestContext, Preview, locate};
use trainmesh_core::workload::SOLE_ROLE;
use trainmesh_core::yaml;

use super::catalogue::{training_context, with_context};

/// Returns the document with `value`, each field of which is on a line of its own, and its lines.
fn block_style(value: Value) -> (Document, Vec<String>) {
    let text = yaml::to_string(&value);
    let lines = text.lines().map(|line| line.trim().to_owned()).collect();
    let text = DocumentText::parse(&text, 1).unwrap();
    (Document { text, ..Document::generated("a.yaml", value) }, lines)
}

/// Returns the line with the first finding of check `id` in a pod with the fields of its example.
fn line_of_pod(id: &str, example: &str) -> String {
    let mut pod: Value = yaml::parse(example).unwrap();
    pod["apiVersion"] = json!("v1");
    pod["kind"] = json!("Pod");
    pod["metadata"]["name"] = json!("a");
    if pod.pointer("/spec/containers").is_none() {
        pod["spec"]["containers"] = json!([]);
    }
    let findings = with_context(id, example).lint(&LintSettings::default());
    let subject = &findings.iter().find(|finding| finding.code == id).unwrap().subject;
    let (document, lines) = block_style(pod);
    let line = document.pod_field_line(SOLE_ROLE, &document.value, subject).unwrap();
    lines[usize::try_from(line).unwrap() - 1].clone()
}

/// Returns the line with the first finding of check `id` in a manifest with the objects of its example.
fn line_of_job(id: &str, example: &str) -> String {
    let text = format!("{example}{}", training_context(id));
    line_of_object(id, text.split("---\n").map(|part| yaml::parse(part).unwrap()).collect())
        .unwrap_or_else(|| panic!("{id} finds nothing in:\n{text}"))
}

/// Returns the line with the first finding of check `id` in `objects`.
fn line_of_object(id: &str, objects: Vec<Value>) -> Option<String> {
    let parts = objects.into_iter().map(block_style);
    let parts: Vec<(Document, Vec<String>)> = parts.collect();
    let mut context = ManifestContext::new(None);
    for (document, _) in &parts {
        context.add(document, "team");
    }
    let preview = Preview::new(Configuration::embedded(), context, "team".to_owned());
    for (document, lines) in &parts {
        let Ok(DocumentPreview::Pods { reports, warnings, .. }) = preview.document(document) else { continue };
        let of_pods = reports.iter().flat_map(|report| {
            let mut findings = preview.lint(report);
            locate(&mut findings, document, report);
            findings
        });
        let mut of_pods = of_pods.filter(|finding| finding.code == id).map(|finding| finding.line.unwrap());
        let of_job = || warnings.iter().find(|warning| warning.check == Some(id)).and_then(|warning| warning.line);
        if let Some(line) = of_pods.next().or_else(of_job) {
            return Some(lines[usize::try_from(line).unwrap() - 1].clone());
        }
    }
    None
}

/// Returns an `AppWrapper` with the job of an example behind another component.
fn wrapped(job: &Value) -> Value {
    let board = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "board"}, "spec": {
        "selector": {}, "template": {"spec": {"containers": [{"name": "board", "image": "i"}]}},
    }});
    json!({"apiVersion": "workload.codeflare.dev/v1beta2", "kind": "AppWrapper", "metadata": {"name": "w"}, "spec": {
        "components": [{"template": board}, {"template": job}],
    }})
}

#[test]
fn findings_have_the_line_of_the_field_that_causes_them() {
    let mut found = Vec::new();
    for check in checks() {
        let id = check.id.code();
        let line = if check.id.is_training() { line_of_job } else { line_of_pod };
        found.push((id, line(id, check.example.wrong)));
    }
    let expected = LINES.map(|(id, line)| (id, line.to_owned()));
    assert_eq!(found, expected);
}

/// The checks of training jobs find the same in a component of an `AppWrapper`, whose own queue counts.
#[test]
fn findings_about_a_component_have_the_line_of_its_field() {
    for check in checks().iter().filter(|check| check.id.is_training() && check.id.code() != "TR016") {
        let (id, example) = (check.id.code(), check.example.wrong);
        let text = format!("{example}{}", training_context(id));
        let mut objects: Vec<Value> = text.split("---\n").map(|part| yaml::parse(part).unwrap()).collect();
        let mut wrapper = wrapped(&objects[0]);
        objects[0] = wrapper.clone();
        let found = line_of_object(id, objects.clone());
        // The controller of AppWrappers creates a failed job again, unless that is disabled.
        let is_recreated = id == "TR002";
        let expected = (!is_recreated).then(|| line_of_job(id, example));
        assert_eq!(found, expected, "{id}");
        if is_recreated {
            wrapper["metadata"]["annotations"] = json!({"workload.codeflare.dev.appwrapper/retryLimit": "0"});
            objects[0] = wrapper;
            assert_eq!(line_of_object(id, objects), Some(line_of_job(id, example)));
        }
    }
}

/// The line that each check reports: that of the field, or of the closest field around one that is absent. FP050 has none in a
/// scenario, which runs no rules.
const LINES: [(&str, &str); 78] = [
    ("FP001", "- name: train"),
    ("FP002", "add:"),
    ("FP003", "- name: NCCL_NET"),
    ("FP004", "- name: NCCL_NVLS_ENABLE"),
    ("FP005", "- name: NCCL_IB_RETRY_CNT"),
    ("FP006", "- name: NCCL_SOCKET_IFNAME"),
    ("FP007", "- name: NCCL_SOCKET_IFNAME"),
    ("FP008", "- name: GLOO_SOCKET_IFNAME"),
    ("FP009", "- name: NCCL_IB_HCA"),
    ("FP010", "- name: NCCL_IB_GID_INDEX"),
    ("FP011", "- name: NCCL_NET_GDR_LEVEL"),
    ("FP012", "- name: NCCL_TOPO_FILE"),
    ("FP013", "- name: train"),
    ("FP014", "nvidia.com/gpu: 4"),
    ("FP015", "rdma/ib: 1"),
    ("FP016", "hugepages-2Mi: 5120Mi"),
    ("FP017", "metadata:"),
    ("FP018", "k8s.v1.cni.cncf.io/networks: rdma-vf"),
    ("FP019", "- name: devices"),
    ("FP020", "- ulimit -l unlimited"),
    ("FP021", "metadata:"),
    ("FP022", "hostNetwork: true"),
    ("FP023", "- name: NCCL_IB_HCA"),
    ("FP024", "- name: NCCL_IB_GDR_LEVEL"),
    ("FP025", "- name: FI_PROVIDER"),
    ("FP026", "- name: NCCL_DEBUG"),
    ("FP027", "securityContext:"),
    ("FP028", "rdma/ibx: 1"),
    ("FP029", "limits:"),
    ("FP030", "- name: NCCL_MNNVL_ENABLE"),
    ("FP031", "trainmesh.dev/fabric-revision: 0123456789ab"),
    ("FP032", "nvidia.com/gpu: 4"),
    ("FP033", "spec:"),
    ("FP034", "rdma/ib: 1"),
    ("FP035", "mountPath: /etc/nccl.conf"),
    ("FP036", "- name: NCCL_CUMEM_ENABLE"),
    ("FP037", "- name: UCX_TLS"),
    ("FP038", "hostNetwork: true"),
    ("FP039", "resourceClaims:"),
    ("FP040", "resourceClaims:"),
    ("FP041", "nvidia.com/gpu: 4"),
    ("FP042", "- name: NCCL_IB_HCA"),
    ("FP043", "- name: OMPI_MCA_oob_tcp_if_include"),
    ("FP044", "- name: NCCL_IB_HCA"),
    ("FP045", "trainmesh.dev/inject: \"false\""),
    ("FP046", "trainmesh.dev/fabric: eks-efaa"),
    ("FP047", "metadata:"),
    ("FP048", "- name: gpus"),
    ("FP049", "resorces:"),
    ("FP050", "containers:"),
    ("FP051", "- name: gpus"),
    ("FP052", "annotations:"),
    ("FP053", "annotations:"),
    ("FP054", "- name: DATABASE"),
    ("FP055", "annotations:"),
    ("FP056", "postStart:"),
    ("FP057", "limits:"),
    ("FP058", "labels:"),
    ("FP059", "- name: wait-gcs-ready"),
    ("FP060", "- name: NCCL_SOCKET_IFNMAE"),
    ("FP061", "trainmesh.dev/inject: disabled"),
    ("FP062", "labels:"),
    ("TR001", "- --master-port=29501"),
    ("TR002", "restartPolicy: Never"),
    ("TR003", "claimName: data"),
    ("TR004", "- name: data"),
    ("TR005", "- --checkpoint-dir"),
    ("TR006", "sidecar.istio.io/inject: \"false\""),
    ("TR007", "- --nnodes=4"),
    ("TR008", "- --rdzv-endpoint=localhost:29400"),
    ("TR009", "rdzvBackend: etcd-v2"),
    ("TR010", "minAvailable: 3"),
    ("TR011", "minAvailable: 4"),
    ("TR012", "minResources:"),
    ("TR013", "schedulerName: default-scheduler"),
    ("TR014", "template:"),
    ("TR015", "spec:"),
    ("TR016", "kueue.x-k8s.io/queuename: research"),
];
