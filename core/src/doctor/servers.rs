//! The Deployments of the webhook and the controller.

use crate::objects::SERVING_SECRET;

/// Settings of the Deployments of the two servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Servers {
    /// Service account of the webhook.
    pub webhook_account: String,
    /// Service account of the controller.
    pub controller_account: String,
    /// Secret of the serving certificate.
    pub secret: String,
    /// True if the controller issues the certificate.
    pub own_certificate: bool,
    /// True if a controller is installed or required by the configuration.
    pub controller: bool,
}

impl Default for Servers {
    /// Returns the defaults of the chart.
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
