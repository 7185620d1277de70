//! A namespace in the mesh, whose pods the webhook patches, and its pods.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;

use trainmesh_testing::cluster::{Cluster, Namespace, TIMEOUT, eventually, list};
use trainmesh_testing::controller::PodManifest;
use trainmesh_testing::pods::OPTED_IN;
use trainmesh_testing::torch;
use trainmesh_testing::webhook::{APPLIED, Webhook};

use crate::rank::Rank;

/// Deadline for a step of a rank: with others on two cores, `import torch` can take minutes.
const RANK_TIMEOUT: Duration = TIMEOUT.saturating_mul(2);

/// True if proxies accept plain inbound connections, like the mode of a `PeerAuthentication`.
#[derive(Clone, Copy, Debug)]
pub enum Mtls {
    /// They are rejected.
    Strict,
    /// They are accepted.
    Permissive,
}

/// A namespace in the mesh.
#[derive(Debug)]
pub struct Mesh {
    namespace: Namespace,
    mtls: Mtls,
    /// Directory with the packages of torch.
    packages: PathBuf,
    // Dropped last: the namespace's pods need no webhook any more.
    _webhook: Webhook,
}

/// A running pod.
#[derive(Debug)]
pub struct Pod<'a> {
    namespace: &'a Namespace,
    /// Name of the pod.
    pub name: String,
    /// Address of the pod.
    pub address: String,
}

/// Address of a Service.
#[derive(Debug)]
pub struct Address {
    /// Cluster IP of the Service.
    pub cluster_ip: String,
    port: u16,
}

impl Address {
    /// Returns its URL.
    pub fn url(&self) -> String {
        format!("http://{}:{}/", self.cluster_ip, self.port)
    }
}

impl Mesh {
    /// Creates a namespace with this traffic mode.
    pub fn new(traffic: &str, mtls: Mtls) -> Self {
        let cluster = Cluster::get();
        cluster.start_mesh();
        let webhook = Webhook::start();
        let before = webhook.process.metric(APPLIED).expect("the first configuration is active");
        webhook.configure("mesh: {podCIDRs: [10.244.0.0/16], nativeSidecar: prefer}");
        webhook.process.wait_for_metric(APPLIED, before + 1);
        let namespace = webhook.namespace(&[OPTED_IN[0], OPTED_IN[1], ("trainmesh.dev/mesh-traffic", traffic)]);
        // The proxies read Services, endpoints and labels of pods, which istiod would send them.
        let group = format!("system:serviceaccounts:{}", namespace.name);
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "proxies"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": group}],
        });
        let role = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "endpoints"},
            "rules": [{"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["list"]}],
        });
        let mut endpoints = binding.clone();
        endpoints["metadata"]["name"] = "endpoints".into();
        endpoints["roleRef"]["kind"] = "Role".into();
        endpoints["roleRef"]["name"] = "endpoints".into();
        let _ = namespace.create(&list([binding, role, endpoints])).success();
        Self { namespace, mtls, packages: cluster.torch(), _webhook: webhook }
    }

    /// Creates a rank, and waits until it runs.
    pub fn start(&self, rank: &Rank) -> Pod<'_> {
        self.create(rank.manifest(&self.packages), &rank.name())
    }

    /// Starts a service of the mesh that answers `tracked`.
    pub fn start_tracking_service(&self) -> Address {
        let mut container = json!({
            "name": "serve", "image": "trainmesh.test/busybox:1", "imagePullPolicy": "Never",
            "command": ["sh", "-c", "echo tracked > /tmp/index.html; exec httpd -f -p 8000 -h /tmp"],
        });
        container["ports"] = json!([{"containerPort": 8000}]);
        let pod = self.create(PodManifest::new("tracking").label("app", "tracking").container(container), "tracking");
        self.expose(&pod, 8000)
    }

    /// Creates a Service with a cluster IP for a port of a pod, and waits for its endpoint.
    pub fn expose(&self, pod: &Pod<'_>, port: u16) -> Address {
        let name = format!("{}-{port}", pod.name);
        let key = format!("test/{name}");
        let _ = self.namespace.kubectl(&["label", "pod", &pod.name, &format!("{key}=true")], "").success();
        let service = json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
            "spec": {"selector": {key: "true"}, "ports": [{"port": port}]},
        });
        let _ = self.namespace.create(&service).success();
        eventually(TIMEOUT, "the Service has a ready endpoint", || {
            let selector = format!("kubernetes.io/service-name={name}");
            let slices = self.namespace.kubectl(&["get", "endpointslices", "-l", &selector, "-o", "json"], "").object();
            let endpoint = &slices["items"][0]["endpoints"][0];
            if endpoint["conditions"]["ready"] == true { Ok(()) } else { Err(slices.to_string()) }
        });
        let created = self.namespace.kubectl(&["get", "service", &name, "-o", "json"], "").object();
        let cluster_ip = created["spec"]["clusterIP"].as_str().expect("a cluster IP").to_owned();
        Address { cluster_ip, port }
    }

    /// Requests a page from a pod outside the mesh. Returns `None` if the connection fails.
    pub fn request_without_proxy(&self, address: &str, port: u16) -> Option<String> {
        let name = format!("plain-{port}");
        let client = PodManifest::new(&name).label("sidecar.istio.io/inject", "false");
        self.request(client, &name, &format!("http://{address}:{port}/"), 1)
    }

    /// Requests a page from a pod of the mesh. Returns `None` if the connection fails.
    pub fn request_with_proxy(&self, service: &Address) -> Option<String> {
        // The label of the namespace must not disable the capture of the client, too.
        let client = PodManifest::new("client").native(true).label("trainmesh.dev/mesh-traffic", "leave");
        let client = self.captured(client);
        // kube-proxy may learn of the Service later than the client.
        self.request(client, "client", &service.url(), 20)
    }

    fn request(&self, client: PodManifest, name: &str, url: &str, attempts: u8) -> Option<String> {
        let script =
            format!("for n in $(seq {attempts}); do timeout 120 wget -q -O - {url} && exit; sleep 1; done; exit 1");
        let _ = self.namespace.create(&client.script("request", &script)).success();
        let pod = self.pod(name, String::new());
        let succeeded = pod.wait_for_phase(&["Succeeded", "Failed"]) == "Succeeded";
        succeeded.then(|| pod.log_of("request"))
    }

    /// Returns a counter of a pod's Envoy.
    pub fn proxy_counter(&self, pod: &str, name: &str) -> u64 {
        let path = format!("stats?filter=^{name}$");
        let command = ["exec", pod, "-c", "istio-proxy", "--", "pilot-agent", "request", "GET", &path];
        let output = self.namespace.kubectl(&command, "").success().stdout;
        output.trim().rsplit(' ').next().and_then(|value| value.parse().ok()).unwrap_or_default()
    }

    fn create(&self, manifest: PodManifest, name: &str) -> Pod<'_> {
        let _ = self.namespace.create(&self.captured(manifest)).success();
        let address = eventually(TIMEOUT, "the pod is ready", || {
            let pod = self.namespace.get("pod", name).ok_or("it does not exist")?;
            let conditions = pod["status"]["conditions"].as_array();
            let is_ready = conditions.is_some_and(|list| {
                list.iter().any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
            });
            // A rank that fails at once is never ready.
            let has_failed = pod["status"]["phase"] == "Failed";
            let address = pod["status"]["podIP"].as_str().filter(|_| is_ready || has_failed);
            address.map(str::to_owned).ok_or("not ready")
        });
        self.pod(name, address)
    }

    fn pod(&self, name: &str, address: String) -> Pod<'_> {
        Pod { namespace: &self.namespace, name: name.to_owned(), address }
    }

    /// Requests that the traffic of a pod is captured.
    fn captured(&self, manifest: PodManifest) -> PodManifest {
        let mode = match self.mtls {
            Mtls::Strict => "STRICT",
            Mtls::Permissive => "PERMISSIVE",
        };
        manifest.proxy_config(&json!({"proxyMetadata": {"TEST_CAPTURE": mode}}))
    }
}

impl Pod<'_> {
    /// Lets the program of a rank continue.
    pub fn allow(&self, step: &str) {
        let program = format!("open('/tmp/{step}', 'w')");
        let command = ["exec", &self.name, "-c", "pytorch", "--", torch::PYTHON, "-c", &program];
        eventually(TIMEOUT, &format!("{} continues", self.name), || {
            let output = self.namespace.kubectl(&command, "");
            // The last step lets the rank exit, which kills the command.
            let is_done = output.status.success() || self.is_finished();
            if is_done { Ok(()) } else { Err(output.stderr) }
        });
    }

    fn is_finished(&self) -> bool {
        let pod = self.namespace.get("pod", &self.name).unwrap_or_default();
        let statuses = pod["status"]["containerStatuses"].as_array().into_iter().flatten();
        let mut ranks = statuses.filter(|status| status["name"] == "pytorch");
        ranks.any(|status| status["state"]["terminated"].is_object())
    }

    /// Waits until the rank has written `text`.
    pub fn wait_for_log(&self, text: &str) {
        eventually(RANK_TIMEOUT, text, || {
            let log = self.log();
            if log.contains(text) { Ok(()) } else { Err(log) }
        });
    }

    /// Waits until the rank has failed.
    pub fn wait_for_failure(&self) {
        assert_eq!(self.wait_for_phase(&["Succeeded", "Failed"]), "Failed", "{}", self.log());
    }

    /// Waits until the rank has succeeded.
    pub fn wait_for_success(&self) {
        assert_eq!(self.wait_for_phase(&["Succeeded", "Failed"]), "Succeeded", "{}", self.log());
    }

    /// Returns the output of the rank.
    pub fn log(&self) -> String {
        self.log_of("pytorch")
    }

    fn log_of(&self, container: &str) -> String {
        self.namespace.kubectl(&["logs", &self.name, "-c", container], "").stdout.trim().to_owned()
    }

    fn wait_for_phase(&self, phases: &[&str]) -> String {
        eventually(RANK_TIMEOUT, &format!("{} is in phase {phases:?}", self.name), || {
            let pod = self.namespace.get("pod", &self.name).ok_or("it does not exist")?;
            let phase = pod["status"]["phase"].as_str().unwrap_or_default().to_owned();
            if phases.contains(&phase.as_str()) { Ok(phase) } else { Err(format!("{phase}: {}", pod["status"])) }
        })
    }
}
