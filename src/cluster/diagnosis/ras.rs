//! Reads reports of NCCL's RAS subsystem through a port-forward to a pod, with the permissions of the calling user.
//!
//! RAS listens on the loopback interface of each process that uses NCCL. Its protocol is text, a command in each line.

use std::io;
use std::time::Duration;

use futures::{StreamExt as _, stream};
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, Client};
use thiserror::Error;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use trainmesh_core::diagnosis::{MAX_RAS_RESPONSE, RasError, RasReport, RasResult, RasTarget};

/// Time between the two reports of a job: longer than most steps, and short for a person who waits.
const INTERVAL: Duration = Duration::from_secs(10);
/// Time limit for a connection and its response: RAS waits up to 10 s for processes that do not respond.
const TIMEOUT: Duration = Duration::from_secs(20);
/// Time limit for all attempts to read a report: other processes may listen on the port, and cut their responses.
const ATTEMPTS_TIMEOUT: Duration = Duration::from_mins(1);
/// Time to wait for the kubelet's reason after the stream has ended.
const REASON_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum length of the response to a command in bytes.
const MAX_LINE: u64 = 1_024;
/// Number of jobs that are read at the same time.
const CONCURRENCY: usize = 4;

/// Error of a job whose RAS cannot be read.
#[derive(Debug, Error)]
pub enum ReadRasError {
    /// The port-forward was rejected.
    #[error("could not forward port {0} of the pod")]
    Forward(u16, #[source] Box<kube::Error>),
    /// Nothing listens.
    #[error("nothing listens on port {0}: NCCL before 2.24, NCCL_RAS_ENABLE=0, or NCCL is not initialized yet")]
    Refused(u16),
    /// The connection failed.
    #[error("the connection to port {0} failed")]
    Connection(u16, #[source] io::Error),
    /// No response in time.
    #[error("no response from port {0} within {TIMEOUT:?}")]
    TimedOut(u16),
    /// No report of the job in time, with any number of attempts.
    #[error("no report of the job within {ATTEMPTS_TIMEOUT:?}")]
    NoReport,
    /// A process that is not RAS.
    #[error("the process that listens on port {0} is not RAS")]
    Unknown(u16),
    /// The report is not usable.
    #[error(transparent)]
    Report(#[from] RasError),
}

/// Polls RAS of each job twice. Each result is that of the target with the same index.
pub async fn poll_ras(client: &Client, targets: &[RasTarget]) -> Vec<Result<RasResult, ReadRasError>> {
    stream::iter(targets.iter().map(|target| poll(client, target))).buffered(CONCURRENCY).collect().await
}

async fn poll(client: &Client, target: &RasTarget) -> Result<RasResult, ReadRasError> {
    let Some(before) = report(client, target).await? else { return Ok(RasResult::Unidentified) };
    sleep(INTERVAL).await;
    Ok(match report(client, target).await? {
        Some(after) => RasResult::Polled(Box::new([before, after])),
        None => RasResult::Unidentified,
    })
}

async fn report(client: &Client, target: &RasTarget) -> Result<Option<RasReport>, ReadRasError> {
    let read = async || Ok(RasReport::parse(&connect(client, target).await?)?);
    find(target.attempts(), ATTEMPTS_TIMEOUT, |report| target.matches(report), read).await
}

/// Reads reports until one matches; `None` if none does. A process that ends, or a connection that breaks, cuts its report: the
/// next attempt may read it.
async fn find(
    attempts: usize,
    limit: Duration,
    matches: impl Fn(&RasReport) -> bool,
    mut read: impl AsyncFnMut() -> Result<RasReport, ReadRasError>,
) -> Result<Option<RasReport>, ReadRasError> {
    let mut cut = None;
    let mut is_read = false;
    let deadline = Instant::now() + limit;
    for _ in 0..attempts {
        match timeout_at(deadline, read()).await.unwrap_or(Err(ReadRasError::NoReport)) {
            Ok(report) if matches(&report) => return Ok(Some(report)),
            Ok(_) => is_read = true,
            Err(error @ (ReadRasError::Connection(..) | ReadRasError::Report(RasError::Malformed))) => {
                cut = Some(error);
            }
            Err(error) => return Err(error),
        }
    }
    match cut {
        Some(error) if !is_read => Err(error),
        _ => Ok(None),
    }
}

/// Returns the response of a connection.
async fn connect(client: &Client, target: &RasTarget) -> Result<String, ReadRasError> {
    let port = target.port;
    let deadline = Instant::now() + TIMEOUT;
    let pods: Api<Pod> = Api::namespaced(client.clone(), &target.workload.namespace);
    let forwarding = timeout_at(deadline, pods.portforward(&target.pod, &[port])).await;
    let mut forwarder = match forwarding {
        Ok(Ok(forwarder)) => forwarder,
        Ok(Err(error)) => return Err(ReadRasError::Forward(port, Box::new(error))),
        Err(_) => return Err(ReadRasError::TimedOut(port)),
    };
    let (stream, reason) = (forwarder.take_stream(port), forwarder.take_error(port));
    let (Some(stream), Some(reason)) = (stream, reason) else { return Err(ReadRasError::Unknown(port)) };
    let response = timeout_at(deadline, exchange(stream)).await;
    let result = match response {
        Ok(Ok(Some(response))) => Ok(response),
        Ok(failed) => match (timeout(REASON_TIMEOUT, reason).await, failed) {
            (Ok(Some(reason)), _) if reason.contains("connection refused") => Err(ReadRasError::Refused(port)),
            (Ok(Some(reason)), _) => Err(ReadRasError::Connection(port, io::Error::other(reason))),
            (_, Err(error)) => Err(ReadRasError::Connection(port, error)),
            (_, Ok(_)) => Err(ReadRasError::Unknown(port)),
        },
        Err(_) => Err(ReadRasError::TimedOut(port)),
    };
    // By itself, the forwarder would keep its connection.
    forwarder.abort();
    result
}

/// Requests a report; `None` if the other side is not RAS.
async fn exchange(stream: impl AsyncRead + AsyncWrite + Unpin) -> io::Result<Option<String>> {
    let mut stream = BufReader::new(stream);
    let protocol = command(&mut stream, "CLIENT PROTOCOL 2").await?;
    if !protocol.to_ascii_uppercase().starts_with("SERVER PROTOCOL ") {
        return Ok(None);
    }
    // Versions before 2.28.7 reject the command and respond with text.
    let is_json = command(&mut stream, "SET FORMAT json").await?.eq_ignore_ascii_case("OK");
    let status: &[u8] = if is_json { b"STATUS\n" } else { b"VERBOSE STATUS\n" };
    stream.write_all(status).await?;
    stream.flush().await?;
    let limit = u64::try_from(MAX_RAS_RESPONSE).unwrap_or(u64::MAX).saturating_add(1);
    let mut response = Vec::new();
    stream.take(limit).read_to_end(&mut response).await?;
    Ok(Some(String::from_utf8_lossy(&response).into_owned()))
}

/// Sends a command and returns the line of the response.
async fn command(stream: &mut BufReader<impl AsyncRead + AsyncWrite + Unpin>, command: &str) -> io::Result<String> {
    stream.write_all(format!("{command}\n").as_bytes()).await?;
    stream.flush().await?;
    let mut line = Vec::new();
    let mut limited = stream.take(MAX_LINE);
    limited.read_until(b'\n', &mut line).await?;
    Ok(String::from_utf8_lossy(&line).trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use tokio::io::DuplexStream;

    use super::*;

    /// Serves RAS, with JSON or without, until the report has been sent.
    async fn serve(stream: DuplexStream, has_json: bool, report: &str) -> Vec<String> {
        let mut stream = BufReader::new(stream);
        let mut commands = Vec::new();
        loop {
            let mut line = String::new();
            stream.read_line(&mut line).await.unwrap();
            let line = line.trim_end().to_ascii_lowercase();
            commands.push(line.clone());
            let response = match line.as_str() {
                "client protocol 2" => "SERVER PROTOCOL 2\n",
                "set format json" if has_json => "OK\n",
                "status" | "verbose status" => report,
                _ => "ERROR: Unknown command\n",
            };
            stream.write_all(response.as_bytes()).await.unwrap();
            if line.is_empty() || line.ends_with("status") {
                return commands;
            }
        }
    }

    #[rstest]
    #[case::json(true, "status")]
    #[case::text(false, "verbose status")]
    #[tokio::test]
    async fn the_format_is_negotiated(#[case] has_json: bool, #[case] status: &str) {
        let (client, server) = tokio::io::duplex(64);
        let report = "{}\n".repeat(100);
        let (response, commands) = tokio::join!(exchange(client), serve(server, has_json, &report));
        assert_eq!(response.unwrap().as_deref(), Some(report.as_str()));
        assert_eq!(commands, ["client protocol 2", "set format json", status]);
    }

    /// Finds the report of version `2` in the results of the attempts; an empty version stands for a report that is cut.
    #[rstest]
    #[case::first(&["2"], Ok(Some("2")))]
    #[case::another_process(&["1", "2"], Ok(Some("2")))]
    #[case::cut(&["", "2"], Ok(Some("2")))]
    #[case::cut_between(&["1", "", "2"], Ok(Some("2")))]
    #[case::no_match(&["1", "", "1"], Ok(None))]
    #[case::all_cut(&["", "", ""], Err("the response is not a report of RAS"))]
    #[case::refused(&["refused", "2"], Err("nothing listens on port 28028"))]
    #[tokio::test]
    async fn a_report_that_is_cut_is_read_again(
        #[case] results: &[&str],
        #[case] expected: Result<Option<&str>, &str>,
    ) {
        let mut results = results.iter();
        let read = async || match results.next().copied() {
            Some("refused") => Err(ReadRasError::Refused(28028)),
            Some("") | None => Err(RasError::Malformed.into()),
            Some(version) => Ok(RasReport { version: version.to_owned(), ..RasReport::default() }),
        };
        let found = find(3, TIMEOUT, |report| report.version == "2", read).await;
        match (found.map(|report| report.map(|report| report.version)), expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found.as_deref(), expected),
            (Err(error), Err(expected)) => assert!(error.to_string().starts_with(expected), "{error}"),
            (found, _) => panic!("{found:?}"),
        }
    }

    #[tokio::test]
    async fn the_time_of_all_attempts_is_limited() {
        let read = async || {
            sleep(Duration::from_millis(40)).await;
            Err(RasError::Malformed.into())
        };
        let found = find(100, Duration::from_millis(100), |_| true, read).await;
        assert!(matches!(found, Err(ReadRasError::NoReport)), "{found:?}");
    }

    /// Runs a server that repeats `response` for as long as it is read.
    #[rstest]
    #[case::another_protocol("HTTP/1.1 400 Bad Request\r\n", 0)]
    #[case::one_line("x", 0)]
    #[case::endless_report("SERVER PROTOCOL 2\nOK\n", MAX_RAS_RESPONSE + 1)]
    #[tokio::test]
    async fn responses_are_limited(#[case] response: &str, #[case] expected: usize) {
        let (client, mut server) = tokio::io::duplex(64 * 1024);
        let text = response.repeat(1_000);
        let server = async move { while server.write_all(text.as_bytes()).await.is_ok() {} };
        let (found, ()) = tokio::join!(exchange(client), server);
        assert_eq!(found.unwrap().map_or(0, |report| report.len()), expected);
    }

    #[tokio::test]
    async fn a_closed_connection_is_no_report() {
        let (client, server) = tokio::io::duplex(64);
        drop(server);
        assert!(!matches!(exchange(client).await, Ok(Some(_))));
    }
}
