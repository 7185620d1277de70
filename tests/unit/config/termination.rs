//! The section `termination`.

use rstest::rstest;
use trainmesh_core::config::{
    Argv, Configuration, ContainerName, HttpPost, LabelSelector, SidecarEntry, SidecarMethod,
};

use super::check;

#[rstest]
#[case::all_fields(
    "termination: {enabled: false, settle: 0s, proxyContainer: mesh, podSelector: 'a,b in (c)', attemptTimeout: 1m, portForward: false, curl: true}\n",
    &[]
)]
#[case::sidecars("termination:\n  helpers:\n  - {name: a, exec: [kill, '1']}\n  - {name: b, http: {port: 1, path: /}}\n", &[])]
#[case::invalid_selector(
    "termination:\n  podSelector: 'a b'\n",
    &[r#"line 4: termination.podSelector: expected a label selector such as app=a,!canary, found "a b""#]
)]
#[case::empty_selector(
    "termination:\n  podSelector: ''\n",
    &["line 4: termination.podSelector: expected a label selector, found an empty one, which would select every pod of the cluster"]
)]
#[case::invalid_container_name(
    "termination:\n  proxyContainer: Istio_Proxy\n",
    &[r#"line 4: termination.proxyContainer: expected the name of a container such as istio-proxy, found "Istio_Proxy""#]
)]
#[case::settle_too_long("termination: {settle: 2h}\n", &["line 3: termination.settle: expected 0s to 1h, found 2h"])]
#[case::zero_attempt_timeout("termination: {attemptTimeout: 0s}\n", &["line 3: termination.attemptTimeout: expected 100ms to 5m, found 0s"])]
#[case::mapping_for_a_list("termination: {helpers: {a: 1}}\n", &["line 3: termination.helpers: expected a list, found a mapping"])]
#[case::string_for_a_sidecar("termination:\n  helpers:\n  - a\n", &["line 5: termination.helpers[0]: expected a mapping, found a string"])]
#[case::missing_name("termination:\n  helpers:\n  - exec: [a]\n", &["line 5: termination.helpers[0].name: missing: expected the name of a container"])]
#[case::missing_method("termination:\n  helpers:\n  - name: a\n", &["line 5: termination.helpers[0].exec: missing: expected exec or http"])]
#[case::both_methods(
    "termination:\n  helpers:\n  - name: a\n    exec: [a]\n    http: {port: 1, path: /}\n",
    &["line 7: termination.helpers[0].http: expected either exec or http, found both"]
)]
#[case::port_out_of_range_in_the_second_sidecar(
    "termination:\n  helpers:\n  - {name: a, exec: [a]}\n  - name: b\n    http:\n      path: /quit\n      port: 65536\n",
    &["line 9: termination.helpers[1].http.port: expected a port from 1 to 65535, found 65536"]
)]
#[case::port_is_a_string(
    "termination:\n  helpers:\n  - {name: a, http: {port: admin, path: /quit}}\n",
    &["line 5: termination.helpers[0].http.port: expected a port from 1 to 65535, found a string"]
)]
#[case::missing_port(
    "termination:\n  helpers:\n  - {name: a, http: {path: /quit}}\n",
    &["line 5: termination.helpers[0].http.port: missing: expected a port"]
)]
#[case::path_is_relative(
    "termination:\n  helpers:\n  - {name: a, http: {port: 1, path: quit}}\n",
    &[r#"line 5: termination.helpers[0].http.path: expected a path such as /quitquitquit, found "quit""#]
)]
#[case::empty_command(
    "termination:\n  helpers:\n  - {name: a, exec: []}\n",
    &[r#"line 5: termination.helpers[0].exec: expected a list of arguments such as [kill, "1"], found no command"#]
)]
#[case::number_in_a_command(
    "termination:\n  helpers:\n  - {name: a, exec: [kill, 1]}\n",
    &[r#"line 5: termination.helpers[0].exec: expected a list of arguments such as [kill, "1"], found a number in it: put it in quotes"#]
)]
#[case::string_for_a_command(
    "termination:\n  helpers:\n  - {name: a, exec: kill 1}\n",
    &[r#"line 5: termination.helpers[0].exec: expected a list of arguments such as [kill, "1"], found a string"#]
)]
#[case::duplicate_name(
    "termination:\n  helpers:\n  - {name: a, exec: [a]}\n  - {name: a, exec: [b]}\n",
    &["line 6: termination.helpers[1].name: duplicate entry for a: expected unique names"]
)]
#[case::entry_for_the_proxy(
    "termination:\n  proxyContainer: proxy\n  helpers:\n  - {name: istio-proxy, exec: [a]}\n  - {name: proxy, exec: [b]}\n",
    &[]
)]
#[case::unknown_fields(
    "termination:\n  helpers:\n  - name: a\n    http: {port: 1, path: /, method: PUT}\n    order: 1\n",
    &[
        "line 6: termination.helpers[0].http.method: unknown field: expected port or path",
        "line 7: termination.helpers[0].order: unknown field: expected name, exec or http",
    ]
)]
fn errors_name_the_field_and_line(#[case] body: &str, #[case] expected: &[&str]) {
    check(body, expected);
}

#[test]
fn printed_sidecars_parse_back() {
    let mut configuration = Configuration::embedded();
    let name = |text| ContainerName::parse(text).unwrap();
    configuration.termination.helpers = vec![
        SidecarEntry { name: name("a"), method: SidecarMethod::Exec(Argv(vec!["kill".to_owned(), "1".to_owned()])) },
        SidecarEntry {
            name: name("b"),
            method: SidecarMethod::Http(HttpPost { port: 8081, path: "/quit".to_owned() }),
        },
    ];
    assert_eq!(Configuration::parse(&configuration.to_yaml()), Ok(configuration));
}

#[test]
fn defaults_are_valid() {
    let termination = Configuration::embedded().termination;
    assert!(ContainerName::parse(termination.proxy_container.as_str()).is_some());
    assert!(LabelSelector::parse(termination.pod_selector.as_str()).is_ok());
}
