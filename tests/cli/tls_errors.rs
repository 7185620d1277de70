//! Connections to the apiserver that fail: the server, the context and the cause are named once, with what to do.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rstest::rstest;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::version::TLS12;
use rustls::{ALL_VERSIONS, RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};
use time::{Duration, OffsetDateTime};
use trainmesh_testing::cli::trainmesh_with;
use trainmesh_testing::webhook::base64;

/// A certificate with its key.
struct Identity {
    der: CertificateDer<'static>,
    pem: String,
    key: KeyPair,
}

/// A server with a certificate of a CA, and a user with one of the same CA.
struct Scene {
    ca: CertifiedIssuer<'static, KeyPair>,
    names: &'static [&'static str],
    /// Days from which, and until which the certificate of the server is valid.
    server_days: (i64, i64),
    client_days: Option<(i64, i64)>,
    requires_client: bool,
    is_authority: bool,
    /// Sends this without TLS.
    plain: Option<&'static str>,
    scheme: &'static str,
    /// JSON pointers of the kubeconfig and their values, which may contain the folder of the kubeconfig as `DIR`.
    edits: Vec<(&'static str, Value)>,
}

fn authority(name: &str) -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

fn identity(
    ca: &CertifiedIssuer<'static, KeyPair>,
    names: &[&str],
    (from, until): (i64, i64),
    is_authority: bool,
) -> Identity {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut params = CertificateParams::new(names).unwrap();
    // Midnight: the text contains no time that differs between runs.
    let today = OffsetDateTime::now_utc().replace_time(time::Time::MIDNIGHT);
    (params.not_before, params.not_after) = (today + Duration::days(from), today + Duration::days(until));
    let key = KeyPair::generate().unwrap();
    let certificate = if is_authority {
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.self_signed(&key).unwrap()
    } else {
        params.signed_by(&key, ca).unwrap()
    };
    Identity { der: certificate.der().clone(), pem: certificate.pem(), key }
}

impl Default for Scene {
    fn default() -> Self {
        Self {
            ca: authority("own"),
            names: &["127.0.0.1"],
            server_days: (-9, 9),
            client_days: Some((-9, 9)),
            requires_client: false,
            is_authority: false,
            plain: None,
            scheme: "https",
            edits: Vec::new(),
        }
    }
}

impl Scene {
    /// Runs `command` against the server. Returns its only line of output and the address of the server.
    fn run(&self, command: &str) -> (String, String) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("{}://{}", self.scheme, listener.local_addr().unwrap());
        let config = Arc::new(self.server());
        let plain = self.plain;
        // The thread exits with the test process.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                match plain {
                    Some(text) => respond(stream, text),
                    None => serve(stream, &config),
                }
            }
        });
        let folder = tempfile::tempdir().unwrap();
        let client = self.client_days.map(|days| identity(&self.ca, &["jane"], days, false));
        let user = client.map_or_else(|| json!({}), |client| user(&client));
        let mut config = json!({"apiVersion": "v1", "kind": "Config", "current-context": "prod",
            "contexts": [{"name": "prod", "context": {"cluster": "gpu", "user": "jane"}}],
            "clusters": [{"name": "gpu", "cluster": {"server": address, "certificate-authority-data": base64(&self.ca.pem())}}],
            "users": [{"name": "jane", "user": user}]});
        for (pointer, value) in &self.edits {
            *config.pointer_mut(pointer).unwrap() = value.clone();
        }
        let path = folder.path().join("kubeconfig");
        fs::write(&path, config.to_string().replace("DIR", folder.path().to_str().unwrap())).unwrap();
        let arguments: Vec<&str> = command.split_whitespace().collect();
        let variables = [("KUBECONFIG", path.to_str().unwrap())];
        let run = trainmesh_with(&arguments, "{apiVersion: v1, kind: Pod, metadata: {name: a}}", &variables);
        assert_eq!(run.code, Some(2), "{run:#?}");
        assert_eq!(run.stderr.lines().count(), 1, "{run:#?}");
        (run.stderr.replace(folder.path().to_str().unwrap(), "DIR"), address)
    }

    fn server(&self) -> ServerConfig {
        let server = identity(&self.ca, self.names, self.server_days, self.is_authority);
        let provider = Arc::new(ring::default_provider());
        // In TLS 1.3, a server rejects a client's certificate after the handshake, so that the request fails in one of several ways.
        let versions: &[_] = if self.requires_client { &[&TLS12] } else { ALL_VERSIONS };
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider)).with_protocol_versions(versions);
        let builder = if self.requires_client {
            let mut roots = RootCertStore::empty();
            roots.add(self.ca.der().clone()).unwrap();
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
            builder.unwrap().with_client_cert_verifier(verifier)
        } else {
            builder.unwrap().with_no_client_auth()
        };
        let key = PrivateKeyDer::try_from(server.key.serialize_der()).unwrap();
        builder.with_single_cert(vec![server.der], key).unwrap()
    }
}

fn serve(stream: TcpStream, config: &Arc<ServerConfig>) {
    let connection = ServerConnection::new(Arc::clone(config)).unwrap();
    let mut stream = StreamOwned::new(connection, stream);
    let _ = stream.read(&mut [0; 4096]);
    let _ = stream.flush();
}

fn respond(mut stream: TcpStream, text: &str) {
    let _ = stream.read(&mut [0; 4096]);
    let _ = stream.write_all(text.as_bytes());
}

/// Returns the user of a kubeconfig with this client certificate.
fn user(client: &Identity) -> Value {
    json!({"client-certificate-data": base64(&client.pem), "client-key-data": base64(&client.key.serialize_pem())})
}

/// Returns the date of a day as messages write it.
fn day(days: i64) -> String {
    let date = OffsetDateTime::now_utc() + Duration::days(days);
    format!("{:04}-{:02}-{:02}T00:00:00Z", date.year(), u8::from(date.month()), date.day())
}

#[track_caller]
fn check(scene: &Scene, command: &str, expected: &str) {
    let (line, address) = scene.run(command);
    let expected = expected.replace("SERVER", &format!("{address} (context prod)"));
    assert!(line.starts_with("error: ") && line.contains(&expected), "{expected}\n{line}");
    assert!(line.matches("prod").count() == 1 && line.matches(&address).count() <= 1, "{line}");
}

#[rstest]
#[case::expired(Scene { server_days: (-9, -3), ..Scene::default() }, &format!("cannot reach SERVER: the server's certificate expired at {}, and it is 2", day(-3)))]
#[case::not_yet_valid(Scene { server_days: (3, 9), ..Scene::default() }, &format!("the server's certificate is valid from {}, and it is 2", day(3)))]
#[case::unknown_ca(
    Scene { edits: vec![("/clusters/0/cluster/certificate-authority-data", base64(&authority("other").pem()))], ..Scene::default() },
    "cannot reach SERVER: the server's certificate is not issued by the certificate-authority of cluster gpu: set it to the CA of this server\n"
)]
#[case::self_signed(Scene { is_authority: true, ..Scene::default() }, "cannot reach SERVER: the server's certificate is that of a CA, as self-signed")]
#[case::wrong_name(
    Scene { names: &["api.example.com", "10.0.0.1"], ..Scene::default() },
    "the server's certificate is not valid for 127.0.0.1, but for api.example.com, 10.0.0.1: correct the server of cluster gpu, or set its tls-server-name\n"
)]
#[case::http_on_the_port_of_https(
    Scene { plain: Some("HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n"), ..Scene::default() },
    "cannot reach SERVER: the server responds without TLS: check its port, or write http:// in the server of cluster gpu\n"
)]
#[case::https_on_the_port_of_http(Scene { scheme: "http", ..Scene::default() }, "cannot reach SERVER: the response is not HTTP: check its port, or write https:// in the server of cluster gpu\n")]
#[case::go_without_tls(
    Scene {
        scheme: "http",
        plain: Some("HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"),
        ..Scene::default()
    },
    " at SERVER: Client sent an HTTP request to an HTTPS server.: write https:// in the server of cluster gpu\n"
)]
#[case::closed(Scene { plain: Some(""), ..Scene::default() }, "cannot reach SERVER: the server closed the connection: check its port, and what is in front of it\n")]
#[case::closed_without_tls(Scene { scheme: "http", plain: Some(""), ..Scene::default() }, "cannot reach SERVER: the server closed the connection without a response\n")]
#[case::expired_client(
    Scene { requires_client: true, client_days: Some((-9, -2)), ..Scene::default() },
    &format!("cannot reach SERVER: your client certificate (user jane) expired at {}: renew the credentials\n", day(-2))
)]
#[case::expired_client_without_tls(
    Scene {
        scheme: "http",
        plain: Some("HTTP/1.0 401 Unauthorized\r\n\r\nUnauthorized"),
        client_days: Some((-9, -2)),
        ..Scene::default()
    },
    &format!(": Unauthorized: SERVER does not accept the credentials: the client certificate of user jane expired at {}\n", day(-2))
)]
#[case::no_client(Scene { requires_client: true, client_days: None, ..Scene::default() }, "cannot reach SERVER: the server requires a client certificate, and user jane has none: set client-certificate\n")]
#[case::client_of_a_ca_of_the_same_name(
    Scene {
        requires_client: true,
        edits: vec![("/users/0/user", user(&identity(&authority("own"), &["jane"], (-1, 1), false)))],
        ..Scene::default()
    },
    "the server does not accept your client certificate (user jane): renew the credentials\n"
)]
#[case::client_of_another_ca(
    Scene {
        requires_client: true,
        edits: vec![("/users/0/user", user(&identity(&authority("other"), &["jane"], (-1, 1), false)))],
        ..Scene::default()
    },
    "your client certificate (user jane) is issued by a CA that the server does not trust: renew the credentials\n"
)]
fn failures_of_tls_are_explained(#[case] scene: Scene, #[case] expected: &str) {
    for command in ["doctor", "diagnose -A --trainmesh-namespace mesh", "preview -f - --cluster"] {
        check(&scene, command, expected);
    }
}

#[rstest]
#[case::authority("/clusters/0/cluster", json!({"server": "https://127.0.0.1:1", "certificate-authority": "DIR/ca.crt"}), "DIR/ca.crt, the certificate-authority of cluster gpu, does not exist\n")]
#[case::relative("/clusters/0/cluster", json!({"server": "https://127.0.0.1:1", "certificate-authority": "ca.crt"}), "DIR/ca.crt, the certificate-authority of cluster gpu, does not exist\n")]
#[case::directory("/clusters/0/cluster", json!({"server": "https://127.0.0.1:1", "certificate-authority": "DIR"}), "could not read DIR, the certificate-authority of cluster gpu: is a directory\n")]
#[case::not_base64("/clusters/0/cluster/certificate-authority-data", json!("!"), "certificate-authority-data of cluster gpu is not valid base64: ")]
#[case::certificate("/users/0/user", json!({"client-certificate": "DIR/c.pem", "client-key": "DIR/k.pem"}), "DIR/c.pem, the client-certificate of user jane, does not exist\n")]
#[case::key("/users/0/user/client-key-data", json!(null), "user jane has no client-key\n")]
#[case::no_key(
    "/users/0/user/client-key-data",
    base64("x"),
    "the client key of user jane contains no private key in PEM\n"
)]
#[case::token("/users/0/user", json!({"tokenFile": "DIR/token"}), "DIR/token, the tokenFile of user jane, does not exist\n")]
#[case::proxy(
    "/clusters/0/cluster",
    json!({"server": "https://127.0.0.1:1", "proxy-url": "http://u:secret@proxy.test:3128"}),
    "trainmesh does not connect through a proxy (proxy.test): remove proxy-url of cluster gpu, or use kubectl proxy\n"
)]
#[case::server("/clusters/0/cluster", json!({"server": "https://a b"}), "the server of cluster gpu is not a valid URL: ")]
#[case::no_server("/clusters/0/cluster", json!({}), "cluster gpu has no server\n")]
fn files_and_fields_of_the_context_are_named(
    #[case] pointer: &'static str,
    #[case] value: Value,
    #[case] expected: &str,
) {
    let scene = Scene { edits: vec![(pointer, value)], ..Scene::default() };
    for command in ["doctor", "doctor --context prod", "diagnose -A --trainmesh-namespace mesh"] {
        check(&scene, command, &format!("error: could not use the context prod: {expected}"));
    }
}

#[test]
fn a_name_that_cannot_be_resolved_is_named() {
    let edits = vec![("/clusters/0/cluster/server", "https://api.invalid:6443".into())];
    let (line, _) = Scene { edits, ..Scene::default() }.run("doctor");
    assert!(
        line.starts_with("error: cannot reach https://api.invalid:6443 (context prod): its name cannot be resolved: "),
        "{line}"
    );
}
