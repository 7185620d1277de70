//! Values of NCCL's variables: FP003 to FP005, FP009 to FP011.

use super::facts::Facts;
use super::finding::Found;
use super::rdma;
use crate::fabric::nccl::{DeviceList, Kind, is_number, number, variable};

/// From so many adapters on a name with one digit is the start of another one.
const TWO_DIGITS: u64 = 10;
/// Numbers that the adapter is given as they are.
const NUMBERS: [&str; 3] = ["NCCL_IB_TIMEOUT", "NCCL_IB_RETRY_CNT", "NCCL_IB_QPS_PER_CONNECTION"];
/// The most sockets between two ranks.
const SOCKETS: i64 = 64;

/// FP003: TCP is asked for beside an adapter.
pub(super) fn tcp_beside_rdma(facts: &Facts<'_>, found: &mut Found<'_>) {
    for seen in facts.containers.iter().filter(|seen| !seen.adapters.is_empty()) {
        let Some((adapter, _)) = seen.adapters.first() else { continue };
        let settings = &seen.settings;
        if settings.value("NCCL_NET").is_some_and(|net| net.eq_ignore_ascii_case("Socket")) {
            found.add(settings.field("NCCL_NET"), format!("{}: NCCL_NET=Socket beside {adapter}", seen.named()));
        }
        // The switch is one of the transport within NCCL; a plugin such as that of EFA does not look at it.
        let internal = seen.adapters.iter().any(|(adapter, _)| !rdma::is_efa(adapter));
        if internal && settings.number("NCCL_IB_DISABLE").is_some_and(|number| number != 0) {
            let field = settings.field("NCCL_IB_DISABLE");
            found.add(field, format!("{}: NCCL_IB_DISABLE is not 0 beside {adapter}", seen.named()));
        }
    }
}

/// FP004: a switch that is no number is 0 to NCCL.
pub(super) fn switches(facts: &Facts<'_>, found: &mut Found<'_>) {
    for seen in &facts.containers {
        for setting in seen.settings.all() {
            let switch = setting.name.ends_with("_ENABLE") || setting.name.ends_with("_DISABLE");
            let Some(value) = setting.value.filter(|value| !value.is_empty()) else { continue };
            if switch && setting.name.starts_with("NCCL_") && !is_number(value) {
                let (name, read) = (setting.name, number(value));
                let field = seen.settings.field(name);
                found.add(field, format!("{}: {name}={value} reads as {read}: no number", seen.named()));
            }
        }
    }
}

/// FP005: a number that NCCL or the adapter refuses.
pub(super) fn ranges(facts: &Facts<'_>, found: &mut Found<'_>) {
    for seen in &facts.containers {
        let settings = &seen.settings;
        for name in NUMBERS {
            let Some(range) = variable(name).and_then(|variable| variable.kind.range()) else { continue };
            if let Some(value) = settings.number(name).filter(|value| !range.contains(value)) {
                let message = format!("{}: {name} is {value}, not {} to {}", seen.named(), range.start(), range.end());
                found.add(settings.field(name), message);
            }
        }
        let [threads, each] = ["NCCL_SOCKET_NTHREADS", "NCCL_NSOCKS_PERTHREAD"].map(|name| settings.number(name));
        // Unset is at least 1 of each.
        let sockets = threads.unwrap_or(1).saturating_mul(each.unwrap_or(1));
        if sockets > SOCKETS {
            let name = if each.is_some() { "NCCL_NSOCKS_PERTHREAD" } else { "NCCL_SOCKET_NTHREADS" };
            let message = format!("{}: {sockets} sockets (threads x sockets), over {SOCKETS}", seen.named());
            found.add(settings.field(name), message);
        }
    }
}

/// FP009: the name of an adapter that is the start of another one.
pub(super) fn adapter_prefixes(facts: &Facts<'_>, found: &mut Found<'_>) {
    for seen in &facts.containers {
        let Some(list) = seen.settings.value("NCCL_IB_HCA") else { continue };
        let list = DeviceList::read(list);
        // Functions are counted one by one; a shared adapter tells nothing of how many there are.
        let functions = || seen.adapters.iter().filter(|(name, _)| rdma::is_virtual_function(name));
        let few = functions().next().is_some() && functions().map(|(_, count)| count).sum::<u64>() < TWO_DIGITS;
        if list.exact || few {
            continue;
        }
        let mut devices = list.names().map(|entry| entry.split(':').next().unwrap_or_default());
        if let Some(device) = devices.find(|device| one_digit(device) && !DRIVERS.contains(device)) {
            let message = format!("{}: NCCL_IB_HCA {device} also fits {device}0 to {device}9", seen.named());
            found.add(seen.settings.field("NCCL_IB_HCA"), message);
        }
    }
}

/// What all adapters of one driver begin with: meant to fit them all.
const DRIVERS: [&str; 3] = ["mlx4", "mlx5", "hfi1"];

/// Whether the name ends in one digit, and not in 0: no adapter is called `mlx5_00`.
fn one_digit(device: &str) -> bool {
    let mut end = device.chars().rev();
    end.next().is_some_and(|last| ('1'..='9').contains(&last)) && !end.next().is_some_and(|last| last.is_ascii_digit())
}

/// FP010: an index of the table of addresses, which differs from pod to pod.
pub(super) fn gid_index(facts: &Facts<'_>, found: &mut Found<'_>) {
    for seen in &facts.containers {
        if let Some(index) = seen.settings.number("NCCL_IB_GID_INDEX").filter(|index| *index >= 0) {
            let field = seen.settings.field("NCCL_IB_GID_INDEX");
            found.add(field, format!("{}: NCCL_IB_GID_INDEX={index} pins what NCCL finds itself", seen.named()));
        }
    }
}

/// FP011: a distance in a spelling that NCCL passes over.
pub(super) fn levels(facts: &Facts<'_>, found: &mut Found<'_>) {
    for seen in &facts.containers {
        for name in ["NCCL_NET_GDR_LEVEL", "NCCL_P2P_LEVEL"] {
            let Some(value) = seen.settings.value(name).filter(|value| !Kind::LEVELS.contains(value)) else { continue };
            let problem = if is_number(value) { "a number of old" } else { "passed over by NCCL" };
            found.add(seen.settings.field(name), format!("{}: {name}={value} is {problem}", seen.named()));
        }
    }
}
