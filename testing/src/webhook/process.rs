//! The process.

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
    /// Where it takes the apiserver's calls.
    pub listen: SocketAddr,
    pub certificate: Arc<Certificate>,
    server: Server,
}

impl Process {
    /// Starts it and waits until it is ready; its configuration is that of namespace `home`.
    pub fn start(home: &str, certificate: Arc<Certificate>, options: &Options<'_>) -> Self {
        let folder = server::folder();
        let [chain, key] = write(folder.path(), &certificate);
        let server = Server::start(folder, |command| {
            command.args(["webhook", "--listen", "127.0.0.1:0", "--namespace", home, "--grace", "2s"]);
            command.arg("--tls-cert").arg(chain).arg("--tls-key").arg(key).args(options.arguments);
            if let Some(path) = options.kubeconfig {
                command.arg("--kubeconfig").arg(path);
            }
        });
        let listen = server.address("listen");
        server.ready();
        Self { listen, certificate, server }
    }

    /// Connects as somebody who trusts its certificate.
    pub fn connect(&self) -> io::Result<Tls> {
        tls::connect(self.listen, &self.certificate.pem, "127.0.0.1")
    }

    /// Has it serve another certificate; returns when it does. As the files are written one after the other, it may see
    /// half of the pair first.
    pub fn renew(&self, certificate: &Certificate) {
        let _ = write(self.folder(), certificate);
        self.counts("trainmesh_certificate_expiry_timestamp_seconds{cert=\"leaf\"}", certificate.expires);
    }
}

/// Writes the files of a certificate, one after the other: chain and key.
fn write(folder: &Path, certificate: &Certificate) -> [PathBuf; 2] {
    let files = [("tls.crt", certificate.pem.clone()), ("tls.key", certificate.key.serialize_pem())];
    files.map(|(name, text)| server::file(folder, name, &text))
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
