//! A certificate in a Secret that the controller renews.
//!
//! Every replica reads it for itself, leader or not. What is read there is taken only when the apiserver will take it
//! too; otherwise the running certificate is kept, which is trusted as long as it is good.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use jiff::Timestamp;
use thiserror::Error;
use tokio::pin;
use tokio_util::sync::CancellationToken;

use super::{Certificate, CertificateError, Served};
use crate::certs::read::{Authorities, Leaf};
use crate::cluster::request::RequestError;
use crate::cluster::secret::Secrets;
use crate::telemetry::Metrics;
use crate::webhook::Clock;
use trainmesh_core::error::chain;
use trainmesh_core::objects::secret::{CA_CRT, TLS_CRT, TLS_KEY};
use trainmesh_core::objects::{SERVING_SECRET, Secret};

/// How often it is read when no change is told: a watch may have broken without a word, and a certificate that is not
/// good yet becomes good without a change.
const INTERVAL: Duration = Duration::from_secs(10);

/// The Secret of the webhook, followed.
pub struct CertificateSecret {
    secrets: Secrets,
    taker: Taker,
}

/// What is done with what is read.
struct Taker {
    host: String,
    served: Arc<Served>,
    metrics: Arc<Metrics>,
    clock: Clock,
    /// What is served.
    taken: Option<Secret>,
    /// Why something else is not, as it was told.
    told: String,
}

/// Why what is in the Secret is not served.
#[derive(Debug, Error)]
enum Unfit {
    #[error(transparent)]
    Ask(#[from] RequestError),
    #[error("there is no Secret {SERVING_SECRET}: the chart makes it, the controller fills it")]
    Missing,
    #[error("the Secret {SERVING_SECRET} is empty: the controller fills it")]
    Empty,
    #[error("the Secret {SERVING_SECRET} holds no certificate with its key")]
    Parse(#[source] CertificateError),
    #[error("the Secret {SERVING_SECRET} holds a certificate of a kind that the controller does not make")]
    Kind,
    #[error("the certificate in the Secret {SERVING_SECRET} is not for a server called {0}")]
    Name(String),
    #[error("the certificate in the Secret {SERVING_SECRET} is signed by none of the CAs beside it")]
    Chain,
    #[error("the certificate in the Secret {SERVING_SECRET}, or its CA, is not good now: compare the clocks")]
    Dates,
}

/// A certificate that will be taken, and until when its CA is good.
struct Fit {
    certificate: Certificate,
    authority_expires: Timestamp,
}

impl CertificateSecret {
    /// That of `secrets`, for a Service that the apiserver calls by the name `host`. Nothing is served before the first
    /// certificate has come.
    #[must_use]
    pub fn new(secrets: Secrets, host: String, metrics: Arc<Metrics>, clock: Clock) -> Self {
        Self { secrets, taker: Taker::new(host, metrics, clock) }
    }

    /// What is served from it.
    #[must_use]
    pub fn served(&self) -> Arc<Served> {
        Arc::clone(&self.taker.served)
    }

    /// Follows it until `stop`.
    pub async fn follow(mut self, stop: CancellationToken) {
        let changes = self.secrets.changes(SERVING_SECRET);
        pin!(changes);
        loop {
            let found = self.secrets.read(SERVING_SECRET).await;
            self.taker.take(found);
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                // Nothing is lost by the other branches: what has changed is read anyway.
                Some(()) = changes.next() => {}
                () = tokio::time::sleep(INTERVAL) => {}
            }
        }
    }
}

impl Taker {
    fn new(host: String, metrics: Arc<Metrics>, clock: Clock) -> Self {
        Self { host, served: Arc::default(), metrics, clock, taken: None, told: String::new() }
    }

    /// Serves what was found, if that is something else than before and good.
    fn take(&mut self, found: Result<Option<Secret>, RequestError>) {
        let found = found.map_err(Unfit::from).and_then(|found| found.ok_or(Unfit::Missing));
        let judged = found.and_then(|secret| {
            let known = self.taken.as_ref() == Some(&secret);
            let fit = if known { None } else { Some(judge(&secret, &self.host, (self.clock)())?) };
            self.taken = Some(secret);
            Ok(fit)
        });
        match judged {
            Ok(fit) => {
                self.told.clear();
                if let Some(fit) = fit {
                    self.serve(fit);
                }
            }
            // Once, not at every look.
            Err(unfit) if self.told != chain(&unfit) => {
                self.told = chain(&unfit);
                if matches!(unfit, Unfit::Empty) {
                    // So it is at every installation, for a moment.
                    tracing::warn!("{}", self.told);
                } else {
                    tracing::error!("no other certificate is served: {}", self.told);
                }
            }
            Err(_) => {}
        }
    }

    fn serve(&self, Fit { certificate, authority_expires }: Fit) {
        tracing::info!(expires = certificate.expires(), "another certificate is served");
        self.metrics.certificates.leaf_expires(certificate.expires());
        self.metrics.certificates.authority_expires(authority_expires.as_second());
        self.served.replace(certificate);
    }
}

/// Whether the apiserver will take what `secret` holds.
fn judge(secret: &Secret, host: &str, now: std::time::SystemTime) -> Result<Fit, Unfit> {
    let (chain, key) = (secret.get(TLS_CRT), secret.get(TLS_KEY));
    if chain.is_empty() && key.is_empty() {
        return Err(Unfit::Empty);
    }
    let certificate = Certificate::parse(chain, key).map_err(Unfit::Parse)?;
    let leaf = Leaf::read(chain, key).ok_or(Unfit::Kind)?;
    if !leaf.fits(host) {
        return Err(Unfit::Name(host.to_owned()));
    }
    let beside = Authorities::read(secret.get(CA_CRT), b"");
    let authority = beside.found.iter().find(|authority| authority.signed(&leaf)).ok_or(Unfit::Chain)?;
    let now = Timestamp::try_from(now).unwrap_or(Timestamp::MAX);
    if !leaf.dates.hold(now) || !authority.dates.hold(now) {
        return Err(Unfit::Dates);
    }
    Ok(Fit { certificate, authority_expires: authority.dates.not_after })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::SystemTime;

    use rstest::rstest;

    use super::*;
    use crate::certs::mint;
    use crate::certs::read::Authority;
    use trainmesh_core::certs::Dates;

    const HOST: &str = "trainmesh-webhook.trainmesh-system.svc";
    const NOON: i64 = 1_800_000_000;
    const HOUR: Duration = Duration::from_hours(1);

    fn clock() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(NOON.unsigned_abs())
    }

    /// Those of a certificate made so many seconds after noon, for an hour.
    fn dates(second: i64) -> Dates {
        Dates::starting(Timestamp::from_second(NOON + second).unwrap(), HOUR)
    }

    /// A Secret with a leaf of `signer`, and `beside` as its only CA.
    fn secret(host: &str, signer: &Authority, beside: &Authority, dates: Dates) -> Secret {
        let pair = mint::leaf(signer, host, dates).unwrap();
        let data = [(TLS_CRT, pair.certificate.as_str()), (TLS_KEY, pair.key.pem()), (CA_CRT, &beside.pem)];
        Secret::new("1", data.map(|(key, text)| (key.to_owned(), text.as_bytes().to_vec())).into())
    }

    fn good(second: i64) -> Secret {
        let authority = mint::authority(dates(0)).unwrap();
        secret(HOST, &authority, &authority, dates(second))
    }

    #[rstest]
    #[case::good(HOST, 0, 0, true, "")]
    #[case::another_service("other.trainmesh-system.svc", 0, 0, true, "is not for a server called trainmesh-webhook")]
    #[case::another_ca(HOST, 0, 0, false, "signed by none of the CAs beside it")]
    #[case::expired(HOST, 0, -3600, true, "is not good now")]
    #[case::too_early(HOST, 0, 3601, true, "is not good now")]
    #[case::ca_expired(HOST, -3600, 0, true, "is not good now")]
    fn what_the_apiserver_will_take(
        #[case] host: &str,
        #[case] authority: i64,
        #[case] leaf: i64,
        #[case] chains: bool,
        #[case] expected: &str,
    ) {
        let [signer, other] = [(); 2].map(|()| mint::authority(dates(authority)).unwrap());
        let secret = secret(host, &signer, if chains { &signer } else { &other }, dates(leaf));
        let found = judge(&secret, HOST, clock()).err().map(|unfit| unfit.to_string()).unwrap_or_default();
        assert!(found.contains(expected) && found.is_empty() == expected.is_empty(), "{found}");
    }

    #[test]
    fn the_running_certificate_is_kept_until_a_good_one_comes() {
        let (first, second) = (good(-60), good(-30));
        let empty = Secret::new("1", BTreeMap::new());
        let [before, after] = [-60, -30].map(|second| Some(dates(second).not_after.as_second()));
        let mut taker = Taker::new(HOST.to_owned(), Arc::new(Metrics::default()), clock);
        let mut check = |found, expected| {
            taker.take(found);
            assert_eq!(taker.served.current().map(|it| it.expires()), expected);
        };
        check(Ok(None), None);
        check(Ok(Some(empty.clone())), None);
        check(Ok(Some(first.clone())), before);
        check(Ok(Some(empty)), before);
        check(Ok(None), before);
        check(Err(RequestError::TimedOut("read it".to_owned())), before);
        check(Ok(Some(first)), before);
        check(Ok(Some(second)), after);
        let metrics = taker.metrics.encode();
        let expiry = format!("{{cert=\"leaf\"}} {}\n", after.unwrap_or_default());
        assert!(metrics.contains(&expiry), "{metrics}");
    }
}
