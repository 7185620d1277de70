//! Runs a command in a container through the `exec` subresource.

use std::sync::atomic::{AtomicUsize, Ordering};

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;
use kube::Api;
use kube::api::{AttachParams, AttachedProcess};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::time::{Instant, timeout_at};

use super::{ContainerRef, MAX_RESPONSE, ResponseTooLong, connect_error, connect_timeout, outcome, response_too_long};
use trainmesh_core::lifecycle::{AttemptOutcome, AttemptResult};

/// Number of bytes kept of each stream; the rest is read and dropped, up to [`MAX_RESPONSE`].
const EXCERPT: usize = 1024;
/// Messages of container runtimes if the program does not exist or is not executable.
const NO_PROGRAM: [&str; 3] = ["executable file", "no such file or directory", "permission denied"];
/// Messages of container runtimes if the container has terminated meanwhile.
const NOT_RUNNING: [&str; 4] = ["not running", "stopped container", "CONTAINER_EXITED", "container not found"];
/// Output of a client whose server exits instead of responding, as a terminating proxy does.
const SERVER_EXITED: [&str; 2] = ["EOF", "connection reset by peer"];
/// Exit code of a process killed with its container, possibly as the effect of its own request.
const KILLED: i32 = 137;

/// Runs `argv` until `deadline`.
pub(super) async fn run(
    pods: &Api<Pod>,
    target: ContainerRef<'_>,
    argv: &[String],
    deadline: Instant,
) -> AttemptOutcome {
    // Standard input would keep the call open; a terminal would merge the two streams.
    let parameters =
        AttachParams::default().container(target.container).stdin(false).tty(false).stdout(true).stderr(true);
    let process = match timeout_at(deadline, pods.exec(target.pod, argv, &parameters)).await {
        Ok(Ok(process)) => process,
        Ok(Err(error)) => return connect_error::classify(&error),
        Err(_) => return connect_timeout(),
    };
    // On a timeout or an excessive response the process is dropped with this future, which closes its connection.
    match timeout_at(deadline, finish(process)).await {
        Ok(Ok((status, output))) => classify(status.as_ref(), &output),
        Ok(Err(ResponseTooLong)) => response_too_long(&argv.join(" ")),
        Err(_) => outcome(AttemptResult::TimedOut, format!("{} timed out", argv.join(" "))),
    }
}

/// Waits for the process to exit and drains both streams: a full one would block it.
async fn finish(mut process: AttachedProcess) -> Result<(Option<Status>, String), ResponseTooLong> {
    let status = process.take_status();
    let (stdout, stderr) = (process.stdout(), process.stderr());
    let status = async {
        match status {
            Some(status) => Ok(status.await),
            None => Ok(None),
        }
    };
    let (status, output) = tokio::try_join!(status, drain(stdout, stderr))?;
    Ok((status, output))
}

/// Reads both streams completely; returns the beginning of stderr, or of stdout if stderr is empty.
async fn drain(
    stdout: Option<impl AsyncRead + Unpin>,
    stderr: Option<impl AsyncRead + Unpin>,
) -> Result<String, ResponseTooLong> {
    let remaining = AtomicUsize::new(MAX_RESPONSE);
    let (stdout, stderr) = tokio::try_join!(read_excerpt(stdout, &remaining), read_excerpt(stderr, &remaining))?;
    let output = [stderr, stdout].map(|stream| String::from_utf8_lossy(&stream).trim().to_owned());
    Ok(output.into_iter().find(|text| !text.is_empty()).unwrap_or_default())
}

/// Reads `stream` completely and keeps its beginning; fails if more than `remaining` bytes arrive on both streams.
async fn read_excerpt(
    stream: Option<impl AsyncRead + Unpin>,
    remaining: &AtomicUsize,
) -> Result<Vec<u8>, ResponseTooLong> {
    let mut excerpt = Vec::new();
    let Some(mut stream) = stream else { return Ok(excerpt) };
    let mut buffer = [0; EXCERPT];
    while let Ok(read @ 1..) = stream.read(&mut buffer).await {
        let subtract = |remaining: usize| remaining.checked_sub(read);
        remaining.fetch_update(Ordering::Relaxed, Ordering::Relaxed, subtract).map_err(|_| ResponseTooLong)?;
        excerpt.extend(buffer.iter().take(read.min(EXCERPT - excerpt.len())));
    }
    Ok(excerpt)
}

fn classify(status: Option<&Status>, output: &str) -> AttemptOutcome {
    // The stream has ended without a status, as it does when the container terminates.
    let Some(status) = status else { return outcome(AttemptResult::Sent, "the connection closed") };
    if status.status.as_deref() == Some("Success") {
        return outcome(AttemptResult::Sent, output);
    }
    let message = status.message.as_deref().unwrap_or_default();
    let matches_any = |text: &str, phrases: &[&str]| phrases.iter().any(|phrase| text.contains(phrase));
    let Some(code) = exit_code(status) else {
        let result = if matches_any(message, &NOT_RUNNING) {
            AttemptResult::ContainerGone
        } else if matches_any(message, &NO_PROGRAM) {
            AttemptResult::NotInImage
        } else {
            AttemptResult::Failed
        };
        // The cause is at the end of a long chain.
        let cause = message.rsplit_once("exec failed: ").map_or(message, |(_, cause)| cause);
        return outcome(result, cause);
    };
    let result = match code {
        126 | 127 => AttemptResult::NotInImage,
        KILLED => AttemptResult::Sent,
        _ if matches_any(output, &SERVER_EXITED) => AttemptResult::Sent,
        _ => AttemptResult::Refused,
    };
    outcome(result, if output.is_empty() { format!("exit code {code}") } else { format!("exit code {code}: {output}") })
}

/// Returns the exit code of a process that ran.
fn exit_code(status: &Status) -> Option<i32> {
    let causes = status.details.as_ref()?.causes.as_ref()?;
    let cause = causes.iter().find(|cause| cause.reason.as_deref() == Some("ExitCode"))?;
    cause.message.as_ref()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    /// Responses of containerd and runc under Kubernetes 1.36.
    #[rstest]
    #[case::done(json!({"status": "Success"}), "OK", AttemptResult::Sent, "OK")]
    #[case::no_status(Value::Null, "", AttemptResult::Sent, "the connection closed")]
    #[case::killed_with_its_container(exited(137), "", AttemptResult::Sent, "exit code 137")]
    #[case::eof(
        exited(1),
        "Error: Post \"http://localhost:15000/quitquitquit\": EOF",
        AttemptResult::Sent,
        "exit code 1: Error: Post \"http://localhost:15000/quitquitquit\": EOF"
    )]
    #[case::refused(
        exited(1),
        "dial tcp [::1]:15000: connect: connection refused",
        AttemptResult::Refused,
        "exit code 1: dial tcp [::1]:15000: connect: connection refused"
    )]
    #[case::not_found_by_a_shell(
        exited(127),
        "sh: curl: not found",
        AttemptResult::NotInImage,
        "exit code 127: sh: curl: not found"
    )]
    #[case::no_program(
        failed(
            "Internal error occurred: OCI runtime exec failed: exec failed: unable to start container process: exec: \"x\": executable file not found in $PATH: unknown"
        ),
        "",
        AttemptResult::NotInImage,
        "unable to start container process: exec: \"x\": executable file not found in $PATH: unknown"
    )]
    #[case::no_program_at_its_path(
        failed(
            "OCI runtime exec failed: exec failed: unable to start container process: exec: \"/x\": stat /x: no such file or directory: unknown"
        ),
        "",
        AttemptResult::NotInImage,
        "unable to start container process: exec: \"/x\": stat /x: no such file or directory: unknown"
    )]
    #[case::terminated_meanwhile(
        failed("failed to exec in container: container is in CONTAINER_EXITED state"),
        "",
        AttemptResult::ContainerGone,
        "failed to exec in container: container is in CONTAINER_EXITED state"
    )]
    #[case::anything_else(failed("out of file descriptors"), "", AttemptResult::Failed, "out of file descriptors")]
    fn classifies_the_result_of_a_command(
        #[case] status: Value,
        #[case] output: &str,
        #[case] expected: AttemptResult,
        #[case] detail: &str,
    ) {
        let status: Option<Status> = serde_json::from_value(status).unwrap();
        assert_eq!(classify(status.as_ref(), output), AttemptOutcome { result: expected, detail: detail.to_owned() });
    }

    fn exited(code: i32) -> Value {
        json!({
            "status": "Failure", "reason": "NonZeroExitCode", "message": "command terminated with non-zero exit code",
            "details": {"causes": [{"reason": "ExitCode", "message": code.to_string()}]}
        })
    }

    fn failed(message: &str) -> Value {
        json!({"status": "Failure", "reason": "InternalError", "code": 500, "message": message, "details": {"causes": [{"message": message}]}})
    }

    /// Writes this much to both streams and checks the excerpt.
    #[rstest]
    #[case::stderr_first("O", "E", Ok("E"))]
    #[case::stdout_alone("O\n", " ", Ok("O"))]
    #[case::the_beginning(&"O".repeat(10 * EXCERPT), "", Ok(&*"O".repeat(EXCERPT)))]
    #[case::at_the_limit(&"O".repeat(MAX_RESPONSE - 1), "E", Ok("E"))]
    #[case::too_much_of_one(&"O".repeat(MAX_RESPONSE + 1), "", Err(()))]
    #[case::too_much_of_both(&"O".repeat(MAX_RESPONSE), "E", Err(()))]
    #[tokio::test]
    async fn keeps_the_beginning_of_the_output(
        #[case] stdout: &str,
        #[case] stderr: &str,
        #[case] expected: Result<&str, ()>,
    ) {
        let found = drain(Some(stdout.as_bytes()), Some(stderr.as_bytes())).await;
        assert_eq!(found.as_deref().map_err(|_| ()), expected);
    }

    #[tokio::test]
    async fn endless_output_is_rejected() {
        let nothing = None::<&[u8]>;
        assert!(drain(Some(tokio::io::repeat(b'x')), nothing).await.is_err());
        assert!(drain(nothing, Some(tokio::io::repeat(b'x'))).await.is_err());
        assert_eq!(response_too_long("pilot-agent").detail, "pilot-agent: the response exceeds 64 KiB");
    }
}
