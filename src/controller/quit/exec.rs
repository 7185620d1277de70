//! A command in a container, by the `exec` subresource.

use std::sync::atomic::{AtomicUsize, Ordering};

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;
use kube::Api;
use kube::api::{AttachParams, AttachedProcess};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::time::{Instant, timeout_at};

use super::{LONGEST_ANSWER, Place, TooLong, attempt, cut_off, no_way, refusal};
use trainmesh_core::lifecycle::{Attempt, AttemptResult};

/// How much of each stream is kept for people; the rest is read and dropped, up to [`LONGEST_ANSWER`].
const KEPT: usize = 1024;
/// What container runtimes say when the program is not there, or is none.
const NO_PROGRAM: [&str; 3] = ["executable file", "no such file or directory", "permission denied"];
/// What they say when the container ended between our look and our call.
const NOT_RUNNING: [&str; 4] = ["not running", "stopped container", "CONTAINER_EXITED", "container not found"];
/// What a client says when its server ended instead of answering, as a proxy does that quits.
const SERVER_ENDED: [&str; 2] = ["EOF", "connection reset by peer"];
/// Exit code of a process that was killed: by the end of its container, which its own request may have brought about.
const KILLED: i32 = 137;

/// Runs `argv` until `deadline`.
pub(super) async fn run(pods: &Api<Pod>, place: Place<'_>, argv: &[String], deadline: Instant) -> Attempt {
    // Standard input would keep the call open; without a terminal the two streams stay apart.
    let parameters =
        AttachParams::default().container(place.container).stdin(false).tty(false).stdout(true).stderr(true);
    let process = match timeout_at(deadline, pods.exec(place.pod, argv, &parameters)).await {
        Ok(Ok(process)) => process,
        Ok(Err(error)) => return refusal::classify(&error),
        Err(_) => return no_way(),
    };
    // When time runs out, or too much was written, the process is dropped with this future, and its connection with it.
    match timeout_at(deadline, finish(process)).await {
        Ok(Ok((status, output))) => classify(status.as_ref(), &output),
        Ok(Err(TooLong)) => cut_off(&argv.join(" ")),
        Err(_) => attempt(AttemptResult::TimedOut, format!("{} did not end in time", argv.join(" "))),
    }
}

/// Waits for the end. Both streams are drained meanwhile: one that is full would stop the process.
async fn finish(mut process: AttachedProcess) -> Result<(Option<Status>, String), TooLong> {
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

/// Reads all of both streams; what stderr begins with, else stdout.
async fn drain(
    stdout: Option<impl AsyncRead + Unpin>,
    stderr: Option<impl AsyncRead + Unpin>,
) -> Result<String, TooLong> {
    let left = AtomicUsize::new(LONGEST_ANSWER);
    let (stdout, stderr) = tokio::try_join!(beginning(stdout, &left), beginning(stderr, &left))?;
    let output = [stderr, stdout].map(|stream| String::from_utf8_lossy(&stream).trim().to_owned());
    Ok(output.into_iter().find(|text| !text.is_empty()).unwrap_or_default())
}

/// Reads all of `stream`, of which no more may come than is `left` for both, and keeps its beginning.
async fn beginning(stream: Option<impl AsyncRead + Unpin>, left: &AtomicUsize) -> Result<Vec<u8>, TooLong> {
    let mut kept = Vec::new();
    let Some(mut stream) = stream else { return Ok(kept) };
    let mut buffer = [0; KEPT];
    while let Ok(read @ 1..) = stream.read(&mut buffer).await {
        let rest = |left: usize| left.checked_sub(read);
        left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, rest).map_err(|_| TooLong)?;
        kept.extend(buffer.iter().take(read.min(KEPT - kept.len())));
    }
    Ok(kept)
}

fn classify(status: Option<&Status>, output: &str) -> Attempt {
    // The stream ended without a word about the process: so it does when the container ends.
    let Some(status) = status else { return attempt(AttemptResult::Sent, "the connection ended") };
    if status.status.as_deref() == Some("Success") {
        return attempt(AttemptResult::Sent, output);
    }
    let message = status.message.as_deref().unwrap_or_default();
    let says = |text: &str, phrases: &[&str]| phrases.iter().any(|phrase| text.contains(phrase));
    let Some(code) = exit_code(status) else {
        let result = if says(message, &NOT_RUNNING) {
            AttemptResult::ContainerGone
        } else if says(message, &NO_PROGRAM) {
            AttemptResult::NotInImage
        } else {
            AttemptResult::Failed
        };
        // The cause stands at the end of a long chain.
        let cause = message.rsplit_once("exec failed: ").map_or(message, |(_, cause)| cause);
        return attempt(result, cause);
    };
    let result = match code {
        126 | 127 => AttemptResult::NotInImage,
        KILLED => AttemptResult::Sent,
        _ if says(output, &SERVER_ENDED) => AttemptResult::Sent,
        _ => AttemptResult::Refused,
    };
    attempt(result, if output.is_empty() { format!("exit code {code}") } else { format!("exit code {code}: {output}") })
}

/// The exit code of a process that ran.
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

    /// As containerd and runc under Kubernetes 1.36 answer.
    #[rstest]
    #[case::done(json!({"status": "Success"}), "OK", AttemptResult::Sent, "OK")]
    #[case::no_word(Value::Null, "", AttemptResult::Sent, "the connection ended")]
    #[case::killed_with_its_container(exited(137), "", AttemptResult::Sent, "exit code 137")]
    #[case::answered_by_eof(
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
    #[case::ended_meanwhile(
        failed("failed to exec in container: container is in CONTAINER_EXITED state"),
        "",
        AttemptResult::ContainerGone,
        "failed to exec in container: container is in CONTAINER_EXITED state"
    )]
    #[case::anything_else(failed("out of file descriptors"), "", AttemptResult::Failed, "out of file descriptors")]
    fn ends_of_a_command(
        #[case] status: Value,
        #[case] output: &str,
        #[case] expected: AttemptResult,
        #[case] detail: &str,
    ) {
        let status: Option<Status> = serde_json::from_value(status).unwrap();
        assert_eq!(classify(status.as_ref(), output), Attempt { result: expected, detail: detail.to_owned() });
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

    /// Both streams together: how much of each is written, and what is kept of them.
    #[rstest]
    #[case::stderr_first("O", "E", Ok("E"))]
    #[case::stdout_alone("O\n", " ", Ok("O"))]
    #[case::the_beginning(&"O".repeat(10 * KEPT), "", Ok(&*"O".repeat(KEPT)))]
    #[case::as_much_as_may_be(&"O".repeat(LONGEST_ANSWER - 1), "E", Ok("E"))]
    #[case::too_much_of_one(&"O".repeat(LONGEST_ANSWER + 1), "", Err(()))]
    #[case::too_much_of_both(&"O".repeat(LONGEST_ANSWER), "E", Err(()))]
    #[tokio::test]
    async fn streams(#[case] stdout: &str, #[case] stderr: &str, #[case] expected: Result<&str, ()>) {
        let found = drain(Some(stdout.as_bytes()), Some(stderr.as_bytes())).await;
        assert_eq!(found.as_deref().map_err(|_| ()), expected);
    }

    #[tokio::test]
    async fn output_that_never_ends_is_cut_off() {
        let nothing = None::<&[u8]>;
        assert!(drain(Some(tokio::io::repeat(b'x')), nothing).await.is_err());
        assert!(drain(nothing, Some(tokio::io::repeat(b'x'))).await.is_err());
        assert_eq!(cut_off("pilot-agent").detail, "pilot-agent: the answer is longer than 64 KiB");
    }
}
