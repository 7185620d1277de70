//! Checks the `ConfigMap` with the configuration.

use super::{CheckFinding, Code};
use crate::config::ConfigUpdate;

pub(super) fn check(update: &ConfigUpdate) -> Vec<CheckFinding> {
    let configuration = update.parse();
    let found = match (&configuration, update) {
        (Ok(_), ConfigUpdate::Absent) => (Code::ConfigurationAbsent, String::new()),
        (Ok(configuration), _) => (Code::ConfigurationValid, format!("hash {}", configuration.hash())),
        (Err(problems), _) => (Code::ConfigurationRefused, problems.join("; ")),
    };
    let port_forward_off = configuration
        .is_ok_and(|configuration| configuration.termination.enabled && !configuration.termination.port_forward);
    std::iter::once(found).chain(port_forward_off.then(|| (Code::PortForwardOff, String::new()))).collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const HEAD: &str = "apiVersion: config.trainmesh.dev/v1alpha1\nkind: TrainmeshConfiguration\n";

    #[rstest]
    #[case::absent(ConfigUpdate::Absent, Code::ConfigurationAbsent, "")]
    #[case::missing_key(ConfigUpdate::Unreadable("it has no key config.yaml".to_owned()), Code::ConfigurationRefused, "no key")]
    #[case::valid(ConfigUpdate::Text(HEAD.to_owned()), Code::ConfigurationValid, "hash ")]
    #[case::invalid(ConfigUpdate::Text(format!("{HEAD}mesh: {{hold: 3}}\n")), Code::ConfigurationRefused, "line 3: mesh.hold")]
    fn checks_the_configuration(#[case] update: ConfigUpdate, #[case] code: Code, #[case] evidence: &str) {
        let found = check(&update);
        assert!(matches!(&found[..], [(first, text), ..] if *first == code && text.contains(evidence)), "{found:?}");
    }

    #[rstest]
    #[case::by_default(ConfigUpdate::Absent, true)]
    #[case::on(ConfigUpdate::Text(format!("{HEAD}termination: {{portForward: true}}\n")), false)]
    #[case::without_termination(ConfigUpdate::Text(format!("{HEAD}termination: {{enabled: false}}\n")), false)]
    #[case::unknown(ConfigUpdate::Unreadable(String::new()), false)]
    fn reports_disabled_port_forwards(#[case] update: ConfigUpdate, #[case] expected: bool) {
        let found = check(&update);
        assert_eq!(found.iter().any(|(code, _)| *code == Code::PortForwardOff), expected, "{found:?}");
    }
}
