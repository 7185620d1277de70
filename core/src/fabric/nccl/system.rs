//! Variables in the section "System configuration" of NCCL's documentation, and variables from other sections that
//! configure adapters, plugins and GPUDirect permanently.

use super::{Group, ValueKind, Variable};

pub(super) const VARIABLES: &[Variable] = &[
    // Interfaces and rendezvous.
    system("NCCL_SOCKET_IFNAME", ValueKind::Interfaces),
    system("NCCL_SOCKET_FAMILY", ValueKind::Keyword(&["AF_INET", "AF_INET6"])),
    system("NCCL_SOCKET_MAGIC", ValueKind::NON_NEGATIVE),
    system("NCCL_SOCKET_RETRY_CNT", ValueKind::POSITIVE).since("2.24"),
    system("NCCL_SOCKET_RETRY_SLEEP_MSEC", ValueKind::POSITIVE).since("2.24"),
    system("NCCL_SOCKET_POLL_TIMEOUT_MSEC", ValueKind::NON_NEGATIVE).since("2.28"),
    system("NCCL_SOCKET_NTHREADS", ValueKind::Integer { min: 1, max: 16 }).since("2.4.8"),
    system("NCCL_NSOCKS_PERTHREAD", ValueKind::Integer { min: 1, max: 64 }).since("2.4.8"),
    system("NCCL_OOB_NET_ENABLE", ValueKind::FLAG).since("2.23"),
    system("NCCL_OOB_NET_IFNAME", ValueKind::NetDevices).since("2.23"),
    system("NCCL_COMM_ID", ValueKind::Address),
    system("NCCL_HOSTID", ValueKind::Text),
    system("NCCL_UID_STAGGER_THRESHOLD", ValueKind::POSITIVE).since("2.23"),
    system("NCCL_UID_STAGGER_RATE", ValueKind::POSITIVE).since("2.23"),
    // Adapters.
    system("NCCL_CROSS_NIC", THREE_WAY),
    system("NCCL_IB_HCA", ValueKind::Hcas),
    system("NCCL_IB_RAIL_POLICY", ValueKind::Keyword(&["NONE", "CX9", "CX9:FLIP", "CX9:ALT", "CX9:BLOCK"]))
        .since("2.30.5"),
    // NCCL's documentation accepts 0 to 31, but 0 and everything above 31 never time out.
    system("NCCL_IB_TIMEOUT", ValueKind::Integer { min: 1, max: 31 }),
    system("NCCL_IB_RETRY_CNT", ValueKind::Integer { min: 0, max: 7 }).since("2.1.15"),
    system("NCCL_IB_GID_INDEX", ValueKind::Integer { min: -1, max: 65535 }).since("2.1.4"),
    system("NCCL_IB_ADDR_FAMILY", ValueKind::Keyword(&["AF_INET", "AF_INET6"])).since("2.21"),
    system("NCCL_IB_ADDR_RANGE", ValueKind::Cidr).since("2.21"),
    system("NCCL_IB_ROCE_VERSION_NUM", ValueKind::Integer { min: 1, max: 2 }).since("2.21"),
    system("NCCL_IB_SL", ValueKind::Integer { min: 0, max: 15 }).since("2.1.4"),
    system("NCCL_IB_TC", TRAFFIC_CLASS).since("2.1.15"),
    system("NCCL_IB_FIFO_TC", TRAFFIC_CLASS).since("2.22.3"),
    system("NCCL_IB_PKEY", ValueKind::Integer { min: 0, max: 65535 }),
    system("NCCL_IB_PKEY_VALUE", ValueKind::Integer { min: -1, max: 65535 }).since("2.31"),
    system("NCCL_IB_EVENT_BASED_LB", ValueKind::FLAG).since("2.31"),
    system("NCCL_IB_RETURN_ASYNC_EVENTS", ValueKind::FLAG).since("2.23"),
    // Documented for debugging, but required by rail-only and hashed fabrics.
    system("NCCL_IB_MERGE_NICS", ValueKind::FLAG).since("2.20"),
    system("NCCL_NET_MERGE_POLICY", ValueKind::KeywordIgnoreCase(&["ALL", "RAIL"])).since("2.30.5"),
    system("NCCL_NETDEVS_POLICY", ValueKind::NetDevicesPolicy).since("2.28"),
    system("NCCL_IGNORE_NET_MISMATCH", ValueKind::FLAG).since("2.30"),
    system("NCCL_IGNORE_COLLNET_MISMATCH", ValueKind::FLAG).since("2.30"),
    // Transport and plugins.
    system("NCCL_NET", ValueKind::Text).since("2.10"),
    system("NCCL_NET_PLUGIN", ValueKind::Text).since("2.11"),
    system("NCCL_TUNER_PLUGIN", ValueKind::Text),
    system("NCCL_TUNER_CONFIG_PATH", ValueKind::Path),
    system("NCCL_PROFILER_PLUGIN", ValueKind::Text),
    system("NCCL_ENV_PLUGIN", ValueKind::Text).since("2.28"),
    // GPUDirect and topology.
    system("NCCL_NET_GDR_LEVEL", ValueKind::Level).since("2.3.4"),
    system("NCCL_NET_GDR_C2C", ValueKind::FLAG).since("2.26"),
    system("NCCL_NET_GDR_READ", ValueKind::FLAG),
    system("NCCL_DMABUF_ENABLE", ValueKind::FLAG).since("2.13"),
    system("NCCL_TOPO_FILE", ValueKind::Path).since("2.6"),
    system("NCCL_TOPO_DUMP_FILE", ValueKind::Path).since("2.6"),
    system("NCCL_IGNORE_CPU_AFFINITY", ValueKind::FLAG).since("2.4.6"),
    system("NCCL_COLLNET_ENABLE", ValueKind::FLAG).since("2.6"),
    system("NCCL_COLLNET_NODE_THRESHOLD", ValueKind::NON_NEGATIVE).since("2.9.9"),
    system("NCCL_NVLS_ENABLE", THREE_WAY).since("2.17"),
    system("NCCL_MNNVL_ENABLE", THREE_WAY).since("2.21"),
    system("NCCL_MNNVL_UUID", ValueKind::NUMBER).since("2.25"),
    system("NCCL_MNNVL_CLIQUE_ID", ValueKind::NUMBER).since("2.25"),
    system("NCCL_CUMEM_ENABLE", ValueKind::FLAG).since("2.18"),
    system("NCCL_CUMEM_HOST_ENABLE", ValueKind::FLAG).since("2.23"),
    system("NCCL_CTA_POLICY", ValueKind::Text).since("2.27"),
    system("NCCL_MULTI_RANK_GPU_ENABLE", ValueKind::FLAG).since("2.30"),
    // Files, logs and the RAS subsystem.
    system("NCCL_CONF_FILE", ValueKind::Path).since("2.23"),
    system("NCCL_DEBUG", ValueKind::KeywordIgnoreCase(&["VERSION", "WARN", "INFO", "ABORT", "TRACE"])),
    system("NCCL_DEBUG_FILE", ValueKind::Text).since("2.2.12"),
    system("NCCL_DEBUG_SUBSYS", ValueKind::Text).since("2.3.4"),
    system("NCCL_DEBUG_TIMESTAMP_FORMAT", ValueKind::AnyText).since("2.26"),
    system("NCCL_DEBUG_TIMESTAMP_LEVELS", ValueKind::Text).since("2.26"),
    system("NCCL_SET_THREAD_NAME", ValueKind::BOOLEAN).since("2.12"),
    system("NCCL_RAS_ENABLE", ValueKind::FLAG).since("2.24"),
    system("NCCL_RAS_ADDR", ValueKind::Address).since("2.24"),
    system("NCCL_RAS_TIMEOUT_FACTOR", ValueKind::POSITIVE).since("2.24"),
];

const TRAFFIC_CLASS: ValueKind = ValueKind::Integer { min: 0, max: 255 };
/// 0, 1 or 2. The meaning depends on the variable; 2 is often automatic.
pub(super) const THREE_WAY: ValueKind = ValueKind::Integer { min: 0, max: 2 };

const fn system(name: &'static str, kind: ValueKind) -> Variable {
    Variable::new(name, kind, Group::System)
}
