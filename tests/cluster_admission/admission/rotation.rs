//! Replacing the CA while pods are created: no call may fail.

use std::sync::Arc;

use serde_json::{Value, json};

use trainmesh_testing::cluster::{Cluster, Namespace, TIMEOUT, eventually};
use trainmesh_testing::load::{under_load, wait_for_new_pods};
use trainmesh_testing::pods::{OPTED_IN, creations, has_hold};
use trainmesh_testing::webhook::{
    CertificateAuthority, Options, Process, Scope, WebhookConfiguration, base64, calls, failed_open, manifest,
};

/// Number of CA replacements.
const ROTATIONS: usize = 3;

/// A webhook configuration whose CA bundle changes.
struct Trust<'a> {
    configuration: &'a WebhookConfiguration,
    namespace: &'a Namespace,
    changes: usize,
}

impl Trust<'_> {
    /// Makes the apiserver trust `cas` and waits until it does. The apiserver watches the webhook
    /// configuration, and an audit event contains only webhook names, so the webhooks are renamed in the same patch.
    /// The same cas in another order are another bundle, for which the apiserver opens new connections.
    fn replace(&mut self, cas: &[&CertificateAuthority]) {
        self.changes += 1;
        let bundle = base64(&cas.iter().map(|ca| ca.pem.as_str()).collect::<String>());
        let mark = format!("change-{}.{}.trainmesh.dev", self.changes, self.configuration.label().1);
        let replace = |index: usize| {
            let at = |field: &str| format!("/webhooks/{index}/{field}");
            [
                json!({"op": "replace", "path": at("name"), "value": format!("webhook-{index}.{mark}")}),
                json!({"op": "replace", "path": at("clientConfig/caBundle"), "value": bundle}),
            ]
        };
        let patch = [0, 1, 2].into_iter().flat_map(replace).collect::<Value>().to_string();
        self.configuration.patch(&patch);
        eventually(TIMEOUT, "calls use the new webhook configuration", || {
            let marked = |event: &Value| calls(event).iter().any(|call| call.webhook.ends_with(&mark));
            if self.namespace.audit(marked).is_empty() { Err("no call") } else { Ok(()) }
        });
    }
}

#[test]
fn no_call_fails_while_the_ca_changes() {
    let mut days = 1..;
    let mut sign = |ca: &CertificateAuthority| ca.certificate(days.next().unwrap());
    let cas = ["first", "second"].map(CertificateAuthority::new);
    let [mut old, mut new] = cas.each_ref();
    let home = Cluster::get().namespace(&[]);
    let process = Process::start(&home.name, Arc::new(sign(old)), &Options::default());
    let configuration =
        WebhookConfiguration::new(Scope::new(), "0-trainmesh", manifest(None, process.listen, &old.pem));
    let namespace = configuration.namespace(&OPTED_IN);
    let mut trust = Trust { configuration: &configuration, namespace: &namespace, changes: 0 };

    let load = under_load(&namespace, || {
        for _ in 0..ROTATIONS {
            trust.replace(&[old, new]);
            // Replicas may differ for a while: certificates of the old ca must be trusted as well.
            for (ca, order) in [(new, [new, old]), (old, [old, new]), (new, [new, old])] {
                process.renew(&sign(ca));
                trust.replace(&order);
            }
            trust.replace(&[new]);
            (old, new) = (new, old);
        }
        wait_for_new_pods(&namespace);
    });

    assert_eq!(load.failed, [""; 0]);
    for request in creations(&namespace, &load.created) {
        assert_eq!(failed_open(&request), [""; 0], "{}", request["annotations"]);
        assert!(has_hold(&request["responseObject"]), "{}", request["objectRef"]);
    }
    assert_eq!(process.metric("trainmesh_tls_handshake_failures_total{reason=\"certificate_rejected\"}"), Some(0));
    let counted = |metric: &str| Cluster::get().metric(metric, configuration.label().1);
    assert_ne!(counted("apiserver_admission_webhook_request_total"), 0, "the new names must have calls");
    assert_eq!(counted("apiserver_admission_webhook_fail_open_count"), 0);
}
