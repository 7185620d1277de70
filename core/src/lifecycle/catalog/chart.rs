//! Checks that the chart's policy permits exactly the actions of the built-in methods.

use serde_json::{Value, json};

use super::{Action, SidecarCatalog};
use crate::config::{Configuration, Termination};
use crate::lifecycle::{AgentConfig, Attempt, Method, proxy_methods::proxy_attempts};
use crate::yaml;

fn permitted() -> Value {
    yaml::parse(include_str!("../../../../charts/trainmesh/files/sidecars.yaml")).unwrap()
}

/// Returns an action in the chart's form: `exec` or `http`.
fn chart_form(action: &Action) -> (&'static str, Value) {
    match action {
        Action::Exec { argv } => ("exec", json!(argv)),
        Action::Post { port, path } => ("http", json!({"port": port, "path": path})),
    }
}

#[test]
fn permits_the_methods_for_the_proxy() {
    let permitted = permitted();
    let settings = Termination { port_forward: true, curl: true, ..Configuration::embedded().termination };
    let form = |method| {
        let mut attempts = proxy_attempts(AgentConfig::default(), &settings).into_iter();
        let Attempt { action, .. } = attempts.find(|attempt| attempt.method == method).unwrap();
        let (_, form) = chart_form(&action);
        form
    };
    let any_port = |form: Value| form.to_string().replace("15020", "{port}");
    assert_eq!(permitted["proxy"]["exec"], json!([form(Method::EnvoyAdmin), permitted["proxy"]["exec"][1]]));
    assert_eq!(permitted["proxy"]["exec"][1].to_string(), any_port(form(Method::StatusPort)));
    assert_eq!(permitted["proxy"]["curl"].to_string(), any_port(form(Method::StatusCurl)));
    assert_eq!(permitted["proxy"]["port"], form(Method::StatusForward)["port"]);
}

#[test]
fn permits_the_built_in_entries_for_sidecars() {
    let entries = SidecarCatalog::new(&Configuration::embedded().termination).entries;
    let expected = entries.iter().map(|entry| {
        let (key, form) = chart_form(&entry.attempt.action);
        json!({"name": entry.name, key: form})
    });
    assert_eq!(permitted()["sidecars"], expected.collect::<Value>());
}
