//! A webhook that misbehaves: a TLS server of a few lines that answers as it is told.

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
use trainmesh_testing::webhook::Certificate;

/// What it does with a call.
#[derive(Clone, Copy, Debug)]
pub enum Lie {
    /// Answers this status and body.
    Http(u16, &'static str),
    /// Answers the review with these fields; `uid` and `allowed: true` are there unless they are overridden.
    Response(fn() -> Value),
    /// Answers nothing for longer than the apiserver waits.
    Silence,
    /// Shows a certificate that nobody trusts.
    OtherCertificate,
    /// Speaks no TLS.
    NoTls,
    /// Is not there.
    Refused,
}

/// Where such a server listens and which certificate it is said to have.
pub struct Liar {
    pub address: SocketAddr,
    pub certificate: Certificate,
}

/// The fields of a response with this patch.
pub fn patch(operations: &Value) -> Value {
    json!({"patchType": "JSONPatch", "patch": ByteString(operations.to_string().into_bytes())})
}

impl Liar {
    /// Serves until the tests end.
    pub fn start(lie: Lie) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let liar = Self { address: listener.local_addr().unwrap(), certificate: Certificate::new() };
        if matches!(lie, Lie::Refused) {
            return liar;
        }
        let tls = match lie {
            Lie::OtherCertificate => server_config(&Certificate::new()),
            _ => server_config(&liar.certificate),
        };
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let tls = Arc::clone(&tls);
                // The apiserver hangs up when it has waited long enough.
                thread::spawn(move || drop(serve(stream, tls, lie)));
            }
        });
        liar
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

fn serve(mut stream: TcpStream, tls: Arc<ServerConfig>, lie: Lie) -> io::Result<()> {
    if matches!(lie, Lie::NoTls) {
        return stream.write_all(b"SSH-2.0-none\r\n");
    }
    let mut stream = StreamOwned::new(ServerConnection::new(tls).map_err(io::Error::other)?, stream);
    let review: Value = serde_json::from_slice(&receive(&mut stream)?.1)?;
    let (status, body) = match lie {
        Lie::Http(status, body) => (status, body.to_owned()),
        Lie::Response(fields) => (200, answer(&review, fields()).to_string()),
        _ => {
            // Says nothing until the apiserver has had enough.
            let _ = stream.read(&mut [0]);
            return Ok(());
        }
    };
    let head = format!(
        "HTTP/1.1 {status} told\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes())?;
    stream.conn.send_close_notify();
    stream.flush()
}

fn answer(review: &Value, fields: Value) -> Value {
    let mut response = json!({"uid": review["request"]["uid"], "allowed": true});
    if let (Value::Object(response), Value::Object(fields)) = (&mut response, fields) {
        response.extend(fields);
    }
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
}
