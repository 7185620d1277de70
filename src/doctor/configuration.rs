//! The `ConfigMap` with the configuration.

use super::{Code, Found};
use crate::config::Configuration;
use crate::reload::Offer;

pub(super) fn check(offer: &Offer) -> Vec<Found> {
    vec![match offer {
        Offer::Absent => (Code::ConfigurationAbsent, String::new()),
        Offer::Unreadable(why) => (Code::ConfigurationRefused, why.clone()),
        Offer::Text(text) => match Configuration::parse(text) {
            Ok(configuration) => (Code::ConfigurationValid, format!("hash {}", configuration.hash())),
            Err(problems) => {
                let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
                (Code::ConfigurationRefused, problems.join("; "))
            }
        },
    }]
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
        assert!(matches!(&found[..], [(it, text)] if *it == code && text.contains(about)), "{found:?}");
    }
}
