// Command agent replaces a proxy's pilot-agent: kwok runs it for an exec into a fake pod.
// It reports the pod to the benchmark, and returns when the benchmark has received it.
package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"os"
)

func main() {
	connection, err := net.Dial("unix", os.Getenv("BENCH_SOCKET"))
	if err != nil {
		log.Fatal(err)
	}
	if _, err := fmt.Fprintln(connection, os.Getenv("POD")); err != nil {
		log.Fatal(err)
	}
	io.Copy(io.Discard, connection)
}
