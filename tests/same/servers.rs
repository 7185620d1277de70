//! Both servers with the static apiserver: their responses to reviews, and their metrics.

use std::collections::BTreeSet;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::Observations;
use crate::apiserver::Apiserver;
use crate::inputs::Inputs;
use crate::reviews::{Call, patch};
use trainmesh_testing::tls::{self, Tls};

/// Host name of the certificate.
const HOST: &str = "trainmesh-webhook.trainmesh-system.svc";
/// Time to wait for readiness; generous, for busy machines.
const TIMEOUT: Duration = Duration::from_mins(1);
/// A server that has started no watch for this long has synced: it processes what it reads within a tenth of this.
const QUIET_PERIOD: Duration = Duration::from_secs(1);
/// Polling interval.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A running server, killed on drop.
struct Server {
    child: Child,
    /// The first log line.
    first: Value,
}

/// Runs both servers with every configuration.
pub fn observe(binary: &Path, inputs: &Inputs, calls: &[Call], cluster: &Apiserver) -> Observations {
    let mut observations = Observations::new();
    let bundle = inputs.read("certificate/ca.crt");
    for configuration in &inputs.configurations {
        let name = configuration.as_deref().unwrap_or("the cluster's configuration");
        let config: Vec<&str> = configuration.iter().flat_map(|path| ["--config", path]).collect();
        let webhook = Server::start(binary, &[&["webhook", "--listen", "127.0.0.1:0"], &*config].concat(), cluster);
        let mut connection = None;
        let mut send = |call| webhook.call(call, &bundle, &mut connection);
        // Warm-up: on a busy machine, the first calls may arrive before the caches have synced.
        calls.iter().map(&mut send).for_each(drop);
        observations.extend(calls.iter().map(|call| (format!("{name}: {}", call.name), send(call))));
        observations.insert(format!("{name}: metrics of the webhook"), webhook.metrics());
        drop(webhook);
        let controller =
            Server::start(binary, &[&["controller", "--certificates", "none"], &*config].concat(), cluster);
        observations.insert(format!("{name}: metrics of the controller"), controller.metrics());
    }
    observations
}

impl Server {
    /// Starts the server, and waits until it is ready and its caches have synced.
    fn start(binary: &Path, arguments: &[&str], cluster: &Apiserver) -> Self {
        let mut child = Command::new(binary)
            .args(arguments)
            .args(["--admin-listen", "127.0.0.1:0", "--log-format", "json", "--kubeconfig", &cluster.kubeconfig()])
            .env_clear()
            .stderr(Stdio::piped())
            .spawn()
            .expect("start a server");
        let mut log = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut first = String::new();
        log.read_line(&mut first).expect("a log");
        // Drain the log: a full pipe would block the server.
        thread::spawn(move || io::copy(&mut log, &mut io::sink()));
        let first = serde_json::from_str(&first).unwrap_or_else(|_| panic!("{arguments:?}: {first}"));
        let server = Self { child, first };
        let end = Instant::now() + TIMEOUT;
        loop {
            match server.get("/readyz") {
                Ok(page) if page.contains(" 200 ") && cluster.quiet_for() > QUIET_PERIOD => return server,
                page if Instant::now() >= end => panic!("{arguments:?} is not ready: {page:?}"),
                _ => thread::sleep(POLL_INTERVAL),
            }
        }
    }

    /// Returns status and body of a response, reusing the previous connection if the server kept it open.
    fn call(&self, call: &Call, bundle: &str, connection: &mut Option<Tls>) -> String {
        let open = || tls::connect(self.address("listen"), bundle, HOST).expect("a handshake");
        let mut stream = connection.take().unwrap_or_else(open);
        match tls::post(&mut stream, &call.path, &call.body) {
            Ok(answer) => {
                *connection = (!answer.closes).then_some(stream);
                format!("{} {}\n{}", answer.status, patch(&answer.body).unwrap_or_default(), answer.body)
            }
            Err(error) => format!("no answer: {error}"),
        }
    }

    /// Returns names, descriptions and labels of all series; their values depend on time.
    fn metrics(&self) -> String {
        let page = self.get("/metrics").expect("the plain port answers");
        let (_, text) = page.split_once("\r\n\r\n").expect("a page");
        let series = text.lines().map(|line| match line.rsplit_once(' ') {
            Some((series, _)) if !line.starts_with('#') => series,
            _ => line,
        });
        // Labels have no fixed order.
        series.collect::<BTreeSet<&str>>().into_iter().collect::<Vec<_>>().join("\n")
    }

    fn get(&self, path: &str) -> io::Result<String> {
        let mut stream = TcpStream::connect(self.address("admin"))?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n")?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        Ok(text)
    }

    fn address(&self, field: &str) -> SocketAddr {
        self.first[field].as_str().and_then(|text| text.parse().ok()).expect("an address in the log's first line")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The process may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
