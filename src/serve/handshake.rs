//! The TLS handshake of a connection with its timeout, and the classification of failures.

use std::io;
use std::time::Duration;

use rustls::{AlertDescription, Error};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::Shutdown;
use crate::telemetry::HandshakeFailure;

/// Timeout of the handshake, counted from the connection.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);
/// Write buffer of a connection in addition to the kernel's: one TLS record.
const WRITE_BUFFER_SIZE: usize = 16 * 1024;

/// Reason why a handshake did not establish a connection.
pub(super) enum HandshakeError {
    /// The client closed the connection without sending data, as a port check does, or the server shuts down.
    NotAttempted,
    /// The handshake failed or timed out.
    Failed(io::Error),
}

pub(super) async fn handshake(
    tls: &TlsAcceptor,
    stream: TcpStream,
    shutdown: &Shutdown,
) -> Result<TlsStream<TcpStream>, HandshakeError> {
    let accepted = async move {
        wait_for_first_byte(&stream, shutdown).await?;
        let limited = tls.accept_with(stream, |connection| connection.set_buffer_limit(Some(WRITE_BUFFER_SIZE)));
        limited.await.map_err(HandshakeError::Failed)
    };
    timeout(HANDSHAKE_TIMEOUT, accepted)
        .await
        .unwrap_or_else(|_| Err(HandshakeError::Failed(io::ErrorKind::TimedOut.into())))
}

/// Classifies a failure. Only a TLS alert counts as a rejected serving certificate; arbitrary bytes, which any client
/// can send, do not.
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
            // The CA has the same name but another key.
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

/// Waits for the client's first byte without consuming it.
async fn wait_for_first_byte(stream: &TcpStream, shutdown: &Shutdown) -> Result<(), HandshakeError> {
    let mut first = [0];
    tokio::select! {
        biased;
        () = shutdown.closed() => Err(HandshakeError::NotAttempted),
        peeked = stream.peek(&mut first) => match peeked {
            Ok(0) | Err(_) => Err(HandshakeError::NotAttempted),
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
    #[case::not_tls(Error::InvalidMessage(InvalidMessage::InvalidContentType), HandshakeFailure::NotTls)]
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
    fn classifies_tls_errors(#[case] error: Error, #[case] expected: HandshakeFailure) {
        assert_eq!(classify(&io::Error::new(io::ErrorKind::InvalidData, error)), expected);
    }

    #[rstest]
    #[case::slow(io::ErrorKind::TimedOut, HandshakeFailure::Timeout)]
    #[case::cut_off(io::ErrorKind::UnexpectedEof, HandshakeFailure::Closed)]
    #[case::reset(io::ErrorKind::ConnectionReset, HandshakeFailure::Closed)]
    #[case::other(io::ErrorKind::OutOfMemory, HandshakeFailure::Other)]
    fn classifies_connection_errors(#[case] kind: io::ErrorKind, #[case] expected: HandshakeFailure) {
        assert_eq!(classify(&kind.into()), expected);
    }
}
