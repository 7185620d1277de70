//! Duration and peak memory of the diagnosis of a dump of 5,000 pods, as a process.

#![allow(clippy::print_stdout, reason = "a benchmark prints its results")]

#[path = "../core/benches/common/mod.rs"]
mod common;
mod measure;

use std::io::{self, BufWriter, Write};

use serde_json::{Value, json};

const PODS: usize = 5_000;
/// Number of pods of a job.
const MEMBERS: usize = 8;
const RUNS: usize = 5;
/// Exit code of a diagnosis with findings.
const FINDINGS: i32 = 1;

fn main() -> io::Result<()> {
    for (format, write) in [("JSON", write_json as fn(&mut dyn Write) -> io::Result<()>), ("YAML", write_yaml)] {
        let mut dump = tempfile::Builder::new().suffix(".yaml").tempfile()?;
        let mut out = BufWriter::new(&mut dump);
        write(&mut out)?;
        out.flush()?;
        drop(out);
        let bytes = dump.as_file().metadata()?.len();
        let path = dump.path().to_string_lossy();
        let arguments = ["diagnose", "-o", "json", "-f", &path];
        let (times, peak) = measure::measure(RUNS, &arguments, FINDINGS)?;
        println!("diagnosis of {PODS} injected pods in a list of kubectl as {format} ({} MiB):", bytes >> 20);
        println!(
            "  median of {RUNS} runs {:?}, slowest {:?}, peak memory {peak} KiB",
            times[RUNS / 2],
            times[RUNS - 1]
        );
    }
    Ok(())
}

/// Returns a running pod of a job; the image of one of 100 cannot be pulled.
fn pod(number: usize) -> Value {
    let (job, index) = (number / MEMBERS, number % MEMBERS);
    let (role, role_index) = if index == 0 { ("master", 0) } else { ("worker", index - 1) };
    let name = format!("job-{job}-{role}-{role_index}");
    let started = "2026-01-01T11:00:00Z";
    let mut pod = common::injected_pod();
    let labels = &mut pod["metadata"]["labels"];
    labels["training.kubeflow.org/job-name"] = format!("job-{job}").into();
    labels["training.kubeflow.org/replica-type"] = role.into();
    labels["training.kubeflow.org/replica-index"] = role_index.to_string().into();
    pod["metadata"]["name"] = name.into();
    pod["metadata"]["creationTimestamp"] = started.into();
    pod["spec"]["nodeName"] = format!("node-{}", number % 1_000).into();
    let state = if number.is_multiple_of(100) {
        json!({"waiting": {"reason": "ImagePullBackOff", "message": "manifest unknown"}})
    } else {
        json!({"running": {"startedAt": started}})
    };
    pod["status"] = json!({"phase": "Running", "startTime": started, "containerStatuses": [
        {"name": "pytorch", "ready": true, "restartCount": 0, "state": state},
        {"name": "istio-proxy", "ready": true, "restartCount": 0, "state": {"running": {"startedAt": started}}}]});
    pod
}

/// Writes the list as `kubectl get -o json` does.
fn write_json(out: &mut dyn Write) -> io::Result<()> {
    let items: Vec<Value> = (0..PODS).map(pod).collect();
    let list = json!({"apiVersion": "v1", "items": items, "kind": "List", "metadata": {"resourceVersion": ""}});
    writeln!(out, "{list:#}")
}

/// Writes the list as `kubectl get -o yaml` does.
fn write_yaml(out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "apiVersion: v1\nitems:")?;
    for number in 0..PODS {
        let text = trainmesh_core::yaml::to_string(&pod(number));
        for (line, text) in text.lines().enumerate() {
            writeln!(out, "{}{text}", if line == 0 { "- " } else { "  " })?;
        }
    }
    writeln!(out, "kind: List\nmetadata:\n  resourceVersion: \"\"")
}
