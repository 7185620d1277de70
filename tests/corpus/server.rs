//! `trainmesh webhook` as a process, registered for some namespaces.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use k8s_openapi::ByteString;
use rcgen::{CertificateParams, KeyPair};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::cluster::{Cluster, eventually};

/// A server that ends with the test, and its registrations with it.
pub struct Server {
    child: Child,
    folder: TempDir,
    certificate: String,
    address: String,
    registrations: Vec<String>,
}

impl Server {
    /// A server that listens.
    pub fn start() -> Self {
        let folder = tempfile::tempdir().expect("make a folder");
        let key = KeyPair::generate().expect("make a key");
        let params = CertificateParams::new(["127.0.0.1".to_owned()]).expect("a name for the certificate");
        let certificate = params.self_signed(&key).expect("sign the certificate").pem();
        let write = |name: &str, text: &str| -> PathBuf {
            let path = folder.path().join(name);
            fs::write(&path, text).expect("write a file for the server");
            path
        };
        let log = folder.path().join("log");
        let child = Command::new(env!("CARGO_BIN_EXE_trainmesh"))
            .args(["webhook", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--log-format", "json"])
            .arg("--config")
            .arg(write("config.yaml", include_str!("../../config/default.yaml")))
            .arg("--tls-cert")
            .arg(write("tls.crt", &certificate))
            .arg("--tls-key")
            .arg(write("tls.key", &key.serialize_pem()))
            .stdin(Stdio::null())
            .stderr(File::create(&log).expect("make the log"))
            .spawn()
            .expect("start trainmesh");
        let address = eventually(Duration::from_secs(10), "the server listens", || {
            let log = fs::read_to_string(&log).unwrap_or_default();
            let first: Value = log.lines().next().and_then(|line| serde_json::from_str(line).ok()).unwrap_or_default();
            first["listen"].as_str().map(str::to_owned).ok_or(log)
        });
        Self { child, folder, certificate, address, registrations: Vec::new() }
    }

    /// Has the apiserver ask this server, and nobody else's, about the pods of `namespace`: the registration that is
    /// shipped, with another address and failure policy.
    pub fn register(&mut self, namespace: &str, failure_policy: &str) {
        let shipped = include_str!("../../config/registration.yaml");
        let mut registration: Value = serde_saphyr::from_str(shipped).expect("the registration is YAML");
        let name = format!("0-trainmesh-{namespace}");
        registration["metadata"]["name"] = name.clone().into();
        for webhook in registration["webhooks"].as_array_mut().into_iter().flatten() {
            let path = webhook["clientConfig"]["service"]["path"].as_str().unwrap_or_default();
            let url = format!("https://{}{path}", self.address);
            let bundle = ByteString(self.certificate.clone().into_bytes());
            webhook["clientConfig"] = json!({"url": url, "caBundle": bundle});
            webhook["failurePolicy"] = failure_policy.into();
            let here = json!({"key": "kubernetes.io/metadata.name", "operator": "In", "values": [namespace]});
            webhook["namespaceSelector"]["matchExpressions"].as_array_mut().expect("a selector").push(here);
        }
        let _ = Cluster::get().apply(&registration).success();
        self.registrations.push(name);
    }

    /// The lines of the log that hold `text`.
    pub fn log(&self, text: &str) -> Vec<String> {
        let log = fs::read_to_string(self.folder.path().join("log")).expect("read the log");
        log.lines().filter(|line| line.contains(text)).map(str::to_owned).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        for name in &self.registrations {
            let _ = Cluster::get().kubectl(&["delete", "mutatingwebhookconfiguration", name], "");
        }
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
