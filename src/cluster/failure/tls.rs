//! Describes failures of TLS: whose certificate is not accepted, why, and the entry of the kubeconfig to correct.

use jiff::Timestamp;
use rustls::pki_types::UnixTime;
use rustls::{AlertDescription, CertificateError, Error, InvalidMessage};

use crate::cluster::context::ContextEntries;

/// Describes a failure of TLS with the server of `entries`.
pub(super) fn describe(error: &Error, entries: &ContextEntries) -> String {
    match error {
        Error::InvalidCertificate(cause) => server_certificate(cause, entries),
        Error::AlertReceived(alert) => alert_received(*alert, entries),
        Error::InvalidMessage(InvalidMessage::InvalidContentType) => format!(
            "the server responds without TLS: check its port, or write http:// in the server of {}",
            entries.cluster()
        ),
        Error::PeerIncompatible(cause) => {
            format!("the server has no version or cipher of TLS that trainmesh supports: {cause:?}")
        }
        other => other.to_string(),
    }
}

fn server_certificate(error: &CertificateError, entries: &ContextEntries) -> String {
    use CertificateError as E;
    let cluster = entries.cluster();
    let clock = "renew it, or correct the clock of this machine";
    match error {
        E::ExpiredContext { time, not_after } => {
            format!("the server's certificate expired at {}, and it is {}: {clock}", date(*not_after), date(*time))
        }
        E::Expired => format!("the server's certificate has expired: {clock}"),
        E::NotValidYetContext { time, not_before } => {
            format!("the server's certificate is valid from {}, and it is {}: {clock}", date(*not_before), date(*time))
        }
        E::NotValidYet => format!("the server's certificate is not valid yet: {clock}"),
        E::UnknownIssuer | E::BadSignature if entries.has_authority() => format!(
            "the server's certificate is not issued by the certificate-authority of {cluster}: set it to the CA of this server"
        ),
        E::UnknownIssuer | E::BadSignature => format!(
            "the server's certificate is issued by a CA that this machine does not trust: set certificate-authority of {cluster}"
        ),
        E::NotValidForNameContext { expected, presented } => format!(
            "the server's certificate is not valid for {}, but for {}: correct the server of {cluster}, or set its tls-server-name",
            expected.to_str(),
            names(presented)
        ),
        E::NotValidForName => format!(
            "the server's certificate is not valid for its name: correct the server of {cluster}, or set its tls-server-name"
        ),
        E::Revoked => "the server's certificate is revoked: renew it".to_owned(),
        E::InvalidPurpose | E::InvalidPurposeContext { .. } => {
            "the server's certificate is not one for servers (extended key usage): issue another one".to_owned()
        }
        E::Other(cause) => match cause.to_string().as_str() {
            "CaUsedAsEndEntity" => {
                "the server's certificate is that of a CA, as self-signed ones often are: issue one for the \
                                    server that is no CA"
                    .to_owned()
            }
            "UnsupportedCertVersion" => {
                "the server's certificate has a version before X.509 v3: issue another one".to_owned()
            }
            other => format!("the server's certificate is not valid: {other}"),
        },
        other => format!("the server's certificate is not valid: {other}"),
    }
}

/// Describes why the server terminated the handshake.
fn alert_received(alert: AlertDescription, entries: &ContextEntries) -> String {
    use AlertDescription as A;
    let user = entries.user();
    let own = format!("your client certificate ({user})");
    let fix = "renew the credentials";
    match alert {
        A::CertificateExpired => match entries.client_certificate_end() {
            Some(end) => format!("{own} expired at {end}: {fix}"),
            None => format!("{own} has expired: {fix}"),
        },
        A::CertificateRevoked => format!("{own} is revoked: {fix}"),
        A::UnknownCA => format!("{own} is issued by a CA that the server does not trust: {fix}"),
        A::CertificateRequired | A::NoCertificate => {
            format!("the server requires a client certificate, and {user} has none: set client-certificate")
        }
        A::BadCertificate if !entries.has_client_certificate() => {
            format!("the server requires a client certificate, and {user} has none: set client-certificate")
        }
        A::BadCertificate | A::UnsupportedCertificate | A::CertificateUnknown | A::AccessDenied | A::DecryptError => {
            format!("the server does not accept {own}: {fix}")
        }
        A::UnrecognisedName => format!(
            "the server has no certificate for the name in the server of {}: correct it, or set tls-server-name",
            entries.cluster()
        ),
        A::ProtocolVersion | A::HandshakeFailure | A::InsufficientSecurity => {
            "the server supports no version or cipher of TLS that trainmesh supports".to_owned()
        }
        other => format!("the server terminated the TLS handshake: {other:?}"),
    }
}

/// Lists the names of a certificate, each as `DnsName("a")` or `IpAddress(10.0.0.1)`.
fn names(presented: &[String]) -> String {
    const MAX: usize = 5;
    let value = |name: &String| match name.split_once('(') {
        Some((_, value)) => value.trim_end_matches(')').trim_matches('"').to_owned(),
        None => name.clone(),
    };
    let omitted = presented.len().saturating_sub(MAX);
    let listed = presented.iter().take(MAX).map(value).collect::<Vec<_>>().join(", ");
    match (presented.is_empty(), omitted) {
        (true, _) => "no name".to_owned(),
        (false, 0) => listed,
        (false, _) => format!("{listed} and {omitted} more"),
    }
}

/// Returns a time as RFC 3339.
fn date(time: UnixTime) -> String {
    let seconds = i64::try_from(time.as_secs()).ok();
    let time = seconds.and_then(|seconds| Timestamp::from_second(seconds).ok());
    time.map_or_else(|| "an unknown time".to_owned(), |time| time.to_string())
}
