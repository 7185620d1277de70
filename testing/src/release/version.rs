//! The versions of trainmesh that tests install.

use std::path::PathBuf;
use std::sync::Once;

use super::{CHART, PROGRAM};
use crate::cluster::Cluster;

/// Environment variable with the directory in which `tests/matrix/previous` has built the previous release.
const PREVIOUS: &str = "TRAINMESH_PREVIOUS";

/// A version to install.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// The chart of this repository, with the binary under test.
    Tested,
    /// The release before it.
    Previous,
}

impl Version {
    /// Returns the tag of the version's image.
    pub fn tag(self) -> &'static str {
        match self {
            Self::Tested => "test",
            Self::Previous => "previous",
        }
    }

    pub(super) fn chart(self) -> PathBuf {
        match self {
            Self::Tested => CHART.into(),
            Self::Previous => previous().join(CHART),
        }
    }

    /// Builds the image, once: concurrent builds of one image conflict.
    pub(super) fn build_image(self) {
        static TESTED: Once = Once::new();
        static PREVIOUS: Once = Once::new();
        let (built, program) = match self {
            Self::Tested => (&TESTED, std::env::var_os(PROGRAM).map_or_else(crate::program, PathBuf::from)),
            Self::Previous => (&PREVIOUS, previous().join("trainmesh")),
        };
        let program = program.to_str().expect("the path is UTF-8");
        built.call_once(|| Cluster::get().build_image(&format!("trainmesh:{}", self.tag()), program));
    }

    /// Returns values that select the image, and a timeout of calls that a busy machine meets. With that of Istio's injector, the
    /// sum for both webhooks is below the deadline of the apiserver's requests, which doctor reports.
    pub(super) fn values(self) -> [String; 2] {
        let image = format!("image.repository=trainmesh.test/trainmesh,image.tag={}", self.tag());
        [image, "image.pullPolicy=Never,webhook.timeoutSeconds=11".to_owned()]
    }
}

fn previous() -> PathBuf {
    let directory = std::env::var_os(PREVIOUS);
    directory.expect("build the previous release: export TRAINMESH_PREVIOUS=$(tests/matrix/previous)").into()
}
