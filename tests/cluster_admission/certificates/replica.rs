//! A replica of the webhook that reads its certificate from the Secret.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use trainmesh_testing::cluster::{TIMEOUT, eventually};
use trainmesh_testing::tls;

/// A running `trainmesh webhook`, killed on drop.
#[derive(Debug)]
pub struct Replica {
    pub listen: SocketAddr,
    admin: SocketAddr,
    child: Child,
    folder: TempDir,
}

impl Replica {
    /// Starts a replica in namespace `home`, without waiting for readiness.
    pub fn start(home: &str) -> Self {
        Self::with_kubeconfig(home, None)
    }

    /// Starts a replica with the identity in `kubeconfig`.
    pub fn with_kubeconfig(home: &str, kubeconfig: Option<&Path>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let log = File::create(folder.path().join("log")).unwrap();
        let address = std::env::var("TRAINMESH_CLUSTER_NODE_IP").expect("the harness has checked for the cluster");
        let mut command = Command::new(env!("CARGO_BIN_EXE_trainmesh"));
        command
            .args(["webhook", "--listen", &format!("{address}:0"), "--admin-listen", "127.0.0.1:0"])
            .args(["--namespace", home, "--log-format", "json", "--drain", "0s", "--grace", "2s"])
            .env_remove("TRAINMESH_CONFIG")
            .stderr(Stdio::from(log));
        if let Some(path) = kubeconfig {
            command.arg("--kubeconfig").arg(path);
        }
        let child = command.spawn().unwrap();
        let unknown = SocketAddr::from(([0, 0, 0, 0], 0));
        let mut replica = Self { listen: unknown, admin: unknown, child, folder };
        (replica.listen, replica.admin) = eventually(TIMEOUT, "the first log line has the addresses", || {
            let first = replica.log().lines().next().and_then(|line| serde_json::from_str::<Value>(line).ok());
            let first = first.unwrap_or_default();
            let address = |field: &str| first[field].as_str().and_then(|text| text.parse().ok());
            address("listen").zip(address("admin")).ok_or_else(|| replica.log())
        });
        replica
    }

    /// Returns the body of `/readyz`.
    pub fn readiness(&self) -> String {
        let request = || -> io::Result<String> {
            let mut stream = TcpStream::connect(self.admin)?;
            write!(stream, "GET /readyz HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n")?;
            let mut text = String::new();
            stream.read_to_string(&mut text)?;
            Ok(text)
        };
        let answer = request().unwrap();
        answer.split_once("\r\n\r\n").map(|(_, body)| body.trim().to_owned()).unwrap_or_default()
    }

    /// Waits until the replica is ready.
    pub fn wait_ready(&self) {
        eventually(TIMEOUT, "the replica is ready", || match self.readiness().as_str() {
            "ok" => Ok(()),
            unmet => Err(format!("{unmet}\n{}", self.log())),
        });
    }

    /// Performs a TLS handshake as the apiserver does, trusting `bundle` and calling the Service as `host`.
    pub fn handshake(&self, bundle: &str, host: &str) -> io::Result<()> {
        tls::served_certificate(self.listen, bundle, host).map(drop)
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap()
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        // The process may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
