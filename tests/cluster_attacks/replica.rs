//! A replica of one of the servers, and its process on this machine.

use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use serde_json::Value;

use trainmesh_testing::release::Release;

/// Ports of the chart's values.
const ADMIN_PORT: u16 = 8080;
const WEBHOOK_PORT: u16 = 10250;

/// Writing this to `clear_refs` resets the peak of the resident set to its present size.
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
    /// The replicas of a component.
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

    /// Where it serves probes and metrics.
    pub fn admin(&self) -> SocketAddr {
        (self.ip, ADMIN_PORT).into()
    }

    /// Where the apiserver calls it.
    pub fn tls(&self) -> SocketAddr {
        (self.ip, WEBHOOK_PORT).into()
    }

    /// How often the kubelet has restarted it.
    pub fn restarts(&self) -> u64 {
        self.container["restartCount"].as_u64().unwrap_or(0)
    }

    /// Why the kubelet restarted it the last time: `OOMKilled`, `Error`.
    pub fn last_end(&self) -> &str {
        self.container["lastState"]["terminated"]["reason"].as_str().unwrap_or_default()
    }

    /// The most memory that it has had resident since the last reset, in KiB; `None` while it has no process.
    pub fn peak(&self) -> Option<u64> {
        let status = fs::read_to_string(self.process()?.join("status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        line.split_whitespace().next()?.parse().ok()
    }

    /// Forgets the peak of what was before.
    pub fn reset_peak(&self) {
        let process = self.process().unwrap_or_else(|| panic!("{} has no process", self.name));
        fs::write(process.join("clear_refs"), RESET_PEAK).expect("reset the peak, as root");
    }

    /// Its folder in `/proc`: containers of the test cluster are processes of this machine.
    fn process(&self) -> Option<PathBuf> {
        let id = self.container["containerID"].as_str()?.strip_prefix("containerd://")?;
        let ours = |path: &Path| fs::read_to_string(path.join("cgroup")).is_ok_and(|groups| groups.contains(id));
        fs::read_dir("/proc").ok()?.filter_map(|entry| Some(entry.ok()?.path())).find(|path| ours(path))
    }
}
