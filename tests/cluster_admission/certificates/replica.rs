//! A replica of the webhook that has its certificate from the Secret.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use trainmesh_testing::cluster::{PATIENCE, eventually};
use trainmesh_testing::tls;

/// A running `trainmesh webhook`, killed when it is dropped.
#[derive(Debug)]
pub struct Replica {
    pub listen: SocketAddr,
    admin: SocketAddr,
    child: Child,
    folder: TempDir,
}

impl Replica {
    /// Starts it in namespace `home`; it need not be ready yet.
    pub fn start(home: &str) -> Self {
        Self::named(home, None)
    }

    /// Starts it as whom `kubeconfig` names.
    pub fn named(home: &str, kubeconfig: Option<&Path>) -> Self {
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
        (replica.listen, replica.admin) = eventually(PATIENCE, "the addresses in the log's first line", || {
            let first = replica.log().lines().next().and_then(|line| serde_json::from_str::<Value>(line).ok());
            let first = first.unwrap_or_default();
            let address = |field: &str| first[field].as_str().and_then(|text| text.parse().ok());
            address("listen").zip(address("admin")).ok_or_else(|| replica.log())
        });
        replica
    }

    /// What `/readyz` says.
    pub fn readiness(&self) -> String {
        let ask = || -> io::Result<String> {
            let mut stream = TcpStream::connect(self.admin)?;
            write!(stream, "GET /readyz HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n")?;
            let mut text = String::new();
            stream.read_to_string(&mut text)?;
            Ok(text)
        };
        let answer = ask().unwrap();
        answer.split_once("\r\n\r\n").map(|(_, body)| body.trim().to_owned()).unwrap_or_default()
    }

    /// Waits until it takes calls.
    pub fn ready(&self) {
        eventually(PATIENCE, "the replica is ready", || match self.readiness().as_str() {
            "ok" => Ok(()),
            unmet => Err(format!("{unmet}\n{}", self.log())),
        });
    }

    /// Shakes hands as the apiserver does who trusts `bundle` and calls the Service by the name `host`.
    pub fn shake_hands(&self, bundle: &str, host: &str) -> io::Result<()> {
        tls::shown(self.listen, bundle, host).map(drop)
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap()
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
