//! What the documentation lists under "System configuration", and what it files elsewhere but no workaround needs:
//! adapters, plugins, GPUDirect.

use super::{Group, Kind, Variable};

pub(super) const VARIABLES: &[Variable] = &[
    // Interfaces and rendezvous.
    system("NCCL_SOCKET_IFNAME", Kind::Interfaces),
    system("NCCL_SOCKET_FAMILY", Kind::Word(&["AF_INET", "AF_INET6"])),
    system("NCCL_SOCKET_MAGIC", Kind::SIZE),
    system("NCCL_SOCKET_RETRY_CNT", Kind::POSITIVE).since("2.24"),
    system("NCCL_SOCKET_RETRY_SLEEP_MSEC", Kind::POSITIVE).since("2.24"),
    system("NCCL_SOCKET_POLL_TIMEOUT_MSEC", Kind::SIZE).since("2.28"),
    system("NCCL_SOCKET_NTHREADS", Kind::Integer { least: 1, most: 16 }).since("2.4.8"),
    system("NCCL_NSOCKS_PERTHREAD", Kind::Integer { least: 1, most: 64 }).since("2.4.8"),
    system("NCCL_OOB_NET_ENABLE", Kind::FLAG).since("2.23"),
    system("NCCL_OOB_NET_IFNAME", Kind::Interfaces).since("2.23"),
    system("NCCL_COMM_ID", Kind::Address),
    system("NCCL_HOSTID", Kind::Text),
    system("NCCL_PSK", Kind::Text),
    system("NCCL_UID_STAGGER_THRESHOLD", Kind::POSITIVE).since("2.23"),
    system("NCCL_UID_STAGGER_RATE", Kind::POSITIVE).since("2.23"),
    // Adapters.
    system("NCCL_CROSS_NIC", THREE_WAY),
    system("NCCL_IB_HCA", Kind::Hcas),
    system("NCCL_IB_RAIL_POLICY", Kind::Word(&["NONE", "CX9", "CX9:FLIP", "CX9:ALT", "CX9:BLOCK"])).since("2.30.5"),
    // Above 31 the field of five bits would wrap to a time-out without end.
    system("NCCL_IB_TIMEOUT", Kind::Integer { least: 0, most: 31 }),
    system("NCCL_IB_RETRY_CNT", Kind::Integer { least: 0, most: 7 }).since("2.1.15"),
    system("NCCL_IB_GID_INDEX", Kind::Integer { least: -1, most: 65535 }).since("2.1.4"),
    system("NCCL_IB_ADDR_FAMILY", Kind::Word(&["AF_INET", "AF_INET6"])).since("2.21"),
    system("NCCL_IB_ADDR_RANGE", Kind::Cidr).since("2.21"),
    system("NCCL_IB_ROCE_VERSION_NUM", Kind::Integer { least: 1, most: 2 }).since("2.21"),
    system("NCCL_IB_SL", Kind::Integer { least: 0, most: 15 }).since("2.1.4"),
    system("NCCL_IB_TC", TRAFFIC_CLASS).since("2.1.15"),
    system("NCCL_IB_FIFO_TC", TRAFFIC_CLASS).since("2.22.3"),
    system("NCCL_IB_PKEY", Kind::Integer { least: 0, most: 65535 }),
    system("NCCL_IB_RETURN_ASYNC_EVENTS", Kind::FLAG).since("2.23"),
    // Listed under debugging, yet what rail-only and hashed fabrics are run with.
    system("NCCL_IB_MERGE_NICS", Kind::FLAG).since("2.20"),
    system("NCCL_NET_MERGE_POLICY", Kind::Word(&["ALL", "RAIL"])).since("2.30.5"),
    system("NCCL_NETDEVS_POLICY", Kind::NetworkDevices).since("2.28"),
    system("NCCL_IGNORE_NET_MISMATCH", Kind::FLAG).since("2.30"),
    system("NCCL_IGNORE_COLLNET_MISMATCH", Kind::FLAG).since("2.30"),
    // Transport and plugins.
    system("NCCL_NET", Kind::Text).since("2.10"),
    system("NCCL_NET_PLUGIN", Kind::Text).since("2.11"),
    system("NCCL_TUNER_PLUGIN", Kind::Text),
    system("NCCL_TUNER_CONFIG_PATH", Kind::Path),
    system("NCCL_PROFILER_PLUGIN", Kind::Text),
    system("NCCL_ENV_PLUGIN", Kind::Text).since("2.28"),
    // GPUDirect and topology.
    system("NCCL_NET_GDR_LEVEL", Kind::Level).since("2.3.4"),
    system("NCCL_NET_GDR_C2C", Kind::FLAG).since("2.26"),
    system("NCCL_NET_GDR_READ", Kind::FLAG),
    system("NCCL_DMABUF_ENABLE", Kind::FLAG).since("2.13"),
    system("NCCL_TOPO_FILE", Kind::Path).since("2.6"),
    system("NCCL_TOPO_DUMP_FILE", Kind::Path).since("2.6"),
    system("NCCL_IGNORE_CPU_AFFINITY", Kind::FLAG).since("2.4.6"),
    system("NCCL_COLLNET_ENABLE", Kind::FLAG).since("2.6"),
    system("NCCL_COLLNET_NODE_THRESHOLD", Kind::SIZE).since("2.9.9"),
    system("NCCL_NVLS_ENABLE", THREE_WAY).since("2.17"),
    system("NCCL_MNNVL_ENABLE", THREE_WAY).since("2.21"),
    system("NCCL_MNNVL_UUID", Kind::NUMBER).since("2.25"),
    system("NCCL_MNNVL_CLIQUE_ID", Kind::NUMBER).since("2.25"),
    system("NCCL_CUMEM_ENABLE", Kind::FLAG).since("2.18"),
    system("NCCL_CUMEM_HOST_ENABLE", Kind::FLAG).since("2.23"),
    system("NCCL_CTA_POLICY", Kind::Text).since("2.27"),
    system("NCCL_MULTI_RANK_GPU_ENABLE", Kind::FLAG).since("2.30"),
    // Files, logs and the RAS subsystem.
    system("NCCL_CONF_FILE", Kind::Path).since("2.23"),
    system("NCCL_DEBUG", Kind::AnyCase(&["VERSION", "WARN", "INFO", "ABORT", "TRACE"])),
    system("NCCL_DEBUG_FILE", Kind::Text).since("2.2.12"),
    system("NCCL_DEBUG_SUBSYS", Kind::Text).since("2.3.4"),
    system("NCCL_DEBUG_TIMESTAMP_FORMAT", Kind::Text).since("2.26"),
    system("NCCL_DEBUG_TIMESTAMP_LEVELS", Kind::Text).since("2.26"),
    system("NCCL_SET_THREAD_NAME", Kind::FLAG).since("2.12"),
    system("NCCL_RAS_ENABLE", Kind::FLAG).since("2.24"),
    system("NCCL_RAS_ADDR", Kind::Address).since("2.24"),
    system("NCCL_RAS_TIMEOUT_FACTOR", Kind::POSITIVE).since("2.24"),
];

const TRAFFIC_CLASS: Kind = Kind::Integer { least: 0, most: 255 };
/// Off, on, and on where it can be.
pub(super) const THREE_WAY: Kind = Kind::Integer { least: 0, most: 2 };

const fn system(name: &'static str, kind: Kind) -> Variable {
    Variable::new(name, kind, Group::System)
}
