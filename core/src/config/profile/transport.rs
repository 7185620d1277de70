//! The transport of a profile, and the settings that contradict it.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::config::choice::choices;
use crate::fabric::nccl::parse_c_integer;
use crate::hint::nearest;

/// Transport that NCCL uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// RDMA over InfiniBand.
    Ib,
    /// RDMA over Converged Ethernet.
    Roce,
    /// AWS Elastic Fabric Adapter.
    Efa,
    /// Google GPUDirect-TCPX.
    Tcpx,
    /// Google GPUDirect-TCPXO.
    Tcpxo,
    /// Google GPUDirect RDMA with the plugin gIB.
    Gib,
    /// Plain TCP.
    Tcp,
}

/// Values of `NCCL_NET` and the transports that they select. Any other value is a plugin of the user. aws-ofi-nccl registers as
/// `AWS Libfabric` up to 1.11; since then as `Libfabric`, and it accepts all three names. HPE Slingshot also uses it, with the provider
/// `cxi` of libfabric.
const NETWORKS: [(&str, &[Transport]); 8] = [
    ("Socket", &[Transport::Tcp]),
    ("IB", &[Transport::Ib, Transport::Roce]),
    ("gIB", &[Transport::Gib]),
    ("FasTrak", &[Transport::Tcpxo]),
    ("GPUDirectTCPX_v7", &[Transport::Tcpx]),
    ("Libfabric", LIBFABRIC),
    ("AWS Libfabric", LIBFABRIC),
    ("OFI", LIBFABRIC),
];
/// Transports that libfabric may use: EFA, and those that name no plugin of their own.
const LIBFABRIC: &[Transport] = &[Transport::Efa, Transport::Ib, Transport::Roce, Transport::Tcp];
/// Networks whose names are long enough to recognize a misspelled one, and do not contain a version.
const DISTINCT: [&str; 4] = ["Socket", "FasTrak", "Libfabric", "AWS Libfabric"];

impl Transport {
    /// Variables that [`Self::contradiction`] compares.
    pub const DECISIVE: [&'static str; 4] = ["NCCL_NET", "NCCL_NET_PLUGIN", "FI_PROVIDER", "NCCL_IB_DISABLE"];

    /// Describes how variable `name` with this value contradicts the transport, as the end of a sentence; `None` if it does not.
    #[must_use]
    pub fn contradiction(self, name: &str, value: &str) -> Option<Cow<'static, str>> {
        // NCCL_IB_DISABLE affects only NCCL's built-in transport. EFA, gIB, TCPX and TCPXO replace it with plugins.
        let is_built_in = matches!(self, Self::Ib | Self::Roce);
        let has_plugin = matches!(self, Self::Efa | Self::Gib | Self::Tcpx | Self::Tcpxo);
        let problem = match name {
            "NCCL_NET" => return self.network_problem(value),
            "NCCL_NET_PLUGIN" if has_plugin && value.eq_ignore_ascii_case("none") => {
                "excludes the plugin of the network"
            }
            "FI_PROVIDER" if self == Self::Efa && !admits_efa(value) => "selects another provider of libfabric",
            "NCCL_IB_DISABLE" if is_built_in && parse_c_integer(value).is_some_and(|number| number != 0) => {
                "disables InfiniBand"
            }
            _ => return None,
        };
        Some(problem.into())
    }

    /// Describes the problem of `network`, a value of `NCCL_NET`.
    fn network_problem(self, network: &str) -> Option<Cow<'static, str>> {
        match NETWORKS.iter().find(|(name, _)| name.eq_ignore_ascii_case(network)) {
            Some((_, transports)) if transports.contains(&self) => None,
            Some(_) => Some("selects another transport".into()),
            None => nearest(network, &DISTINCT).map(|near| format!("is no known network ({near} is)").into()),
        }
    }
}

/// Returns true if `FI_PROVIDER` with this value, a list that `^` turns into one of excluded providers, lets libfabric use EFA.
fn admits_efa(providers: &str) -> bool {
    let lists_efa = |list: &str| list.split([',', ';']).any(|name| name.trim().to_ascii_lowercase().starts_with("efa"));
    match providers.trim().strip_prefix('^') {
        Some(excluded) => !lists_efa(excluded),
        None => providers.trim().is_empty() || lists_efa(providers),
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(formatter)
    }
}

choices!(Transport);

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::sockets(Transport::Ib, "NCCL_NET", "socket", Some("selects another transport"))]
    #[case::the_same(Transport::Roce, "NCCL_NET", "IB", None)]
    #[case::another(Transport::Efa, "NCCL_NET", "IB", Some("selects another transport"))]
    #[case::a_plugin_of_the_user(Transport::Ib, "NCCL_NET", "UCX", None)]
    #[case::rdma_on_tcp(Transport::Tcp, "NCCL_NET", "IB", Some("selects another transport"))]
    #[case::efa(Transport::Efa, "NCCL_NET", "aws libfabric", None)]
    #[case::efa_by_its_short_name(Transport::Efa, "NCCL_NET", "OFI", None)]
    #[case::slingshot(Transport::Roce, "NCCL_NET", "AWS Libfabric", None)]
    #[case::libfabric_for_gib(Transport::Gib, "NCCL_NET", "Libfabric", Some("selects another transport"))]
    #[case::misspelled(Transport::Efa, "NCCL_NET", "Libfabrc", Some("is no known network (Libfabric is)"))]
    #[case::newer_version(Transport::Tcpx, "NCCL_NET", "GPUDirectTCPX_v8", None)]
    #[case::no_plugin(Transport::Efa, "NCCL_NET_PLUGIN", "none", Some("excludes the plugin of the network"))]
    #[case::no_plugin_of_google(Transport::Gib, "NCCL_NET_PLUGIN", "none", Some("excludes the plugin of the network"))]
    #[case::plugin(Transport::Efa, "NCCL_NET_PLUGIN", "ofi", None)]
    #[case::no_plugin_needed(Transport::Roce, "NCCL_NET_PLUGIN", "none", None)]
    #[case::provider(Transport::Efa, "FI_PROVIDER", "efa", None)]
    #[case::providers(Transport::Efa, "FI_PROVIDER", "tcp,efa", None)]
    #[case::tcp_provider(Transport::Efa, "FI_PROVIDER", "tcp;ofi_rxm", Some("selects another provider of libfabric"))]
    #[case::excluded_provider(Transport::Efa, "FI_PROVIDER", "^efa", Some("selects another provider of libfabric"))]
    #[case::other_excluded_provider(Transport::Efa, "FI_PROVIDER", "^tcp", None)]
    #[case::any_provider(Transport::Efa, "FI_PROVIDER", "", None)]
    #[case::no_libfabric(Transport::Ib, "FI_PROVIDER", "tcp", None)]
    #[case::disabled(Transport::Ib, "NCCL_IB_DISABLE", "1", Some("disables InfiniBand"))]
    #[case::not_disabled(Transport::Ib, "NCCL_IB_DISABLE", "0", None)]
    #[case::disabled_without_effect(Transport::Efa, "NCCL_IB_DISABLE", "1", None)]
    #[case::another_variable(Transport::Efa, "NCCL_DEBUG", "none", None)]
    fn settings_may_contradict_the_transport(
        #[case] transport: Transport,
        #[case] name: &str,
        #[case] value: &str,
        #[case] expected: Option<&str>,
    ) {
        assert_eq!(transport.contradiction(name, value).as_deref(), expected);
    }
}
