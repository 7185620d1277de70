//! What the chart's policy lets the controller do is what the ladder and the catalogue do, and no more.

use serde_json::{Value, json};

use super::{Action, Catalogue};
use crate::config::{Configuration, Termination};
use crate::lifecycle::{Agent, Method, Step, ladder};
use crate::yaml;

fn permitted() -> Value {
    yaml::parse(include_str!("../../../../charts/trainmesh/files/catalogue.yaml")).unwrap()
}

/// An action as the chart writes it: by `exec`, or by `http`.
fn written(action: &Action) -> (&'static str, Value) {
    match action {
        Action::Exec { argv } => ("exec", json!(argv)),
        Action::Post { port, path } => ("http", json!({"port": port, "path": path})),
    }
}

#[test]
fn of_the_proxy_the_rungs_of_the_ladder() {
    let permitted = permitted();
    let settings = Termination { port_forward: true, curl: true, ..Configuration::embedded().termination };
    let step = |method| {
        let mut steps = ladder::of(Agent::default(), &settings).into_iter();
        let Step { action, .. } = steps.find(|step| step.method == method).unwrap();
        let (_, form) = written(&action);
        form
    };
    let any_port = |form: Value| form.to_string().replace("15020", "{port}");
    assert_eq!(permitted["proxy"]["exec"], json!([step(Method::EnvoyAdmin), permitted["proxy"]["exec"][1]]));
    assert_eq!(permitted["proxy"]["exec"][1].to_string(), any_port(step(Method::StatusPort)));
    assert_eq!(permitted["proxy"]["curl"].to_string(), any_port(step(Method::StatusCurl)));
    assert_eq!(permitted["proxy"]["port"], step(Method::StatusForward)["port"]);
}

#[test]
fn of_helpers_the_built_in_entries() {
    let entries = Catalogue::new(&Configuration::embedded().termination).entries;
    let expected = entries.iter().map(|entry| {
        let (key, form) = written(&entry.step.action);
        json!({"name": entry.name, key: form})
    });
    assert_eq!(permitted()["helpers"], expected.collect::<Value>());
}
