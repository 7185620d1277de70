use rstest::rstest;
use serde_json::{Value, json};

use super::*;

/// Edge cases of the types. Every type is tested with all of them.
const EDGES: &[&str] = &[
    "",
    "a",
    "A",
    "-",
    "-a",
    "a-",
    "a_b",
    "_A",
    "1",
    "none",
    "None",
    "a.b",
    "a..b",
    ".a",
    "a.",
    "a b",
    " ",
    "é",
    "a\nb",
    "a\u{7f}",
    "a\u{85}",
    "rdma/ib",
    "requests.foo.com/x",
    "requests/x",
    "rdma/",
    "/ib",
    "a/b/c",
    "example.com/Ab_c.d",
    "Example.com/a",
    "a..b/c",
    "nvidia.com/mig-",
    "nvidia.com/mig-*",
    "nvidia.com/*",
    "nvidia.com/**",
    "*",
    "nvidia.com/a*b",
    "a*",
    "a-*",
    "a**",
    "*a",
    "p5.48xlarge",
    "hugepages-2Mi",
    "hugepages-1Gi",
    "hugepages-",
    "hugepages-Mi",
    "hugepages-2M",
    "hugepages-1.5Gi",
    "NCCL_IB_HCA",
    "1A",
    "A-B",
    "=mlx5_0,mlx5_1",
    "0",
    "32Gi",
    "1.5Gi",
    "1.",
    ".5",
    "1e3",
    "5m",
    "10ki",
    "1Kii",
    "5120Mi",
    "-1",
    "eth0",
    "net1",
    "eth0:1",
    "eth@0",
    "eth,0",
    "net-1",
    "fabric/rdma-vf",
    "Fabric/rdma-vf",
    "rdma.vf",
    "a/b.c",
    "a.b/c",
    "/",
    "/dev/shm",
    "dev/shm",
    "/..",
    "/a/../b",
    "/a/..b/c",
    "/a/...",
    "/a/.b",
    "/a/.",
    "/a//b",
    "/a:b",
    "/a\tb",
    "/é",
    "IPC_LOCK",
    "CAP_IPC_LOCK",
    "Ipc_LOCK",
    "NET_ADMIN2",
    "ALL",
    "registry.example.com/daemon:1.0",
    "a@sha256:0",
    "a,b",
];

fn long() -> Vec<String> {
    let lengths = [14, 15, 16, 62, 63, 64, 253, 254, 1023, 1024];
    let prefixes = ["", "a/", "a."];
    lengths.iter().flat_map(|length| prefixes.map(|prefix| format!("{prefix}{}", "x".repeat(*length)))).collect()
}

/// Returns true if the JSON Schema accepts `text`.
fn accepts(schema: &Value, text: &str) -> bool {
    let matches = |pattern: &Value| {
        let pattern = pattern.as_str().unwrap();
        regex::Regex::new(pattern).unwrap_or_else(|error| panic!("{error}")).is_match(text)
    };
    let fits = schema["maxLength"].as_u64().is_none_or(|max| text.chars().count() as u64 <= max);
    let excepted = schema["not"]["const"] == text || schema["not"].get("pattern").is_some_and(matches);
    matches(&schema["pattern"]) && fits && !excepted
}

/// Name, parser and schema of a type.
type StringType = (String, fn(&str) -> bool, Value);

/// Returns all types but `NamespaceName`, which equals `DnsLabel`.
fn string_types() -> Vec<StringType> {
    macro_rules! list {
        ($($type:ident)+) => { vec![$((
            stringify!($type).to_owned(),
            |text: &str| $type::parse(text).is_some(),
            json!($type::json_schema(&mut SchemaGenerator::default())),
        )),+] };
    }
    list!(ProfileName ResourceName ResourcePattern MachinePattern EnvName EnvValue Quantity InterfaceName NetworkName ObjectName
        DnsLabel AbsolutePath MetadataKey LabelValue Capability Image)
}

#[test]
fn schema_and_parser_agree() {
    for (name, parses, schema) in string_types() {
        let long = long();
        // A pattern cannot bound the total length of several parts.
        let is_composite = ["NetworkName", "MetadataKey", "ResourceName", "ResourcePattern"].contains(&name.as_str());
        let long = long.iter().map(String::as_str).filter(|text| !is_composite || text.len() < 100);
        for text in EDGES.iter().copied().chain(long) {
            assert_eq!(parses(text), accepts(&schema, text), "{name}: {text:?}");
        }
    }
}

#[rstest]
#[case::profile("ProfileName", &["a", "1"])]
#[case::resource("ResourceName", &["rdma/ib", "example.com/Ab_c.d", "hugepages-2Mi", "hugepages-1Gi", "a.b/c"])]
#[case::pattern("ResourcePattern", &["rdma/ib", "nvidia.com/mig-*", "nvidia.com/*"])]
#[case::variable("EnvName", &["a", "A", "_A", "a_b", "NCCL_IB_HCA"])]
#[case::value("EnvValue", &["", " ", "a b", "=mlx5_0,mlx5_1", "é"])]
#[case::amount("Quantity", &["0", "1", "32Gi", "1.5Gi", "5120Mi"])]
#[case::interface("InterfaceName", &["eth0", "net1", "net-1", "a.b"])]
#[case::network("NetworkName", &["a", "rdma.vf", "fabric/rdma-vf", "a/b.c"])]
#[case::object("ObjectName", &["a", "a.b"])]
#[case::dns_label("DnsLabel", &["a", "none"])]
#[case::path("AbsolutePath", &["/", "/dev/shm", "/a/..b/c", "/a/...", "/a/.b", "/a//b", "/é"])]
#[case::key("MetadataKey", &["a", "A", "a_b", "a.b", "example.com/Ab_c.d"])]
#[case::label("LabelValue", &["", "a", "A", "a..b", "1"])]
#[case::capability("Capability", &["A", "IPC_LOCK", "ALL"])]
#[case::image("Image", &["a", "registry.example.com/daemon:1.0", "a@sha256:0"])]
fn accepts_valid_text(#[case] name: &str, #[case] texts: &[&str]) {
    let (_, parses, _) = string_types().into_iter().find(|found| found.0 == name).unwrap();
    assert!(texts.iter().all(|text| parses(text)), "{name}: {texts:?}");
}

#[rstest]
#[case::profile("ProfileName", &["", "none", "A", "a_b", "-a", "a-", "a.b"])]
#[case::resource("ResourceName", &["a", "rdma/", "/ib", "a/b/c", "Example.com/a", "a..b/c", "hugepages-2M", "hugepages-1.5Gi", "nvidia.com/*"])]
#[case::pattern("ResourcePattern", &["*", "nvidia.com/mig-", "nvidia.com/**", "nvidia.com/a*b", "hugepages-2Mi"])]
#[case::variable("EnvName", &["", "1A", "A-B", "a.b", "a b"])]
#[case::value("EnvValue", &["a\nb", "a\u{7f}", "a\u{85}"])]
#[case::amount("Quantity", &["", "1.", ".5", "1e3", "5m", "10ki", "1Kii", "-1", "é"])]
#[case::interface("InterfaceName", &["", "eth0:1", "eth@0", "eth,0", "a b", "rdma/ib"])]
#[case::network("NetworkName", &["", "A", "Fabric/rdma-vf", "a/b/c", "a.b/c", "/ib"])]
#[case::object("ObjectName", &["", "a..b", ".a", "a.", "A", "rdma/ib"])]
#[case::dns_label("DnsLabel", &["", "a.b", "A"])]
#[case::path("AbsolutePath", &["", "dev/shm", "/..", "/a/../b", "/a:b", "/a\tb"])]
#[case::key("MetadataKey", &["", "rdma/", "Example.com/a", "a b"])]
#[case::label("LabelValue", &["-a", "a b", "rdma/ib"])]
#[case::capability("Capability", &["", "CAP_IPC_LOCK", "Ipc_LOCK", "_A", "NET_ADMIN2"])]
#[case::image("Image", &["", "a b", "é"])]
fn rejects_invalid_text(#[case] name: &str, #[case] texts: &[&str]) {
    let (_, parses, _) = string_types().into_iter().find(|found| found.0 == name).unwrap();
    let accepted: Vec<_> = texts.iter().filter(|text| parses(text)).collect();
    assert!(accepted.is_empty(), "{name}: {accepted:?}");
}
