//! Duration and peak memory of the command, as a process.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

/// Runs the command several times. Returns the sorted durations and the peak resident memory in KiB.
pub(crate) fn measure(runs: usize, arguments: &[&str], exit_code: i32) -> io::Result<(Vec<Duration>, u64)> {
    let mut times = Vec::new();
    let mut peak = 0;
    for _ in 0..runs {
        let (time, memory) = run(arguments, exit_code)?;
        times.push(time);
        peak = peak.max(memory);
    }
    times.sort();
    Ok((times, peak))
}

/// Runs the command once; returns its duration and its peak resident memory in KiB.
fn run(arguments: &[&str], exit_code: i32) -> io::Result<(Duration, u64)> {
    let start = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_trainmesh")).args(arguments).stdout(Stdio::null()).spawn()?;
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    loop {
        // Without a process, the file is missing; the next `try_wait` returns its status.
        let text = fs::read_to_string(&status).unwrap_or_default();
        let high = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let high = high.and_then(|line| line.split_whitespace().next()).and_then(|number| number.parse().ok());
        peak = peak.max(high.unwrap_or_default());
        if let Some(exit_status) = child.try_wait()? {
            assert_eq!(exit_status.code(), Some(exit_code), "{arguments:?} failed: {exit_status}");
            return Ok((start.elapsed(), peak));
        }
        thread::sleep(Duration::from_millis(2));
    }
}
