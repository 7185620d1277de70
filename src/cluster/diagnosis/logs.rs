//! Reads the logs of containers, with the permissions of the calling user.
//!
//! NCCL logs the network when it starts, and a hang is at the end, so a long log is read from both ends. The bytes are
//! reduced as they arrive.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::{AsyncBufRead, AsyncReadExt as _, StreamExt as _, stream};
use k8s_openapi::api::core::v1::Pod;
use kube::api::LogParams;
use kube::{Api, Client};
use tokio::time::timeout;

use crate::cluster::request::{RequestError, send};
use trainmesh_core::diagnosis::{ContainerLog, LogName, LogReader};

/// Maximum number of logs: those of a job on some hundred nodes. Each of them is a request to a kubelet.
const MAX_LOGS: usize = 512;
/// Number of logs that are read at the same time. More would delay other users of the apiserver.
const CONCURRENCY: usize = 8;
/// Bytes of the start of a log, which contain NCCL's lines at level INFO of a node with eight processes.
const START: usize = 1024 * 1024;
/// Lines of the end of a log: some hours at one line for each step.
const END_LINES: i64 = 2_000;
/// Bytes of the end of a log.
const END: usize = 1024 * 1024;
/// Bytes by which a kubelet may miss a limit.
const TOLERANCE: usize = 4 * 1024;
/// Bytes that are read at a time.
const CHUNK: usize = 16 * 1024;
/// Time limit for the content of a response.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Logs and what they lack.
#[derive(Debug, Default)]
pub struct ReadLogs {
    /// The logs that were read.
    pub logs: Vec<ContainerLog>,
    /// Namespaces in which the user may not read logs.
    pub forbidden: BTreeSet<String>,
    /// Number of logs beyond the limit.
    pub omitted: usize,
    /// Number of logs that could not be read for another reason.
    pub failed: usize,
    /// The first such reason.
    pub reason: Option<RequestError>,
}

/// Reads the logs of `containers`.
pub async fn read_logs(client: &Client, containers: &[LogName]) -> ReadLogs {
    let mut read = ReadLogs { omitted: containers.len().saturating_sub(MAX_LOGS), ..ReadLogs::default() };
    let requests = containers.iter().take(MAX_LOGS).map(|name| async move { (name, read_log(client, name).await) });
    let mut responses = stream::iter(requests).buffered(CONCURRENCY);
    while let Some((name, response)) = responses.next().await {
        match response {
            Ok(logs) => read.logs.extend(logs),
            Err(error) if error.is_forbidden() => {
                read.forbidden.insert(name.namespace.as_deref().unwrap_or_default().to_owned());
            }
            Err(error) => {
                read.failed += 1;
                read.reason.get_or_insert(error);
            }
        }
    }
    read
}

/// Reads the start of a log, and its end if it is longer.
async fn read_log(client: &Client, name: &LogName) -> Result<Vec<ContainerLog>, RequestError> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), name.namespace.as_deref().unwrap_or_default());
    let start = LogParams {
        container: name.container.as_deref().map(str::to_owned),
        timestamps: true,
        limit_bytes: i64::try_from(START).ok(),
        ..LogParams::default()
    };
    let step = format!("read the log of {}", name.pod);
    let mut reader = LogReader::new(Some(name.clone()));
    let bytes = read_part(&pods, name, &start, START, &mut reader, &step).await?;
    if bytes + TOLERANCE >= START {
        let end = LogParams { tail_lines: Some(END_LINES), limit_bytes: i64::try_from(END).ok(), ..start };
        reader.mark_gap();
        read_part(&pods, name, &end, END, &mut reader, &step).await?;
    }
    Ok(reader.finish())
}

/// Passes at most `limit` bytes of a log to `reader`, and returns their number.
async fn read_part(
    pods: &Api<Pod>,
    name: &LogName,
    parameters: &LogParams,
    limit: usize,
    reader: &mut LogReader,
    step: &str,
) -> Result<usize, RequestError> {
    let body = send(step, pods.log_stream(&name.pod, parameters)).await?;
    let copy = copy(body, limit, reader);
    match timeout(TIMEOUT, copy).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(_)) => Err(RequestError::Malformed(step.to_owned())),
        Err(_) => Err(RequestError::TimedOut(step.to_owned())),
    }
}

async fn copy(body: impl AsyncBufRead, limit: usize, reader: &mut LogReader) -> std::io::Result<usize> {
    let mut body = std::pin::pin!(body);
    let mut chunk = vec![0; CHUNK];
    let mut total = 0;
    while total < limit {
        let free = CHUNK.min(limit - total);
        let count = body.read(&mut chunk[..free]).await?;
        if count == 0 {
            break;
        }
        reader.push(&chunk[..count]);
        total += count;
    }
    Ok(total)
}
