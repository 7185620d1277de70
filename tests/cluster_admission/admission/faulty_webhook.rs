//! A faulty webhook: a minimal TLS server that misbehaves as configured.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use k8s_openapi::ByteString;
use rustls::crypto::ring;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};

use trainmesh_testing::tls::receive;
use trainmesh_testing::webhook::{Certificate, base64};

/// Misbehavior of the webhook.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// Returns this status and body.
    Http(u16, &'static str),
    /// Returns a response with these fields; `uid` and `allowed: true` are added unless overridden.
    Response(fn() -> Value),
    /// Returns the patch, a list of operations, that the function computes for the pod.
    Patch(fn(&Value) -> Value),
    /// Sends nothing for longer than the apiserver waits.
    NoReply,
    /// Presents an untrusted certificate.
    OtherCertificate,
    /// Does not speak TLS.
    NoTls,
    /// Refuses connections.
    ConnectionRefused,
}

/// Address of a faulty webhook, and the certificate that clients should trust.
pub struct FaultyWebhook {
    pub address: SocketAddr,
    pub certificate: Certificate,
    fault: Fault,
}

/// Returns the response fields for this patch.
pub fn patch(operations: &Value) -> Value {
    json!({"patchType": "JSONPatch", "patch": ByteString(operations.to_string().into_bytes())})
}

impl FaultyWebhook {
    /// Returns a webhook for new pods that calls this server, with these fields.
    pub fn webhook(&self, name: &str, fields: &Value) -> Value {
        // A busy machine takes seconds for a response.
        let timeout = if matches!(self.fault, Fault::NoReply) { 1 } else { 10 };
        let mut webhook = json!({
            "name": name,
            "clientConfig": {"url": format!("https://{}/", self.address), "caBundle": base64(&self.certificate.pem)},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
            "admissionReviewVersions": ["v1"], "sideEffects": "None", "timeoutSeconds": timeout, "failurePolicy": "Ignore",
        });
        if let (Value::Object(webhook), Value::Object(fields)) = (&mut webhook, fields) {
            webhook.extend(fields.clone());
        }
        webhook
    }

    /// Starts a server that runs until the tests end.
    pub fn start(fault: Fault) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self { address: listener.local_addr().unwrap(), certificate: Certificate::new(), fault };
        if matches!(fault, Fault::ConnectionRefused) {
            return server;
        }
        let tls = match fault {
            Fault::OtherCertificate => server_config(&Certificate::new()),
            _ => server_config(&server.certificate),
        };
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let tls = Arc::clone(&tls);
                // The apiserver closes the connection when its timeout expires.
                thread::spawn(move || drop(serve(stream, tls, fault)));
            }
        });
        server
    }
}

fn server_config(certificate: &Certificate) -> Arc<ServerConfig> {
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(certificate.key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der.clone()], key);
    Arc::new(config.unwrap())
}

fn serve(mut stream: TcpStream, tls: Arc<ServerConfig>, fault: Fault) -> io::Result<()> {
    if matches!(fault, Fault::NoTls) {
        return stream.write_all(b"SSH-2.0-none\r\n");
    }
    let mut stream = StreamOwned::new(ServerConnection::new(tls).map_err(io::Error::other)?, stream);
    let review: Value = serde_json::from_slice(&receive(&mut stream)?.1)?;
    let (status, body) = match fault {
        Fault::Http(status, body) => (status, body.to_owned()),
        Fault::Response(fields) => (200, review_response(&review, fields()).to_string()),
        Fault::Patch(operations) => {
            let operations = operations(&review["request"]["object"]);
            (200, review_response(&review, patch(&operations)).to_string())
        }
        _ => {
            // Wait until the apiserver gives up.
            let _ = stream.read(&mut [0]);
            return Ok(());
        }
    };
    let head = format!(
        "HTTP/1.1 {status} test\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes())?;
    stream.conn.send_close_notify();
    stream.flush()
}

fn review_response(review: &Value, fields: Value) -> Value {
    let mut response = json!({"uid": review["request"]["uid"], "allowed": true});
    if let (Value::Object(response), Value::Object(fields)) = (&mut response, fields) {
        response.extend(fields);
    }
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
}
