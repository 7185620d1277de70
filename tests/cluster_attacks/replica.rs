//! A replica of one of the servers, and its process on this machine.

use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use serde_json::Value;

use trainmesh_testing::release::Release;

/// Ports in the chart's default values.
const ADMIN_PORT: u16 = 8080;
const WEBHOOK_PORT: u16 = 10250;

/// Written to `clear_refs`, resets the peak resident size to the current one.
const RESET_PEAK: &str = "5";

/// A pod of the installation.
#[derive(Clone, Debug)]
pub struct Replica {
    pub component: &'static str,
    pub name: String,
    ip: IpAddr,
    container: Value,
}

impl Replica {
    /// Returns the replicas of a component.
    pub fn all(release: &Release, component: &'static str) -> Vec<Self> {
        let read = |pod: &Value| {
            let text = |value: &Value| value.as_str().map(str::to_owned);
            Some(Self {
                component,
                name: text(&pod["metadata"]["name"])?,
                ip: pod["status"]["podIP"].as_str()?.parse().ok()?,
                container: pod["status"]["containerStatuses"][0].clone(),
            })
        };
        release.pods(component).iter().filter_map(read).collect()
    }

    /// Returns the address of probes and metrics.
    pub fn admin(&self) -> SocketAddr {
        (self.ip, ADMIN_PORT).into()
    }

    /// Returns the address that the apiserver calls.
    pub fn tls(&self) -> SocketAddr {
        (self.ip, WEBHOOK_PORT).into()
    }

    /// Returns the number of restarts by the kubelet.
    pub fn restarts(&self) -> u64 {
        self.container["restartCount"].as_u64().unwrap_or(0)
    }

    /// Returns the reason of the last termination: `OOMKilled`, `Error`.
    pub fn last_termination(&self) -> &str {
        self.container["lastState"]["terminated"]["reason"].as_str().unwrap_or_default()
    }

    /// Returns the peak resident memory since the last reset in KiB, or `None` without a process.
    pub fn peak(&self) -> Option<u64> {
        let status = fs::read_to_string(self.process()?.join("status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        line.split_whitespace().next()?.parse().ok()
    }

    /// Resets the peak.
    pub fn reset_peak(&self) {
        let process = self.process().unwrap_or_else(|| panic!("{} has no process", self.name));
        fs::write(process.join("clear_refs"), RESET_PEAK).expect("reset the peak, as root");
    }

    /// Returns the process's directory in `/proc`: containers of the test cluster are processes of this machine.
    fn process(&self) -> Option<PathBuf> {
        let id = self.container["containerID"].as_str()?.strip_prefix("containerd://")?;
        let is_container =
            |path: &Path| fs::read_to_string(path.join("cgroup")).is_ok_and(|groups| groups.contains(id));
        fs::read_dir("/proc").ok()?.filter_map(|entry| Some(entry.ok()?.path())).find(|path| is_container(path))
    }
}
