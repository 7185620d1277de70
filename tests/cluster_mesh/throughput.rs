//! Throughput and latency of a connection between two ranks: without a proxy, with direct traffic, and through Envoy. The
//! results are in docs/performance.md.

use crate::fixture::{Mesh, Mtls, Pod};
use crate::rank::{Rank, STORE};

/// Number of pairs of pods for each path.
const ROUNDS: usize = 3;

/// Program of both ranks: rank 1 receives data from rank 0, and sends messages of 8 bytes that rank 0 returns. A proxy that
/// also accepts plain connections waits for 5 bytes of the client, by which it recognizes TLS.
const PROGRAM: &str = r#"
import os, socket, statistics, time

SIZE, CHUNK, STREAMS, TRIPS = 1 << 29, 1 << 20, 5, 2000
STREAM, TRIP = b"a stream", b"and back"
address = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))

def serve():
    listener = socket.create_server(("0.0.0.0", address[1]))
    print("listening", flush=True)
    connection, _ = listener.accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    data = bytes(CHUNK)
    while request := connection.recv(8):
        if request == STREAM:
            for _ in range(SIZE // CHUNK):
                connection.sendall(data)
        else:
            connection.sendall(request)

def measure():
    connection = socket.create_connection(address)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    buffer = bytearray(CHUNK)
    def receive(size):
        while size > 0:
            count = connection.recv_into(buffer, min(size, CHUNK))
            assert count > 0, "the connection was closed"
            size -= count
    def seconds(request, size):
        start = time.monotonic()
        connection.sendall(request)
        receive(size)
        return time.monotonic() - start
    for request, size in ((STREAM, SIZE), (TRIP, 8)):
        seconds(request, size)
    rates = [SIZE / seconds(STREAM, SIZE) / 1e9 for _ in range(STREAMS)]
    trips = [seconds(TRIP, 8) * 1e6 for _ in range(TRIPS)]
    print("measured: %.2f GB/s, %.0f us" % (statistics.median(rates), statistics.median(trips)), flush=True)
    # The proxies run, and can be inspected, until the test allows the end.
    while not os.path.exists("/tmp/finish"):
        time.sleep(0.1)

serve() if os.environ["RANK"] == "0" else measure()
"#;

/// Path of the connection from rank 1 to rank 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Route {
    /// The ranks have no proxy.
    NoProxy,
    /// The mode `direct`, with STRICT mTLS.
    Direct,
    /// Through both proxies in plain text: the address of the pod is that of no Service.
    Plain,
    /// Through both proxies with mTLS, by a Service.
    Mutual,
}

#[test]
#[ignore = "a measurement that needs a quiet machine: make bench-mesh"]
fn connections_are_measured() {
    for round in 1..=ROUNDS {
        for route in [Route::NoProxy, Route::Direct, Route::Plain, Route::Mutual] {
            println!("{round}: {route:?}: {}", route.measure());
        }
    }
}

impl Route {
    /// Runs both ranks, and returns what rank 1 has measured.
    fn measure(self) -> String {
        let (traffic, mtls) = match self {
            Self::NoProxy | Self::Plain => ("leave", Mtls::Permissive),
            Self::Direct => ("direct", Mtls::Strict),
            Self::Mutual => ("leave", Mtls::Strict),
        };
        let mesh = Mesh::new(traffic, mtls);
        let start = |rank: Rank| {
            let rank = rank.running(PROGRAM);
            mesh.start(&if self == Self::NoProxy { rank.without_proxy() } else { rank })
        };
        let first = start(Rank::first());
        first.wait_for_log("listening");
        let address = if self == Self::Mutual { mesh.expose(&first, STORE).cluster_ip } else { first.address.clone() };
        let second = start(Rank::second(&address));
        second.wait_for_log("measured: ");
        if self != Self::NoProxy {
            let is_used =
                |chain: &str| mesh.proxy_counter(&first.name, &format!("tcp.{chain}.downstream_cx_total")) > 0;
            let expected = (self == Self::Plain, self == Self::Mutual);
            assert_eq!((is_used("inbound_plain"), is_used("inbound_mutual")), expected, "{self:?}");
        }
        let log = second.log();
        second.allow("finish");
        [&second, &first].into_iter().for_each(Pod::wait_for_success);
        log.lines().find_map(|line| line.strip_prefix("measured: ")).unwrap_or_default().to_owned()
    }
}
