//! The TLS handshake of a connection, within its time, and why it fails.

use std::io;
use std::time::Duration;

use rustls::{AlertDescription, Error};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::Stop;
use crate::telemetry::HandshakeFailure;

/// How long a client may take for its handshake, from the connection on.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// What a connection buffers of its responses beside what the kernel does: one TLS record.
const WRITE_BUFFER: usize = 16 * 1024;

/// Why a handshake gave no connection.
pub(super) enum NoTls {
    /// Nobody tried: the client said nothing and went away, as a port check does, or the server ends.
    NotTried,
    /// It failed, or took too long.
    Failed(io::Error),
}

pub(super) async fn handshake(
    tls: &TlsAcceptor,
    stream: TcpStream,
    stop: &Stop,
) -> Result<TlsStream<TcpStream>, NoTls> {
    let accepted = async move {
        spoken(&stream, stop).await?;
        let limited = tls.accept_with(stream, |connection| connection.set_buffer_limit(Some(WRITE_BUFFER)));
        limited.await.map_err(NoTls::Failed)
    };
    timeout(HANDSHAKE, accepted).await.unwrap_or_else(|_| Err(NoTls::Failed(io::ErrorKind::TimedOut.into())))
}

/// Classifies a failure, so that bytes that any client may send do not look like an apiserver that rejects the serving
/// certificate.
pub(super) fn classify(error: &io::Error) -> HandshakeFailure {
    use HandshakeFailure::{CertificateRejected, ClientCertificate, Closed, Incompatible, NotTls, Other, Timeout};

    let Some(tls) = error.get_ref().and_then(|source| source.downcast_ref::<Error>()) else {
        return match error.kind() {
            io::ErrorKind::TimedOut => Timeout,
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe => Closed,
            _ => Other,
        };
    };
    match tls {
        Error::AlertReceived(alert) => match alert {
            AlertDescription::UnknownCA
            | AlertDescription::BadCertificate
            | AlertDescription::UnsupportedCertificate
            | AlertDescription::CertificateRevoked
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateUnknown
            // A CA of the same name with another key.
            | AlertDescription::DecryptError => CertificateRejected,
            AlertDescription::CloseNotify | AlertDescription::UserCanceled => Closed,
            _ => Other,
        },
        Error::NoCertificatesPresented | Error::InvalidCertificate(_) | Error::InvalidCertRevocationList(_) => {
            ClientCertificate
        }
        Error::InvalidMessage(_)
        | Error::InappropriateMessage { .. }
        | Error::InappropriateHandshakeMessage { .. }
        | Error::PeerSentOversizedRecord => NotTls,
        Error::PeerIncompatible(_) | Error::NoApplicationProtocol => Incompatible,
        _ => Other,
    }
}

/// Waits for the client's first byte, and leaves it where it is.
async fn spoken(stream: &TcpStream, stop: &Stop) -> Result<(), NoTls> {
    let mut first = [0];
    tokio::select! {
        biased;
        () = stop.closing() => Err(NoTls::NotTried),
        seen = stream.peek(&mut first) => match seen {
            Ok(0) | Err(_) => Err(NoTls::NotTried),
            Ok(_) => Ok(()),
        },
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use rustls::{InvalidMessage, PeerIncompatible};

    use super::*;

    #[rstest]
    #[case::junk(Error::InvalidMessage(InvalidMessage::InvalidContentType), HandshakeFailure::NotTls)]
    #[case::old_client(
        Error::PeerIncompatible(PeerIncompatible::SupportedVersionsExtensionRequired),
        HandshakeFailure::Incompatible
    )]
    #[case::another_ca(Error::AlertReceived(AlertDescription::UnknownCA), HandshakeFailure::CertificateRejected)]
    #[case::go(Error::AlertReceived(AlertDescription::BadCertificate), HandshakeFailure::CertificateRejected)]
    #[case::expired(Error::AlertReceived(AlertDescription::CertificateExpired), HandshakeFailure::CertificateRejected)]
    #[case::ca_of_the_same_name(
        Error::AlertReceived(AlertDescription::DecryptError),
        HandshakeFailure::CertificateRejected
    )]
    #[case::other_alert(Error::AlertReceived(AlertDescription::InternalError), HandshakeFailure::Other)]
    #[case::no_client_certificate(Error::NoCertificatesPresented, HandshakeFailure::ClientCertificate)]
    fn classes(#[case] error: Error, #[case] expected: HandshakeFailure) {
        assert_eq!(classify(&io::Error::new(io::ErrorKind::InvalidData, error)), expected);
    }

    #[rstest]
    #[case::slow(io::ErrorKind::TimedOut, HandshakeFailure::Timeout)]
    #[case::cut_off(io::ErrorKind::UnexpectedEof, HandshakeFailure::Closed)]
    #[case::reset(io::ErrorKind::ConnectionReset, HandshakeFailure::Closed)]
    #[case::other(io::ErrorKind::OutOfMemory, HandshakeFailure::Other)]
    fn classes_of_the_connection(#[case] kind: io::ErrorKind, #[case] expected: HandshakeFailure) {
        assert_eq!(classify(&kind.into()), expected);
    }
}
