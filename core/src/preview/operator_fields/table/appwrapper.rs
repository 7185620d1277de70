//! `AppWrapper`: project-codeflare/appwrapper 1.2, `api/v1beta2`. Its components are checked as objects of their own.

use super::super::{Fields, Shape};

static POD_SET: Fields = Fields { owner: "AppWrapperPodSet", names: &["replicas", "path", "annotations"], nested: &[] };
static COMPONENT: Fields = Fields {
    owner: "AppWrapperComponent",
    names: &["annotations", "podSets", "podSetInfos", "template"],
    nested: &[("podSets", Shape::List(&POD_SET))],
};
pub(super) static APP_WRAPPER: Fields = Fields {
    owner: "AppWrapperSpec",
    names: &["components", "suspend", "managedBy"],
    nested: &[("components", Shape::List(&COMPONENT))],
};
