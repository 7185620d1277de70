//! The `ConfigMap` with the configuration.

use super::{Code, Found};
use crate::config::Configuration;
use crate::reload::Offer;

pub(super) fn check(offer: &Offer) -> Vec<Found> {
    let (found, configuration) = match offer {
        Offer::Absent => ((Code::ConfigurationAbsent, String::new()), Some(Configuration::embedded())),
        Offer::Unreadable(why) => ((Code::ConfigurationRefused, why.clone()), None),
        Offer::Text(text) => match Configuration::parse(text) {
            Ok(configuration) => {
                ((Code::ConfigurationValid, format!("hash {}", configuration.hash())), Some(configuration))
            }
            Err(problems) => {
                let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
                ((Code::ConfigurationRefused, problems.join("; ")), None)
            }
        },
    };
    let termination = configuration.map(|configuration| configuration.termination);
    let off = termination.is_some_and(|termination| termination.enabled && !termination.port_forward);
    std::iter::once(found).chain(off.then(|| (Code::PortForwardOff, String::new()))).collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const HEAD: &str = "apiVersion: config.trainmesh.dev/v1alpha1\nkind: TrainmeshConfiguration\n";

    #[rstest]
    #[case::absent(Offer::Absent, Code::ConfigurationAbsent, "")]
    #[case::another_key(Offer::Unreadable("it has no key config.yaml".to_owned()), Code::ConfigurationRefused, "no key")]
    #[case::valid(Offer::Text(HEAD.to_owned()), Code::ConfigurationValid, "hash ")]
    #[case::refused(Offer::Text(format!("{HEAD}mesh: {{hold: 3}}\n")), Code::ConfigurationRefused, "line 3: mesh.hold")]
    fn offers(#[case] offer: Offer, #[case] code: Code, #[case] about: &str) {
        let found = check(&offer);
        assert!(matches!(&found[..], [(it, text), ..] if *it == code && text.contains(about)), "{found:?}");
    }

    #[rstest]
    #[case::by_default(Offer::Absent, true)]
    #[case::on(Offer::Text(format!("{HEAD}termination: {{portForward: true}}\n")), false)]
    #[case::without_termination(Offer::Text(format!("{HEAD}termination: {{enabled: false}}\n")), false)]
    #[case::unknown(Offer::Unreadable(String::new()), false)]
    fn port_forwards_that_are_off_are_noted(#[case] offer: Offer, #[case] expected: bool) {
        let found = check(&offer);
        assert_eq!(found.iter().any(|(code, _)| *code == Code::PortForwardOff), expected, "{found:?}");
    }
}
