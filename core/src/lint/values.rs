//! Values of NCCL variables: FP003 to FP005, FP009 to FP011.

use super::context::CheckContext;
use super::rdma;
use super::sink::FindingSink;
use crate::fabric::nccl::{DeviceList, ValueKind, is_c_integer, parse_c_integer, variable};

/// Number of adapters above which a name with one digit can be the prefix of another: mlx5_1 and mlx5_10.
const TWO_DIGIT_ADAPTERS: u64 = 10;
/// Variables whose value NCCL passes to the adapter unchanged.
const ADAPTER_NUMBERS: [&str; 3] = ["NCCL_IB_TIMEOUT", "NCCL_IB_RETRY_CNT", "NCCL_IB_QPS_PER_CONNECTION"];
/// Maximum number of sockets between two ranks.
const MAX_SOCKETS: i64 = 64;
/// Prefixes that all adapters of a driver share. Such an entry is meant to match all of them.
const DRIVERS: [&str; 3] = ["mlx4", "mlx5", "hfi1"];

/// FP003: the container requests an adapter, but its settings select TCP.
pub(super) fn tcp_despite_rdma(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    for container in context.containers.iter().filter(|container| !container.adapters.is_empty()) {
        let Some((adapter, _)) = container.adapters.first() else { continue };
        let settings = &container.settings;
        if settings.value("NCCL_NET").is_some_and(|net| net.eq_ignore_ascii_case("Socket")) {
            let message = format!("{}: NCCL_NET=Socket: NCCL does not use {adapter}", container.display_name());
            findings.push(settings.field("NCCL_NET"), message);
        }
        // The variable disables only the transport within NCCL; plugins such as that for EFA ignore it.
        let is_internal = container.adapters.iter().any(|(adapter, _)| !rdma::is_efa(adapter));
        if is_internal && settings.number("NCCL_IB_DISABLE").is_some_and(|number| number != 0) {
            let message = format!("{}: NCCL_IB_DISABLE is set: NCCL does not use {adapter}", container.display_name());
            findings.push(settings.field("NCCL_IB_DISABLE"), message);
        }
    }
}

/// FP004: a switch whose value is not a number, which NCCL reads as 0.
pub(super) fn non_numeric_switch(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    for container in &context.containers {
        for setting in container.settings.iter() {
            let is_switch = setting.name.ends_with("_ENABLE") || setting.name.ends_with("_DISABLE");
            let Some(value) = setting.value.filter(|value| !value.is_empty()) else { continue };
            if is_switch && setting.name.starts_with("NCCL_") && !is_c_integer(value) {
                let (name, number) = (setting.name, parse_c_integer(value).unwrap_or_default());
                let message =
                    format!("{}: {name}={value} is not a number: NCCL reads {number}", container.display_name());
                findings.push(container.settings.field(name), message);
            }
        }
    }
}

/// FP005: a number that NCCL or the adapter rejects.
pub(super) fn out_of_range(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    for container in &context.containers {
        let settings = &container.settings;
        for name in ADAPTER_NUMBERS {
            let Some(range) = variable(name).and_then(|variable| variable.kind.range()) else { continue };
            if let Some(value) = settings.number(name).filter(|value| !range.contains(value)) {
                let (min, max) = (range.start(), range.end());
                let message = format!("{}: {name} is {value}, expected {min} to {max}", container.display_name());
                findings.push(settings.field(name), message);
            }
        }
        let [threads, sockets_per_thread] =
            ["NCCL_SOCKET_NTHREADS", "NCCL_NSOCKS_PERTHREAD"].map(|name| settings.number(name));
        // If unset, each is at least 1.
        let sockets = threads.unwrap_or(1).saturating_mul(sockets_per_thread.unwrap_or(1));
        if sockets > MAX_SOCKETS {
            let name = if sockets_per_thread.is_some() { "NCCL_NSOCKS_PERTHREAD" } else { "NCCL_SOCKET_NTHREADS" };
            let message = format!(
                "{}: {sockets} sockets (threads x sockets per thread) exceed the limit of {MAX_SOCKETS}",
                container.display_name()
            );
            findings.push(settings.field(name), message);
        }
    }
}

/// FP009: an adapter name that is also the prefix of other names.
pub(super) fn ambiguous_adapter(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    for container in &context.containers {
        let Some(list) = container.settings.value("NCCL_IB_HCA") else { continue };
        let list = DeviceList::parse(list);
        // The pod shows the number of adapters only if they are virtual functions, not if they are shared.
        let functions = || container.adapters.iter().filter(|(name, _)| rdma::is_virtual_function(name));
        let has_few =
            functions().next().is_some() && functions().map(|(_, count)| count).sum::<u64>() < TWO_DIGIT_ADAPTERS;
        if list.exact || has_few {
            continue;
        }
        let mut devices = list.names().map(|entry| entry.split(':').next().unwrap_or_default());
        if let Some(device) = devices.find(|device| ends_in_one_digit(device) && !DRIVERS.contains(device)) {
            let message =
                format!("{}: NCCL_IB_HCA {device} also matches {device}0 to {device}9", container.display_name());
            findings.push(container.settings.field("NCCL_IB_HCA"), message);
        }
    }
}

/// Returns true if `device` ends in exactly one digit other than 0. No adapter is called `mlx5_00`.
fn ends_in_one_digit(device: &str) -> bool {
    let mut end = device.chars().rev();
    end.next().is_some_and(|last| ('1'..='9').contains(&last)) && !end.next().is_some_and(|last| last.is_ascii_digit())
}

/// FP010: a fixed GID index, although the right one may differ from pod to pod.
pub(super) fn gid_index(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    for container in &context.containers {
        if let Some(index) = container.settings.number("NCCL_IB_GID_INDEX").filter(|index| *index >= 0) {
            let message = format!("{}: NCCL_IB_GID_INDEX={index} overrides NCCL's detection", container.display_name());
            findings.push(container.settings.field("NCCL_IB_GID_INDEX"), message);
        }
    }
}

/// FP011: a distance level that NCCL ignores, or its legacy form.
pub(super) fn unknown_level(context: &CheckContext<'_>, findings: &mut FindingSink<'_>) {
    for container in &context.containers {
        for name in ["NCCL_NET_GDR_LEVEL", "NCCL_P2P_LEVEL"] {
            let Some(value) = container.settings.value(name).filter(|value| !ValueKind::LEVELS.contains(value)) else {
                continue;
            };
            let problem = if is_c_integer(value) { "is a legacy number" } else { "is unknown: NCCL ignores it" };
            let message = format!("{}: {name}={value} {problem}", container.display_name());
            findings.push(container.settings.field(name), message);
        }
    }
}
