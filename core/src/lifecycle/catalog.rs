//! Catalog of sidecars that the controller can terminate, in the order of termination.

#[cfg(test)]
mod chart;

use std::sync::LazyLock;
use std::time::Duration;

use super::{Action, Attempt, Method};
use crate::config::{Argv, HttpPost, SidecarEntry, SidecarMethod, Termination};
use crate::hint::nearest;

/// Default time that a sidecar may take to exit.
const EXIT_TIMEOUT: Duration = Duration::from_secs(10);
/// Consul exits only after a configurable grace period; this allows for 30 s of it.
const CONSUL_EXIT_TIMEOUT: Duration = Duration::from_secs(40);

/// Entry for Fluent Bit, and its images, of which only those for debugging contain `kill`.
const FLUENT_BIT: &str = "fluent-bit";
const FLUENT_BIT_IMAGE: &str = "fluent/fluent-bit";
const REGISTRIES: [&str; 4] = ["", "docker.io/", "ghcr.io/", "cr.fluentbit.io/"];

/// Sidecars that the controller can terminate: configured entries first, then the built-in ones. Proxies come last,
/// because the others may need them to send buffered data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SidecarCatalog {
    entries: Vec<CatalogEntry>,
    port_forward: bool,
}

/// How to terminate one sidecar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CatalogEntry {
    /// Name of the entry, and of the containers that it applies to by default.
    pub(super) name: Box<str>,
    /// The only method for this sidecar.
    pub(super) attempt: Attempt,
}

/// Returns true if the built-in entry `name` needs `kill`, and `image` is one of Fluent Bit that is not for debugging, which lacks it. A
/// digest alone does not show which one it is.
pub(crate) fn lacks_kill(name: &str, image: &str) -> bool {
    let reference = image.split('@').next().unwrap_or_default();
    let (repository, tag) = reference.rsplit_once(':').unwrap_or((reference, ""));
    let is_official = REGISTRIES.iter().any(|registry| repository.strip_prefix(registry) == Some(FLUENT_BIT_IMAGE));
    let is_tagged = !tag.is_empty() || reference.len() == image.len();
    name == FLUENT_BIT && is_official && is_tagged && !tag.contains("debug")
}

impl SidecarCatalog {
    /// Creates the catalog for `settings`. A configured entry replaces a built-in one of the same name, at its
    /// position.
    #[must_use]
    pub fn new(settings: &Termination) -> Self {
        let mut built_in = BUILT_IN.clone();
        let mut entries = Vec::with_capacity(built_in.len() + settings.helpers.len());
        for entry in settings.helpers.iter().map(CatalogEntry::configured) {
            match built_in.iter_mut().find(|known| known.name == entry.name) {
                Some(known) => *known = entry,
                None => entries.push(entry),
            }
        }
        entries.append(&mut built_in);
        Self { entries, port_forward: settings.port_forward }
    }

    /// Returns true if the settings allow the method of `entry`.
    pub(super) fn allows(&self, entry: &CatalogEntry) -> bool {
        self.port_forward || entry.attempt.method != Method::SidecarPost
    }

    /// Returns why `name` selects no entry, with the entry that it may mean.
    pub(super) fn missing(&self, name: &str) -> String {
        let known: Vec<&str> = self.entries.iter().map(|entry| &*entry.name).collect();
        let hint = nearest(name, &known).map(|near| format!(": did you mean {near}?")).unwrap_or_default();
        format!("the catalog has no entry {name:?}{hint}")
    }

    /// Returns the entry called `name` and its position in the order of termination.
    pub(super) fn find(&self, name: &str) -> Option<(usize, &CatalogEntry)> {
        self.entries.iter().enumerate().find(|(_, entry)| *entry.name == *name)
    }
}

/// Returns true if the catalog for `settings` has an entry called `name`.
pub(super) fn contains(settings: &Termination, name: &str) -> bool {
    settings.helpers.iter().any(|helper| helper.name.as_str() == name)
        || BUILT_IN.iter().any(|entry| *entry.name == *name)
}

impl CatalogEntry {
    fn configured(helper: &SidecarEntry) -> Self {
        let (method, action) = match &helper.method {
            SidecarMethod::Exec(Argv(argv)) => (Method::SidecarExec, Action::Exec { argv: argv.clone() }),
            SidecarMethod::Http(HttpPost { port, path }) => {
                (Method::SidecarPost, Action::Post { port: *port, path: path.clone() })
            }
        };
        Self { name: helper.name.as_str().into(), attempt: Attempt { method, action, exit_timeout: EXIT_TIMEOUT } }
    }

    fn post(name: &str, port: u16, path: &str) -> Self {
        let action = Action::Post { port, path: path.to_owned() };
        Self { name: name.into(), attempt: Attempt { method: Method::SidecarPost, action, exit_timeout: EXIT_TIMEOUT } }
    }

    /// Creates an entry that sends SIGTERM to the main process, for sidecars without an endpoint. The image must
    /// contain `kill`; otherwise, the attempt fails, and an event reports the missing command.
    fn sigterm(name: &str) -> Self {
        let argv = ["kill", "-TERM", "1"].map(str::to_owned).to_vec();
        let action = Action::Exec { argv };
        Self { name: name.into(), attempt: Attempt { method: Method::SidecarExec, action, exit_timeout: EXIT_TIMEOUT } }
    }

    /// Returns true if the command signals process 1, which must belong to the sidecar.
    pub(super) fn signals_process_1(&self) -> bool {
        let Action::Exec { argv } = &self.attempt.action else { return false };
        let words = || argv.iter().flat_map(|argument| argument.split_whitespace());
        words().any(|word| word.rsplit('/').next() == Some("kill")) && words().any(|word| word == "1")
    }

    fn with_exit_timeout(mut self, exit_timeout: Duration) -> Self {
        self.attempt.exit_timeout = exit_timeout;
        self
    }
}

/// The built-in entries, each with a link to its documentation.
static BUILT_IN: LazyLock<Vec<CatalogEntry>> = LazyLock::new(|| {
    vec![
        // With the flag --quitquitquit, the admin port accepts a POST.
        // https://github.com/GoogleCloudPlatform/cloud-sql-proxy/blob/main/cmd/root.go
        CatalogEntry::post("cloud-sql-proxy", 9091, "/quitquitquit"),
        // The usual container name of version 1, which many manifests still use.
        CatalogEntry::post("cloudsql-proxy", 9091, "/quitquitquit"),
        // Requires the annotation vault.hashicorp.com/agent-enable-quit; the injector's listener is on port 8200.
        // https://github.com/hashicorp/vault/pull/14223, https://github.com/hashicorp/vault-k8s/pull/330
        CatalogEntry::post("vault-agent", 8200, "/agent/v1/quit"),
        // https://docs.dapr.io/operations/hosting/kubernetes/kubernetes-job/
        CatalogEntry::post("daprd", 3500, "/v1.0/shutdown"),
        // The HTTP server of Fluent Bit has no quit endpoint. The -debug images contain kill, the others no command.
        // https://docs.fluentbit.io/manual/installation/downloads/docker
        CatalogEntry::sigterm("fluent-bit"),
        // The sidecar of the OpenTelemetry operator, and the usual name in manifests. There is no quit endpoint, and
        // the official images contain only the collector: SIGTERM requires a custom image that contains kill.
        // https://github.com/open-telemetry/opentelemetry-helm-charts/issues/193
        CatalogEntry::sigterm("otc-container"),
        CatalogEntry::sigterm("otel-collector"),
        // Requires lifecycle management. The endpoint responds at once, and Envoy exits after the grace period.
        // https://github.com/hashicorp/consul-dataplane/blob/main/pkg/consuldp/lifecycle.go
        CatalogEntry::post("consul-dataplane", 20600, "/graceful_shutdown").with_exit_timeout(CONSUL_EXIT_TIMEOUT),
        // Newer versions require the annotation config.linkerd.io/proxy-admin-shutdown: enabled.
        // https://github.com/linkerd/linkerd2-proxy/pull/811, https://github.com/linkerd/linkerd2-proxy/pull/3014
        CatalogEntry::post("linkerd-proxy", 4191, "/shutdown"),
    ]
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Configuration, ContainerName};

    fn names(catalog: &SidecarCatalog) -> Vec<&str> {
        catalog.entries.iter().map(|entry| &*entry.name).collect()
    }

    #[test]
    fn proxies_are_terminated_last() {
        let catalog = SidecarCatalog::new(&Configuration::embedded().termination);
        let [.., consul, linkerd] = names(&catalog)[..] else { panic!("too short") };
        assert_eq!([consul, linkerd], ["consul-dataplane", "linkerd-proxy"]);
    }

    #[test]
    fn every_entry_is_documented_in_the_order_of_termination() {
        let page = include_str!("../../../docs/termination.md");
        let (_, table) = page.split_once("| name | terminated by | requires |\n|---|---|---|\n").unwrap();
        let (table, _) = table.split_once("\n\n").unwrap();
        let first_cells = table.lines().filter_map(|row| row.split('|').nth(1));
        let documented: Vec<&str> =
            first_cells.flat_map(|cell| cell.split(", ").map(|name| name.trim().trim_matches('`'))).collect();
        assert_eq!(names(&SidecarCatalog::new(&Configuration::embedded().termination)), documented);
    }

    #[test]
    fn a_configured_entry_comes_first_or_replaces_a_built_in_one() {
        let mut settings = Configuration::embedded().termination;
        let exec = |name: &str| SidecarEntry {
            name: ContainerName::parse(name).unwrap(),
            method: SidecarMethod::Exec(Argv(vec!["stop".to_owned()])),
        };
        let before = names(&SidecarCatalog::new(&settings)).len();
        settings.helpers = vec![exec("daprd"), exec("cache")];
        let catalog = SidecarCatalog::new(&settings);
        assert_eq!(names(&catalog).len(), before + 1);
        assert_eq!(names(&catalog)[0], "cache");
        let (_, daprd) = catalog.find("daprd").unwrap();
        assert_eq!(daprd.attempt.action, Action::Exec { argv: vec!["stop".to_owned()] });
    }
}
