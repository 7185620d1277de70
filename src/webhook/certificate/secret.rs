//! A serving certificate in a Secret that the controller renews.
//!
//! Every replica of the webhook reads the Secret. A replica serves the certificate in it only if the apiserver will
//! trust the certificate; otherwise it keeps the previous one, which the apiserver trusts until it expires.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use jiff::Timestamp;
use thiserror::Error;
use tokio::pin;
use tokio_util::sync::CancellationToken;

use super::{Certificate, CertificateError, CertificateResolver};
use crate::certs::read::{CaSet, ServingCertificate};
use crate::cluster::request::RequestError;
use crate::cluster::secret::Secrets;
use crate::telemetry::Metrics;
use crate::webhook::Clock;
use trainmesh_core::certs::Validity;
use trainmesh_core::error::chain;
use trainmesh_core::objects::secret::{CA_CRT, TLS_CRT, TLS_KEY};
use trainmesh_core::objects::{SERVING_SECRET, Secret};

/// Interval of reads without a change: a watch may have stalled, and a certificate may have become valid meanwhile.
const INTERVAL: Duration = Duration::from_secs(10);

/// The watched Secret of the webhook.
pub struct CertificateSecret {
    secrets: Secrets,
    updater: Updater,
}

/// Validates and serves the content of the Secret.
struct Updater {
    host: String,
    resolver: Arc<CertificateResolver>,
    metrics: Arc<Metrics>,
    clock: Clock,
    /// The served content.
    current: Option<Secret>,
    /// The last logged error.
    logged: String,
}

/// Reason why the content of the Secret is not served.
#[derive(Debug, Error)]
enum RejectReason {
    #[error(transparent)]
    Read(#[from] RequestError),
    #[error("Secret {SERVING_SECRET} does not exist: upgrade the Helm release, which creates it")]
    Missing,
    #[error("Secret {SERVING_SECRET} is empty: the controller has not issued a certificate yet")]
    Empty,
    #[error("the Secret {SERVING_SECRET} contains no valid certificate and key")]
    Parse(#[source] CertificateError),
    #[error("the Secret {SERVING_SECRET} contains a certificate of a kind that the controller does not issue")]
    Kind,
    #[error("the certificate in the Secret {SERVING_SECRET} is not valid for {0}")]
    Name(String),
    #[error("the certificate in the Secret {SERVING_SECRET} is not signed by any CA in the same Secret")]
    Chain,
    #[error(
        "the certificate in the Secret {SERVING_SECRET}, or its CA, is not valid at the current time: check the clocks"
    )]
    Validity,
}

/// A validated certificate and the validity of its CA.
struct ValidCertificate {
    certificate: Certificate,
    ca: Validity,
}

impl CertificateSecret {
    /// Creates a source from `secrets` for a Service with the DNS name `host`. Nothing is served until the first
    /// certificate has been read.
    #[must_use]
    pub fn new(secrets: Secrets, host: String, metrics: Arc<Metrics>, clock: Clock) -> Self {
        Self { secrets, updater: Updater::new(host, metrics, clock) }
    }

    /// Returns the resolver, which is updated from the Secret.
    #[must_use]
    pub fn resolver(&self) -> Arc<CertificateResolver> {
        Arc::clone(&self.updater.resolver)
    }

    /// Watches the Secret until `stop`.
    pub async fn run(mut self, stop: CancellationToken) {
        let changes = self.secrets.changes(SERVING_SECRET);
        pin!(changes);
        loop {
            let found = self.secrets.read(SERVING_SECRET).await;
            self.updater.update(found);
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                // Cancel-safe: the Secret is read again in any case.
                Some(()) = changes.next() => {}
                () = tokio::time::sleep(INTERVAL) => {}
            }
        }
    }
}

impl Updater {
    fn new(host: String, metrics: Arc<Metrics>, clock: Clock) -> Self {
        Self { host, resolver: Arc::default(), metrics, clock, current: None, logged: String::new() }
    }

    /// Serves `found` if it has changed and is valid.
    fn update(&mut self, found: Result<Option<Secret>, RequestError>) {
        let found = found.map_err(RejectReason::from).and_then(|found| found.ok_or(RejectReason::Missing));
        let validated = found.and_then(|secret| {
            let unchanged = self.current.as_ref() == Some(&secret);
            let accepted = if unchanged { None } else { Some(validate(&secret, &self.host, (self.clock)())?) };
            self.current = Some(secret);
            Ok(accepted)
        });
        match validated {
            Ok(accepted) => {
                self.logged.clear();
                if let Some(accepted) = accepted {
                    self.serve(accepted);
                }
            }
            // Logged once, not at each read.
            Err(reason) if self.logged != chain(&reason) => {
                self.logged = chain(&reason);
                if matches!(reason, RejectReason::Empty) {
                    // Every installation starts with an empty Secret.
                    tracing::warn!("{}", self.logged);
                } else {
                    tracing::error!("certificate not replaced, the current one is kept: {}", self.logged);
                }
            }
            Err(_) => {}
        }
    }

    fn serve(&self, ValidCertificate { certificate, ca }: ValidCertificate) {
        tracing::info!(expires = certificate.not_after(), "serving a new certificate");
        self.metrics.certificates.set_serving_validity(certificate.validity());
        self.metrics.certificates.set_ca_validity(&ca.seconds());
        self.resolver.replace(certificate);
    }
}

/// Validates `secret` as the apiserver will.
fn validate(secret: &Secret, host: &str, now: std::time::SystemTime) -> Result<ValidCertificate, RejectReason> {
    let (chain, key) = (secret.get(TLS_CRT), secret.get(TLS_KEY));
    if chain.is_empty() && key.is_empty() {
        return Err(RejectReason::Empty);
    }
    let certificate = Certificate::parse(chain, key).map_err(RejectReason::Parse)?;
    let serving = ServingCertificate::read(chain, key).ok_or(RejectReason::Kind)?;
    if !serving.matches_host(host) {
        return Err(RejectReason::Name(host.to_owned()));
    }
    let cas = CaSet::read(secret.get(CA_CRT), b"");
    let ca = cas.cas.iter().find(|ca| ca.has_signed(&serving)).ok_or(RejectReason::Chain)?;
    let now = Timestamp::try_from(now).unwrap_or(Timestamp::MAX);
    if !serving.validity.contains(now) || !ca.validity.contains(now) {
        return Err(RejectReason::Validity);
    }
    Ok(ValidCertificate { certificate, ca: ca.validity })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::SystemTime;

    use rstest::rstest;

    use super::*;
    use crate::certs::issue;
    use crate::certs::read::CertificateAuthority;

    const HOST: &str = "trainmesh-webhook.trainmesh-system.svc";
    const NOON: i64 = 1_800_000_000;
    const HOUR: Duration = Duration::from_hours(1);

    fn clock() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(NOON.unsigned_abs())
    }

    /// Returns a validity of one hour that starts this many seconds after noon.
    fn validity(second: i64) -> Validity {
        Validity::from_lifetime(Timestamp::from_second(NOON + second).unwrap(), HOUR)
    }

    /// Returns a Secret with a certificate signed by `signer`, and `cas` as its only CA.
    fn secret(host: &str, signer: &CertificateAuthority, cas: &CertificateAuthority, validity: Validity) -> Secret {
        let pair = issue::serving_certificate(signer, host, validity).unwrap();
        let data = [(TLS_CRT, pair.certificate.as_str()), (TLS_KEY, pair.key.pem()), (CA_CRT, &cas.pem)];
        Secret::new("1", data.map(|(key, text)| (key.to_owned(), text.as_bytes().to_vec())).into())
    }

    fn valid(second: i64) -> Secret {
        let ca = issue::ca(validity(0)).unwrap();
        secret(HOST, &ca, &ca, validity(second))
    }

    #[rstest]
    #[case::valid(HOST, 0, 0, true, "")]
    #[case::another_service("other.trainmesh-system.svc", 0, 0, true, "is not valid for trainmesh-webhook")]
    #[case::another_ca(HOST, 0, 0, false, "not signed by any CA in the same Secret")]
    #[case::expired(HOST, 0, -3600, true, "is not valid at the current time")]
    #[case::too_early(HOST, 0, 3601, true, "is not valid at the current time")]
    #[case::ca_expired(HOST, -3600, 0, true, "is not valid at the current time")]
    fn accepts_what_the_apiserver_trusts(
        #[case] host: &str,
        #[case] ca: i64,
        #[case] serving: i64,
        #[case] chains: bool,
        #[case] expected: &str,
    ) {
        let [signer, other] = [(); 2].map(|()| issue::ca(validity(ca)).unwrap());
        let secret = secret(host, &signer, if chains { &signer } else { &other }, validity(serving));
        let found = validate(&secret, HOST, clock()).err().map(|reason| reason.to_string()).unwrap_or_default();
        assert!(found.contains(expected) && found.is_empty() == expected.is_empty(), "{found}");
    }

    #[test]
    fn the_current_certificate_is_kept_until_a_valid_one_arrives() {
        let (first, second) = (valid(-60), valid(-30));
        let empty = Secret::new("1", BTreeMap::new());
        let [before, after] = [-60, -30].map(|second| Some(validity(second).not_after.as_second()));
        let mut updater = Updater::new(HOST.to_owned(), Arc::new(Metrics::default()), clock);
        let mut check = |found, expected| {
            updater.update(found);
            assert_eq!(updater.resolver.current().map(|certificate| certificate.not_after()), expected);
        };
        check(Ok(None), None);
        check(Ok(Some(empty.clone())), None);
        check(Ok(Some(first.clone())), before);
        check(Ok(Some(empty)), before);
        check(Ok(None), before);
        check(Err(RequestError::TimedOut("read it".to_owned())), before);
        check(Ok(Some(first)), before);
        check(Ok(Some(second)), after);
        let metrics = updater.metrics.encode();
        let [serving, ca] = [-30, 0].map(|second| validity(second).seconds());
        for (series, value) in [
            ("not_before_timestamp_seconds{cert=\"leaf\"}", serving.start()),
            ("expiry_timestamp_seconds{cert=\"leaf\"}", serving.end()),
            ("not_before_timestamp_seconds{cert=\"ca\"}", ca.start()),
            ("expiry_timestamp_seconds{cert=\"ca\"}", ca.end()),
        ] {
            assert!(metrics.contains(&format!("_{series} {value}\n")), "{series} {value}: {metrics}");
        }
    }
}
