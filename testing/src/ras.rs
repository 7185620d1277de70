//! A server of NCCL's RAS protocol for a pod with busybox, and reports in its format.

use serde_json::{Value, json};

/// Serves one connection. Commands are lines in any case, and the report ends the connection, as in NCCL.
const SESSION: &str = r#"while IFS= read -r line; do
  case "$(echo "$line" | tr a-z A-Z)" in
    "CLIENT PROTOCOL "*) echo "SERVER PROTOCOL 2" ;;
    "TIMEOUT "* | "SET FORMAT JSON" | "SET FORMAT TEXT") echo OK ;;
    STATUS | "VERBOSE STATUS") report; exit ;;
    *) echo "ERROR: Unknown command $line" ;;
  esac
done
"#;

/// Returns a shell script that serves `report` on RAS's port. Shell expansions in the report are
/// evaluated for each connection.
pub fn serve(report: &Value) -> String {
    // On the network of a node, the server of a deleted pod may still listen for a moment.
    // A count is a number for JSON, and a text for Rust because it may be an expansion.
    let report = format!("{report:#}").replace("\"@", "").replace("@\"", "");
    format!(
        "cat > /tmp/ras.sh <<'END'\nreport() {{\ncat <<REPORT\n{report}\nREPORT\n}}\n{SESSION}END\n\
         until nc -ll -p 28028 -e sh /tmp/ras.sh; do sleep 1; done\n"
    )
}

/// Returns a report about one communicator.
pub fn communicator(ranks: &[Value]) -> Value {
    json!({
        "nccl_version": "2.29.1",
        "cuda_runtime_version": 13000,
        "cuda_driver_version": 13000,
        "timestamp": "2026-01-01 12:00:00",
        "communicators_count": 1,
        "communicators": [{
            "hash": "0xae94423cfbb2ef4a",
            "secondary_hash": "0xb7e7187447156001:0xb8242ed28a71381e",
            "size": ranks.len(),
            "ranks_count": ranks.len(),
            "missing_ranks_count": 0,
            "ranks": ranks,
            "missing_ranks": [],
        }],
        "ras": {"collection_time_sec": 0.001, "timeouts_count": 0},
    })
}

/// Returns a rank that has launched `count` all-reduce operations. `count` is a number or a shell expansion.
pub fn rank(rank: u32, host: &str, process: u32, count: &str) -> Value {
    json!({
        "rank": rank,
        "host": host,
        "pid": process,
        "cuda_dev": 0,
        "nvml_dev": 0,
        "status": {"init_state": 0, "async_error": 0, "finalize_called": false, "destroy_flag": false, "abort_flag": false},
        "collective_counts": {"AllReduce": format!("@{count}@")},
    })
}
