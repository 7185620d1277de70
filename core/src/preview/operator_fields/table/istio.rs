//! Objects of Istio that checks read: Istio 1.26, `security/v1/peer_authentication.proto`, `networking/v1/destination_rule.proto`.

use super::super::{Fields, Shape};

static SELECTOR: Fields =
    Fields { owner: "WorkloadSelector", names: &["matchLabels"], nested: &[("matchLabels", Shape::Texts)] };
static MUTUAL_TLS: Fields = Fields {
    owner: "MutualTLS",
    names: &["mode"],
    nested: &[("mode", Shape::OneOf(&["UNSET", "DISABLE", "PERMISSIVE", "STRICT"]))],
};
pub(super) static PEER_AUTHENTICATION: Fields = Fields {
    owner: "PeerAuthentication",
    names: &["selector", "mtls", "portLevelMtls"],
    nested: &[
        ("selector", Shape::Object(&SELECTOR)),
        ("mtls", Shape::Object(&MUTUAL_TLS)),
        ("portLevelMtls", Shape::Map(&MUTUAL_TLS)),
    ],
};

static CLIENT_TLS: Fields = Fields {
    owner: "ClientTLSSettings",
    names: &[
        "mode",
        "clientCertificate",
        "privateKey",
        "caCertificates",
        "credentialName",
        "subjectAltNames",
        "sni",
        "insecureSkipVerify",
        "caCrl",
    ],
    nested: &[("mode", Shape::OneOf(&["DISABLE", "SIMPLE", "MUTUAL", "ISTIO_MUTUAL"]))],
};
const TLS: (&str, Shape) = ("tls", Shape::Object(&CLIENT_TLS));
static PORT: Fields = Fields { owner: "PortSelector", names: &["number"], nested: &[("number", Shape::Number)] };
static PORT_TRAFFIC_POLICY: Fields = Fields {
    owner: "PortTrafficPolicy",
    names: &["port", "loadBalancer", "connectionPool", "outlierDetection", "tls"],
    nested: &[("port", Shape::Object(&PORT)), TLS],
};
static TRAFFIC_POLICY: Fields = Fields {
    owner: "TrafficPolicy",
    names: &[
        "loadBalancer",
        "connectionPool",
        "outlierDetection",
        "tls",
        "portLevelSettings",
        "tunnel",
        "proxyProtocol",
        "retryBudget",
    ],
    nested: &[TLS, ("portLevelSettings", Shape::List(&PORT_TRAFFIC_POLICY))],
};
static SUBSET: Fields = Fields {
    owner: "Subset",
    names: &["name", "labels", "trafficPolicy"],
    nested: &[("trafficPolicy", Shape::Object(&TRAFFIC_POLICY))],
};
pub(super) static DESTINATION_RULE: Fields = Fields {
    owner: "DestinationRule",
    names: &["host", "trafficPolicy", "subsets", "exportTo", "workloadSelector"],
    nested: &[
        ("host", Shape::Text),
        ("trafficPolicy", Shape::Object(&TRAFFIC_POLICY)),
        ("subsets", Shape::List(&SUBSET)),
        ("workloadSelector", Shape::Object(&SELECTOR)),
    ],
};
