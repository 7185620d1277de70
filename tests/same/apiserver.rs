//! A static apiserver: it serves prepared objects, returns created objects unchanged and does not store them.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use std::{fs, thread};

use serde_json::{Value, json};

/// Locations of objects: kind, path of the group and version, plural.
const KINDS: [(&str, &str, &str); 13] = [
    ("ConfigMap", "/api/v1", "configmaps"),
    ("Namespace", "/api/v1", "namespaces"),
    ("Node", "/api/v1", "nodes"),
    ("Pod", "/api/v1", "pods"),
    ("ResourceQuota", "/api/v1", "resourcequotas"),
    ("Secret", "/api/v1", "secrets"),
    ("Service", "/api/v1", "services"),
    ("Deployment", "/apis/apps/v1", "deployments"),
    ("Job", "/apis/batch/v1", "jobs"),
    ("EndpointSlice", "/apis/discovery.k8s.io/v1", "endpointslices"),
    ("Lease", "/apis/coordination.k8s.io/v1", "leases"),
    ("MutatingWebhookConfiguration", "/apis/admissionregistration.k8s.io/v1", "mutatingwebhookconfigurations"),
    ("ResourceClaimTemplate", "/apis/resource.k8s.io/v1", "resourceclaimtemplates"),
];

/// A running apiserver; it stops with the process.
pub struct Apiserver {
    kubeconfig: PathBuf,
    store: Arc<Store>,
    _folder: tempfile::TempDir,
}

struct Store {
    objects: BTreeMap<String, Value>,
    lists: BTreeMap<String, Vec<Value>>,
    last_watch: Mutex<Instant>,
}

impl Apiserver {
    /// Starts an apiserver with `objects`.
    pub fn start(objects: Vec<Value>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let store = Arc::new(Store::new(objects));
        let served = Arc::clone(&store);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let store = Arc::clone(&served);
                // Errors mean that the client has disconnected.
                thread::spawn(move || drop(store.serve(stream)));
            }
        });
        let folder = tempfile::tempdir().expect("a folder");
        let kubeconfig = folder.path().join("kubeconfig");
        let config = json!({"apiVersion": "v1", "kind": "Config", "current-context": "test",
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
            "clusters": [{"name": "test", "cluster": {"server": format!("http://{address}")}}],
            "users": [{"name": "test", "user": {}}]});
        fs::write(&kubeconfig, config.to_string()).expect("write the kubeconfig");
        Self { kubeconfig, store, _folder: folder }
    }

    /// Returns the path of a kubeconfig for this apiserver.
    pub fn kubeconfig(&self) -> String {
        self.kubeconfig.display().to_string()
    }

    /// Returns the time since the last watch started.
    pub fn quiet_for(&self) -> Duration {
        self.store.last_watch.lock().expect("not poisoned").elapsed()
    }
}

impl Store {
    fn new(objects: Vec<Value>) -> Self {
        let last_watch = Mutex::new(Instant::now());
        let mut store = Self { objects: BTreeMap::new(), lists: BTreeMap::new(), last_watch };
        for object in objects {
            let Some((_, group, plural)) = KINDS.iter().find(|(kind, ..)| object["kind"] == *kind) else { continue };
            let name = object["metadata"]["name"].as_str().expect("a name");
            let namespace = object["metadata"]["namespace"].as_str();
            let list = namespace.map(|namespace| format!("{group}/namespaces/{namespace}/{plural}"));
            let list = list.unwrap_or_else(|| format!("{group}/{plural}"));
            store.objects.insert(format!("{list}/{name}"), object.clone());
            store.lists.entry(format!("{group}/{plural}")).or_default().push(object.clone());
            if namespace.is_some() {
                store.lists.entry(list).or_default().push(object);
            }
        }
        store
    }

    fn serve(&self, mut stream: TcpStream) -> std::io::Result<()> {
        let mut reader = BufReader::new(stream.try_clone()?);
        let mut head = Vec::new();
        while head.last().is_none_or(|line: &String| !line.trim().is_empty()) {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            head.push(line);
        }
        let mut words = head[0].split(' ');
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let length = head
            .iter()
            .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.trim().parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        reader.read_exact(&mut body)?;
        if query.contains("watch=true") {
            *self.last_watch.lock().expect("not poisoned") = Instant::now();
            write!(stream, "HTTP/1.1 200 X\r\ncontent-type: application/json\r\n\r\n")?;
            // No events until the client disconnects.
            return reader.read_to_end(&mut body).map(drop);
        }
        let (code, reply) = self.reply(method, path, query, &body);
        let reply = reply.to_string();
        let length = reply.len();
        write!(
            stream,
            "HTTP/1.1 {code} X\r\ncontent-type: application/json\r\nconnection: close\r\n\
             date: Sun, 22 Nov 2026 07:00:00 GMT\r\ncontent-length: {length}\r\n\r\n{reply}"
        )
    }

    fn reply(&self, method: &str, path: &str, query: &str, body: &[u8]) -> (u16, Value) {
        let failure = |code: u16, reason: &str| {
            (
                code,
                json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": code,
                "reason": reason, "message": format!("{method} {path}")}),
            )
        };
        match method {
            "POST" => (201, serde_json::from_slice(body).unwrap_or_default()),
            // One namespace is forbidden, so that refusals are covered.
            _ if path.contains("/namespaces/forbidden") => failure(403, "Forbidden"),
            "GET" if path == "/version" => (
                200,
                json!({"major": "1", "minor": "36", "gitVersion": "v1.36.0", "gitCommit": "", "gitTreeState": "",
                    "buildDate": "", "goVersion": "", "compiler": "", "platform": ""}),
            ),
            "GET" => match self.objects.get(path) {
                Some(object) => (200, object.clone()),
                None => self.list(path, query).map_or_else(|| failure(404, "NotFound"), |list| (200, list)),
            },
            _ => failure(404, "NotFound"),
        }
    }

    /// Lists the objects of a kind, in one namespace or all, optionally with one name.
    fn list(&self, path: &str, query: &str) -> Option<Value> {
        let (kind, group, _) =
            KINDS.iter().find(|(_, group, plural)| path.starts_with(group) && path.ends_with(plural))?;
        let name = query.split('&').find_map(|pair| pair.strip_prefix("fieldSelector=metadata.name%3D"));
        let items = self.lists.get(path).into_iter().flatten();
        let items: Vec<&Value> =
            items.filter(|item| name.is_none_or(|name| item["metadata"]["name"] == name)).collect();
        let version = group.trim_start_matches("/apis/").trim_start_matches("/api/");
        Some(
            json!({"kind": format!("{kind}List"), "apiVersion": version, "metadata": {"resourceVersion": "1"}, "items": items}),
        )
    }
}
