//! The helpers that we know how to end, in the order in which they are ended.

#[cfg(test)]
mod chart;

use std::sync::LazyLock;
use std::time::Duration;

use super::{Action, Method, Step};
use crate::config::{Argv, Helper, HelperMethod, HttpPost, Termination};

/// How long a helper may take to end that says nothing else.
const PATIENCE: Duration = Duration::from_secs(10);
/// It quits only after a grace period of its own, which is a setting: room for half a minute of it.
const CONSUL_PATIENCE: Duration = Duration::from_secs(40);

/// The helpers that we know how to end: those of the configuration, then the built-in ones, proxies last, because the
/// others may need them to send what they still hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Catalogue {
    entries: Vec<Entry>,
    port_forward: bool,
}

/// How one helper is ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Its name, and the container's that it is for.
    pub(super) name: Box<str>,
    /// The one way to end it.
    pub(super) step: Step,
}

impl Catalogue {
    /// The catalogue under `settings`: an entry of theirs that has the name of a built-in one takes its place.
    #[must_use]
    pub fn new(settings: &Termination) -> Self {
        let mut built_in = BUILT_IN.clone();
        let mut entries = Vec::with_capacity(built_in.len() + settings.helpers.len());
        for entry in settings.helpers.iter().map(Entry::configured) {
            match built_in.iter_mut().find(|known| known.name == entry.name) {
                Some(known) => *known = entry,
                None => entries.push(entry),
            }
        }
        entries.append(&mut built_in);
        Self { entries, port_forward: settings.port_forward }
    }

    /// Whether the way of `entry` is one that the settings allow.
    pub(super) fn allows(&self, entry: &Entry) -> bool {
        self.port_forward || entry.step.method != Method::HelperPost
    }

    /// The entry called `name`, and its place in the order.
    pub(super) fn find(&self, name: &str) -> Option<(usize, &Entry)> {
        self.entries.iter().enumerate().find(|(_, entry)| *entry.name == *name)
    }
}

/// Whether the catalogue under `settings` has an entry called `name`.
pub(super) fn knows(settings: &Termination, name: &str) -> bool {
    settings.helpers.iter().any(|helper| helper.name.as_str() == name)
        || BUILT_IN.iter().any(|entry| *entry.name == *name)
}

impl Entry {
    fn configured(helper: &Helper) -> Self {
        let (method, action) = match &helper.method {
            HelperMethod::Exec(Argv(argv)) => (Method::HelperExec, Action::Exec { argv: argv.clone() }),
            HelperMethod::Http(HttpPost { port, path }) => {
                (Method::HelperPost, Action::Post { port: *port, path: path.clone() })
            }
        };
        Self { name: helper.name.as_str().into(), step: Step { method, action, patience: PATIENCE } }
    }

    fn post(name: &str, port: u16, path: &str) -> Self {
        let action = Action::Post { port, path: path.to_owned() };
        Self { name: name.into(), step: Step { method: Method::HelperPost, action, patience: PATIENCE } }
    }

    /// SIGTERM to the main process, for those that offer nothing else. The image needs a `kill`: where it has none, the
    /// event says so.
    fn kill(name: &str) -> Self {
        let argv = ["kill", "-TERM", "1"].map(str::to_owned).to_vec();
        let action = Action::Exec { argv };
        Self { name: name.into(), step: Step { method: Method::HelperExec, action, patience: PATIENCE } }
    }

    /// Whether it signals process 1, which must be the helper's own.
    pub(super) fn signals_process_1(&self) -> bool {
        let Action::Exec { argv } = &self.step.action else { return false };
        let words = || argv.iter().flat_map(|argument| argument.split_whitespace());
        words().any(|word| word.rsplit('/').next() == Some("kill")) && words().any(|word| word == "1")
    }

    fn patience(mut self, patience: Duration) -> Self {
        self.step.patience = patience;
        self
    }
}

/// The built-in entries, each with the page that documents it.
static BUILT_IN: LazyLock<Vec<Entry>> = LazyLock::new(|| {
    vec![
        // Started with --quitquitquit it takes a POST on its admin port.
        // https://github.com/GoogleCloudPlatform/cloud-sql-proxy/blob/main/cmd/root.go
        Entry::post("cloud-sql-proxy", 9091, "/quitquitquit"),
        // The container's name in the days of version 1, which many manifests have kept.
        Entry::post("cloudsql-proxy", 9091, "/quitquitquit"),
        // Annotation vault.hashicorp.com/agent-enable-quit, on the listener that the injector puts at 8200.
        // https://github.com/hashicorp/vault/pull/14223, https://github.com/hashicorp/vault-k8s/pull/330
        Entry::post("vault-agent", 8200, "/agent/v1/quit"),
        // https://docs.dapr.io/operations/hosting/kubernetes/kubernetes-job/
        Entry::post("daprd", 3500, "/v1.0/shutdown"),
        // Its HTTP server cannot end it; the -debug images have a kill, the others no command at all.
        // https://docs.fluentbit.io/manual/installation/downloads/docker
        Entry::kill("fluent-bit"),
        // A sidecar of the OpenTelemetry operator, and the name that manifests use. There is no endpoint, and the
        // official images hold the collector alone: for images with a kill.
        // https://github.com/open-telemetry/opentelemetry-helm-charts/issues/193
        Entry::kill("otc-container"),
        Entry::kill("otel-collector"),
        // With lifecycle management on; it answers at once and quits Envoy when its grace period is over.
        // https://github.com/hashicorp/consul-dataplane/blob/main/pkg/consuldp/lifecycle.go
        Entry::post("consul-dataplane", 20600, "/graceful_shutdown").patience(CONSUL_PATIENCE),
        // Newer versions want the annotation config.linkerd.io/proxy-admin-shutdown: enabled.
        // https://github.com/linkerd/linkerd2-proxy/pull/811, https://github.com/linkerd/linkerd2-proxy/pull/3014
        Entry::post("linkerd-proxy", 4191, "/shutdown"),
    ]
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Configuration, ContainerName};

    fn names(catalogue: &Catalogue) -> Vec<&str> {
        catalogue.entries.iter().map(|entry| &*entry.name).collect()
    }

    #[test]
    fn proxies_are_ended_last() {
        let catalogue = Catalogue::new(&Configuration::embedded().termination);
        let [.., consul, linkerd] = names(&catalogue)[..] else { panic!("too short") };
        assert_eq!([consul, linkerd], ["consul-dataplane", "linkerd-proxy"]);
    }

    #[test]
    fn every_entry_is_documented_in_the_order_in_which_they_are_ended() {
        let page = include_str!("../../../docs/rules.md");
        let (_, table) = page.split_once("| name | ended by |\n|---|---|\n").unwrap();
        let (table, _) = table.split_once("\n\n").unwrap();
        let first_cells = table.lines().filter_map(|row| row.split('|').nth(1));
        let documented: Vec<&str> =
            first_cells.flat_map(|cell| cell.split(", ").map(|name| name.trim().trim_matches('`'))).collect();
        assert_eq!(names(&Catalogue::new(&Configuration::embedded().termination)), documented);
    }

    #[test]
    fn an_entry_of_the_configuration_comes_first_or_takes_the_place_of_its_namesake() {
        let mut settings = Configuration::embedded().termination;
        let exec = |name: &str| Helper {
            name: ContainerName::parse(name).unwrap(),
            method: HelperMethod::Exec(Argv(vec!["stop".to_owned()])),
        };
        let before = names(&Catalogue::new(&settings)).len();
        settings.helpers = vec![exec("daprd"), exec("cache")];
        let catalogue = Catalogue::new(&settings);
        assert_eq!(names(&catalogue).len(), before + 1);
        assert_eq!(names(&catalogue)[0], "cache");
        let (_, daprd) = catalogue.find("daprd").unwrap();
        assert_eq!(daprd.step.action, Action::Exec { argv: vec!["stop".to_owned()] });
    }
}
