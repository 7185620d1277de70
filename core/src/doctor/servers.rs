//! How the webhook and the controller are installed.

use crate::objects::SERVING_SECRET;

/// How the two servers are installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Servers {
    /// The webhook's service account.
    pub webhook_account: String,
    /// The controller's service account.
    pub controller_account: String,
    /// The Secret that the webhook's certificate lies in.
    pub secret: String,
    /// Whether the controller makes the certificate.
    pub own_certificate: bool,
    /// Whether a controller is installed, or has something to do; `false`: the webhook alone.
    pub controller: bool,
}

impl Default for Servers {
    /// As the chart installs them.
    fn default() -> Self {
        Self {
            webhook_account: "trainmesh-webhook".to_owned(),
            controller_account: "trainmesh-controller".to_owned(),
            secret: SERVING_SECRET.to_owned(),
            own_certificate: true,
            controller: true,
        }
    }
}
