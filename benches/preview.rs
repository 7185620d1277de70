//! Duration and peak memory of a preview of 10,000 jobs, as a process.

#![allow(clippy::print_stdout, reason = "a benchmark prints its results")]

mod measure;

use std::io::Write as _;

const JOBS: usize = 10_000;
const RUNS: usize = 5;

fn main() -> std::io::Result<()> {
    let mut input = tempfile::Builder::new().suffix(".yaml").tempfile()?;
    for index in 0..JOBS {
        writeln!(input, "---\n{}", small_job(index))?;
    }
    let bytes = input.as_file().metadata()?.len();
    let path = input.path().to_string_lossy();
    let arguments = ["preview", "-o", "json", "-f", &path];
    let (times, peak) = measure::measure(RUNS, &arguments, 0)?;
    println!("preview of {JOBS} PyTorchJobs ({} bytes each), -o json to /dev/null:", bytes / JOBS as u64);
    println!("  median of {RUNS} runs {:?}, slowest {:?}, peak memory {} KiB", times[RUNS / 2], times[RUNS - 1], peak);
    Ok(())
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
