//! The webhook process.

use std::io;
use std::net::SocketAddr;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Certificate, Options};
use crate::cluster::server::{self, Server};
use crate::tls::{self, Tls};

/// A running `trainmesh webhook`, killed when it is dropped.
#[derive(Debug)]
pub struct Process {
    /// Address of the HTTPS port.
    pub listen: SocketAddr,
    pub certificate: Arc<Certificate>,
    server: Server,
}

impl Process {
    /// Starts the webhook and waits until it is ready. It reads its `ConfigMap` in `namespace`.
    pub fn start(namespace: &str, certificate: Arc<Certificate>, options: &Options<'_>) -> Self {
        let folder = server::temp_folder();
        let [chain, key] = write(folder.path(), &certificate);
        let server = Server::start(folder, |command| {
            command.args(["webhook", "--listen", "127.0.0.1:0", "--namespace", namespace, "--grace", "30s"]);
            command.arg("--tls-cert").arg(chain).arg("--tls-key").arg(key).args(options.arguments);
            if let Some(path) = options.kubeconfig {
                command.arg("--kubeconfig").arg(path);
            }
        });
        let listen = server.address("listen");
        server.wait_until_ready();
        Self { listen, certificate, server }
    }

    /// Connects, trusting its certificate.
    pub fn connect(&self) -> io::Result<Tls> {
        tls::connect(self.listen, &self.certificate.pem, "127.0.0.1")
    }

    /// Replaces the certificate files and waits until the new certificate is served. The files are written one after
    /// the other, so the webhook may read an inconsistent pair first.
    pub fn renew(&self, certificate: &Certificate) {
        let _ = write(self.folder(), certificate);
        self.wait_for_metric("trainmesh_certificate_expiry_timestamp_seconds{cert=\"leaf\"}", certificate.expires);
    }
}

/// Writes the chain and the key of a certificate.
fn write(folder: &Path, certificate: &Certificate) -> [PathBuf; 2] {
    let files = [("tls.crt", certificate.pem.clone()), ("tls.key", certificate.key.serialize_pem())];
    files.map(|(name, text)| server::write_file(folder, name, &text))
}

impl Deref for Process {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}

impl DerefMut for Process {
    fn deref_mut(&mut self) -> &mut Server {
        &mut self.server
    }
}
