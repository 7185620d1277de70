//! Pods of a `PyTorchJob` with two ranks.

use std::path::Path;

use serde_json::{Value, json};

use trainmesh_testing::controller::PodManifest;
use trainmesh_testing::torch;

use crate::fixture::Address;

/// Port of the store, the one that the operator declares.
pub const STORE: u16 = 23456;

/// Program of both ranks. Rank 0 waits until the test allows the start; both wait until it allows the end.
const PROGRAM: &str = r#"
import datetime, http.server, os, threading, time, urllib.request
import torch, torch.distributed as dist

def wait_for(name):
    while not os.path.exists("/tmp/" + name):
        time.sleep(0.1)

class Dashboard(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"dashboard")

rank, address, port = int(os.environ["RANK"]), os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
if rank == 0:
    for number in (8080, 8081):
        server = http.server.ThreadingHTTPServer(("0.0.0.0", number), Dashboard)
        threading.Thread(target=server.serve_forever, daemon=True).start()
    print("the dashboard listens", flush=True)
    wait_for("start")
else:
    print("connecting", flush=True)
timeout = datetime.timedelta(minutes=10)
store = dist.TCPStore(address, port, 2, rank == 0, timeout, wait_for_workers=False)
if rank == 0:
    print("the store listens", flush=True)
dist.init_process_group("gloo", store=store, rank=rank, world_size=2, timeout=timeout)
tensor = torch.full((1 << 20,), float(rank + 1))
dist.all_reduce(tensor)
print("the sum is %d" % tensor[0].item(), flush=True)
if "SERVICE" in os.environ:
    answer = urllib.request.urlopen(os.environ["SERVICE"], timeout=300).read().decode().strip()
    print("the service answered: " + answer, flush=True)
wait_for("finish")
"#;

/// A rank to create.
#[derive(Debug)]
pub struct Rank {
    index: u8,
    /// Address of rank 0; its own if `None`.
    master: Option<String>,
    ports: Vec<Value>,
    service: Option<String>,
    program: &'static str,
    has_proxy: bool,
}

impl Rank {
    /// Returns rank 0, which contains the store.
    pub fn first() -> Self {
        let ports = vec![json!({"name": "pytorchjob-port", "containerPort": STORE})];
        Self { index: 0, master: None, ports, service: None, program: PROGRAM, has_proxy: true }
    }

    /// Returns rank 1, which connects to `address`. With that of the pod of rank 0, the connection is like those of Gloo.
    pub fn second(address: &str) -> Self {
        Self { index: 1, master: Some(address.to_owned()), ..Self::first() }
    }

    /// Declares the port of the dashboard.
    pub fn with_dashboard(mut self) -> Self {
        self.ports.push(json!({"name": "dashboard", "containerPort": 8080}));
        self
    }

    /// Calls a service after the collective operation.
    pub fn calling(mut self, service: &Address) -> Self {
        self.service = Some(service.url());
        self
    }

    /// Runs another program.
    pub fn running(mut self, program: &'static str) -> Self {
        self.program = program;
        self
    }

    /// Runs outside the mesh.
    pub fn without_proxy(mut self) -> Self {
        self.has_proxy = false;
        self
    }

    /// Returns the name of the pod.
    pub fn name(&self) -> String {
        format!("rank-{}", self.index)
    }

    /// Returns the manifest, as the operator creates it. `packages` is the directory with torch.
    pub fn manifest(&self, packages: &Path) -> PodManifest {
        let own_address = json!({"valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}});
        let mut master = self.master.as_ref().map_or(own_address, |address| json!({"value": address}));
        master["name"] = "MASTER_ADDR".into();
        let set = |name: &str, value: &str| json!({"name": name, "value": value});
        let mut env = vec![
            master,
            set("MASTER_PORT", &STORE.to_string()),
            set("RANK", &self.index.to_string()),
            set("PET_NNODES", "2"),
        ];
        env.extend(self.service.as_ref().map(|url| set("SERVICE", url)));
        let mut container =
            json!({"name": "pytorch", "command": [torch::PYTHON, "-c", self.program], "env": env, "ports": self.ports});
        torch::add_torch(&mut container);
        PodManifest::new(&self.name())
            .label("sidecar.istio.io/inject", if self.has_proxy { "true" } else { "false" })
            .label("training.kubeflow.org/operator-name", "pytorchjob-controller")
            .label("training.kubeflow.org/job-name", "llama")
            .label("training.kubeflow.org/replica-type", if self.index == 0 { "master" } else { "worker" })
            .label("training.kubeflow.org/replica-index", "0")
            .container(container)
            .spec("volumes", torch::volumes(packages))
    }
}
