//! Duration and peak memory of a preview of 10,000 jobs, as a process.

#![allow(clippy::print_stdout, reason = "a benchmark prints its results")]

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const JOBS: usize = 10_000;
const RUNS: usize = 5;

fn main() -> std::io::Result<()> {
    let mut input = tempfile::Builder::new().suffix(".yaml").tempfile()?;
    for index in 0..JOBS {
        writeln!(input, "---\n{}", small_job(index))?;
    }
    let bytes = input.as_file().metadata()?.len();
    let mut times = Vec::new();
    let mut peak = 0;
    for _ in 0..RUNS {
        let (time, memory) = preview(input.path())?;
        times.push(time);
        peak = peak.max(memory);
    }
    times.sort();
    println!("preview of {JOBS} PyTorchJobs ({} bytes each), -o json to /dev/null:", bytes / JOBS as u64);
    println!("  median of {RUNS} runs {:?}, slowest {:?}, peak memory {} KiB", times[RUNS / 2], times[RUNS - 1], peak);
    Ok(())
}

/// Runs the preview once; returns its duration and its peak resident memory in KiB.
fn preview(input: &std::path::Path) -> std::io::Result<(Duration, u64)> {
    let start = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_trainmesh"))
        .args(["preview", "-o", "json", "-f"])
        .arg(input)
        .stdout(Stdio::null())
        .spawn()?;
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    loop {
        // Without a process, the file is missing; the next `try_wait` returns its status.
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let high = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let high = high.and_then(|line| line.split_whitespace().next()).and_then(|number| number.parse().ok());
        peak = peak.max(high.unwrap_or_default());
        if let Some(exit_status) = child.try_wait()? {
            assert!(exit_status.success(), "the preview failed: {exit_status}");
            return Ok((start.elapsed(), peak));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Returns the manifest of a job with one Worker, of about 1 KB.
fn small_job(index: usize) -> String {
    let environment: Vec<String> = (0..6)
        .map(|n| format!("            - name: SETTING_{n}\n              value: \"value number {n} of this job\"\n"))
        .collect();
    let environment = environment.concat();
    format!(
        "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata:\n  name: job-{index}\n  namespace: default\nspec:\n  \
         pytorchReplicaSpecs:\n    Worker:\n      replicas: 1\n      restartPolicy: OnFailure\n      template:\n        spec:\n          \
         containers:\n          - name: pytorch\n            image: registry.example.com/training/llama:2.4.1\n            \
         command: [\"python\", \"-m\", \"train\", \"--epochs\", \"3\"]\n            env:\n{environment}            resources:\n              \
         limits:\n                nvidia.com/gpu: 8\n                memory: 512Gi\n"
    )
}
