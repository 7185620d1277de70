// Command agent stands where a proxy has its pilot-agent: kwok runs it when somebody execs into a pod that nothing runs.
// It tells the benchmark which pod that was, and returns when it has been heard.
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
